internal import WebImageCore

/// How many pixels of a picture have which colour: straight ones, in boxes of 8 levels a side, each pixel by its alpha.
struct ColorHistogram {
    /// Pixels of similar colours.
    struct Group {
        /// Their premultiplied components; the last is their weight.
        var sum = SIMD4<UInt64>()

        var weight: UInt64 { sum.w }
        var isEmpty: Bool { sum.w == 0 }
        var mean: SIMD3<Double> { SIMD3(Double(sum.x), Double(sum.y), Double(sum.z)) / Double(sum.w) }

        /// Opaque.
        var color: Color {
            let mean = mean
            return Color(red: min(mean.x, 1), green: min(mean.y, 1), blue: min(mean.z, 1))
        }
    }

    /// By red, green, blue, 5 bits each.
    private var groups = [Group](repeating: Group(), count: 1 << 15)

    init(of pixels: PixelBuffer) {
        let step = max(1, Int((Double(pixels.size.pixelCount) / Self.sampleLimit).squareRoot().rounded(.up)))
        for y in stride(from: 0, to: pixels.height, by: step) {
            let row = UnsafeRawPointer(pixels.row(y))
            for x in stride(from: 0, to: pixels.width, by: step) {
                let pixel = row.load(fromByteOffset: x * 4, as: SIMD4<UInt8>.self)
                guard pixel.w > 0 else { continue }
                groups[Self.index(of: pixel)].sum &+= SIMD4(truncatingIfNeeded: pixel)
            }
        }
    }

    private static let sampleLimit = Double(1 << 18)

    private static func index(of pixel: SIMD4<UInt8>) -> Int {
        let alpha = Int(pixel.w)
        func box(_ value: UInt8) -> Int { min(Int(value) * 255 / alpha, 255) >> 3 }
        return box(pixel.x) << 10 | box(pixel.y) << 5 | box(pixel.z)
    }

    /// The mean colour of the fullest place; see ``Image/dominantColor()``.
    var dominantColor: Color? {
        var best = Group()
        for index in groups.indices where !groups[index].isEmpty {
            let place = neighborhood(of: index)
            if place.weight > best.weight { best = place }
        }
        return best.isEmpty ? nil : best.color
    }

    private func neighborhood(of index: Int) -> Group {
        func around(_ coordinate: Int) -> ClosedRange<Int> { max(0, coordinate - 1)...min(31, coordinate + 1) }
        var result = Group()
        for red in around(index >> 10) {
            for green in around(index >> 5 & 31) {
                for blue in around(index & 31) { result.sum &+= groups[red << 10 | green << 5 | blue].sum }
            }
        }
        return result
    }

    /// Up to `count` colours; see ``Image/palette(count:)``.
    func palette(count: Int) -> [Color] {
        guard count > 0 else { return [] }
        let filled = groups.filter { !$0.isEmpty }
        guard !filled.isEmpty else { return [] }
        var clusters = [Cluster(filled)]
        while clusters.count < count {
            guard
                let widest = clusters.indices.max(by: { clusters[$0].deviation < clusters[$1].deviation }),
                let parts = clusters[widest].parted()
            else { break }
            clusters[widest] = parts.0
            clusters.append(parts.1)
        }
        return clusters.sorted { $0.total.weight > $1.total.weight }.map(\.total.color)
    }

    /// Groups that one colour stands for.
    private struct Cluster {
        let groups: [Group]
        let total: Group
        /// The weighted sum of squared distances from the mean, along the axis on which it is largest.
        let deviation: Double
        private let axis: Int

        init(_ groups: [Group]) {
            self.groups = groups
            total = groups.reduce(into: Group()) { $0.sum &+= $1.sum }
            let mean = total.mean
            let squares = groups.reduce(into: SIMD3<Double>()) { sum, group in
                let distance = group.mean - mean
                sum += distance * distance * Double(group.weight)
            }
            axis = (0..<3).max { squares[$0] < squares[$1] } ?? 0
            deviation = squares[axis]
        }

        /// Those below and above the mean; `nil` where all are alike.
        func parted() -> (Cluster, Cluster)? {
            let middle = total.mean[axis]
            let below = groups.filter { $0.mean[axis] < middle }
            let above = groups.filter { $0.mean[axis] >= middle }
            return below.isEmpty || above.isEmpty ? nil : (Cluster(below), Cluster(above))
        }
    }
}
