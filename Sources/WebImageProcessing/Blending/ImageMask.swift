internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

/// What of a mask's pixels decides how much passes through it.
public enum MaskChannel: String, Sendable, Hashable, Codable, CaseIterable, ProcessorParameter {
    /// White lets everything through, black and clear nothing: luma (Rec. 709) of the premultiplied colour, as SVG's masks.
    case luminance
    /// Opaque lets everything through, clear nothing, whatever the colour.
    case alpha
}

extension ImageProcessors {
    /// Leaves of a picture what a mask lets through; the rest becomes clear.
    public struct ImageMask: PixelProcessor {
        private let operand: ImageOperand
        /// What decides.
        public let channel: MaskChannel

        /// Makes a processor.
        ///
        /// - Parameters:
        ///   - mask: stretched over the picture. A moving picture's first frame is taken.
        ///   - id: tells `mask` from all others in the processor's identifier. Without one its pixels do, which are
        ///     hashed here: some 25 milliseconds a megapixel.
        public init(_ mask: Image, id: String? = nil, channel: MaskChannel = .luminance) {
            operand = ImageOperand(mask, id: id)
            self.channel = channel
        }

        /// The mask.
        public var image: Image { operand.image }

        /// `mask` with the mask's identity.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("mask", ["image": operand, "channel": channel])
        }

        /// Pixels that have passed the mask.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            let mask = try operand.pixels(size: pixels.size, cancellation: context.cancellation)
            let (width, isLuminance) = (pixels.width, channel == .luminance)
            let isOpaque = pixels.isOpaque && !isLuminance && mask.isOpaque
            return try pixels.mapRows(isOpaque: isOpaque, cancellation: context.cancellation) {
                y, source, destination in
                cwi_mask_by_picture(source, mask.row(y), destination, width, isLuminance)
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.ImageMask {
    /// Leaves of a picture what a mask lets through; see ``ImageProcessors/ImageMask``.
    public static func mask(_ mask: Image, id: String? = nil, channel: MaskChannel = .luminance) -> Self {
        Self(mask, id: id, channel: channel)
    }
}

extension Image {
    /// What `mask`, stretched over this picture, lets through; blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func masked(
        by mask: Image, channel: MaskChannel = .luminance, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        // Whoever asks for no identifier needs no digest.
        try ImageProcessors.ImageMask(mask, id: "", channel: channel).process(self, cancellation: cancellation)
    }
}
