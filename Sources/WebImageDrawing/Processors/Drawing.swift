public import WebImageCore
public import WebImageProcessing

extension ImageProcessors {
    /// Draws over a picture: a caption, a frame, a watermark.
    ///
    /// Of an animation, over each frame. cairo can't be stopped in the middle, so that a cancel takes effect before or after.
    public struct Drawing: PixelProcessor {
        private let id: String
        private let draw: @Sendable (borrowing DrawingContext, PointSize) throws -> Void

        /// - Parameters:
        ///   - id: what tells this drawing from every other: caches find the result by it. Put everything the closure
        ///     depends on in it, such as the text of a caption.
        ///   - draw: draws, given the picture's size in points; called from any thread, several times at once.
        public init(id: String, draw: @escaping @Sendable (borrowing DrawingContext, PointSize) throws -> Void) {
            self.id = id
            self.draw = draw
        }

        /// Such as `drawing(id:caption-3)`.
        public var identifier: ProcessorIdentifier { ProcessorIdentifier("drawing", ["id": id]) }

        /// The pixels with the drawing over them.
        ///
        /// - Throws: ``WebImageError/drawing(_:)``, and what the closure throws if it is a ``WebImageError``;
        ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try CairoCanvas.pixels(over: pixels, in: context, isOpaque: pixels.isOpaque) { drawing in
                try draw(drawing, drawing.size)
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Drawing {
    /// Draws over a picture; see ``ImageProcessors/Drawing``.
    public static func draw(
        id: String, _ draw: @escaping @Sendable (borrowing DrawingContext, PointSize) throws -> Void
    ) -> Self { Self(id: id, draw: draw) }
}

extension Image {
    /// This picture with a drawing over it; blocks the calling thread. Of an animation, over each frame as it is asked for.
    ///
    /// - Parameter draw: draws, given the picture's size in points; called from any thread where the picture moves.
    /// - Throws: what ``ImageProcessors/Drawing/process(_:in:)`` throws.
    public func withDrawing(
        cancellation: Cancellation? = nil,
        _ draw: @escaping @Sendable (borrowing DrawingContext, PointSize) throws -> Void
    ) throws(WebImageError) -> Image {
        // Whoever asks for no identifier needs no name.
        try ImageProcessors.Drawing(id: "", draw: draw).process(self, cancellation: cancellation)
    }
}
