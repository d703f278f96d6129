internal import CWebImageKernels
internal import CWebImageLCMS
internal import Glibc

/// Converts RGB with a curve for each channel and a matrix: nearly all profiles of cameras and displays.
///
///     byte ─ curve ─▶ light ─┐
///     byte ─ curve ─▶ light ─┼─ 3 × 3 ─▶ sRGB's light ─ sRGB's curve ─▶ byte     (three times)
///     byte ─ curve ─▶ light ─┘
///
/// Curve and matrix become a table for each channel: what each byte adds to the three outputs, in fixed point. The
/// sums, clamped, index a table of sRGB bytes. Its 2¹⁴ steps are a tenth of a level apart where the curve is steepest,
/// so rounding differs only within that distance of the middle between two levels.
struct MatrixShaper: ColorTransform {
    /// 256 times 4 numbers for each channel: what its value adds to red, green, blue and (0) alpha.
    private let addends: [Int32]

    /// - Parameters:
    ///   - curves: for red, green and blue, to linear light.
    ///   - matrix: from linear light to XYZ under D50.
    init?(curves: [ToneCurve], matrix: ColorMatrix) {
        guard curves.count == 3, let toSRGB = Self.fromConnectionSpace.map({ $0 * matrix }) else { return nil }
        let columns = toSRGB.columns
        var addends: [Int32] = []
        addends.reserveCapacity(3 * 256 * 4)
        for (curve, column) in zip(curves, [columns.0, columns.1, columns.2]) {
            for light in curve.lightOfBytes {
                for sum in [column.x * light, column.y * light, column.z * light, 0] {
                    let scaled = (sum * Self.one).rounded()
                    // So that the sum of three fits in 32 bits.
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

    /// Full light, the last index of ``encodedLight``, as a sum.
    private static let one = Double((CWI_LIGHT_LEVELS - 1) << CWI_LIGHT_FRACTION_BITS)
    private static let addendLimit = Double(1 << 29)

    private static let fromConnectionSpace = ColorPrimaries.sRGB.matrixToConnectionSpace?.inverse

    /// The sRGB byte for each light level.
    static let encodedLight: [UInt8] = (0..<Int(CWI_LIGHT_LEVELS)).map { index in
        let light = Double(index) / Double(CWI_LIGHT_LEVELS - 1)
        return UInt8((SRGB.encoded(light) * 255).rounded())
    }
}

extension MatrixShaper {
    /// `nil` without curves and primaries, or with invalid ones.
    init?(_ profile: ColorProfile) {
        guard let (curves, matrix) = Self.curvesAndMatrix(of: profile) else { return nil }
        self.init(curves: curves, matrix: matrix)
    }

    /// The curves for red, green and blue, and the matrix from light to XYZ under D50.
    static func curvesAndMatrix(of profile: ColorProfile) -> (curves: [ToneCurve], matrix: ColorMatrix)? {
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
        return (curves, ColorMatrix(columns: columns[0], columns[1], columns[2]))
    }

    /// Whether a profile's primaries span no colors: a few profiles have zeros, which make noise of any image.
    static func isDegenerate(_ profile: ColorProfile) -> Bool {
        guard let (_, matrix) = curvesAndMatrix(of: profile) else { return false }
        return matrix.inverse == nil
    }

    private static let tagNames: [(ColorProfile.TagName, ColorProfile.TagName)] = [
        (.redCurve, .redColorant), (.greenCurve, .greenColorant), (.blueCurve, .blueColorant),
    ]
}

extension SIMD3<Double> {
    /// Reads the first triple of an `XYZType` tag.
    fileprivate init?(xyzTag tag: RawSpan) {
        guard tag.hasText("XYZ ", at: 0), let x = tag.fixedPoint(at: 8), let y = tag.fixedPoint(at: 12),
            let z = tag.fixedPoint(at: 16)
        else { return nil }
        self.init(x, y, z)
    }
}

/// The transfer function of IEC 61966-2-1.
enum SRGB {
    /// Returns the component for `light`, both 0 to 1.
    static func encoded(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }
}

/// Maps the bytes of each channel by a table: for gray profiles and PNG gamma.
struct ToneMap: ColorTransform {
    /// 256 bytes for each channel.
    private let tables: [UInt8]

    /// - Parameter component: maps a component from 0 to 1.
    init(_ component: (Double) -> Double) {
        let table = (0...255).map { UInt8((min(max(component(Double($0) / 255), 0), 1) * 255).rounded()) }
        tables = table + table + table
    }

    /// Maps each gray to what `transform` makes of it, which may be tinted.
    init(graysBy transform: some ColorTransform) {
        var pixels = (UInt8.min...UInt8.max).flatMap { [$0, $0, $0, 255] as [UInt8] }
        pixels.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            transform.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        tables = (0..<3).flatMap { channel in (0...255).map { pixels[$0 * 4 + channel] } }
    }

    /// For a gray profile with a curve; `nil` for others.
    init?(_ profile: ColorProfile) {
        guard let curve = profile.grayCurve else { return nil }
        self.init { SRGB.encoded(curve.light(of: $0)) }
    }

    /// For a file's gamma, shown on a display with an exponent of 2.2, as browsers do.
    ///
    /// `nil` if the two cancel out within 5 %, as in libpng, and for invalid gammas.
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

extension ColorProfile {
    /// From gray to light; `nil` for other models, and without a curve.
    var grayCurve: ToneCurve? {
        guard model == .gray, connectionSpace == .xyz else { return nil }
        return withTag(.grayCurve) { ToneCurve(tag: $0) }
    }
}

/// Converts by lcms2: profiles with color tables, and CMYK.
///
/// Uses the perceptual intent, as browsers do; lcms2 then maps the darkest ink to black. lcms2's cache of the last
/// pixel, the only state that threads would share, is off.
final class LittleCMSTransform: ColorTransform, @unchecked Sendable {
    // `@unchecked`: without that cache, lcms2 does not write to a transform.
    private let transform: cmsHTRANSFORM
    private let model: ColorModel

    /// - Parameter isExact: whether every pixel goes through every step of the profile, which is slow. Otherwise lcms2
    ///   interpolates between samples; for gray, these are so few that dark tones are up to 10 levels off.
    init?(_ profile: ColorProfile, isExact: Bool) {
        let layout =
            switch profile.model {
            case .gray: cwi_lcms_gray_and_three_more
            case .rgb: cwi_lcms_rgb_and_alpha
            case .cmyk: cwi_lcms_inverted_cmyk
            }
        guard
            let transform = Self.makeTransform(
                from: profile, layout: layout, to: cwi_lcms_rgb_and_alpha, isExact: isExact)
        else { return nil }
        self.transform = transform
        model = profile.model
    }

    /// Returns a transform from a profile to sRGB between two layouts of pixels. Any number of threads may use it, and
    /// the caller deletes it.
    static func makeTransform(
        from profile: ColorProfile, layout: Int, to result: Int, isExact: Bool
    ) -> cmsHTRANSFORM? {
        let bytes = profile.bytesWithoutFloatTable
        guard profile.hasPlausibleTables, let input = cmsOpenProfileFromMem(bytes, cmsUInt32Number(bytes.count))
        else { return nil }
        defer { cmsCloseProfile(input) }
        guard let output = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(output) }
        return cmsCreateTransform(
            input, cmsUInt32Number(layout), output, cmsUInt32Number(result), cmsUInt32Number(INTENT_PERCEPTUAL),
            cmsUInt32Number(cwi_lcms_shareable | (isExact ? cwi_lcms_exact : 0)))
    }

    /// Exact for gray, of which at most 256 pixels are converted: see ``ToneMap/init(graysBy:)``.
    convenience init?(_ profile: ColorProfile) { self.init(profile, isExact: profile.model == .gray) }

    deinit { cmsDeleteTransform(transform) }

    /// lcms2 makes one color table of a profile, for CMYK about this large.
    static let estimatedByteCount = 512 << 10
    let byteCount = LittleCMSTransform.estimatedByteCount

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        // lcms2 counts in 32 bits. A batch also stays in the processor's cache.
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

/// The curve from a stored component, 0 to 1, to linear light, 0 to 1.
package enum ToneCurve: Sendable, Hashable {
    /// The component to this power.
    case gamma(Double)
    /// Values at equal distances, interpolated linearly; at least two.
    case table([UInt16])
    /// (a x + b)^g + e from d on, and c x + f below: covers all parametric curves.
    case formula(Formula)

    /// The parameters of ``formula(_:)``, named as in ICC.1:2022, 10.18.
    package struct Formula: Sendable, Hashable {
        var g: Double
        var a = 1.0
        var b = 0.0
        var c = 0.0
        var d = 0.0
        var e = 0.0
        var f = 0.0
    }

    /// IEC 61966-2-1.
    static let sRGB = ToneCurve.formula(Formula(g: 2.4, a: 1 / 1.055, b: 0.055 / 1.055, c: 1 / 12.92, d: 0.04045))

    /// Returns the light for a component, clamped.
    func light(of component: Double) -> Double {
        let light: Double
        switch self {
        case .gamma(let exponent):
            light = pow(component, exponent)
        case .table(let values):
            let position = component * Double(values.count - 1)
            let index = min(Int(position), values.count - 2)
            let (low, high) = (Double(values[index]), Double(values[index + 1]))
            light = (low + (high - low) * (position - Double(index))) / 65535
        case .formula(let formula):
            light =
                component >= formula.d
                ? pow(max(0, formula.a * component + formula.b), formula.g) + formula.e
                : formula.c * component + formula.f
        }
        // Also handles NaN.
        return light > 0 ? min(light, 1) : 0
    }

    var lightOfBytes: [Double] { (0...255).map { light(of: Double($0) / 255) } }
}

extension ToneCurve {
    /// Reads a `curv` or `para` tag; `nil` if it is damaged.
    init?(tag: RawSpan) {
        if tag.hasText("curv", at: 0) {
            self.init(points: tag)
        } else if tag.hasText("para", at: 0) {
            self.init(parameters: tag)
        } else {
            return nil
        }
    }

    /// `curveType`: no point for the identity, one for a power, more for a table.
    private init?(points tag: RawSpan) {
        guard let count = tag.integer(at: 8, count: 4, isBigEndian: true), count <= (tag.byteCount - 12) / 2 else {
            return nil
        }
        func point(_ index: Int) -> Int? { tag.integer(at: 12 + index * 2, count: 2, isBigEndian: true) }
        switch count {
        case 0:
            self = .gamma(1)
        case 1:
            guard let power = point(0), power > 0 else { return nil }
            self = .gamma(Double(power) / 256)
        default:
            self = .table((0..<count).compactMap { point($0).map(UInt16.init) })
        }
    }

    /// `parametricCurveType`: five formulas, each an extension of the previous one.
    private init?(parameters tag: RawSpan) {
        guard let type = tag.integer(at: 8, count: 2, isBigEndian: true), type < Self.parameterCounts.count else {
            return nil
        }
        var p: [Double] = []
        for index in 0..<Self.parameterCounts[type] {
            guard let value = tag.fixedPoint(at: 12 + index * 4) else { return nil }
            p.append(value)
        }
        // In types 1 and 2, d is where the base of the power is 0.
        if type == 1 || type == 2, p[1] == 0 { return nil }
        switch type {
        case 0: self = .gamma(p[0])
        case 1: self = .formula(Formula(g: p[0], a: p[1], b: p[2], d: -p[2] / p[1]))
        case 2: self = .formula(Formula(g: p[0], a: p[1], b: p[2], d: -p[2] / p[1], e: p[3], f: p[3]))
        case 3: self = .formula(Formula(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4]))
        default: self = .formula(Formula(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4], e: p[5], f: p[6]))
        }
    }

    private static let parameterCounts = [1, 3, 4, 5, 7]
}
