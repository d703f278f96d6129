internal import Glibc

/// Owns one block of pixel memory and returns it to its pool at the end.
final class PixelStorage: @unchecked Sendable {
    // `@unchecked`: the memory is written only through a `MutablePixelBuffer`, which is noncopyable and is consumed when
    // it hands this object to an immutable `PixelBuffer`.
    private let block: PixelBufferPool.Block
    let pool: PixelBufferPool
    /// As asked for.
    let byteCount: Int

    init(byteCount: Int, pool: PixelBufferPool) throws(WebImageError) {
        block = try pool.take(byteCount: byteCount)
        self.pool = pool
        self.byteCount = byteCount
    }

    /// The same bytes, in a block of the same pool.
    convenience init(copying other: PixelStorage) throws(WebImageError) {
        try self.init(byteCount: other.byteCount, pool: other.pool)
        memcpy(address, other.address, byteCount)
    }

    deinit { pool.recycle(block) }

    var address: UnsafeMutableRawPointer { block.address }
}
