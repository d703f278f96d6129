public import WebImageCore
import WebImageProcessing

/// What is shown until a picture is there.
public enum Placeholder: Sendable {
    /// A picture, at its own proportions.
    case image(Image)
    /// One colour over the whole place.
    case color(Color)
    /// A blurred impression in some 30 characters, which a server sends along with a picture's URL; see ``BlurHash``.
    case blurHash(String)
    /// As ``blurHash(_:)``, with proportions and transparency, in base64; see ``ThumbHash``.
    case thumbHash(String)
    /// The same picture in another size, if the manager has put one into memory: a list's thumbnail, until the large picture is
    /// there.
    case cachedVariant
    /// What a closure makes of the request; it is called on the thread that shows it, so it must be quick. `nil` shows
    /// nothing.
    case closure(@Sendable (WebImageRequest) -> Image?)

    /// The side of a picture made of a ``blurHash(_:)``, in pixels: shown larger, it looks no worse than a larger one.
    static let blurHashSide = 32

    /// The picture to show for `request`; `nil` where there is none. It takes a fraction of a millisecond, and does not touch
    /// the disk.
    ///
    /// - Throws: ``WebImageError/invalidPlaceholderHash(_:reason:)``, ``WebImageError/outOfMemory(byteCount:)``, and for a
    ///   colour that is none ``WebImageError/processing(identifier:reason:)``.
    public func image(
        for request: WebImageRequest, manager: WebImageManager = .shared
    ) throws(WebImageError) -> Image? {
        switch self {
        case .cachedVariant: manager.cachedVariant(of: request)
        case .closure(let body): body(request)
        case .image, .color, .blurHash, .thumbHash: try image()
        }
    }

    /// The picture to show where nothing is asked for; `nil` for those that depend on a request.
    ///
    /// - Throws: as ``image(for:manager:)``.
    public func image() throws(WebImageError) -> Image? {
        switch self {
        case .image(let image): image
        case .color(let color): try Image(color: color, size: PointSize(width: 1, height: 1))
        case .blurHash(let hash): try BlurHash(hash).image(width: Self.blurHashSide, height: Self.blurHashSide)
        case .thumbHash(let hash): try ThumbHash(hash).image()
        case .cachedVariant, .closure: nil
        }
    }
}

extension WebImageManager {
    /// The largest picture of a request's URL that memory has in any size, as long as no processor has changed it: synchronous,
    /// without touching the disk. ``cachedImage(for:)-(WebImageRequest)`` finds the very one.
    ///
    /// Only what this manager has put there is known.
    public func cachedVariant(of request: WebImageRequest) -> Image? {
        var request = prepared(request)
        request.processors = []
        guard let (pipeline, context) = place(of: request) else { return nil }
        return pipeline.largestInMemory(of: context)
    }
}
