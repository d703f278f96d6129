/// The primaries and white point of a display, as CIE 1931 x and y.
package struct ColorPrimaries: Sendable, Hashable {
    var red: SIMD2<Double>
    var green: SIMD2<Double>
    var blue: SIMD2<Double>
    var white: SIMD2<Double>

    /// ITU-R BT.709 and sRGB, white D65.
    static let sRGB = ColorPrimaries(red: [0.64, 0.33], green: [0.3, 0.6], blue: [0.15, 0.06], white: d65)
    /// SMPTE EG 432-1, white D65.
    static let displayP3 = ColorPrimaries(red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06], white: d65)
    static let d65: SIMD2<Double> = [0.3127, 0.329]

    /// The matrix from linear RGB to XYZ under ICC's D50, adapted by Bradford's method (ICC.1:2022, annex E). `nil` for
    /// invalid colors, or primaries that cannot make white.
    var matrixToConnectionSpace: ColorMatrix? {
        guard points.allSatisfy(Self.isValid) else { return nil }
        let lights = ColorMatrix(columns: Self.color(of: red), Self.color(of: green), Self.color(of: blue))
        guard let amounts = lights.inverse.map({ $0 * Self.color(of: white) }),
            let fromCones = Self.cones.inverse
        else { return nil }
        let adaptation = (Self.cones * Self.d50) / (Self.cones * Self.color(of: white))
        let matrix =
            fromCones * ColorMatrix(diagonal: adaptation) * Self.cones * lights * ColorMatrix(diagonal: amounts)
        return matrix.isFinite ? matrix : nil
    }

    private var points: [SIMD2<Double>] { [red, green, blue, white] }

    private static func isValid(_ point: SIMD2<Double>) -> Bool {
        let sum: Double = point.x + point.y
        return point.y > 0 && point.x >= 0 && sum <= 1.0001
    }

    /// XYZ with Y = 1.
    private static func color(of point: SIMD2<Double>) -> SIMD3<Double> {
        let z: Double = 1 - point.x - point.y
        return SIMD3(point.x / point.y, 1, z / point.y)
    }

    /// ICC.1:2022, 7.2.16.
    private static let d50: SIMD3<Double> = [0.9642, 1, 0.8249]
    /// Bradford's matrix from XYZ to cone responses.
    private static let cones = ColorMatrix(
        rows: [0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296])
}

extension ColorPrimaries {
    /// Whether the difference is invisible, for example rounding in cHRM.
    func isClose(to other: ColorPrimaries) -> Bool {
        for (mine, theirs) in zip(points, other.points) {
            let distance: SIMD2<Double> = mine - theirs
            guard abs(distance.x) < 0.002, abs(distance.y) < 0.002 else { return false }
        }
        return true
    }
}

/// A 3 × 3 matrix, by columns.
struct ColorMatrix: Sendable {
    var columns: (SIMD3<Double>, SIMD3<Double>, SIMD3<Double>) { (first, second, third) }
    private let first: SIMD3<Double>
    private let second: SIMD3<Double>
    private let third: SIMD3<Double>

    init(columns first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) {
        self.first = first
        self.second = second
        self.third = third
    }

    init(rows first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) {
        self.init(columns: [first.x, second.x, third.x], [first.y, second.y, third.y], [first.z, second.z, third.z])
    }

    init(diagonal: SIMD3<Double>) {
        self.init(columns: [diagonal.x, 0, 0], [0, diagonal.y, 0], [0, 0, diagonal.z])
    }

    var isFinite: Bool { (first + second + third).sum().isFinite }

    static func * (matrix: ColorMatrix, vector: SIMD3<Double>) -> SIMD3<Double> {
        matrix.first * vector.x + matrix.second * vector.y + matrix.third * vector.z
    }

    /// The matrix that applies `inner` first.
    static func * (outer: ColorMatrix, inner: ColorMatrix) -> ColorMatrix {
        ColorMatrix(columns: outer * inner.first, outer * inner.second, outer * inner.third)
    }

    /// `nil` if two columns are (nearly) parallel.
    var inverse: ColorMatrix? {
        let rows = (cross(second, third), cross(third, first), cross(first, second))
        let determinant = (first * rows.0).sum()
        guard abs(determinant) > 1e-6, determinant.isFinite else { return nil }
        return ColorMatrix(rows: rows.0 / determinant, rows.1 / determinant, rows.2 / determinant)
    }

    private func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        let (x, y): (Double, Double) = (a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z)
        let z: Double = a.x * b.y - a.y * b.x
        return SIMD3(x, y, z)
    }
}

/// Colors by code point (ITU-T H.273), as in PNG's cICP.
package struct ColorCodePoints: Sendable, Hashable {
    let primaries: UInt8
    let transfer: UInt8
    /// 0 for RGB, the only value allowed in a PNG.
    let matrix: UInt8
    let isFullRange: Bool

    /// Creates those of RGB.
    package init(primaries: UInt8, transfer: UInt8) {
        (self.primaries, self.transfer, matrix, isFullRange) = (primaries, transfer, 0, true)
    }

    /// Reads the content of a cICP chunk.
    init?(_ content: RawSpan) {
        guard let primaries = content.byte(at: 0), let transfer = content.byte(at: 1), let matrix = content.byte(at: 2),
            let range = content.byte(at: 3)
        else { return nil }
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        isFullRange = range == 1
    }

    /// The transfer function of HDR; `nil` for others.
    var hdr: HDR? { transfer == 16 ? .pq : transfer == 18 ? .hlg : nil }

    /// `nil` for reserved values.
    var lights: ColorPrimaries? { Self.lights[primaries] }

    /// `nil` for reserved values. The file's other color information applies then.
    package var encoding: ColorEncoding? {
        guard matrix == 0, isFullRange, let lights = Self.lights[primaries] else { return nil }
        if let hdr { return .hdr(lights, hdr) }
        guard let curve = Self.curves[transfer] else { return nil }
        return lights == .sRGB && curve == .sRGB ? .sRGB : .primaries(lights, curve)
    }

    /// Table 2 of H.273.
    private static let lights: [UInt8: ColorPrimaries] = [
        // BT.709 and sRGB; BT.470 M, B and G; BT.601; film; BT.2020; DCI P3; Display P3.
        1: .sRGB,
        4: ColorPrimaries(red: [0.67, 0.33], green: [0.21, 0.71], blue: [0.14, 0.08], white: [0.31, 0.316]),
        5: ColorPrimaries(red: [0.64, 0.33], green: [0.29, 0.6], blue: [0.15, 0.06], white: ColorPrimaries.d65),
        6: ColorPrimaries(red: [0.63, 0.34], green: [0.31, 0.595], blue: [0.155, 0.07], white: ColorPrimaries.d65),
        7: ColorPrimaries(red: [0.63, 0.34], green: [0.31, 0.595], blue: [0.155, 0.07], white: ColorPrimaries.d65),
        8: ColorPrimaries(red: [0.681, 0.319], green: [0.243, 0.692], blue: [0.145, 0.049], white: [0.31, 0.316]),
        9: ColorPrimaries(
            red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046], white: ColorPrimaries.d65),
        11: ColorPrimaries(red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06], white: [0.314, 0.351]),
        12: .displayP3,
    ]

    /// Table 3 of H.273.
    private static let curves: [UInt8: ToneCurve] = [
        1: video, 4: .gamma(2.2), 5: .gamma(2.8), 6: video, 8: .gamma(1), 13: .sRGB, 14: video, 15: video,
    ]

    /// The curve of BT.709, BT.601 and BT.2020.
    private static let video = ToneCurve.formula(
        ToneCurve.Formula(g: 1 / 0.45, a: 1 / 1.099, b: 0.099 / 1.099, c: 1 / 4.5, d: 0.081))
}
