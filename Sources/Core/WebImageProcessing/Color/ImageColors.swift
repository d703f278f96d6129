internal import CWebImageKernels
public import WebImageCore

extension Image {
    /// Returns the color of a pixel, counted from the top left; `nil` outside the image.
    ///
    /// Its alpha is straight, so the color of an almost clear pixel is imprecise.
    public func color(atX x: Int, y: Int) -> Color? {
        guard (0..<pixels.width).contains(x), (0..<pixels.height).contains(y) else { return nil }
        return Color(sum: SIMD4(truncatingIfNeeded: pixels[x, y]), pixelCount: 1)
    }

    /// Returns the colors in a rectangle of pixels, row by row; `nil` unless all of it is inside the image.
    public func colors(in rect: PixelRect) -> [Color]? {
        guard let area = rect.clamped(to: pixels.size), area == rect else { return nil }
        return (area.y..<area.y + area.height).flatMap { y in
            (area.x..<area.x + area.width).map { x in
                Color(sum: SIMD4(truncatingIfNeeded: pixels[x, y]), pixelCount: 1)
            }
        }
    }

    /// The mean of all pixels, weighted by alpha; its alpha is the mean alpha.
    public var averageColor: Color {
        averageColor(in: PixelRect(x: 0, y: 0, width: pixels.width, height: pixels.height)) ?? .clear
    }

    /// Returns the mean of the pixels in a rectangle, cropped to the image; `nil` if it is outside.
    public func averageColor(in rect: PixelRect) -> Color? {
        guard let area = rect.clamped(to: pixels.size) else { return nil }
        var sum = SIMD4<UInt64>()
        for y in area.y..<area.y + area.height {
            var rowSum = SIMD4<UInt32>()
            withUnsafeMutableBytes(of: &rowSum) { sums in
                cwi_sum(pixels.row(y) + area.x * 4, area.width, sums.bindMemory(to: UInt32.self).baseAddress)
            }
            sum &+= SIMD4(truncatingIfNeeded: rowSum)
        }
        return Color(sum: sum, pixelCount: area.size.pixelCount)
    }

    /// Whether pixels may be translucent. Takes no time.
    public var hasAlpha: Bool { !pixels.isOpaque }

    /// Whether a pixel is translucent. Reads all pixels of an image that is not known to be opaque.
    public var hasTranslucentPixels: Bool {
        guard !pixels.isOpaque else { return false }
        return (0..<pixels.height).contains { !cwi_is_opaque(pixels.row($0), pixels.width) }
    }

    /// Returns the most frequent color, counting similar ones together; `nil` if every pixel is clear. It is opaque and
    /// deterministic.
    ///
    /// Colors are counted in boxes of 8 levels per side, weighted by alpha. The result is the mean of the 3 × 3 × 3
    /// boxes that hold the most. Images with more than 262,144 pixels are sampled on a regular grid.
    public func dominantColor() -> Color? { ColorHistogram(of: pixels).dominantColor }

    /// Returns up to `count` opaque colors that represent the image, the most frequent first; none if every pixel is
    /// clear.
    ///
    /// Colors are counted as for ``dominantColor()`` and divided at the mean of the group with the largest variance
    /// (Wan, Wong and Prusinkiewicz, "An Algorithm for Multidimensional Data Clustering", 1988).
    public func palette(count: Int) -> [Color] { ColorHistogram(of: pixels).palette(count: count) }
}

extension Color {
    /// The mean of premultiplied pixels, with straight alpha.
    init(sum: SIMD4<UInt64>, pixelCount: Int) {
        let alpha = Double(sum.w)
        guard alpha > 0 else {
            self = .clear
            return
        }
        // Invalid premultiplied colors above their alpha count as alpha.
        func straight(_ value: UInt64) -> Double { min(Double(value) / alpha, 1) }
        self.init(
            red: straight(sum.x), green: straight(sum.y), blue: straight(sum.z),
            alpha: alpha / (255 * Double(pixelCount)))
    }
}

/// The frequency of colors in an image: straight colors in boxes of 8 levels per side, weighted by alpha.
struct ColorHistogram {
    /// Pixels of similar colors.
    struct Group {
        /// The sum of their premultiplied components; the last one is their weight.
        var sum = SIMD4<UInt64>()

        var weight: UInt64 { sum.w }
        var isEmpty: Bool { sum.w == 0 }
        var mean: SIMD3<Double> { SIMD3(Double(sum.x), Double(sum.y), Double(sum.z)) / Double(sum.w) }

        var color: Color {
            let mean = mean
            return Color(red: min(mean.x, 1), green: min(mean.y, 1), blue: min(mean.z, 1))
        }
    }

    /// By red, green and blue, 5 bits each.
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

    /// The mean color of the neighborhood with the largest weight.
    var dominantColor: Color? {
        var best = Group()
        for index in groups.indices where !groups[index].isEmpty {
            let candidate = neighborhood(of: index)
            if candidate.weight > best.weight { best = candidate }
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

    /// Up to `count` colors; see ``Image/palette(count:)``.
    func palette(count: Int) -> [Color] {
        guard count > 0 else { return [] }
        let filled = groups.filter { !$0.isEmpty }
        guard !filled.isEmpty else { return [] }
        var clusters = [Cluster(filled)]
        while clusters.count < count {
            guard
                let widest = clusters.indices.max(by: { clusters[$0].deviation < clusters[$1].deviation }),
                let parts = clusters[widest].divided()
            else { break }
            clusters[widest] = parts.0
            clusters.append(parts.1)
        }
        return clusters.sorted { $0.total.weight > $1.total.weight }.map(\.total.color)
    }

    /// Groups represented by one color.
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

        /// The groups below and above the mean; `nil` if all are equal.
        func divided() -> (Cluster, Cluster)? {
            let middle = total.mean[axis]
            let below = groups.filter { $0.mean[axis] < middle }
            let above = groups.filter { $0.mean[axis] >= middle }
            return below.isEmpty || above.isEmpty ? nil : (Cluster(below), Cluster(above))
        }
    }
}
