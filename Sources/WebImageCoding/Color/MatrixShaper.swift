internal import CWebImageKernels
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
