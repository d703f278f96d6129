/// Memory for what a decoder needs in between, taken from the pool of pixel memory and given back to it at the end.
///
/// The frames of an animation need the same memory again and again; from malloc, where it lies at the heap's end, it can
/// be fresh each time, with a page fault for each 4 KiB. It is **not** cleared.
package final class ScratchMemory {
    private let storage: PixelStorage

    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``.
    package init(byteCount: Int, pool: PixelBufferPool = .shared) throws(WebImageError) {
        storage = try PixelStorage(byteCount: byteCount, pool: pool)
    }

    /// Its first byte, at a multiple of 64, good as long as this object lives.
    package var address: UnsafeMutableRawPointer { storage.address }
}
