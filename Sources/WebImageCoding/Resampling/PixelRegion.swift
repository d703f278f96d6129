package import WebImageCore

/// A rectangle on a picture that need not begin or end where a pixel does, in pixels; it may stick out.
package struct PixelRegion: Sendable, Hashable {
    package var x: Double
    package var y: Double
    package var width: Double
    package var height: Double

    package init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// All of a picture.
    package init(_ size: PixelSize) {
        self.init(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
    }

    /// Whether all its numbers are finite.
    package var isFinite: Bool { x.isFinite && y.isFinite && width.isFinite && height.isFinite }

    /// The pixels it consists of, if it begins and ends where pixels do and has `size`.
    func wholePixels(of size: PixelSize) -> PixelRect? {
        guard width == Double(size.width), height == Double(size.height), let x = Int(exactly: x),
            let y = Int(exactly: y)
        else { return nil }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}
