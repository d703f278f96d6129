public import WebImageCore

/// Makes one picture out of another: a resize, rounded corners, a blur.
///
/// The library's own are written with a leading dot where one is expected, and stand in ``ImageProcessors``:
///
/// ```swift
/// let avatar = try photo.processed(by: [.resize(to: PointSize(width: 48, height: 48)), .circle()])
/// ```
///
/// Most processors change pixels and know nothing of animations: they conform to ``PixelProcessor``.
public protocol ImageProcessor: Sendable {
    /// What it does, with every parameter that the result depends on: two processors with the same identifier make the
    /// same picture of the same picture. Caches find results by it.
    var identifier: ProcessorIdentifier { get }

    /// The processed picture; blocks the calling thread for as long as that takes.
    ///
    /// - Parameter cancellation: looked at every millisecond or two.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for parameters that make no sense, alone or with this
    ///   picture, ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``. There is no half-processed picture.
    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image
}

/// A processor that makes pixels of pixels, whatever else belongs to their picture.
///
/// Everything else of the picture stays: its format, scale and the caller's ``Image/extendedData``. It loses the bytes it
/// was decoded from, which no longer show it, and is marked as ``Image/isTransformed``. Of an animation, all frames are
/// processed the same way, each when it is asked for.
public protocol PixelProcessor: ImageProcessor {
    /// The processed pixels.
    ///
    /// - Parameter context: what the pixels belong to.
    /// - Throws: as ``ImageProcessor/process(_:cancellation:)``.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer
}

/// What a ``PixelProcessor`` needs to know besides the pixels.
public struct ProcessingContext: Sendable {
    /// Pixels in a point: lengths in points are multiplied by it.
    public var scale: Double
    /// Looked at between batches of rows.
    public var cancellation: Cancellation?

    /// Makes a context.
    public init(scale: Double = 1, cancellation: Cancellation? = nil) {
        self.scale = scale
        self.cancellation = cancellation
    }
}

extension PixelProcessor {
    /// Processes the picture's pixels, and its animation's frames as they are asked for.
    public func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        let context = ProcessingContext(scale: image.scale, cancellation: cancellation)
        var result = image
        result.pixels = try process(image.pixels, in: context)
        result.data = nil
        result.isTransformed = true
        result.animation = image.animation.map { source in
            ProcessedAnimation(source, processor: self, scale: image.scale, frameSize: result.pixels.size)
        }
        return result
    }
}
