import Glibc
import WebImageGTK

/// The part of an image that is to be kept, and how drags and keys change it. All lengths are in pixels of the rotated image.
struct CropSelection: Equatable {
    typealias Vector = SIMD2<Double>

    /// The part that is dragged: for each axis the edge at the start, -1, at the end, 1, or none. `.zero` is the selection as a whole.
    typealias Handle = SIMD2<Int>

    /// The shape to keep.
    enum Shape: Equatable, CaseIterable {
        case free, original, square, fourToThree, threeToTwo, sixteenToNine

        var title: String {
            switch self {
            case .free: localized("Free")
            case .original: localized("Original")
            case .square: localized("Square")
            case .fourToThree: "4 : 3"
            case .threeToTwo: "3 : 2"
            case .sixteenToNine: "16 : 9"
            }
        }

        /// Width divided by height; upright for upright images.
        func ratio(of size: Vector) -> Double? {
            let ratio: Double
            switch self {
            case .free: return nil
            case .original: return size.x / size.y
            case .square: return 1
            case .fourToThree: ratio = 4 / 3
            case .threeToTwo: ratio = 3 / 2
            case .sixteenToNine: ratio = 16 / 9
            }
            return size.x < size.y ? 1 / ratio : ratio
        }
    }

    /// The size of the image.
    let size: Vector
    private(set) var origin = Vector.zero
    private(set) var extent: Vector
    var shape = Shape.free { didSet { if shape != oldValue { fitShape() } } }

    /// Selects the whole image.
    init(size: PixelSize) {
        self.size = Vector(Double(size.width), Double(size.height))
        extent = self.size
    }

    /// The selection in whole pixels.
    var pixels: PixelRect {
        let (left, top) = (Int(origin.x.rounded()), Int(origin.y.rounded()))
        let (right, bottom) = (Int((origin.x + extent.x).rounded()), Int((origin.y + extent.y).rounded()))
        return PixelRect(x: left, y: top, width: max(1, right - left), height: max(1, bottom - top))
    }

    private var least: Double { min(16, size.x, size.y) }
    private var ratio: Double? { shape.ratio(of: size) }

    /// The largest selection of the shape around the middle of the former one.
    private mutating func fitShape() {
        guard let ratio else { return }
        let middle = origin + extent / 2
        let width = min(extent.x, extent.y * ratio)
        extent = Vector(width, width / ratio)
        origin = middle - extent / 2
        clamp()
    }

    /// Moves the selection, or some of its edges. It stays within the image.
    ///
    /// - Parameter distance: how far, in pixels.
    mutating func drag(_ handle: Handle, by distance: Vector) {
        guard handle != .zero else {
            origin += distance
            return clamp()
        }
        // The point that stays: the opposite edge, or the middle.
        var anchor = origin + extent / 2
        var wanted = extent
        for axis in 0..<2 where handle[axis] != 0 {
            anchor[axis] = handle[axis] > 0 ? origin[axis] : origin[axis] + extent[axis]
            wanted[axis] = extent[axis] + Double(handle[axis]) * distance[axis]
        }
        var space = Vector.zero
        for axis in 0..<2 {
            space[axis] =
                switch handle[axis] {
                case 1: size[axis] - anchor[axis]
                case -1: anchor[axis]
                default: 2 * min(anchor[axis], size[axis] - anchor[axis])
                }
        }
        if let ratio {
            let width = handle.x == 0 ? wanted.y * ratio : handle.y == 0 ? wanted.x : max(wanted.x, wanted.y * ratio)
            wanted.x = min(max(width, least * max(1, ratio)), space.x, space.y * ratio)
            wanted.y = wanted.x / ratio
        } else {
            for axis in 0..<2 where handle[axis] != 0 { wanted[axis] = min(max(wanted[axis], least), space[axis]) }
        }
        for axis in 0..<2 {
            origin[axis] =
                switch handle[axis] {
                case 1: anchor[axis]
                case -1: anchor[axis] - wanted[axis]
                default: anchor[axis] - wanted[axis] / 2
                }
        }
        extent = wanted
    }

    private mutating func clamp() {
        for axis in 0..<2 { origin[axis] = min(max(0, origin[axis]), size[axis] - extent[axis]) }
    }

    // MARK: View

    /// Returns the selection where the image is on screen.
    ///
    /// - Parameter area: the area of the whole image, in points.
    func place(in area: PointRect) -> PointRect {
        let (x, y) = (area.width / size.x, area.height / size.y)
        return PointRect(
            x: area.x + origin.x * x, y: area.y + origin.y * y, width: extent.x * x, height: extent.y * y)
    }

    /// Returns what is at a point; `nil` outside the selection.
    ///
    /// - Parameter reach: how far from an edge the pointer takes it, in points.
    func handle(at point: Vector, in area: PointRect, reach: Double) -> Handle? {
        let place = place(in: area)
        var handle = Handle.zero
        for (axis, (start, length)) in [(place.x, place.width), (place.y, place.height)].enumerated() {
            let position = point[axis]
            guard position > start - reach, position < start + length + reach else { return nil }
            // In a small selection, the middle third moves all.
            let inner = min(reach, length / 3)
            if position < start + inner { handle[axis] = -1 }
            if position > start + length - inner { handle[axis] = 1 }
        }
        return handle
    }
}
