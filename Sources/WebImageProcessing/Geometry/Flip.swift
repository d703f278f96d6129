internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Mirrors a picture.
    ///
    /// It is a copy: rows that run backwards through memory are more than GTK, cairo and encoders can show.
    public struct Flip: PixelProcessor, Hashable {
        /// What changes places.
        public enum Direction: String, Sendable, Hashable, CaseIterable {
            /// Left and right.
            case horizontal
            /// Top and bottom.
            case vertical
            /// Both, which is half a turn.
            case both
        }

        /// What changes places.
        public let direction: Direction

        /// Mirrors in a direction.
        public init(_ direction: Direction) { self.direction = direction }

        /// Such as `flip(direction:horizontal)`.
        public var identifier: ProcessorIdentifier { ProcessorIdentifier("flip", ["direction": direction]) }

        /// The mirrored pixels.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            let orientation: ImageOrientation =
                switch direction {
                case .horizontal: .upMirrored
                case .vertical: .downMirrored
                case .both: .down
                }
            return try pixels.upright(from: orientation, cancellation: context.cancellation)
        }
    }
}

extension ImageProcessors.Flip.Direction: ProcessorParameter {}

extension ImageProcessor where Self == ImageProcessors.Flip {
    /// Mirrors the picture; see ``ImageProcessors/Flip``.
    public static func flip(_ direction: ImageProcessors.Flip.Direction) -> Self { Self(direction) }
}
