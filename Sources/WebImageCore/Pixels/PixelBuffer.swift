/// The pixels of one picture: **RGBA, 8 bits each, premultiplied, sRGB**, top row first, in that byte order.
///
/// It is immutable and shared freely between threads; a ``MutablePixelBuffer`` makes one. The memory comes from a
/// ``PixelBufferPool``, to which it returns when the last reference goes: touching fresh pages costs as much as decoding a
/// JPEG into them. It starts at a multiple of 64 bytes, except in a buffer that shows a part of another's memory, as
/// ``cropped(to:)`` may make: that starts at a multiple of 4, and has gaps between its rows.
public final class PixelBuffer: Sendable {
    /// Pixels across.
    public let width: Int
    /// Pixels down.
    public let height: Int
    /// From one row's first byte to the next row's, in bytes: a multiple of 4, at least `4 * width`.
    public let bytesPerRow: Int
    /// Whether every pixel is known to be opaque: its alpha is 255.
    public let isOpaque: Bool
    /// The memory it keeps, in bytes: the cost a cache counts. A buffer that shows a part of another's memory keeps all of
    /// it.
    public let byteCount: Int

    let storage: PixelStorage
    /// From the memory's first byte to the first pixel, in bytes.
    private let offset: Int

    /// All of the memory that was made for a picture of this size.
    init(width: Int, height: Int, bytesPerRow: Int, isOpaque: Bool, storage: PixelStorage) {
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.isOpaque = isOpaque
        self.storage = storage
        byteCount = bytesPerRow * height
        offset = 0
    }

    /// A part of `whole`, in its memory.
    ///
    /// - Precondition: `rect` lies inside it.
    init(_ rect: PixelRect, of whole: PixelBuffer) {
        precondition(rect.clamped(to: whole.size) == rect, "\(rect) is outside \(whole.size)")
        width = rect.width
        height = rect.height
        bytesPerRow = whole.bytesPerRow
        isOpaque = whole.isOpaque
        storage = whole.storage
        byteCount = whole.byteCount
        offset = whole.offset + rect.y * whole.bytesPerRow + rect.x * 4
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// From the first byte of the first row to the last of the last row, with the gaps between them, in bytes.
    package var rowsByteCount: Int { bytesPerRow * (height - 1) + width * 4 }

    /// Calls `body` with all rows, from the first byte of the first to the last of the last; the pointer is good until `body`
    /// returns. There are gaps between rows where ``bytesPerRow`` is more than 4 bytes a pixel.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: baseAddress, count: rowsByteCount))
    }

    /// The address of the top row, good as long as this object lives: for C libraries that keep the object alive
    /// themselves.
    package var baseAddress: UnsafeRawPointer { UnsafeRawPointer(storage.address + offset) }

    /// The first byte of a row, which has `4 * width` of them; good as long as this object lives.
    package func row(_ y: Int) -> UnsafePointer<UInt8> {
        (baseAddress + y * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// The red, green, blue and alpha bytes of a pixel, premultiplied.
    ///
    /// - Precondition: `x` and `y` lie inside the picture.
    public subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel (\(x), \(y)) is outside \(size)")
        return baseAddress.load(fromByteOffset: y * bytesPerRow + x * 4, as: SIMD4<UInt8>.self)
    }
}
