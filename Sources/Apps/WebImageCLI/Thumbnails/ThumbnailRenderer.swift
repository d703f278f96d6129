internal import FoundationEssentials
internal import WebImage
internal import WebImageCore

/// Makes thumbnails in separate processes, without the whole image in memory where its format allows it.
struct ThumbnailRenderer: Sendable {
    /// The decoders, which work in other processes only.
    private let codecs: CodecRegistry

    init(_ codecs: CodecRegistry = .shared, isolation: IsolatedDecoding = .shared) {
        self.codecs = codecs.isolated(by: .allFormats, in: isolation)
    }

    /// A thumbnail, and the size of the image that it shows.
    struct Result: Sendable {
        let png: Data
        let size: PixelSize
    }

    /// Blocks the calling thread.
    ///
    /// - Throws: the errors of reading and decoding a file, and ``WebImageError/isolation(format:reason:url:)``.
    func thumbnail(
        of file: Data, fitting size: ThumbnailSize, limits: DecodingLimits
    ) throws(WebImageError) -> Result {
        let info = try codecs.info(of: file, limits: limits)
        let image = try image(of: file, info, fitting: size, limits)
        return Result(png: try CodecRegistry.shared.encode(image, as: .png), size: info.size)
    }

    private func image(
        of file: Data, _ info: ImageInfo, fitting size: ThumbnailSize, _ limits: DecodingLimits
    ) throws(WebImageError) -> Image {
        var limits = limits
        do throws(WebImageError) {
            limits.memoryByteCount = Self.byteCount(withoutFrameOf: info.size)
            return try decode(file, fitting: size, limits)
        } catch {
            // The decoders of some formats need the whole image.
            guard case .limitExceeded(.memory, _) = error else { throw error }
            limits.memoryByteCount = Self.largestByteCount
            return try decode(file, fitting: size, limits)
        }
    }

    private func decode(
        _ file: Data, fitting size: ThumbnailSize, _ limits: DecodingLimits
    ) throws(WebImageError) -> Image {
        // Memory and time are what an image of the user costs: its pixels need not be in memory at once.
        let options = DecodingOptions(thumbnail: size.box, firstFrameOnly: true, limits: limits)
        return try codecs.decode(file, options: options)
    }

    /// Less memory than the pixels of an image take, so that decoders scale while they decode. A small image may be in memory as a whole.
    static func byteCount(withoutFrameOf size: PixelSize) -> Int {
        min(max(size.pixelCount * 4 - 1, 16 << 20), 256 << 20)
    }

    private static let largestByteCount = 1 << 30
}
