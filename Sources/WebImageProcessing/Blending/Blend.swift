public import WebImageCore

extension ImageProcessors {
    /// Lays another picture over a picture. The result is as large as the picture below; where the other does not reach,
    /// nothing changes.
    public struct Blend: PixelProcessor {
        private let operand: ImageOperand
        /// From the left edge to the other picture's, in points; fractions of a pixel are rounded.
        public let x: Double
        /// From the top edge to the other picture's, in points.
        public let y: Double
        /// How colours meet.
        public let mode: BlendMode
        /// How much the other picture counts, 0 to 1.
        public let opacity: Double

        /// Makes a processor; an opacity outside 0 to 1 and offsets that are no number are errors when it runs.
        ///
        /// - Parameters:
        ///   - image: lies above, pixel on pixel whatever its scale. A moving picture's first frame is taken.
        ///   - id: tells `image` from all others in the processor's identifier. Without one its pixels do, which are
        ///     hashed here: some 25 milliseconds a megapixel.
        public init(
            _ image: Image, id: String? = nil, x: Double = 0, y: Double = 0, mode: BlendMode = .sourceOver,
            opacity: Double = 1
        ) {
            operand = ImageOperand(image, id: id)
            self.x = x
            self.y = y
            self.mode = mode
            self.opacity = opacity
        }

        /// The picture above.
        public var image: Image { operand.image }

        /// `blend` with the picture's identity and everything else.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("blend", ["image": operand, "x": x, "y": y, "mode": mode, "opacity": opacity])
        }

        /// Pixels with the others above them.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try check("opacity", opacity, in: 0...1)
            try checkFinite("x", x)
            try checkFinite("y", y)
            return try pixels.blended(
                with: operand.image.pixels, x: context.pixelOffset(x), y: context.pixelOffset(y), mode: mode,
                opacity: opacity,
                cancellation: context.cancellation)
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Blend {
    /// Lays another picture over a picture; see ``ImageProcessors/Blend``.
    public static func blend(
        _ image: Image, id: String? = nil, x: Double = 0, y: Double = 0, mode: BlendMode = .sourceOver,
        opacity: Double = 1
    ) -> Self { Self(image, id: id, x: x, y: y, mode: mode, opacity: opacity) }
}

extension Image {
    /// This picture with `other` over it, pixel on pixel; blocks the calling thread.
    ///
    /// - Parameters:
    ///   - x: from the left edge to the other's, in points.
    ///   - y: from the top edge to the other's, in points.
    ///   - opacity: 0 to 1.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for an opacity outside 0 to 1 or an offset that is no
    ///   number, ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func blended(
        with other: Image, x: Double = 0, y: Double = 0, mode: BlendMode = .sourceOver, opacity: Double = 1,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        // Whoever asks for no identifier needs no digest.
        try ImageProcessors.Blend(other, id: "", x: x, y: y, mode: mode, opacity: opacity)
            .process(self, cancellation: cancellation)
    }
}
