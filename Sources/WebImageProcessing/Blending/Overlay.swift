internal import WebImageCoding
public import WebImageCore

/// Where in a picture something lies.
public enum OverlayPosition: String, Sendable, Hashable, Codable, CaseIterable, ProcessorParameter {
    /// In the top left corner.
    case topLeft
    /// In the middle of the top side.
    case top
    /// In the top right corner.
    case topRight
    /// In the middle of the left side.
    case left
    /// In the middle.
    case center
    /// In the middle of the right side.
    case right
    /// In the bottom left corner.
    case bottomLeft
    /// In the middle of the bottom side.
    case bottom
    /// In the bottom right corner.
    case bottomRight
}

extension ImageProcessors {
    /// Puts a picture, such as a watermark, at a side, in a corner or in the middle of another.
    ///
    /// It is as large in points as it is by itself: one with a scale of 2 has half its pixels in a picture with a scale of 1.
    public struct Overlay: PixelProcessor {
        private let operand: ImageOperand
        /// Where it lies.
        public let position: OverlayPosition
        /// From the sides it lies at, in points; a negative one moves it out.
        public let margin: Double
        /// How much it covers, 0 to 1.
        public let opacity: Double
        /// How much larger than by itself.
        public let scale: Double

        /// Makes a processor; an opacity outside 0 to 1, a scale of 0 or less and a margin that is no number are errors when
        /// it runs.
        ///
        /// - Parameters:
        ///   - image: the watermark. A moving picture's first frame is taken.
        ///   - id: tells `image` from all others in the processor's identifier. Without one its pixels do, which are
        ///     hashed here: some 25 milliseconds a megapixel.
        public init(
            _ image: Image, id: String? = nil, at position: OverlayPosition = .bottomRight, margin: Double = 8,
            opacity: Double = 1, scale: Double = 1
        ) {
            operand = ImageOperand(image, id: id)
            self.position = position
            self.margin = margin
            self.opacity = opacity
            self.scale = scale
        }

        /// What is put over a picture.
        public var image: Image { operand.image }

        /// `overlay` with the picture's identity and everything else.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier(
                "overlay",
                ["image": operand, "position": position, "margin": margin, "opacity": opacity, "scale": scale])
        }

        /// Pixels with the overlay above them.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try check("opacity", opacity, in: 0...1)
            try checkFinite("margin", margin)
            let size = try overlaySize(in: context)
            let overlay = try operand.pixels(size: size, cancellation: context.cancellation)
            let margin = context.pixelOffset(margin)
            return try pixels.blended(
                with: overlay, x: horizontal.offset(of: size.width, in: pixels.width, margin: margin),
                y: vertical.offset(of: size.height, in: pixels.height, margin: margin), mode: .sourceOver,
                opacity: opacity, cancellation: context.cancellation)
        }

        private func overlaySize(in context: ProcessingContext) throws(WebImageError) -> PixelSize {
            let own = operand.image.pixels.size
            let factor = scale * context.scale / operand.image.scale
            // Larger than any picture that could show it, and memory for nothing.
            let isUsable =
                factor > 0 && Double(max(own.width, own.height)) * factor <= Self.largestLength
                && Double(own.pixelCount) * factor * factor <= Self.largestPixelCount
            guard isUsable else { throw invalid("scale", scale) }
            func scaled(_ length: Int) -> Int { max(1, Int((Double(length) * factor).rounded())) }
            return PixelSize(width: scaled(own.width), height: scaled(own.height))
        }

        private static let largestLength = Double(MutablePixelBuffer.maximumDimension)
        private static let largestPixelCount = 1e8

        private var horizontal: Alignment {
            switch position {
            case .topLeft, .left, .bottomLeft: .start
            case .top, .center, .bottom: .middle
            case .topRight, .right, .bottomRight: .end
            }
        }

        private var vertical: Alignment {
            switch position {
            case .topLeft, .top, .topRight: .start
            case .left, .center, .right: .middle
            case .bottomLeft, .bottom, .bottomRight: .end
            }
        }

        private enum Alignment {
            case start, middle, end

            func offset(of length: Int, in whole: Int, margin: Int) -> Int {
                switch self {
                case .start: margin
                case .middle: (whole - length) / 2
                case .end: whole - length - margin
                }
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Overlay {
    /// Puts a picture, such as a watermark, over a picture; see ``ImageProcessors/Overlay``.
    public static func overlay(
        _ image: Image, id: String? = nil, at position: OverlayPosition = .bottomRight, margin: Double = 8,
        opacity: Double = 1, scale: Double = 1
    ) -> Self { Self(image, id: id, at: position, margin: margin, opacity: opacity, scale: scale) }
}

extension Image {
    /// This picture with `overlay`, such as a watermark, over it; blocks the calling thread.
    ///
    /// - Parameters:
    ///   - margin: from the sides it lies at, in points.
    ///   - opacity: 0 to 1.
    ///   - scale: how much larger than by itself.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for numbers that make no sense,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func overlaid(
        with overlay: Image, at position: OverlayPosition = .bottomRight, margin: Double = 8, opacity: Double = 1,
        scale: Double = 1, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        // Whoever asks for no identifier needs no digest.
        try ImageProcessors.Overlay(
            overlay, id: "", at: position, margin: margin, opacity: opacity, scale: scale
        ).process(self, cancellation: cancellation)
    }
}
