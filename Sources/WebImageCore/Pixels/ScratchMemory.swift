/// Temporary memory for a decoder, taken from the pool of pixel memory and returned to it when released.
///
/// The frames of an animation need the same memory again and again. From malloc, memory at the end of the heap can be
/// fresh each time, with a page fault for each 4 KiB. The memory is **not** cleared.
package final class ScratchMemory {
    private let storage: PixelStorage

    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    package init(byteCount: Int, pool: PixelBufferPool = .shared) throws(WebImageError) {
        storage = try PixelStorage(byteCount: byteCount, pool: pool)
    }

    /// The first byte, aligned to 64 bytes, valid while this object exists.
    package var address: UnsafeMutableRawPointer { storage.address }
}
