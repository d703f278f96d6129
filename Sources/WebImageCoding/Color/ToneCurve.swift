internal import Glibc

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
    /// Reads a `curv` or `para` tag; `nil` if it's damaged.
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
