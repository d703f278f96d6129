package import WebImageCore

/// Which part of an upright image another one shows, turned by quarters, mirrored and scaled.
package struct ImageGeometry: Sendable, Hashable {
    /// Points of the image, from 0 to 1: where the result's left top corner is, and how far along its top and its left side are.
    private var origin = SIMD2(0.0, 0.0)
    private var across = SIMD2(1.0, 0.0)
    private var down = SIMD2(0.0, 1.0)

    /// All of the image.
    package init() {}

    /// Takes a part of the result, which has `size`.
    package mutating func crop(to rect: PixelRegion, of size: PixelSize) {
        let (width, height) = (Double(size.width), Double(size.height))
        origin += across * (rect.x / width) + down * (rect.y / height)
        across *= rect.width / width
        down *= rect.height / height
    }

    /// Turns the result as if it was stored in that orientation.
    package mutating func turn(from orientation: ImageOrientation) {
        let (across, down) = (across, down)
        func exchange() { (self.across, self.down) = (down, across) }
        switch orientation {
        case .up: break
        case .upMirrored: mirror(horizontally: true)
        case .down:
            mirror(horizontally: true)
            mirror(horizontally: false)
        case .downMirrored: mirror(horizontally: false)
        case .leftMirrored: exchange()
        case .right:
            exchange()
            mirror(horizontally: true)
        case .rightMirrored:
            exchange()
            mirror(horizontally: true)
            mirror(horizontally: false)
        case .left:
            exchange()
            mirror(horizontally: false)
        }
    }

    private mutating func mirror(horizontally: Bool) {
        if horizontally {
            origin += across
            across = -across
        } else {
            origin += down
            down = -down
        }
    }

    /// The part of the image, from 0 to 1.
    var part: PixelRegion {
        let end = origin + across + down
        let (low, high) = (pointwiseMin(origin, end), pointwiseMax(origin, end))
        // Sums of fractions may be beyond the edge by their last bits.
        let start = low.clamped(lowerBound: .zero, upperBound: .one)
        let extent = (high - low).clamped(lowerBound: SIMD2(repeating: 1e-9), upperBound: .one)
        return PixelRegion(x: start.x, y: start.y, width: min(extent.x, 1), height: min(extent.y, 1))
    }

    /// How the part is turned.
    var orientation: ImageOrientation {
        if across.x != 0 {
            return switch (across.x > 0, down.y > 0) {
            case (true, true): .up
            case (false, true): .upMirrored
            case (false, false): .down
            case (true, false): .downMirrored
            }
        }
        return switch (across.y > 0, down.x > 0) {
        case (true, true): .leftMirrored
        case (false, true): .right
        case (false, false): .rightMirrored
        case (true, false): .left
        }
    }
}
