internal import CWebImageKernels
internal import WebImageCoding
internal import WebImageCore

/// The position of an overlay in an image.
public enum OverlayPosition: String, Sendable, Hashable, Codable, CaseIterable, ProcessorParameter {
    /// The top left corner.
    case topLeft
    /// The middle of the top side.
    case top
    /// The top right corner.
    case topRight
    /// The middle of the left side.
    case left
    /// The center.
    case center
    /// The middle of the right side.
    case right
    /// The bottom left corner.
    case bottomLeft
    /// The middle of the bottom side.
    case bottom
    /// The bottom right corner.
    case bottomRight
}

/// The part of a mask's pixels that decides how much passes through it.
public enum MaskChannel: String, Sendable, Hashable, Codable, CaseIterable, ProcessorParameter {
    /// White lets everything through, black and clear nothing: the luma (Rec. 709) of the premultiplied color, as for
    /// SVG masks.
    case luminance
    /// Opaque lets everything through, clear nothing.
    case alpha
}

struct BlendProcessor: PixelProcessor {
    let operand: ImageOperand
    let x: Double
    let y: Double
    let mode: BlendMode
    let opacity: Double

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("blend", values: ["image": operand, "x": x, "y": y, "mode": mode, "opacity": opacity])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try check("opacity", opacity, in: 0...1)
        try checkFinite("x", x)
        try checkFinite("y", y)
        return try pixels.blended(
            with: operand.image.pixels, x: context.pixelOffset(x), y: context.pixelOffset(y), mode: mode,
            opacity: opacity, cancellation: context.cancellation)
    }
}

struct OverlayProcessor: PixelProcessor {
    let operand: ImageOperand
    let position: OverlayPosition
    let margin: Double
    let opacity: Double
    let scale: Double

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "overlay",
            values: ["image": operand, "position": position, "margin": margin, "opacity": opacity, "scale": scale])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
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
        // Larger than any image that could show it, which would waste memory.
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

struct MaskProcessor: PixelProcessor {
    let operand: ImageOperand
    let channel: MaskChannel

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("mask", values: ["image": operand, "channel": channel])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        let mask = try operand.pixels(size: pixels.size, cancellation: context.cancellation)
        let (width, isLuminance) = (pixels.width, channel == .luminance)
        let isOpaque = pixels.isOpaque && !isLuminance && mask.isOpaque
        return try pixels.mapRows(isOpaque: isOpaque, cancellation: context.cancellation) {
            y, source, destination in
            cwi_mask_by_image(source, mask.row(y), destination, width, isLuminance)
        }
    }
}

/// A second image that a processor uses, with its part of the identifier.
final class ImageOperand: Sendable, ProcessorParameter {
    let image: Image
    private let id: String?
    /// Of the pixels, once it was needed. Hashing takes some 25 ms per megapixel.
    private let digest = Lock<String?>(nil)

    /// - Parameter id: names the image; without one, the SHA-256 of its pixels does.
    init(_ image: Image, id: String?) {
        self.image = image
        self.id = id
    }

    package var identifierValue: ProcessorIdentifier.Value {
        // The prefixes keep names and digests apart. The last hyphen ends them, since the scale has none.
        let name = id.map { "id-" + ProcessorIdentifier.escaped($0) } ?? "sha256-" + pixelDigest
        let scale = image.scale.identifierValue.description.replacing("-", with: "%2D")
        return ProcessorIdentifier.Value(verbatim: name + "-" + scale)
    }

    private var pixelDigest: String {
        digest.withLock { digest in
            let value = digest ?? image.pixels.digest
            digest = value
            return value
        }
    }

    /// Returns the pixels, resampled if they have another size.
    ///
    /// - Throws: the errors of ``PixelBuffer/resampled(to:cancellation:)``.
    func pixels(size: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        try image.pixels.resampled(to: size, cancellation: cancellation)
    }
}

extension PixelBuffer {
    /// SHA-256 of the size and the pixels.
    fileprivate var digest: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + width * 4 * height)
        for length in [width, height] {
            Swift.withUnsafeBytes(of: UInt64(length).littleEndian) { bytes.append(contentsOf: $0) }
        }
        for y in 0..<height { bytes.append(contentsOf: UnsafeBufferPointer(start: row(y), count: width * 4)) }
        return SHA256.hexDigest(of: bytes)
    }
}
