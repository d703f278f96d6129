internal import CWebImageKernels

/// Chooses the colors that represent a histogram with the least squared error.
///
/// It repeatedly splits the part of the color cube where a split removes most of the error (Wu, "Efficient Statistical
/// Computations for Optimal Color Quantization", Graphics Gems II, 1991). Then each color moves to the mean of those
/// nearest to it, a few times (Lloyd, 1982).
struct PaletteMaker {
    private let histogram: ColorHistogram
    /// Sums over all boxes from the origin to each, so that a cuboid's sum takes eight of them.
    private var sums: [SIMD4<Double>]

    init(_ histogram: ColorHistogram) {
        self.histogram = histogram
        sums = [SIMD4<Double>](repeating: .zero, count: Self.side * Self.side * Self.side)
        for red in 1..<Self.side {
            var plane = [SIMD4<Double>](repeating: .zero, count: Self.side)
            for green in 1..<Self.side {
                var line = SIMD4<Double>.zero
                for blue in 1..<Self.side {
                    line += histogram.boxes[(red - 1) << 10 | (green - 1) << 5 | (blue - 1)]
                    plane[blue] += line
                    sums[Self.place(red, green, blue)] = sums[Self.place(red - 1, green, blue)] + plane[blue]
                }
            }
        }
    }

    /// Returns at most `count` opaque colors, red in the lowest byte.
    func colors(count: Int) -> [UInt32] {
        var parts = [part(Cuboid())]
        while parts.count < count {
            guard let index = parts.indices.max(by: { parts[$0].gain < parts[$1].gain }), let cut = parts[index].cut
            else { break }
            parts[index] = part(cut.0)
            parts.append(part(cut.1))
        }
        return refined(parts.map { Self.mean(sum(of: $0.cuboid)) })
    }

    /// The boxes above the lower and up to the upper bound.
    private struct Cuboid {
        var lower = SIMD3<Int>(repeating: 0)
        var upper = SIMD3<Int>(repeating: ColorHistogram.side)
    }

    private struct Part {
        let cuboid: Cuboid
        /// The best split, and how much error it removes.
        var cut: (Cuboid, Cuboid)?
        var gain = 0.0
    }

    private func part(_ cuboid: Cuboid) -> Part {
        var part = Part(cuboid: cuboid)
        let whole = sum(of: cuboid)
        guard whole[0] > 0 else { return part }
        for axis in 0..<3 {
            for place in cuboid.lower[axis] + 1..<max(cuboid.upper[axis], cuboid.lower[axis] + 1) {
                var (low, high) = (cuboid, cuboid)
                low.upper[axis] = place
                high.lower[axis] = place
                let lowSum = sum(of: low)
                let highSum = whole - lowSum
                guard lowSum[0] > 0, highSum[0] > 0 else { continue }
                let gain = Self.weight(lowSum) + Self.weight(highSum) - Self.weight(whole)
                if gain > part.gain { (part.gain, part.cut) = (gain, (low, high)) }
            }
        }
        return part
    }

    private func sum(of cuboid: Cuboid) -> SIMD4<Double> {
        let (low, high) = (cuboid.lower, cuboid.upper)
        func at(_ red: Int, _ green: Int, _ blue: Int) -> SIMD4<Double> { sums[Self.place(red, green, blue)] }
        let upper =
            at(high[0], high[1], high[2]) - at(high[0], high[1], low[2]) - at(high[0], low[1], high[2])
            + at(high[0], low[1], low[2])
        let lower =
            at(low[0], high[1], high[2]) - at(low[0], high[1], low[2]) - at(low[0], low[1], high[2])
            + at(low[0], low[1], low[2])
        return upper - lower
    }

    /// The error removed by choosing the mean.
    private static func weight(_ sum: SIMD4<Double>) -> Double {
        (sum[1] * sum[1] + sum[2] * sum[2] + sum[3] * sum[3]) / sum[0]
    }

    private static func mean(_ sum: SIMD4<Double>) -> UInt32 {
        func level(_ channel: Int) -> UInt32 { UInt32(min(max((sum[channel] / sum[0]).rounded(), 0), 255)) }
        return level(1) | level(2) << 8 | level(3) << 16 | 0xFF00_0000
    }

    private func refined(_ colors: [UInt32]) -> [UInt32] {
        var colors = colors
        let occupied = histogram.boxes.filter { $0[0] > 0 }
        for _ in 0..<Self.refinementCount {
            let palette = NearestColor(colors)
            var sums = [SIMD4<Double>](repeating: .zero, count: colors.count)
            for box in occupied { sums[palette.index(of: Self.mean(box))] += box }
            for index in colors.indices where sums[index][0] > 0 { colors[index] = Self.mean(sums[index]) }
        }
        return colors
    }

    private static func place(_ red: Int, _ green: Int, _ blue: Int) -> Int { (red * side + green) * side + blue }

    private static let side = ColorHistogram.side + 1
    /// Each refinement brings less than the previous one.
    private static let refinementCount = 3
}

/// Finds the nearest color by comparing all.
struct NearestColor {
    /// All reds, then all greens, then all blues.
    private let levels: [Int16]
    private let count: Int

    init(_ colors: [UInt32]) {
        count = colors.count
        levels = [0, 8, 16].flatMap { shift in colors.map { Int16($0 >> shift & 0xFF) } }
    }

    /// Returns the first of the nearest colors.
    func index(of color: UInt32) -> Int {
        cwi_nearest_color(levels, count, Int32(color & 0xFF), Int32(color >> 8 & 0xFF), Int32(color >> 16 & 0xFF))
    }
}
