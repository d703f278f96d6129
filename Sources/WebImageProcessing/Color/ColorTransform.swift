public import WebImageCore

extension ImageProcessors {
    /// Changes each pixel's colour by a ``WebImageProcessing/ColorMatrix``.
    public struct ColorTransform: PixelProcessor {
        /// What becomes of the components.
        public let matrix: ColorMatrix

        /// Makes a processor; elements that are no finite numbers are an error when it runs.
        public init(_ matrix: ColorMatrix) { self.matrix = matrix }

        /// `colorMatrix` with its twenty numbers.
        public var identifier: ProcessorIdentifier { ProcessorIdentifier("colorMatrix", ["elements": matrix]) }

        /// Pixels with other colours.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            for element in matrix.elements { try check("elements", element, in: .singlePrecision) }
            return try pixels.recolored(by: matrix, cancellation: context.cancellation)
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.ColorTransform {
    /// Any change of colours that a matrix can express.
    public static func colorMatrix(_ matrix: ColorMatrix) -> Self { Self(matrix) }

    /// Greys of the same luma (Rec. 709, of the encoded components).
    public static func grayscale() -> Self { Self(.grayscale) }

    /// Opposite colours.
    public static func inverted() -> Self { Self(.inverted) }

    /// Brown, as ``ColorMatrix/sepia(_:)`` says.
    public static func sepia(_ amount: Double = 1) -> Self { Self(.sepia(amount)) }

    /// More colour, or less: ``ColorMatrix/saturation(_:)``, ``ColorMatrix/brightness(_:)`` and
    /// ``ColorMatrix/contrast(_:)``, in this order.
    public static func color(saturation: Double = 1, brightness: Double = 0, contrast: Double = 1) -> Self {
        Self(.saturation(saturation).followed(by: .brightness(brightness)).followed(by: .contrast(contrast)))
    }
}

extension Image {
    /// This picture with each colour changed by `matrix`; blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for elements that are not finite,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func recolored(
        by matrix: ColorMatrix, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.ColorTransform(matrix).process(self, cancellation: cancellation)
    }

    /// This picture in greys of the same luma (Rec. 709); blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func grayscaled(cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        try recolored(by: .grayscale, cancellation: cancellation)
    }

    /// This picture with more or less colour, brightness or contrast, in this order; blocks the calling thread.
    ///
    /// - Parameters:
    ///   - saturation: 0 is grey, 1 changes nothing.
    ///   - brightness: what is added to red, green and blue; 0 changes nothing.
    ///   - contrast: the distance from middle grey is multiplied by it; 1 changes nothing.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for what is not finite,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func adjusted(
        saturation: Double = 1, brightness: Double = 0, contrast: Double = 1, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.ColorTransform.color(saturation: saturation, brightness: brightness, contrast: contrast)
            .process(self, cancellation: cancellation)
    }
}
