/// The pixels of one picture: **RGBA, 8 bits each, premultiplied, sRGB**, top row first, in that byte order.
///
/// It is immutable and shared freely between threads; a ``MutablePixelBuffer`` makes one. The memory starts at a
/// multiple of 64 bytes and comes from a ``PixelBufferPool``, to which it returns when the last reference goes:
/// touching fresh pages costs as much as decoding a JPEG into them.
public final class PixelBuffer: Sendable {
    /// Pixels across.
    public let width: Int
    /// Pixels down.
    public let height: Int
    /// From one row's first byte to the next row's, in bytes: a multiple of 4, at least `4 * width`.
    public let bytesPerRow: Int
    /// Whether every pixel is known to be opaque: its alpha is 255.
    public let isOpaque: Bool

    let storage: PixelStorage

    init(width: Int, height: Int, bytesPerRow: Int, isOpaque: Bool, storage: PixelStorage) {
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.isOpaque = isOpaque
        self.storage = storage
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// The memory it takes, in bytes: the cost a cache counts.
    public var byteCount: Int { bytesPerRow * height }

    /// Calls `body` with all rows; the pointer is good until `body` returns.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: storage.address, count: byteCount))
    }

    /// The address of the top row, good as long as this object lives: for C libraries that keep the object alive
    /// themselves.
    package var baseAddress: UnsafeRawPointer { UnsafeRawPointer(storage.address) }

    /// The red, green, blue and alpha bytes of a pixel, premultiplied.
    ///
    /// - Precondition: `x` and `y` lie inside the picture.
    public subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel (\(x), \(y)) is outside \(size)")
        return storage.address.load(fromByteOffset: y * bytesPerRow + x * 4, as: SIMD4<UInt8>.self)
    }
}
