public import WebImageCore

extension Image {
    /// A text on nothing, as large as it needs; blocks the calling thread. May be called from any thread.
    ///
    /// An empty text is as high as its line and a pixel wide.
    ///
    /// - Parameter scale: pixels in a point.
    /// - Throws: ``WebImageError/drawing(_:)`` for numbers that make no sense, a text that is too long, or a system without fonts;
    ///   ``WebImageError/imageTooLarge(size:pixelLimit:)``, ``WebImageError/outOfMemory(byteCount:)``.
    public init(text: StyledText, scale: Double = 1) throws(WebImageError) {
        let layout = try TextLayout(text)
        let rect = layout.wholeRect
        let pixel = scale > 0 ? 1 / scale : 1
        let size = PointSize(width: max(rect.width, pixel), height: max(rect.height, pixel))
        try self.init(size: size, scale: scale) { context in
            guard context.check(text.color) else { return }
            context.draw(layout, color: text.color, at: Point(x: -rect.x, y: -rect.y))
        }
    }
}
