internal import CWebImageKernels
public import WebImageCore

/// The conversion from a file's colors to sRGB, created once per file.
///
/// Gray and RGB are converted last, when there are fewest pixels: ``convertedToSRGB(_:cancellation:)``. CMYK cannot be
/// resampled, so it is converted first, row by row: ``convertInk(_:pixelCount:)``. Each does nothing for the other's
/// color models.
package struct ColorConversion: Sendable {
    /// `nil` if there is nothing to convert.
    private let transform: (any ColorTransform)?
    private let model: ColorModel

    /// For sRGB.
    package static let none = ColorConversion(from: .sRGB)

    /// Creates the conversion from `encoding`. It does nothing for sRGB, for invalid encodings, and for those of
    /// another model than the image's.
    package init(from encoding: ColorEncoding, model: ColorModel = .rgb) {
        self.model = model
        transform = encoding == .sRGB ? nil : Self.transforms.transform(from: encoding, model: model)
    }

    package var isIdentity: Bool { transform == nil }

    static let transforms = ColorTransformCache()

    /// Whether ``convertedToSRGB(_:cancellation:)`` allocates a second buffer.
    var copiesPixels: Bool { transform != nil && model != .cmyk }

    /// Returns `pixels`, premultiplied in the file's colors, in sRGB; the same object if there is nothing to convert.
    package func convertedToSRGB(
        _ pixels: PixelBuffer, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        guard let transform, model != .cmyk else { return pixels }
        var output = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        let stride = output.bytesPerRow
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
            try pixels.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows {
                    transform.convert(
                        source + row * pixels.bytesPerRow, to: destination + row * stride, pixelCount: pixels.width)
                }
            }
        }
        return output.freeze(isOpaque: pixels.isOpaque)
    }

    /// Converts CMYK to opaque sRGB in place: by the file's profile, else by the rule that each ink absorbs its light.
    package func convertInk(_ pixels: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        if let transform, model == .cmyk {
            transform.convert(pixels, to: pixels, pixelCount: pixelCount)
        } else {
            cwi_inverted_cmyk_to_rgba(pixels, pixelCount)
        }
    }
}

/// How a file encodes colors.
package enum ColorEncoding: Sendable, Hashable {
    /// sRGB, also if nothing is specified.
    case sRGB
    case profile(ColorProfile)
    /// Custom primaries with one curve for all three.
    case primaries(ColorPrimaries, ToneCurve)
    /// sRGB's primaries with a gamma as in PNG's `gAMA`: 0.45455 for common displays.
    case gamma(Double)
    /// HDR with these primaries, which is mapped to sRGB's range.
    case hdr(ColorPrimaries, HDR)
}

/// The color model of stored pixels.
public enum ColorModel: Sendable, Hashable {
    /// One channel of brightness.
    case gray
    /// Palettes, YCbCr and the like are converted to RGB first.
    case rgb
    /// Each ink as 255 minus its amount.
    case cmyk

    /// The name for people: `gray`, `RGB` or `CMYK`.
    public var name: String {
        switch self {
        case .gray: "gray"
        case .rgb: "RGB"
        case .cmyk: "CMYK"
        }
    }
}

extension PixelBuffer {
    /// Returns the pixels in sRGB; the same object if the profile is one of sRGB, or of CMYK. Blocks the calling thread.
    ///
    /// - Parameter profile: the one whose colors the pixels have: see ``CodecRegistry/keptProfile(of:limits:)``.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public func convertedToSRGB(
        from profile: ColorProfile, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        try ColorConversion(from: .profile(profile)).convertedToSRGB(self, cancellation: cancellation)
    }
}

extension ColorEncoding {
    /// Returns the conversion to sRGB for images of `model`; `nil` if the pixels stay as they are.
    func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        let transform: (any ColorTransform)? =
            switch self {
            case .sRGB: nil
            case .profile(let profile): profile.makeTransform(model: model)
            case .primaries(let primaries, let curve):
                primaries.matrixToConnectionSpace.flatMap {
                    MatrixShaper(curves: [curve, curve, curve], matrix: $0)
                }
            case .gamma(let gamma): ToneMap(fileGamma: gamma)
            case .hdr(let primaries, let hdr): HDRTransform(primaries, hdr)
            }
        guard let transform, model == .cmyk || !transform.changesNothingVisible else { return nil }
        return transform
    }

    /// The memory in bytes.
    var byteCount: Int {
        if case .profile(let profile) = self { profile.bytes.count } else { 0 }
    }
}

extension ColorProfile {
    fileprivate func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        switch (self.model, model) {
        case (.cmyk, .cmyk):
            return LittleCMSTransform(self)
        case (.rgb, .rgb), (.rgb, .gray):
            guard hasTag(.perceptualTable) || !MatrixShaper.isDegenerate(self) else { return nil }
            // A gray image may have a camera's profile; it is then that profile's gray.
            return ownTransform(MatrixShaper.init) ?? LittleCMSTransform(self) ?? MatrixShaper(self)
        case (.gray, .gray):
            return ownTransform(ToneMap.init) ?? LittleCMSTransform(self).map(ToneMap.init(graysBy:)) ?? ToneMap(self)
        default:
            return nil
        }
    }

    /// Tables take precedence over curves and primaries because they are finer.
    private func ownTransform<Transform: ColorTransform>(_ make: (ColorProfile) -> Transform?) -> Transform? {
        hasTag(.perceptualTable) ? nil : make(self)
    }
}

extension ColorTransform {
    /// Whether no color changes by more than a level. There are many spellings of sRGB, and converting from one of them
    /// would only cost time and add rounding.
    fileprivate var changesNothingVisible: Bool {
        var converted = sampleColors
        convert(sampleColors, to: &converted, pixelCount: converted.count / 4)
        return converted.indices.allSatisfy { abs(Int(converted[$0]) - Int(sampleColors[$0])) <= 1 }
    }
}

/// Opaque pixels: all combinations of every 15th level, and all grays.
private let sampleColors: [UInt8] = {
    let levels = stride(from: UInt8(0), through: 255, by: 15)
    var colors: [UInt8] = []
    for red in levels {
        for green in levels {
            for blue in levels { colors += [red, green, blue, 255] }
        }
    }
    for gray in UInt8.min...UInt8.max { colors += [gray, gray, gray, 255] }
    return colors
}()

/// Converts pixels to sRGB. Immutable and thread-safe.
protocol ColorTransform: Sendable {
    /// Converts `pixelCount` pixels of 4 bytes. `source` may be `destination`; otherwise they do not overlap.
    ///
    /// Gray and RGB (as RGBA) are premultiplied before and after; colors are divided by alpha for the conversion. CMYK
    /// becomes opaque pixels.
    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int)

    /// The memory of its tables, in bytes.
    var byteCount: Int { get }
}

typealias ColorTransformCache = TransformCache<any ColorTransform>

extension ColorTransformCache {
    convenience init(countLimit: Int = 16, byteLimit: Int = 16 << 20) {
        self.init(countLimit: countLimit, byteLimit: byteLimit) { encoding, model in
            let transform = encoding.makeTransform(model: model)
            return (transform, transform?.byteCount ?? 0)
        }
    }
}
