internal import Glibc

/// Writable pixels with one owner, which freezes them into a ``PixelBuffer`` that can be shared.
///
/// ```swift
/// var pixels = try MutablePixelBuffer(width: 2, height: 2)
/// pixels.withUnsafeMutableBytes { $0.copyBytes(from: decoded) }
/// let image = Image(pixels: pixels.freeze(isOpaque: true))
/// ```
public struct MutablePixelBuffer: ~Copyable, Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The distance between the beginnings of two rows, in bytes.
    public let bytesPerRow: Int

    let storage: PixelStorage

    /// Allocates memory for `width` by `height` pixels of 4 bytes, without gaps between rows. The memory is **not**
    /// cleared: write every pixel.
    ///
    /// - Parameters:
    ///   - width: in pixels.
    ///   - height: in pixels.
    ///   - spareByteCount: bytes after the last row, for decoders that unpack into the memory to which they then write pixels; 0 by default.
    ///     ``withUnsafeMutableMemory(_:)`` gives access to them.
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)`` if a side is below 1 or above 65,535,
    ///   ``WebImageError/outOfResources(reason:url:)`` if the system has no such block.
    public init(width: Int, height: Int, spareByteCount: Int = 0) throws(WebImageError) {
        try self.init(width: width, height: height, spareByteCount: spareByteCount, pool: .shared)
    }

    init(
        width: Int, height: Int, spareByteCount: Int = 0, pool: PixelBufferPool
    ) throws(WebImageError) {
        guard (1...PixelSize.maximumDimension).contains(width), (1...PixelSize.maximumDimension).contains(height) else {
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
    public mutating func withUnsafeMutableMemory<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: storage.address, count: storage.byteCount))
    }

    /// The address of the top row, valid until this value is frozen or destroyed. For C libraries that write rows as
    /// their input arrives.
    public var baseAddress: UnsafeMutableRawPointer { storage.address }

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

extension MutablePixelBuffer {
    /// Makes the pixels of `buffer` mutable; `buffer` becomes `nil`.
    ///
    /// The memory is reused if nothing else refers to `buffer`, as with Swift's own collections. It is copied
    /// otherwise, or if the buffer is part of a larger image's memory.
    ///
    /// - Returns: `nil` if `buffer` is `nil`.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    public init?(thawing buffer: inout PixelBuffer?) throws(WebImageError) {
        if let part = buffer, part.isPart {
            buffer = nil
            self = try part.copied()
            return
        }
        guard let size = buffer?.size, let bytesPerRow = buffer?.bytesPerRow, var storage = buffer?.storage else {
            return nil
        }
        // Weak references to the buffer, as in caches, could bring it back while its pixels change. Therefore it is
        // released first: a strong reference made before that counts as another owner of its memory.
        buffer = nil
        if !isKnownUniquelyReferenced(&storage) { storage = try PixelStorage(copying: storage) }
        storage.source?.reopen(storage.address)
        self.init(size: size, bytesPerRow: bytesPerRow, storage: storage)
    }
}
