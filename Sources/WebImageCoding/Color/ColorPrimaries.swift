/// The lights of a display and the white they make together, as CIE 1931 x and y.
package struct ColorPrimaries: Sendable, Hashable {
    var red: SIMD2<Double>
    var green: SIMD2<Double>
    var blue: SIMD2<Double>
    var white: SIMD2<Double>

    /// ITU-R BT.709 and sRGB, with white at D65.
    static let sRGB = ColorPrimaries(red: [0.64, 0.33], green: [0.3, 0.6], blue: [0.15, 0.06], white: d65)
    /// Apple's displays since 2015: SMPTE EG 432-1, with white at D65.
    static let displayP3 = ColorPrimaries(red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06], white: d65)
    static let d65: SIMD2<Double> = [0.3127, 0.329]

    /// From amounts of the lights to XYZ under ICC's D50, the white adapted as ICC.1:2022, annex E, recommends (Bradford).
    ///
    /// `nil` where the numbers are no colours or the lights make no white.
    var matrixToConnectionSpace: ColorMatrix? {
        guard [red, green, blue, white].allSatisfy({ $0.y > 0 && $0.x >= 0 && $0.x + $0.y <= 1.0001 }) else {
            return nil
        }
        let lights = ColorMatrix(columns: Self.color(of: red), Self.color(of: green), Self.color(of: blue))
        guard let amounts = lights.inverse.map({ $0 * Self.color(of: white) }),
            let fromCones = Self.cones.inverse
        else { return nil }
        let adaptation = (Self.cones * Self.d50) / (Self.cones * Self.color(of: white))
        let matrix =
            fromCones * ColorMatrix(diagonal: adaptation) * Self.cones * lights * ColorMatrix(diagonal: amounts)
        return matrix.isFinite ? matrix : nil
    }

    /// XYZ with a brightness of 1.
    private static func color(of point: SIMD2<Double>) -> SIMD3<Double> {
        [point.x / point.y, 1, (1 - point.x - point.y) / point.y]
    }

    /// ICC.1:2022, 7.2.16.
    private static let d50: SIMD3<Double> = [0.9642, 1, 0.8249]
    /// Bradford's, from XYZ to what the eye's three kinds of cones answer.
    private static let cones = ColorMatrix(
        rows: [0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296])
}

extension ColorPrimaries {
    /// Whether an eye could not tell these from `other`: cHRM's five decimals, or somebody's rounding of them.
    func isClose(to other: ColorPrimaries) -> Bool {
        zip([red, green, blue, white], [other.red, other.green, other.blue, other.white]).allSatisfy { mine, theirs in
            abs(mine.x - theirs.x) < 0.002 && abs(mine.y - theirs.y) < 0.002
        }
    }
}

extension ColorMatrix {
    /// Whether every number is one.
    fileprivate var isFinite: Bool {
        [columns.0, columns.1, columns.2].allSatisfy { ($0 - $0) == .zero }
    }
}
