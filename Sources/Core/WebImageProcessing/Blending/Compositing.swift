internal import CWebImageKernels
internal import WebImageCoding
internal import WebImageCore

struct BlendProcessor: PointProcessor {
    let operand: ImageOperand
    let x: Double
    let y: Double
    let mode: BlendMode
    let opacity: Double

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("blend", ["image": operand, "x": x, "y": y, "mode": mode, "opacity": opacity])
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

struct OverlayProcessor: PointProcessor {
    let operand: ImageOperand
    let position: ImageContentMode
    let margin: Double
    let opacity: Double
    let scale: Double

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "overlay",
            ["image": operand, "position": position, "margin": margin, "opacity": opacity, "scale": scale])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try check("opacity", opacity, in: 0...1)
        try checkFinite("margin", margin)
        let natural = try naturalSize(in: context)
        let margin = Double(context.pixelOffset(margin))
        let place = position.rect(
            of: PointSize(width: Double(natural.width), height: Double(natural.height)),
            in: PointRect(
                x: margin, y: margin, width: Double(pixels.width) - 2 * margin,
                height: Double(pixels.height) - 2 * margin))
        guard place.width > 0, place.height > 0 else { throw emptyResult }
        let size = try checkedSize(place.width, place.height)
        let overlay = try operand.pixels(size: size, cancellation: context.cancellation)
        return try pixels.blended(
            with: overlay, x: Int(place.x), y: Int(place.y), mode: .sourceOver, opacity: opacity,
            cancellation: context.cancellation)
    }

    /// The overlay's size in points, in pixels of the image below.
    private func naturalSize(in context: ProcessingContext) throws(WebImageError) -> PixelSize {
        let own = operand.image.pixels.size
        let factor = scale * context.scale / operand.image.scale
        guard factor > 0 else { throw invalid("scale", scale) }
        return try checkedSize(Double(own.width) * factor, Double(own.height) * factor)
    }

    /// Rounds lengths, and refuses those of an image that is too large to be shown, which would waste memory.
    private func checkedSize(_ width: Double, _ height: Double) throws(WebImageError) -> PixelSize {
        guard max(width, height) <= Double(PixelSize.maximumDimension), width * height <= 1e8 else {
            throw invalid("scale", scale)
        }
        return PixelSize(width: max(1, Int(width.rounded())), height: max(1, Int(height.rounded())))
    }
}

struct MaskProcessor: PointProcessor {
    let operand: ImageOperand
    let usesAlpha: Bool

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("mask", ["image": operand, "channel": usesAlpha ? "alpha" : "luminance"])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        let mask = try operand.pixels(size: pixels.size, cancellation: context.cancellation)
        let (width, isLuminance) = (pixels.width, !usesAlpha)
        let isOpaque = pixels.isOpaque && usesAlpha && mask.isOpaque
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
