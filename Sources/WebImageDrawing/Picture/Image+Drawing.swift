public import WebImageCore

extension Image {
    /// A picture that a closure draws; blocks the calling thread.
    ///
    /// It begins clear, or black if it is to be opaque. May be called from any thread.
    ///
    /// - Parameters:
    ///   - size: in points; a fraction of a pixel at the right or the bottom becomes a whole one.
    ///   - scale: pixels in a point.
    ///   - isOpaque: whether it has no transparency, whatever is drawn.
    ///   - draw: draws; see ``DrawingContext`` for the coordinates.
    /// - Throws: ``WebImageError/drawing(_:)`` for sizes and numbers that make no sense, and for errors that `draw` throws, unless
    ///   they are a ``WebImageError`` themselves; ``WebImageError/imageTooLarge(size:pixelLimit:)``,
    ///   ``WebImageError/outOfMemory(byteCount:)``.
    public init(
        size: PointSize, scale: Double = 1, isOpaque: Bool = false,
        draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) {
        let pixels = try CairoCanvas.pixelSize(size, scale: scale)
        self.init(
            pixels: try CairoCanvas.pixels(pixels, of: size, scale: scale, isOpaque: isOpaque, draw: draw),
            scale: scale)
    }
}
