internal import Glibc
internal import WebImage

/// Where an image is in a view: its scale, position and rotation.
///
///     viewport ┌───────────────┐
///              │    ┌──────────┼────┐ area: the rotated image at `scale`
///              │    │          │    │
///              └────┼──────────┘    │
///                   └───────────────┘
///
/// The image is never smaller than its fitted size unless a smaller one is allowed, never leaves a gap on one side while it is cut off on the other,
/// and is in the middle of a direction in which it has space. All lengths are in points.
struct ZoomGeometry: Equatable {
    typealias Vector = SIMD2<Double>

    /// What the scale follows when the size of the viewport changes.
    enum Mode { case fit, fill, free }

    /// The largest scale: 20 device pixels for a pixel by default.
    var largestScale = 20.0 {
        didSet { if largestScale != oldValue { update() } }
    }
    /// The smallest scale; `nil`, the default, for that at which the whole image is in sight.
    var smallestScale: Double? {
        didSet { if smallestScale != oldValue { update() } }
    }
    /// The size of the image at 100 %, before its rotation.
    private(set) var content: Vector
    private(set) var viewport: Vector
    /// The number of clockwise quarter turns, 0 to 3.
    private(set) var quarterTurns = 0
    /// Whether the image follows the size of the viewport, and how.
    private(set) var mode = Mode.fit
    /// Whether the whole image is in sight, and stays so.
    var isFitted: Bool { mode == .fit }
    /// The points for a point of the image at 100 %.
    private(set) var scale = 1.0
    /// The top left corner of the area.
    private(set) var origin = Vector()

    init(content: PointSize, viewport: PointSize) {
        self.content = Self.vector(content)
        self.viewport = Self.vector(viewport)
        fit()
    }

    private static func vector(_ size: PointSize) -> Vector { Vector(max(1, size.width), max(1, size.height)) }

    // MARK: Measures

    private var isTurned: Bool { quarterTurns % 2 == 1 }

    /// The size at 100 % after the rotation.
    var rotatedContent: Vector { isTurned ? Vector(content.y, content.x) : content }

    /// The scale at which the whole image is in sight. Small images are not enlarged.
    var fittedScale: Double {
        let ratio = viewport / rotatedContent
        return min(1, ratio.x, ratio.y)
    }

    /// The scale at which the image covers the viewport.
    var fillingScale: Double {
        let ratio = viewport / rotatedContent
        return min(max(ratio.x, ratio.y), scales.upperBound)
    }

    var scales: ClosedRange<Double> {
        let least = min(smallestScale ?? fittedScale, fittedScale)
        return least...max(fittedScale, largestScale)
    }

    /// The area of the rotated image in the viewport.
    var area: PointRect {
        let size = rotatedContent * scale
        return PointRect(x: origin.x, y: origin.y, width: size.x, height: size.y)
    }

    /// Whether a part of the image is out of sight.
    var canPan: Bool {
        let size = rotatedContent * scale
        return size.x > viewport.x + 0.5 || size.y > viewport.y + 0.5
    }

    /// Returns the area in the viewport of a part of the image.
    ///
    /// - Parameters:
    ///   - part: the part, in fractions of the image's size before the rotation.
    ///   - area: the area of the whole image; by default ``area``.
    func area(ofPart part: PointRect, in area: PointRect? = nil) -> PointRect {
        let area = area ?? self.area
        let (left, top) = (part.x, part.y)
        let (right, bottom) = (part.x + part.width, part.y + part.height)
        let (from, to): (Vector, Vector) =
            switch quarterTurns {
            case 1: (Vector(1 - bottom, left), Vector(1 - top, right))
            case 2: (Vector(1 - right, 1 - bottom), Vector(1 - left, 1 - top))
            case 3: (Vector(top, 1 - right), Vector(bottom, 1 - left))
            default: (Vector(left, top), Vector(right, bottom))
            }
        let extent = to - from
        return PointRect(
            x: area.x + from.x * area.width, y: area.y + from.y * area.height, width: extent.x * area.width,
            height: extent.y * area.height)
    }

    // MARK: Changes

    /// Shows the whole image.
    mutating func fit() {
        mode = .fit
        scale = fittedScale
        clamp()
    }

    /// Covers the viewport, and keeps the point in its middle.
    mutating func fill() {
        zoom(to: fillingScale)
        mode = .fill
    }

    /// Follows the size of the viewport or of the image, which has changed.
    ///
    /// - Parameter middle: the point of the image for the middle of the viewport.
    private mutating func follow(middle: Vector) {
        switch mode {
        case .fit: return fit()
        case .fill: scale = fillingScale
        case .free:
            scale = min(max(scale, scales.lowerBound), scales.upperBound)
            if smallestScale == nil, scale <= fittedScale { return fit() }
        }
        origin = viewport / 2 - middle * scale
        clamp()
    }

    private mutating func update() { follow(middle: (viewport / 2 - origin) / scale) }

    /// Zooms, and keeps the point of the image that is at `anchor`, unless the image would leave a gap.
    ///
    /// - Parameter anchor: a point of the viewport; its middle by default.
    mutating func zoom(to newScale: Double, at anchor: Vector? = nil) {
        guard newScale.isFinite else { return }
        let limits = scales
        let target = min(max(newScale, limits.lowerBound), limits.upperBound)
        let anchor = anchor ?? viewport / 2
        let point = (anchor - origin) / scale
        scale = target
        mode = smallestScale == nil && target <= limits.lowerBound ? .fit : .free
        origin = anchor - point * scale
        clamp()
    }

    mutating func zoom(by factor: Double, at anchor: Vector? = nil) { zoom(to: scale * factor, at: anchor) }

    /// Moves the image.
    mutating func pan(by distance: Vector) {
        guard distance.x.isFinite, distance.y.isFinite else { return }
        origin += distance
        clamp()
    }

    /// Shows the part that another geometry shows, of an image and in a viewport that may have other sizes.
    mutating func showPart(of other: ZoomGeometry) {
        guard !other.isFitted else { return fit() }
        let middle = (other.viewport / 2 - other.origin) / (other.rotatedContent * other.scale)
        zoom(to: fittedScale * (other.scale / other.fittedScale))
        pan(by: viewport / 2 - middle * rotatedContent * scale - origin)
    }

    /// Turns the image clockwise by quarters, and keeps the point in the middle of the viewport.
    mutating func rotate(by turns: Int) {
        let turns = ((turns % 4) + 4) % 4
        var middle = (viewport / 2 - origin) / scale
        for _ in 0..<turns {
            middle = Vector(rotatedContent.y - middle.y, middle.x)
            quarterTurns = (quarterTurns + 1) % 4
        }
        follow(middle: middle)
    }

    /// Changes the size of the viewport, and keeps the point of the image in its middle.
    mutating func resize(to size: PointSize) {
        let middle = (viewport / 2 - origin) / scale
        viewport = Self.vector(size)
        follow(middle: middle)
    }

    /// Changes the size of the image at 100 %, once it is known better. The image stays where it is.
    mutating func setContent(_ size: PointSize) {
        let width = rotatedContent.x * scale
        content = Self.vector(size)
        guard mode == .free else { return mode == .fit ? fit() : fill() }
        scale = min(max(width / rotatedContent.x, scales.lowerBound), scales.upperBound)
        if smallestScale == nil, scale <= fittedScale { mode = .fit }
        clamp()
    }

    private mutating func clamp() {
        let space = viewport - rotatedContent * scale
        for axis in 0..<2 {
            origin[axis] = space[axis] >= 0 ? space[axis] / 2 : min(0, max(space[axis], origin[axis]))
        }
    }

    // MARK: Animation

    /// Returns a step on the way to `target`, for the same image and viewport. The point that both have in common stays
    /// where it is.
    ///
    /// - Parameter progress: 0 for this geometry, 1 for `target`.
    func step(to target: ZoomGeometry, progress: Double) -> ZoomGeometry {
        guard progress < 1, quarterTurns == target.quarterTurns, viewport == target.viewport else { return target }
        var step = target
        step.scale = scale * (target.scale / scale).power(progress)
        let difference = target.scale - scale
        let share = abs(difference) > 1e-9 * scale ? (step.scale - scale) / difference : progress
        step.origin = origin + (target.origin - origin) * share
        return step
    }
}

extension Double {
    fileprivate func power(_ exponent: Double) -> Double { exponent == 0 ? 1 : pow(self, exponent) }
}
