internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Blurs a picture, or what a mask shows of it.
    ///
    ///     picture ─┬─▶ blur ─▶ saturation ─▶ tint ─▶ through the mask ─▶ result
    ///              └───────────────────────────────▶ where it is closed ──┘
    public struct Blur: PixelProcessor {
        /// How.
        public let effect: BlurEffect
        private let mask: ImageOperand?
        /// What of the mask decides.
        public let maskChannel: MaskChannel

        /// Makes a processor; a radius below 0, and whatever is no finite number, are errors when it runs.
        ///
        /// - Parameters:
        ///   - mask: stretched over the picture: where it lets nothing through, the picture stays as it is.
        ///   - maskID: tells `mask` from all others in the processor's identifier. Without one its pixels do, which are
        ///     hashed here: some 25 milliseconds a megapixel.
        public init(
            _ effect: BlurEffect, mask: Image? = nil, maskID: String? = nil, maskChannel: MaskChannel = .luminance
        ) {
            self.effect = effect
            self.mask = mask.map { ImageOperand($0, id: maskID) }
            self.maskChannel = maskChannel
        }

        /// `blur` with everything the result depends on.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier(
                "blur",
                [
                    "radius": effect.radius, "saturation": effect.saturation, "tint": effect.tint,
                    "tintMode": effect.tint.map { _ in effect.tintMode }, "mask": mask,
                    "maskChannel": mask.map { _ in maskChannel },
                ])
        }

        /// Blurred pixels.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkNotNegative("radius", effect.radius)
            try check("saturation", effect.saturation, in: .singlePrecision)
            if let tint = effect.tint { try checkColor("tint", tint) }
            let cancellation = context.cancellation
            var result = try pixels.blurred(radius: effect.radius * context.scale, cancellation: cancellation)
            result = try result.recolored(by: .saturation(effect.saturation), cancellation: cancellation)
            if let tint = effect.tint {
                result = try result.blended(with: tint, mode: effect.tintMode, cancellation: cancellation)
            }
            if let mask {
                let mask = try mask.pixels(size: pixels.size, cancellation: cancellation)
                result = try result.mixed(
                    with: pixels, through: mask, isLuminance: maskChannel == .luminance, cancellation: cancellation)
            }
            return result
        }
    }
}

extension PixelBuffer {
    /// These pixels where a mask lets them through, those of `outside` for the rest. All three have one size.
    fileprivate func mixed(
        with outside: PixelBuffer, through mask: PixelBuffer, isLuminance: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let width = width
        return try mapRows(isOpaque: isOpaque && outside.isOpaque, cancellation: cancellation) {
            y, inside, destination in
            cwi_mix_by_picture(inside, outside.row(y), mask.row(y), destination, width, isLuminance)
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Blur {
    /// Blurs with a radius in points: about twice a Gaussian's standard deviation.
    public static func blur(radius: Double) -> Self { Self(BlurEffect(radius: radius)) }

    /// Blurs as one of the kinds of frosted glass, or one of your own; see ``ImageProcessors/Blur``.
    public static func blur(
        _ effect: BlurEffect, mask: Image? = nil, maskID: String? = nil, maskChannel: MaskChannel = .luminance
    ) -> Self { Self(effect, mask: mask, maskID: maskID, maskChannel: maskChannel) }
}

extension Image {
    /// This picture blurred; blocks the calling thread.
    ///
    /// - Parameter radius: in points: about twice the standard deviation of a Gaussian. 0 changes nothing, and more than
    ///   8192 pixels count as that.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for a radius below 0 or that is no finite number,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func blurred(radius: Double, cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        try ImageProcessors.Blur(BlurEffect(radius: radius)).process(self, cancellation: cancellation)
    }

    /// This picture, or what `mask` shows of it, behind frosted glass; blocks the calling thread.
    ///
    /// - Parameter mask: stretched over the picture: where it lets nothing through, the picture stays as it is.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for numbers that make no sense,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func blurred(
        _ effect: BlurEffect, mask: Image? = nil, maskChannel: MaskChannel = .luminance,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        // Whoever asks for no identifier needs no digest.
        try ImageProcessors.Blur(effect, mask: mask, maskID: "", maskChannel: maskChannel)
            .process(self, cancellation: cancellation)
    }
}
