import Synchronization
public import WebImageCore
public import WebImageProcessing

extension ImageProcessors {
    /// A closure that makes one picture of another.
    public struct Transform: ImageProcessor {
        /// Of a closure with an id, the id; else one that no other has.
        public let identifier: ProcessorIdentifier
        /// Whether nobody can tell its results from those of other closures.
        let isAnonymous: Bool
        private let body: @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image

        private static let lastNumber = Atomic(0)

        /// Makes a processor of a closure.
        ///
        /// Of an animation it gets the first frame, and the frames as ``Image/animation``. What it gives with other pixels and
        /// the same frames is a still.
        ///
        /// - Parameters:
        ///   - id: names what it does, with every parameter that the result depends on. Without one, the result is not
        ///     cached: the closure runs for every load, since nothing tells one closure from the next.
        ///   - body: runs on a thread for decoding. What it throws is
        ///     ``WebImageError/processing(identifier:reason:)``, unless it is a ``WebImageError`` itself.
        public init(
            id: String? = nil,
            _ body: @escaping @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image
        ) {
            isAnonymous = id == nil
            identifier =
                if let id {
                    ProcessorIdentifier("transform", ["id": id])
                } else {
                    ProcessorIdentifier(
                        "transform", ["number": Self.lastNumber.add(1, ordering: .relaxed).newValue])
                }
            self.body = body
        }

        /// Runs the closure.
        public func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
            do {
                var result = try body(image, cancellation)
                if result.pixels !== image.pixels {
                    // These would show what the picture was before.
                    result.data = nil
                    if result.animation?.identity == image.animation?.identity { result.animation = nil }
                }
                result.isTransformed = true
                result.isPartial = result.isPartial || image.isPartial
                return result
            } catch let error as WebImageError {
                throw error
            } catch {
                throw .processing(
                    identifier: identifier.description, reason: .failed(String(describing: error)))
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Transform {
    /// A closure as a processor; see ``ImageProcessors/Transform/init(id:_:)``.
    public static func transform(
        id: String? = nil, _ body: @escaping @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image
    ) -> Self { ImageProcessors.Transform(id: id, body) }
}
