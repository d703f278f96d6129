import Synchronization
internal import WebImageCoding
public import WebImageCore

/// Makes one image out of another, such as a resized or blurred one. Written with a leading dot:
///
/// ```swift
/// let avatar = try await photo.processed(by: [.resize(to: .points(width: 48)), .circle()])
/// ```
///
/// Lengths are in points unless a label says pixels; an image has ``Image/scale`` pixels per point. Invalid numbers,
/// such as NaN, are errors when the processor runs. ``transform(id:eachFrame:_:)`` makes a processor of a closure.
///
/// The result keeps the image's format, scale and ``Image/extendedData``. It loses its encoded bytes, which no longer
/// match, and is marked as ``Image/isTransformed``. Frames of an animation are processed the same way, each when it is
/// decoded.
public struct ImageProcessor: Sendable {
    let base: any Processor

    init(_ base: any Processor) { self.base = base }

    /// The processor's name with all parameters.
    public var identifier: ProcessorIdentifier { base.identifier }

    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        try base.process(image, cancellation: cancellation)
    }
}

/// The operation of an ``ImageProcessor``.
package protocol Processor: Sendable {
    /// Names the processor and every parameter the result depends on: two processors with the same identifier make the
    /// same image of the same input. Caches find results by it.
    var identifier: ProcessorIdentifier { get }

    /// Returns the processed image. Blocks the calling thread.
    ///
    /// - Parameter cancellation: checked every millisecond or two.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for invalid parameters,
    ///   ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``. An image is never half processed.
    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image
}

extension Processor {
    /// This, where any processor is expected.
    package var erased: ImageProcessor { ImageProcessor(self) }
}

/// A processor that changes nothing but pixels.
package protocol PixelProcessor: Processor {
    /// Returns the processed pixels.
    ///
    /// - Parameters:
    ///   - scale: pixels per point.
    ///   - cancellation: to be checked every millisecond or two.
    /// - Throws: the same errors as ``Processor/process(_:cancellation:)``.
    func process(
        _ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer
}

extension PixelProcessor {
    /// Processes the image's pixels, and the frames of its animation as they are decoded.
    package func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        let pixels = try process(image.pixels, scale: image.scale, cancellation: cancellation)
        return image.processed(by: self, into: pixels)
    }
}

extension Image {
    /// Not part of the function above, which is compiled for each processor.
    @inline(never)
    fileprivate func processed(by processor: any PixelProcessor, into pixels: PixelBuffer) -> Image {
        var result = self
        result.pixels = pixels
        result.data = nil
        result.isTransformed = true
        result.animation = animation.map { source in
            ProcessedAnimation(source, processor: processor, scale: scale, frameSize: pixels.size)
        }
        return result
    }
}

extension ImageProcessor {
    /// Processes pixels that belong to no image, such as a frame of an animation. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - pixels: premultiplied, in sRGB.
    ///   - scale: pixels per point.
    ///   - cancellation: polled every millisecond or two; `nil` for none.
    /// - Throws: the errors of ``Image/processed(by:firstFrameOnly:cancellation:)``.
    public func processPixels(
        _ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        if let processor = base as? any PixelProcessor {
            return try processor.process(pixels, scale: scale, cancellation: cancellation)
        }
        return try base.process(Image(pixels: pixels, scale: scale), cancellation: cancellation).pixels
    }
}

extension Image {
    /// Returns this image processed by `processors`, in order. Blocks the calling thread.
    ///
    /// - Parameter firstFrameOnly: whether an animation becomes a still; by default all frames are processed.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for invalid parameters,
    ///   ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    public func processed(
        by processors: [ImageProcessor], firstFrameOnly: Bool = false, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        var image = self
        if firstFrameOnly, image.animation != nil {
            image.animation = nil
            image.data = nil
        }
        return try ProcessorChain(processors).process(image, cancellation: cancellation)
    }

    /// Returns this image processed by `processors`, in order. Runs on the threads for decoding and blocks no
    /// cooperative thread. Cancelling the task stops the work.
    ///
    /// - Throws: the errors of the function above, and ``WebImageError/cancelled``.
    public func processed(
        by processors: [ImageProcessor], firstFrameOnly: Bool = false, priority: LoadPriority = .normal
    ) async throws(WebImageError) -> Image {
        let result = await DecodingQueue.run(priority: priority) { cancellation in
            Result { () throws(WebImageError) in
                try processed(by: processors, firstFrameOnly: firstFrameOnly, cancellation: cancellation)
            }
        }
        guard let result else { throw .cancelled }
        return try result.get()
    }
}

/// An animation whose frames are processed when they are decoded. Their count, durations and loops stay.
struct ProcessedAnimation: LimitedAnimation {
    /// The same processing of one source, or of two versions of it, gives the same identity.
    let identity: AnimationIdentity
    private let source: any AnimationSource
    private let processor: any PixelProcessor
    private let scale: Double
    let frameSize: PixelSize

    /// - Parameter frameSize: the size of a processed frame.
    init(_ source: any AnimationSource, processor: any PixelProcessor, scale: Double, frameSize: PixelSize) {
        identity = source.identity.changed(
            by: "\(processor.identifier)@\(scale) \(frameSize.width)x\(frameSize.height)")
        self.source = source
        self.processor = processor
        self.scale = scale
        self.frameSize = frameSize
    }

    var frames: [AnimationFrame] { source.frames }
    var loopCount: Int { source.loopCount }
    var isComplete: Bool { source.isComplete }
    var byteCount: Int { source.byteCount }
    var limits: DecodingLimits? { (source as? any LimitedAnimation)?.limits }

    func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private final class Reader: ExtensibleFrameReader {
        private let animation: ProcessedAnimation
        private let source: any AnimationFrameReader

        init(_ animation: ProcessedAnimation) {
            self.animation = animation
            source = animation.source.makeFrameReader()
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let frame = try source.frame(at: index, cancellation: cancellation)
            return try animation.processor.process(frame, scale: animation.scale, cancellation: cancellation)
        }

        func update(to source: any AnimationSource) -> Bool {
            guard let longer = source as? ProcessedAnimation, longer.identity == animation.identity else {
                return false
            }
            return (self.source as? any ExtensibleFrameReader)?.update(to: longer.source) == true
        }
    }
}

/// Processors that run one after the other. An error of one ends the chain.
package struct ProcessorChain: Processor {
    /// In the order in which they run, without nested chains.
    package let processors: [ImageProcessor]

    /// Makes a chain; an empty one leaves images as they are.
    package init(_ processors: [ImageProcessor]) {
        self.processors = processors.flatMap { ($0.base as? ProcessorChain)?.processors ?? [$0] }
    }

    package var identifier: ProcessorIdentifier { ProcessorIdentifier(chain: processors.map(\.identifier)) }

    /// The chain's beginnings, shortest first, the whole chain last. The image each one makes can be cached, and shared
    /// by all chains that begin the same.
    var prefixes: [ProcessorChain] {
        processors.indices.map { ProcessorChain(Array(processors[...$0])) }
    }

    /// Whether a processor's results cannot be cached, because nothing tells it from others of its kind.
    package var isAnonymous: Bool {
        processors.contains { processor in
            let closure = (processor.base as? FrameClosureProcessor)?.closure ?? processor.base as? ClosureProcessor
            return closure?.isAnonymous == true
        }
    }

    package func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        var image = image
        for processor in processors {
            try cancellation?.check()
            image = try processor.process(image, cancellation: cancellation)
        }
        return image
    }
}

/// A closure as a processor; see ``ImageProcessor/transform(id:eachFrame:_:)``.
struct ClosureProcessor: Processor {
    let identifier: ProcessorIdentifier
    let isAnonymous: Bool
    private let body: @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image

    private static let lastNumber = Atomic(0)

    init(
        id: String?, name: String = "transform",
        _ body: @escaping @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image
    ) {
        isAnonymous = id == nil
        identifier =
            if let id {
                ProcessorIdentifier(name, ["id": id])
            } else {
                ProcessorIdentifier(
                    name, ["number": "\(Self.lastNumber.add(1, ordering: .relaxed).newValue)"])
            }
        self.body = body
    }

    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        do {
            var result = try body(image, cancellation)
            if result.pixels !== image.pixels {
                // Both would show the image as it was before.
                result.data = nil
                if result.animation?.identity == image.animation?.identity { result.animation = nil }
            }
            result.isTransformed = true
            result.isPartial = result.isPartial || image.isPartial
            return result
        } catch let error as WebImageError {
            throw error
        } catch {
            throw .processing(identifier: identifier.description, reason: .failed(String(describing: error)))
        }
    }
}

/// A closure that is called with each frame of an animation.
struct FrameClosureProcessor: PixelProcessor {
    let closure: ClosureProcessor

    var identifier: ProcessorIdentifier { closure.identifier }

    func process(
        _ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        try closure.process(Image(pixels: pixels, scale: scale), cancellation: cancellation).pixels
    }
}
