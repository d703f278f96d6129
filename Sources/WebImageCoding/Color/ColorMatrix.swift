/// A linear map of three light values to three others, by columns: what each input adds to the outputs.
struct ColorMatrix: Sendable, Hashable {
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

    static func * (matrix: ColorMatrix, vector: SIMD3<Double>) -> SIMD3<Double> {
        matrix.first * vector.x + matrix.second * vector.y + matrix.third * vector.z
    }

    /// The map that applies `inner` first.
    static func * (outer: ColorMatrix, inner: ColorMatrix) -> ColorMatrix {
        ColorMatrix(columns: outer * inner.first, outer * inner.second, outer * inner.third)
    }

    /// The map back; `nil` where two inputs (nearly) share a direction, as in no real set of lights.
    var inverse: ColorMatrix? {
        let rows = (cross(second, third), cross(third, first), cross(first, second))
        let determinant = (first * rows.0).sum()
        guard abs(determinant) > 1e-6, determinant.isFinite else { return nil }
        return ColorMatrix(rows: rows.0 / determinant, rows.1 / determinant, rows.2 / determinant)
    }

    private func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        [a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x]
    }
}
