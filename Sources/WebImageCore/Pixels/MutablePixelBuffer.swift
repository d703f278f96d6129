internal import Glibc

/// Pixels in the making: one owner writes them, then freezes them into a ``PixelBuffer`` that can be shared.
///
/// ```swift
/// var pixels = try MutablePixelBuffer(width: 2, height: 2)
/// pixels.withUnsafeMutableBytes { $0.copyBytes(from: decoded) }
/// let image = Image(pixels: pixels.freeze(isOpaque: true))
/// ```
public struct MutablePixelBuffer: ~Copyable, Sendable {
    /// The longest side it takes: what GTK, cairo and most codecs can address.
    public static let maximumDimension = 65_535

    /// Pixels across.
    public let width: Int
    /// Pixels down.
    public let height: Int
    /// From one row's first byte to the next row's, in bytes.
    public let bytesPerRow: Int

    private let storage: PixelStorage

    /// Takes memory for `width` by `height` pixels from `pool`. Its content is **not** cleared: write every pixel.
    ///
    /// - Throws: ``WebImageError/invalidSize(width:height:)`` when a side is below 1 or above ``maximumDimension``,
    ///   ``WebImageError/outOfMemory(byteCount:)`` when the system has no such block.
    public init(width: Int, height: Int, pool: PixelBufferPool = .shared) throws(WebImageError) {
        try self.init(width: width, height: height, spareByteCount: 0, pool: pool)
    }

    /// Takes memory with `spareByteCount` bytes behind the last row, for a decoder that unpacks into the memory it then
    /// writes pixels to; ``withUnsafeMutableMemory(_:)`` reaches them.
    package init(
        width: Int, height: Int, spareByteCount: Int, pool: PixelBufferPool = .shared
    ) throws(WebImageError) {
        guard (1...Self.maximumDimension).contains(width), (1...Self.maximumDimension).contains(height) else {
            throw .invalidSize(width: width, height: height)
        }
        let storage = try PixelStorage(byteCount: width * 4 * height + spareByteCount, pool: pool)
        self.width = width
        self.height = height
        self.bytesPerRow = width * 4
        self.storage = storage
    }

    /// Goes on with memory that nobody else writes, or reads while it is written.
    init(size: PixelSize, bytesPerRow: Int, storage: PixelStorage) {
        width = size.width
        height = size.height
        self.bytesPerRow = bytesPerRow
        self.storage = storage
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// Calls `body` with all rows; the pointer is good until `body` returns.
    public mutating func withUnsafeMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: storage.address, count: bytesPerRow * height))
    }

    /// Calls `body` with all rows and the spare bytes behind them; the pointer is good until `body` returns.
    package mutating func withUnsafeMutableMemory<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: storage.address, count: storage.byteCount))
    }

    /// The address of the top row, good until this value is frozen or dropped: for C libraries that write rows as their
    /// input arrives.
    package var baseAddress: UnsafeMutableRawPointer { storage.address }

    /// Sets every byte to 0: transparent black.
    public mutating func clear() {
        memset(storage.address, 0, bytesPerRow * height)
    }

    /// Ends the writing and hands the memory over.
    ///
    /// - Parameter isOpaque: whether every pixel's alpha is 255.
    public consuming func freeze(isOpaque: Bool) -> PixelBuffer {
        PixelBuffer(width: width, height: height, bytesPerRow: bytesPerRow, isOpaque: isOpaque, storage: storage)
    }
}
