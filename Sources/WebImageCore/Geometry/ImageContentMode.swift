/// How a picture lies in a rectangle of another size: what UIKit calls a view's content mode.
public enum ImageContentMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Exactly the rectangle, whatever that does to the proportions.
    case scaleToFill
    /// As large as possible inside the rectangle, with the picture's own proportions, in the middle.
    case scaleAspectFit
    /// As small as possible while covering the rectangle, with the picture's own proportions, in the middle; it sticks out at
    /// two sides.
    case scaleAspectFill
    /// As ``scaleToFill``.
    case redraw
    /// At its own size in the middle.
    case center
    /// At its own size at the middle of the top edge.
    case top
    /// At its own size at the middle of the bottom edge.
    case bottom
    /// At its own size at the middle of the left edge.
    case left
    /// At its own size at the middle of the right edge.
    case right
    /// At its own size in the left top corner.
    case topLeft
    /// At its own size in the right top corner.
    case topRight
    /// At its own size in the left bottom corner.
    case bottomLeft
    /// At its own size in the right bottom corner.
    case bottomRight

    /// Where a picture of `size` lies in `rect`, in the same units; it may reach beyond `rect`.
    public func rect(of size: PointSize, in rect: PointRect) -> PointRect {
        let factor: (x: Double, y: Double)
        switch self {
        case .scaleToFill, .redraw:
            return rect
        case .scaleAspectFit:
            let both = min(rect.width / size.width, rect.height / size.height)
            factor = (both, both)
        case .scaleAspectFill:
            let both = max(rect.width / size.width, rect.height / size.height)
            factor = (both, both)
        default:
            factor = (1, 1)
        }
        let (width, height) = (size.width * factor.x, size.height * factor.y)
        let (anchorX, anchorY) = anchor
        return PointRect(
            x: rect.x + (rect.width - width) * anchorX, y: rect.y + (rect.height - height) * anchorY, width: width,
            height: height)
    }

    /// The share of what is left over that goes to the left and to the top.
    private var anchor: (x: Double, y: Double) {
        switch self {
        case .scaleToFill, .scaleAspectFit, .scaleAspectFill, .redraw, .center: (0.5, 0.5)
        case .top: (0.5, 0)
        case .bottom: (0.5, 1)
        case .left: (0, 0.5)
        case .right: (1, 0.5)
        case .topLeft: (0, 0)
        case .topRight: (1, 0)
        case .bottomLeft: (0, 1)
        case .bottomRight: (1, 1)
        }
    }
}
