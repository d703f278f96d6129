public import WebImageCore

extension ImageProcessors {
    /// Lays a colour over a picture.
    ///
    /// With ``BlendMode/sourceIn``, the default as in SDWebImage, what is left of the picture is its shape, in the colour: how
    /// icons are coloured. (YYWebImage fills with the colour and lays the picture over it by `destinationIn`, which is the
    /// same.) ``BlendMode/color`` or ``BlendMode/multiply`` colour a photograph.
    public struct Tint: PixelProcessor {
        /// The colour.
        public let color: Color
        /// How it meets the picture's colours.
        public let mode: BlendMode

        /// Makes a processor; components that are not finite are an error when it runs, those beyond 0
        /// to 1 are cut.
        public init(_ color: Color, mode: BlendMode = .sourceIn) {
            self.color = color
            self.mode = mode
        }

        /// `tint` with colour and mode.
        public var identifier: ProcessorIdentifier { ProcessorIdentifier("tint", ["color": color, "mode": mode]) }

        /// Pixels with the colour above them.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkColor("color", color)
            return try pixels.blended(with: color, mode: mode, cancellation: context.cancellation)
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Tint {
    /// Lays a colour over a picture; see ``ImageProcessors/Tint``.
    public static func tint(_ color: Color, mode: BlendMode = .sourceIn) -> Self { Self(color, mode: mode) }
}

extension Image {
    /// This picture with a colour over it; blocks the calling thread.
    ///
    /// - Parameter mode: with ``BlendMode/sourceIn``, the default, the shape of the picture in that colour.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for components that are not finite,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func tinted(
        _ color: Color, mode: BlendMode = .sourceIn, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Tint(color, mode: mode).process(self, cancellation: cancellation)
    }
}
