internal import Glibc

/// Owns a block of pixel memory and returns it to its pool when released.
final class PixelStorage: @unchecked Sendable {
    // `@unchecked`: the memory is written only through a `MutablePixelBuffer`, which is noncopyable and is consumed
    // when it passes this object to an immutable `PixelBuffer`.
    private let block: PixelBufferPool.Block
    let pool: PixelBufferPool
    /// The requested size, which may be smaller than the block.
    let byteCount: Int

    init(byteCount: Int, pool: PixelBufferPool) throws(WebImageError) {
        block = try pool.take(byteCount: byteCount)
        self.pool = pool
        self.byteCount = byteCount
    }

    /// Copies the bytes to another block of the same pool.
    convenience init(copying other: PixelStorage) throws(WebImageError) {
        try self.init(byteCount: other.byteCount, pool: other.pool)
        memcpy(address, other.address, byteCount)
    }

    deinit { pool.recycle(block) }

    var address: UnsafeMutableRawPointer { block.address }
}
