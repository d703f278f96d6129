internal import CWebImageKernels
internal import CWebImageLCMS
internal import Glibc

/// Red, green and blue lights with a curve each, to sRGB: what nearly all profiles of cameras and displays are.
///
///     byte ─ curve ─▶ light ─┐
///     byte ─ curve ─▶ light ─┼─ 3 × 3 ─▶ sRGB's light ─ sRGB's curve ─▶ byte     (three times)
///     byte ─ curve ─▶ light ─┘
///
/// Curve and matrix become one table for each channel, of what each byte adds to the three outputs, in fixed point; the
/// sums, cut to 0 and 1, index a table of sRGB's bytes. Its 2¹⁴ steps are a tenth of a level apart where the curve is
/// steepest, so that only what lies within that of the middle between two levels can be rounded the other way.
struct MatrixShaper: ColorTransform {
    /// 256 times 4 numbers for each channel: what its value adds to red, green, blue and (nothing) alpha.
    private let addends: [Int32]

    /// - Parameters:
    ///   - curves: of red, green and blue, to light.
    ///   - matrix: from that light to XYZ under D50.
    init?(curves: [ToneCurve], matrix: ColorMatrix) {
        guard curves.count == 3, let toSRGB = Self.fromConnectionSpace.map({ $0 * matrix }) else { return nil }
        let columns = toSRGB.columns
        var addends: [Int32] = []
        addends.reserveCapacity(3 * 256 * 4)
        for (curve, column) in zip(curves, [columns.0, columns.1, columns.2]) {
            for light in curve.lightOfBytes {
                for sum in [column.x * light, column.y * light, column.z * light, 0] {
                    let scaled = (sum * Self.one).rounded()
                    // Three of these still fit 32 bits, whatever a profile says.
                    guard abs(scaled) <= Self.addendLimit else { return nil }
                    addends.append(Int32(scaled))
                }
            }
        }
        self.addends = addends
    }

    var byteCount: Int { addends.count * MemoryLayout<Int32>.stride }

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        addends.withUnsafeBufferPointer { addends in
            Self.encodedLight.withUnsafeBufferPointer { encodedLight in
                cwi_convert_colors(source, destination, pixelCount, addends.baseAddress, encodedLight.baseAddress)
            }
        }
    }

    /// Light of 1, the last index of ``encodedLight``, as a sum.
    private static let one = Double((CWI_LIGHT_LEVELS - 1) << CWI_LIGHT_FRACTION_BITS)
    private static let addendLimit = Double(1 << 29)

    private static let fromConnectionSpace = ColorPrimaries.sRGB.matrixToConnectionSpace?.inverse

    /// sRGB's byte for each light.
    static let encodedLight: [UInt8] = (0..<Int(CWI_LIGHT_LEVELS)).map { index in
        let light = Double(index) / Double(CWI_LIGHT_LEVELS - 1)
        return UInt8((SRGB.encoded(light) * 255).rounded())
    }
}

extension MatrixShaper {
    /// `nil` for a profile without lights and curves, or with impossible ones.
    init?(_ profile: ColorProfile) {
        guard profile.model == .rgb, profile.connectionSpace == .xyz else { return nil }
        var curves: [ToneCurve] = []
        var columns: [SIMD3<Double>] = []
        for (curveName, colorantName) in Self.tagNames {
            guard let curve = profile.withTag(curveName, { ToneCurve(tag: $0) }),
                let colorant = profile.withTag(colorantName, { SIMD3<Double>(xyzTag: $0) })
            else { return nil }
            curves.append(curve)
            columns.append(colorant)
        }
        self.init(curves: curves, matrix: ColorMatrix(columns: columns[0], columns[1], columns[2]))
    }

    private static let tagNames: [(ColorProfile.TagName, ColorProfile.TagName)] = [
        (.redCurve, .redColorant), (.greenCurve, .greenColorant), (.blueCurve, .blueColorant),
    ]
}

extension SIMD3<Double> {
    /// Reads the first number triple of an `XYZType` tag.
    fileprivate init?(xyzTag tag: RawSpan) {
        guard tag.hasText("XYZ ", at: 0), let x = tag.fixedPoint(at: 8), let y = tag.fixedPoint(at: 12),
            let z = tag.fixedPoint(at: 16)
        else { return nil }
        self.init(x, y, z)
    }
}

/// The curve from light to number of IEC 61966-2-1.
enum SRGB {
    /// The component, 0 to 1, that shows `light`, 0 to 1.
    static func encoded(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }
}

/// A table of bytes for each of red, green and blue: grey profiles, and a PNG's gamma.
struct ToneMap: ColorTransform {
    /// 256 bytes for each channel.
    private let tables: [UInt8]

    /// - Parameter component: what becomes of a component from 0 to 1, whichever it is.
    init(_ component: (Double) -> Double) {
        let table = (0...255).map { UInt8((min(max(component(Double($0) / 255), 0), 1) * 255).rounded()) }
        tables = table + table + table
    }

    /// For grey pixels, what `transform` makes of each grey; it may be a tint.
    init(graysBy transform: some ColorTransform) {
        var pixels = (UInt8.min...UInt8.max).flatMap { [$0, $0, $0, 255] as [UInt8] }
        pixels.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            transform.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        tables = (0..<3).flatMap { channel in (0...255).map { pixels[$0 * 4 + channel] } }
    }

    /// Grey whose curve leads to light; `nil` for profiles with other means.
    init?(_ profile: ColorProfile) {
        guard profile.model == .gray, profile.connectionSpace == .xyz,
            let curve = profile.withTag(.grayCurve, { ToneCurve(tag: $0) })
        else { return nil }
        self.init { SRGB.encoded(curve.light(of: $0)) }
    }

    /// A file's gamma, shown on a display whose exponent is 2.2, which is what browsers do with one that stands alone.
    ///
    /// `nil` where the two cancel out within 5 %, as libpng has it, and for a gamma that no file can mean.
    init?(fileGamma gamma: Double) {
        guard gamma > 0.01, gamma < 100 else { return nil }
        let exponent = 1 / (gamma * 2.2)
        guard abs(exponent - 1) > 0.05 else { return nil }
        self.init { pow($0, exponent) }
    }

    var byteCount: Int { tables.count }

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        tables.withUnsafeBufferPointer { cwi_map_tones(source, destination, pixelCount, $0.baseAddress) }
    }
}

/// Any profile that lcms2 understands: tables of colours, and ink.
///
/// The intent is perceptual, the one such tables are made for and the one browsers take; the darkest ink becomes black, as
/// lcms2 does on its own for this intent and an sRGB of version 4. lcms2 keeps a transform's last pixel only if it may, and
/// here it may not: that is all that threads would share.
final class LittleCMSTransform: ColorTransform, @unchecked Sendable {
    // `@unchecked`: lcms2 does not write to a transform without that memory of one pixel.
    private let transform: cmsHTRANSFORM
    private let model: ColorModel

    /// - Parameter isExact: whether every pixel goes through every step of the profile, which is slow. If not, lcms2 takes
    ///   samples and goes straight between them; for grey these are so few that dark tones are up to 10 levels off.
    init?(_ profile: ColorProfile, isExact: Bool) {
        let bytes = profile.bytesWithoutFloatTable
        guard profile.hasPlausibleTables, let input = cmsOpenProfileFromMem(bytes, cmsUInt32Number(bytes.count))
        else { return nil }
        defer { cmsCloseProfile(input) }
        guard let output = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(output) }
        let shortcuts = isExact ? cwi_lcms_exact : 0
        let layout =
            switch profile.model {
            case .gray: cwi_lcms_gray_and_three_more
            case .rgb: cwi_lcms_rgb_and_alpha
            case .cmyk: cwi_lcms_inverted_cmyk
            }
        guard
            let transform = cmsCreateTransform(
                input, cmsUInt32Number(layout), output, cmsUInt32Number(cwi_lcms_rgb_and_alpha),
                cmsUInt32Number(INTENT_PERCEPTUAL), cmsUInt32Number(cwi_lcms_shareable | shortcuts))
        else { return nil }
        self.transform = transform
        model = profile.model
    }

    /// Exact for grey: no more than 256 pixels are ever asked, see ``ToneMap/init(graysBy:)``.
    convenience init?(_ profile: ColorProfile) { self.init(profile, isExact: profile.model == .gray) }

    deinit { cmsDeleteTransform(transform) }

    /// lcms2 does not tell. It turns what a profile does into one table of colours, for ink about this large.
    let byteCount = 512 << 10

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        // lcms2 counts in 32 bits; a batch also stays in the processor's cache from pass to pass.
        let batchSize = 1 << 12
        for first in stride(from: 0, to: pixelCount, by: batchSize) {
            let count = min(batchSize, pixelCount - first)
            let (source, destination) = (source + first * 4, destination + first * 4)
            if model == .cmyk {
                cmsDoTransform(transform, source, destination, cmsUInt32Number(count))
                cwi_make_opaque(destination, count)
            } else {
                cwi_unpremultiply(source, destination, count)
                cmsDoTransform(transform, destination, destination, cmsUInt32Number(count))
                cwi_premultiply(destination, count)
            }
        }
    }
}
