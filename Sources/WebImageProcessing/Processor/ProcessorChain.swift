public import WebImageCore

/// Processors that run one after the other.
///
///     picture ──▶ first ──▶ second ──▶ … ──▶ result
///
/// An error of one is the error of all: what was done until then is dropped.
public struct ProcessorChain: ImageProcessor {
    /// In the order in which they run.
    public let processors: [any ImageProcessor]

    /// Makes a chain; an empty one leaves pictures as they are.
    public init(_ processors: [any ImageProcessor]) {
        self.processors = processors.flatMap { processor in
            (processor as? ProcessorChain)?.processors ?? [processor]
        }
    }

    /// The processors' own, in their order.
    public var identifier: ProcessorIdentifier { ProcessorIdentifier(chain: processors.map(\.identifier)) }

    /// The chain's beginnings, shortest first, the whole chain last: each makes a picture that can be kept, and that every
    /// chain with the same beginning can go on from.
    public var prefixes: [ProcessorChain] {
        processors.indices.map { ProcessorChain(Array(processors[...$0])) }
    }

    /// Runs the processors.
    public func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        var image = image
        for processor in processors {
            try cancellation?.check()
            image = try processor.process(image, cancellation: cancellation)
        }
        return image
    }
}
