internal import Glibc

/// How much of each pixel is inside a polygon, exactly.
///
/// In each row, an edge adds the area on its right to the pixels it crosses, with a sign for its direction. The running
/// sum along the row is the coverage:
///
///     edge down │▒░       sums  0 ½ ½ 0 0 0 0 -½ -½ 0
///               │ ▒░  …   ────▶ 0 ½ 1 1 1 1 1  ½  0 0
///
/// Shapes must not cross themselves.
struct ShapeCoverage: Sendable {
    typealias Point = SIMD2<Double>

    /// From top to bottom.
    private struct Edge {
        let top: Point
        let bottom: Point
        /// 1 if it goes down in its contour, -1 if it goes up.
        let sign: Double
    }

    private let edges: [Edge]
    /// The range of `crossings` for each row.
    private let starts: [Int32]
    private let crossings: [Int32]
    /// The column of the first sum.
    private let left: Int
    private let sumCount: Int
    /// Columns of the canvas.
    let width: Int

    /// - Parameters:
    ///   - contour: the corners in pixels, in either direction. They may be outside the canvas.
    ///   - width: of the canvas.
    ///   - height: of the canvas.
    init(_ contour: [Point], width: Int, height: Int) {
        self.width = width
        var edges: [Edge] = []
        for (index, start) in contour.enumerated() {
            let end = contour[(index + 1) % contour.count]
            guard start.y != end.y else { continue }
            edges.append(
                start.y < end.y ? Edge(top: start, bottom: end, sign: 1) : Edge(top: end, bottom: start, sign: -1))
        }
        func rows(of edge: Edge) -> Range<Int> {
            let first = min(max(Int(edge.top.y.rounded(.down)), 0), height)
            return first..<max(first, min(Int(edge.bottom.y.rounded(.up)), height))
        }
        var starts = [Int32](repeating: 0, count: height + 1)
        for edge in edges {
            for row in rows(of: edge) { starts[row + 1] += 1 }
        }
        for row in 0..<height { starts[row + 1] += starts[row] }
        var ends = starts
        var crossings = [Int32](repeating: 0, count: Int(starts[height]))
        for (index, edge) in edges.enumerated() {
            for row in rows(of: edge) {
                crossings[Int(ends[row])] = Int32(index)
                ends[row] += 1
            }
        }
        let columns = contour.map(\.x)
        left = Int((columns.min() ?? 0).rounded(.down))
        sumCount = Int((columns.max() ?? 0).rounded(.up)) - left + 2
        self.edges = edges
        self.starts = starts
        self.crossings = crossings
    }

    /// Memory that ``fill(_:row:with:)`` needs, for one thread.
    struct Scratch: Sendable {
        /// All 0 between rows.
        fileprivate var sums: [Double]
        /// The sums that edges changed, in any order.
        fileprivate var touched: [Range<Int>] = []
    }

    func makeScratch() -> Scratch { Scratch(sums: [Double](repeating: 0, count: sumCount)) }

    /// Writes the coverage of a row, 0 to 255, for all columns of the canvas.
    ///
    /// - Returns: the columns outside of which it is 0.
    @discardableResult
    func fill(_ mask: inout [UInt8], row: Int, with scratch: inout Scratch) -> Range<Int> {
        scratch.touched.removeAll(keepingCapacity: true)
        scratch.sums.withUnsafeMutableBufferPointer { sums in
            for index in crossings[Int(starts[row])..<Int(starts[row + 1])] {
                guard let columns = add(edges[Int(index)], row: Double(row), to: sums) else { continue }
                scratch.touched.append(columns)
            }
        }
        scratch.touched.sort { $0.lowerBound < $1.lowerBound }
        return mask.withUnsafeMutableBufferPointer { mask in
            mask.update(repeating: 0)
            guard let first = scratch.touched.first?.lowerBound else { return 0..<0 }
            return scratch.sums.withUnsafeMutableBufferPointer { sums in
                var (sum, index) = (0.0, first)
                for columns in scratch.touched {
                    // Nothing changes between edges.
                    if columns.lowerBound > index {
                        let gap = clamped(index)..<clamped(columns.lowerBound)
                        UnsafeMutableBufferPointer(rebasing: mask[gap]).update(repeating: Self.byte(sum))
                        index = columns.lowerBound
                    }
                    while index < columns.upperBound {
                        sum += sums[index]
                        sums[index] = 0
                        let column = index + left
                        if column >= 0, column < width { mask[column] = Self.byte(sum) }
                        index += 1
                    }
                }
                return clamped(first)..<clamped(index)
            }
        }
    }

    /// The column of a sum, limited to the canvas.
    private func clamped(_ index: Int) -> Int { min(max(index + left, 0), width) }

    private static func byte(_ sum: Double) -> UInt8 { UInt8(min(abs(sum), 1) * 255 + 0.5) }

    /// Returns the range of sums it changed.
    private func add(
        _ edge: Edge, row: Double, to sums: UnsafeMutableBufferPointer<Double>
    ) -> Range<Int>? {
        let upper = max(edge.top.y, row)
        let lower = min(edge.bottom.y, row + 1)
        guard upper < lower else { return nil }
        // A slope might overflow: with a tiny radius, an edge has almost no height.
        let (across, down) = (edge.bottom.x - edge.top.x, edge.bottom.y - edge.top.y)
        // Rounding may leave the range of the edge by a little.
        let limits = min(edge.top.x, edge.bottom.x)...max(edge.top.x, edge.bottom.x)
        func column(at y: Double) -> Double {
            min(max(edge.top.x + (y - edge.top.y) / down * across, limits.lowerBound), limits.upperBound) - Double(left)
        }
        let (first, second) = (column(at: upper), column(at: lower))
        let (near, far) = (min(first, second), max(first, second))
        let height = (lower - upper) * edge.sign
        let (nearPixel, farPixel) = (Int(near), Int(far))
        if nearPixel == farPixel {
            let leftOut = (near + far) / 2 - Double(nearPixel)
            sums[nearPixel] += height * (1 - leftOut)
            sums[nearPixel + 1] += height * leftOut
            return nearPixel..<nearPixel + 2
        }
        // Column by column: the share of the edge's height, and its middle there.
        let perColumn = height / (far - near)
        var start = near
        for pixel in nearPixel...farPixel {
            let end = min(Double(pixel + 1), far)
            let part = perColumn * (end - start)
            let leftOut = (start + end) / 2 - Double(pixel)
            sums[pixel] += part * (1 - leftOut)
            sums[pixel + 1] += part * leftOut
            start = end
        }
        return nearPixel..<farPixel + 2
    }
}

extension ShapeCoverage {
    /// The corners of a rectangle clockwise from the top left, each replaced by a quarter of a circle or a straight
    /// cut.
    static func contour(
        x: Double, y: Double, width: Double, height: Double, corners: (Int) -> (radius: Double, isCut: Bool)
    ) -> [Point] {
        let (right, bottom) = (x + width, y + height)
        // Each corner, and the directions to the center of its circle.
        let places: [(corner: Point, inwards: Point)] = [
            (Point(x, y), Point(1, 1)), (Point(right, y), Point(-1, 1)),
            (Point(right, bottom), Point(-1, -1)), (Point(x, bottom), Point(1, -1)),
        ]
        return places.enumerated().flatMap { index, place -> [Point] in
            let (radius, isCut) = corners(index)
            guard radius > 0 else { return [place.corner] }
            let center = place.corner + place.inwards * radius
            let count = isCut ? 1 : segmentCount(radius: radius)
            return (0...count).map { step in
                // With y downwards, the first arc goes from the left (180°) to the top (270°).
                let angle = (Double(step) / Double(count) + Double(index) + 2) * .pi / 2
                return center + Point(cos(angle), sin(angle)) * radius
            }
        }
    }

    /// Enough lines for a quarter of a circle to be at most 1/2000 of a pixel off.
    private static func segmentCount(radius: Double) -> Int {
        let step = 2 * acos(max(0, 1 - 0.0005 / radius))
        return max(1, Int((.pi / 2 / step).rounded(.up)))
    }
}
