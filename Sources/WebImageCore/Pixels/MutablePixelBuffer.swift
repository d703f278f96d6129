internal import Glibc

/// Writable pixels with one owner, which freezes them into a ``PixelBuffer`` that can be shared.
///
/// ```swift
/// var pixels = try MutablePixelBuffer(width: 2, height: 2)
/// pixels.withUnsafeMutableBytes { $0.copyBytes(from: decoded) }
/// let image = Image(pixels: pixels.freeze(isOpaque: true))
/// ```
public struct MutablePixelBuffer: ~Copyable, Sendable {
    /// The longest side in pixels, which GTK, cairo and most codecs can address.
    public static let maximumDimension = 65_535

    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The distance between the beginnings of two rows, in bytes.
    public let bytesPerRow: Int

    private let storage: PixelStorage

    /// Allocates memory for `width` by `height` pixels from `pool`. The memory is **not** cleared: write every pixel.
    ///
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)`` if a side is below 1 or above ``maximumDimension``,
    ///   ``WebImageError/outOfResources(reason:url:)`` if the system has no such block.
    public init(width: Int, height: Int, pool: PixelBufferPool = .shared) throws(WebImageError) {
        try self.init(width: width, height: height, spareByteCount: 0, pool: pool)
    }

    /// Allocates memory with `spareByteCount` bytes after the last row, for decoders that unpack into the memory to
    /// which they then write pixels. ``withUnsafeMutableMemory(_:)`` gives access to them.
    package init(
        width: Int, height: Int, spareByteCount: Int, pool: PixelBufferPool = .shared
    ) throws(WebImageError) {
        guard (1...Self.maximumDimension).contains(width), (1...Self.maximumDimension).contains(height) else {
            throw .limitExceeded(reason: .side(width: width, height: height))
        }
        let storage = try PixelStorage(byteCount: width * 4 * height + spareByteCount, pool: pool)
        self.width = width
        self.height = height
        self.bytesPerRow = width * 4
        self.storage = storage
    }

    /// Uses existing memory that has no other writer, and no reader while it is written.
    init(size: PixelSize, bytesPerRow: Int, storage: PixelStorage) {
        width = size.width
        height = size.height
        self.bytesPerRow = bytesPerRow
        self.storage = storage
    }

    /// The width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// Calls `body` with all rows; the pointer is valid until `body` returns.
    public mutating func withUnsafeMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: storage.address, count: bytesPerRow * height))
    }

    /// Calls `body` with all rows and the spare bytes after them; the pointer is valid until `body` returns.
    package mutating func withUnsafeMutableMemory<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: storage.address, count: storage.byteCount))
    }

    /// The address of the top row, valid until this value is frozen or destroyed. For C libraries that write rows as
    /// their input arrives.
    package var baseAddress: UnsafeMutableRawPointer { storage.address }

    /// Sets every byte to 0: transparent black.
    public mutating func clear() {
        memset(storage.address, 0, bytesPerRow * height)
    }

    /// Ends writing and returns the pixels as an immutable buffer.
    ///
    /// - Parameter isOpaque: whether every pixel's alpha is 255.
    public consuming func freeze(isOpaque: Bool) -> PixelBuffer {
        PixelBuffer(width: width, height: height, bytesPerRow: bytesPerRow, isOpaque: isOpaque, storage: storage)
    }
}
