public import WebImageCore
import WebImageProcessing

/// The content of a view until the image is loaded.
///
/// ```swift
/// picture.setImage(url, placeholder: .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"))
/// ```
public enum Placeholder: Sendable {
    /// An image, at its own aspect ratio.
    case image(Image)
    /// One color that fills the view.
    case color(Color)
    /// A blurred preview in about 30 characters, which a server sends with an image's URL; see ``BlurHash``. It fills the
    /// view, because a hash does not contain the proportions of its image.
    case blurHash(String)
    /// Like ``blurHash(_:)``, but with aspect ratio and transparency, in base64; see ``ThumbHash``.
    case thumbHash(String)
    /// Another size of the same image, if the manager has put one into memory: for example a list's thumbnail until the
    /// large image is loaded.
    case cachedVariant
    /// The image that a closure returns for the request; `nil` shows nothing. The closure is called on the thread that
    /// shows the image, so it must return quickly.
    case closure(@Sendable (WebImageRequest) -> Image?)

    /// The side of an image made from a ``blurHash(_:)``, in pixels. Scaled up, it looks as good as a larger one.
    static let blurHashSide = 32

    /// Returns the image to show for `request`; `nil` if there is none. This takes a fraction of a millisecond and does
    /// not read the disk.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, ``WebImageError/outOfResources(reason:url:)``, and
    ///   ``WebImageError/processing(identifier:reason:url:)`` for an invalid color.
    public func image(
        for request: WebImageRequest, manager: WebImageManager = .shared
    ) throws(WebImageError) -> Image? {
        switch self {
        case .cachedVariant: manager.cachedVariant(of: request)
        case .closure(let body): body(request)
        case .image, .color, .blurHash, .thumbHash: try image()
        }
    }

    /// Returns the image to show without a request; `nil` for placeholders that depend on one.
    ///
    /// - Throws: ``WebImageError`` if a BlurHash or ThumbHash is malformed, or a color's image cannot be made.
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
    /// Returns the largest image of a request's URL in memory, in any size and without processors; `nil` if there is
    /// none. This does not read the disk. ``cachedImage(for:)`` returns the exact image.
    ///
    /// Other sizes than the request's are found only if this manager has put them into memory.
    public func cachedVariant(of request: WebImageRequest) -> Image? {
        var request = prepared(request)
        request.processors = []
        guard let (pipeline, context) = place(of: request) else { return nil }
        return pipeline.largestInMemory(of: context)
    }
}
