internal import Glibc

/// The pixels of one image: **RGBA, 8 bits each, premultiplied, sRGB**, top row first, in that byte order.
///
/// Buffers are immutable and can be shared between threads; a ``MutablePixelBuffer`` makes them. The memory comes from
/// a pool and returns to it with the last reference, since touching fresh pages costs as much as
/// decoding a JPEG into them.
///
/// The memory is aligned to 64 bytes. A buffer that shares part of another's memory, as after cropping, is
/// aligned to 4 bytes and has gaps between its rows.
public final class PixelBuffer: Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The distance between the beginnings of two rows, in bytes: a multiple of 4, at least 4 a pixel.
    public let bytesPerRow: Int
    /// Whether every pixel is known to be opaque (alpha 255).
    public let isOpaque: Bool
    /// The memory retained, in bytes, which is the cost in caches. A buffer that shares part of another's memory
    /// retains all of it.
    public let byteCount: Int

    let storage: PixelStorage
    /// The distance from the beginning of the memory to the first pixel, in bytes.
    private let offset: Int

    /// Creates a buffer of all the memory allocated for an image of this size.
    init(width: Int, height: Int, bytesPerRow: Int, isOpaque: Bool, storage: PixelStorage) {
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.isOpaque = isOpaque
        self.storage = storage
        byteCount = bytesPerRow * height
        offset = 0
    }

    /// Creates a buffer that shares a part of `whole`'s memory, and retains all of it. Nothing is copied, unlike by the processor
    /// `.crop(toPixels:)`:
    ///
    /// ```swift
    /// let corner = PixelBuffer(PixelRect(x: 0, y: 0, width: 64, height: 64), of: image.pixels)
    /// ```
    ///
    /// - Precondition: `rect` is inside `whole`.
    public init(_ rect: PixelRect, of whole: PixelBuffer) {
        precondition(rect.clamped(to: whole.size) == rect, "\(rect.text) is outside \(whole.size)")
        width = rect.width
        height = rect.height
        bytesPerRow = whole.bytesPerRow
        isOpaque = whole.isOpaque
        storage = whole.storage
        byteCount = whole.byteCount
        offset = whole.offset + rect.y * whole.bytesPerRow + rect.x * 4
    }

    /// The width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// The distance from the first byte of the first row to the end of the last row, including gaps, in bytes.
    public var rowsByteCount: Int { bytesPerRow * (height - 1) + width * 4 }

    /// Calls `body` with all rows, from the first byte of the first to the last byte of the last. The pointer is valid
    /// until `body` returns. There are gaps between rows if ``bytesPerRow`` is more than 4 bytes per pixel.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: baseAddress, count: rowsByteCount))
    }

    /// The address of the top row, valid while this object exists. For C libraries that keep the object alive
    /// themselves.
    public var baseAddress: UnsafeRawPointer { UnsafeRawPointer(storage.address + offset) }

    /// Returns the first of the `4 * width` bytes of a row, valid while this object exists.
    ///
    /// - Parameter y: counted from the top, from 0 to ``height`` - 1. It is not checked.
    public func row(_ y: Int) -> UnsafePointer<UInt8> {
        (baseAddress + y * bytesPerRow).assumingMemoryBound(to: UInt8.self)
    }

    /// The red, green, blue and alpha bytes of a pixel, premultiplied.
    ///
    /// - Precondition: `x` and `y` are inside the image.
    public subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel (\(x), \(y)) is outside \(size)")
        return baseAddress.load(fromByteOffset: y * bytesPerRow + x * 4, as: SIMD4<UInt8>.self)
    }
}

extension PixelMemorySource {
    /// Returns a buffer in memory of this source, which gets it back with the last reference. A later change of the buffer writes into the memory.
    ///
    /// - Precondition: the memory has `bytesPerRow * size.height` bytes and is aligned to 4.
    package func buffer(
        at address: UnsafeMutableRawPointer, size: PixelSize, bytesPerRow: Int, isOpaque: Bool
    ) -> PixelBuffer {
        PixelBuffer(
            width: size.width, height: size.height, bytesPerRow: bytesPerRow, isOpaque: isOpaque,
            storage: PixelStorage(address, byteCount: bytesPerRow * size.height, source: self))
    }
}

extension PixelBuffer {
    /// Returns the pixels of `rect` that are inside the image.
    ///
    /// At least half of the image is not copied: the result shares this buffer's memory and retains all of it, as its
    /// ``byteCount`` says. Less than half is copied, so that small images do not retain large ones.
    ///
    /// - Returns: `nil` if no pixel is in `rect`; this object if all are.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    public func cropped(to rect: PixelRect) throws(WebImageError) -> PixelBuffer? {
        guard let rect = rect.clamped(to: size) else { return nil }
        guard rect.size != size else { return self }
        let part = PixelBuffer(rect, of: self)
        // Compared with the retained memory, of which this buffer may already be a part.
        guard rect.size.pixelCount * 4 < byteCount / 2 else { return part }
        return try part.copied().freeze(isOpaque: isOpaque)
    }

    /// Whether the memory belongs to a larger image.
    var isPart: Bool { byteCount > rowsByteCount }

    /// Returns a copy of the pixels, without gaps between rows, to change them.
    ///
    /// ```swift
    /// var copy = try image.pixels.copied()
    /// copy.withUnsafeMutableBytes { bytes in bytes[0] = 255 }
    /// let changed = copy.freeze(isOpaque: image.pixels.isOpaque)
    /// ```
    ///
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    public func copied() throws(WebImageError) -> MutablePixelBuffer {
        var copy = try MutablePixelBuffer(width: width, height: height, pool: storage.pool)
        let rowByteCount = copy.bytesPerRow
        copy.withUnsafeMutableBytes { bytes in
            guard let destination = bytes.baseAddress else { return }
            for row in 0..<height {
                memcpy(destination + row * rowByteCount, baseAddress + row * bytesPerRow, rowByteCount)
            }
        }
        return copy
    }
}
