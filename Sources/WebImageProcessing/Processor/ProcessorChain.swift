import Synchronization
package import WebImageCore

/// Processors that run one after the other. An error of one ends the chain.
package struct ProcessorChain: ImageProcessor {
    /// In the order in which they run, without nested chains.
    package let processors: [any ImageProcessor]

    /// Makes a chain; an empty one leaves images as they are.
    package init(_ processors: [any ImageProcessor]) {
        self.processors = processors.flatMap { processor in
            let processor = (processor as? StandardProcessor)?.base ?? processor
            return (processor as? ProcessorChain)?.processors ?? [processor]
        }
    }

    package var identifier: ProcessorIdentifier { ProcessorIdentifier(chain: processors.map(\.identifier)) }

    /// The chain's beginnings, shortest first, the whole chain last. The image each one makes can be cached, and shared by
    /// all chains that begin the same.
    package var prefixes: [ProcessorChain] {
        processors.indices.map { ProcessorChain(Array(processors[...$0])) }
    }

    /// Whether a processor's results cannot be cached, because nothing tells it from others of its kind.
    package var isAnonymous: Bool { processors.contains { ($0 as? ClosureProcessor)?.isAnonymous == true } }

    package func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        var image = image
        for processor in processors {
            try cancellation?.check()
            image = try processor.process(image, cancellation: cancellation)
        }
        return image
    }
}

/// A closure as a processor; see ``StandardProcessor/transform(id:_:)``.
struct ClosureProcessor: ImageProcessor {
    let identifier: ProcessorIdentifier
    let isAnonymous: Bool
    private let body: @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image

    private static let lastNumber = Atomic(0)

    init(id: String?, _ body: @escaping @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image) {
        isAnonymous = id == nil
        identifier =
            if let id {
                ProcessorIdentifier("transform", ["id": id])
            } else {
                ProcessorIdentifier(
                    "transform", ["number": "\(Self.lastNumber.add(1, ordering: .relaxed).newValue)"])
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
