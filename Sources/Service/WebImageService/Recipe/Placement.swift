internal import WebImageCore
internal import WebImageProcessing

/// Where something is: the part of an image that stays, an image on a larger canvas, or a watermark.
struct Placement: Sendable, Hashable {
    enum Anchor: Sendable, Hashable {
        /// 0 is left or top, 0.5 the center, 1 right or bottom.
        case side(x: Double, y: Double)
        /// A point of the image, each from 0 to 1, that becomes the center.
        case focus(x: Double, y: Double)
        /// The part that draws attention.
        case smart
    }

    var anchor: Anchor
    /// Distances from the side, or from the center to the right and down: in pixels, or below 1 as a share of the whole.
    var offsetX = 0.0, offsetY = 0.0

    static let center = Placement(anchor: .side(x: 0.5, y: 0.5))

    /// Returns the left top corner of something inside something larger, in pixels.
    ///
    /// - Parameters:
    ///   - density: pixels for each pixel of an offset.
    ///   - mayLeave: whether it may be partly outside.
    func origin(
        of inner: PixelSize, in outer: PixelSize, density: Double = 1, mayLeave: Bool = false
    ) -> (x: Int, y: Int) {
        (
            position(\.x, inner.width, outer.width, offsetX, density, mayLeave),
            position(\.y, inner.height, outer.height, offsetY, density, mayLeave)
        )
    }

    /// Returns an offset in pixels: below 1, it is a share of a length.
    static func distance(_ offset: Double, of length: Int, density: Double) -> Int {
        Int((abs(offset) >= 1 ? offset * density : offset * Double(length)).rounded(.toNearestOrEven))
    }

    private func position(
        _ axis: KeyPath<PointPair, Double>, _ inner: Int, _ outer: Int, _ offset: Double, _ density: Double,
        _ mayLeave: Bool
    ) -> Int {
        let space = outer - inner
        let distance = Self.distance(offset, of: outer, density: density)
        let start: Int
        switch anchor {
        case .side(let x, let y):
            let share = PointPair(x: x, y: y)[keyPath: axis]
            // From the right and from below, distances count inwards.
            // As in imgproxy, the center of an odd space is the even number, and behind the middle of an even one.
            let side = share == 0.5 ? Int((Double(space + 1) / 2).rounded(.toNearestOrEven)) : share == 1 ? space : 0
            start = side + (share == 1 ? -distance : distance)
        case .focus(let x, let y):
            start = Int((Double(outer) * PointPair(x: x, y: y)[keyPath: axis]).rounded(.toNearestOrEven)) - inner / 2
        case .smart: start = space / 2
        }
        let range = mayLeave ? (1 - inner)...max(1 - inner, outer - 1) : min(space, 0)...max(space, 0)
        return min(max(start, range.lowerBound), range.upperBound)
    }

    private struct PointPair {
        let x, y: Double
    }
}
