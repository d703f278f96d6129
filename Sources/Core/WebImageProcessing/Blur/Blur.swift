internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

/// A blur and a change of its colors, such as frosted glass.
///
/// ```swift
/// let glass = try await image.processed(by: [.blur(.light)])
/// let custom = BlurEffect(radius: 12, saturation: 1.5, tint: Color(red: 0, green: 0, blue: 0, alpha: 0.3))
/// picture.setImage(url, processors: [.blur(custom)])
/// ```
public struct BlurEffect: Sendable, Hashable {
    let radius: Double
    let saturation: Double
    let tint: Color?
    let tintMode: BlendMode

    /// Makes an effect.
    ///
    /// - Parameters:
    ///   - radius: in points, about twice the standard deviation of a Gaussian, as in UIImageEffects, YYWebImage and
    ///     SDWebImage.
    ///   - saturation: of the blurred image: 0 is gray, 1 changes nothing, negative numbers give opposite colors.
    ///   - tint: a color over the blurred image; none by default.
    ///   - tintMode: how the tint is combined with the image.
    public init(radius: Double, saturation: Double = 1, tint: Color? = nil, tintMode: BlendMode = .sourceOver) {
        self.radius = radius
        self.saturation = saturation
        self.tint = tint
        self.tintMode = tintMode
    }

    /// Suits any text: 60 points, with 36 % of light gray.
    public static let soft = glass(radius: 60, white: 0.84, alpha: 0.36)
    /// Suits dark text: 60 points, with 30 % of white, as Apple's light blur.
    public static let light = glass(radius: 60, white: 1, alpha: 0.3)
    /// Almost white: 40 points, with 82 % of light gray, as Apple's extra-light blur.
    public static let extraLight = glass(radius: 40, white: 0.97, alpha: 0.82)
    /// Suits light text: 40 points, with 73 % of dark gray, as Apple's dark blur.
    public static let dark = glass(radius: 40, white: 0.11, alpha: 0.73)

    /// Mostly `color`: 20 points, with 60 % of it over opposite colors, as Apple's tinted blur.
    public static func tinted(_ color: Color) -> BlurEffect {
        var tint = color
        tint.alpha = 0.6
        return BlurEffect(radius: 20, saturation: -1, tint: tint)
    }

    private static func glass(radius: Double, white: Double, alpha: Double) -> BlurEffect {
        BlurEffect(
            radius: radius, saturation: 1.8, tint: Color(red: white, green: white, blue: white, alpha: alpha))
    }
}

///     image ─┬─▶ blur ─▶ saturation ─▶ tint ─▶ where the mask is open ──▶ result
///            └──────────────────────────────▶ where it is closed ───┘
struct BlurProcessor: PointProcessor {
    let effect: BlurEffect
    let mask: ImageOperand?
    let maskUsesAlpha: Bool

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "blur",
            [
                "radius": effect.radius, "saturation": effect.saturation, "tint": effect.tint,
                "tintMode": effect.tint.map { _ in effect.tintMode }, "mask": mask,
                "maskChannel": mask.map { _ in maskUsesAlpha ? "alpha" : "luminance" },
            ])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
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
                with: pixels, through: mask, isLuminance: !maskUsesAlpha, cancellation: cancellation)
        }
        return result
    }
}

extension PixelBuffer {
    /// Returns these pixels where a mask lets them through, and those of `outside` elsewhere. All have the same size.
    fileprivate func mixed(
        with outside: PixelBuffer, through mask: PixelBuffer, isLuminance: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let width = width
        return try mapRows(isOpaque: isOpaque && outside.isOpaque, cancellation: cancellation) {
            y, inside, destination in
            cwi_mix_by_image(inside, outside.row(y), mask.row(y), destination, width, isLuminance)
        }
    }
}

/// A Gaussian blur approximated by box blurs (W3C, Filter Effects Module, 9.5).
struct BoxBlur: Sendable {
    /// A box has twice this length and one pixel more.
    let boxRadius: Int
    let passCount: Int

    /// The boxes for a blur radius as in Apple's UIImageEffects and YYWebImage: about twice the standard deviation of
    /// the Gaussian, with boxes of at least 3 pixels.
    ///
    /// - Parameter radius: in pixels, at most ``maximumRadius``.
    /// - Returns: `nil` for a radius that blurs nothing.
    init?(radius: Double) {
        guard radius > 0 else { return nil }
        let clamped = min(max(radius, 2), Self.maximumRadius)
        let length = Int((clamped * 3 * (2 * Double.pi).squareRoot() / 4 + 0.5) / 2) | 1
        boxRadius = length / 2
        passCount = radius < 0.5 ? 1 : radius < 1.5 ? 2 : 3
    }

    /// The standard deviation of the closest Gaussian: the variances of the boxes add up.
    var standardDeviation: Double {
        let length = Double(2 * boxRadius + 1)
        return (Double(passCount) * (length * length - 1) / 12).squareRoot()
    }

    /// Boxes of more than 16,000 pixels could not be divided exactly.
    static let maximumRadius = 8192.0
}

extension PixelBuffer {
    /// Returns these pixels blurred; the same object for a radius that is not above 0.
    ///
    /// The outermost pixels are repeated beyond the edges, so that edges do not darken. Premultiplied components are
    /// blurred, so that clear pixels lend no color to their neighbors. Columns are blurred twice, transposing the image
    /// each time.
    ///
    /// - Parameter radius: in pixels, about twice the standard deviation of a Gaussian; at most 8192.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public func blurred(radius: Double, cancellation: Cancellation? = nil) throws(WebImageError) -> PixelBuffer {
        guard let blur = BoxBlur(radius: radius) else { return self }
        return try blurringColumns(by: blur, cancellation: cancellation)
            .blurringColumns(by: blur, cancellation: cancellation)
    }

    /// Blurs columns and transposes the result.
    private func blurringColumns(
        by blur: BoxBlur, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: height, height: width)
        let outputStride = output.bytesPerRow
        let stripWidth = Int(CWI_STRIP_PIXELS)
        let failure = Lock<WebImageError?>(nil)
        try output.fillBands(rowMultiple: stripWidth, cancellation: cancellation) { columns, destination in
            do throws(WebImageError) {
                let scratch = try ScratchMemory(byteCount: 2 * self.height * stripWidth * 4)
                for first in stride(from: columns.lowerBound, to: columns.upperBound, by: stripWidth) {
                    cwi_blur_columns(
                        self.row(0) + first * 4, self.bytesPerRow, min(stripWidth, columns.upperBound - first),
                        self.height, blur.boxRadius, Int32(blur.passCount),
                        scratch.address.assumingMemoryBound(to: UInt8.self),
                        destination + (first - columns.lowerBound) * outputStride)
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        return output.freeze(isOpaque: isOpaque)
    }
}
