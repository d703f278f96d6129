/// How an image is placed in a rectangle of another size, like UIKit's content mode of a view.
public enum ImageContentMode: Sendable, CaseIterable {
    /// Fills the rectangle exactly, without regard to the proportions.
    case scaleToFill
    /// As large as possible inside the rectangle, with the image's proportions, centered.
    case scaleAspectFit
    /// As small as possible while covering the rectangle, with the image's proportions, centered. The image extends
    /// beyond two sides.
    case scaleAspectFill
    /// At its own size, centered.
    case center
    /// At its own size, centered at the top edge.
    case top
    /// At its own size, centered at the bottom edge.
    case bottom
    /// At its own size, centered at the left edge.
    case left
    /// At its own size, centered at the right edge.
    case right
    /// At its own size in the top left corner.
    case topLeft
    /// At its own size in the top right corner.
    case topRight
    /// At its own size in the bottom left corner.
    case bottomLeft
    /// At its own size in the bottom right corner.
    case bottomRight

    /// Returns the rectangle of an image of `size` placed in `rect`, in the same units. It may extend beyond `rect`.
    ///
    /// - Parameter focus: the point of the image that ``scaleAspectFill`` moves towards the center of `rect`; by default, the
    ///   image is centered. Other modes ignore it.
    public func rect(of size: PointSize, in rect: PointRect, focus: FocalPoint = .center) -> PointRect {
        let factor: (x: Double, y: Double)
        switch self {
        case .scaleToFill:
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
        if self == .scaleAspectFill, focus != .center {
            return PointRect(
                x: rect.x - FocalPoint.start(of: focus.left, part: rect.width, in: width),
                y: rect.y - FocalPoint.start(of: focus.top, part: rect.height, in: height), width: width, height: height
            )
        }
        let (anchorX, anchorY) = anchor
        return PointRect(
            x: rect.x + (rect.width - width) * anchorX, y: rect.y + (rect.height - height) * anchorY, width: width,
            height: height)
    }

    /// The fraction of the remaining space that goes to the left and to the top.
    private var anchor: (x: Double, y: Double) {
        switch self {
        case .scaleToFill, .scaleAspectFit, .scaleAspectFill, .center: (0.5, 0.5)
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
