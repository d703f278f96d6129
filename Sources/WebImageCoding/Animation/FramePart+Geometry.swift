internal import WebImageCore

extension FramePart {
    /// Whether it touches every pixel of a canvas of `canvasSize`.
    func covers(_ canvasSize: PixelSize) -> Bool { left == 0 && top == 0 && size == canvasSize }

    /// Whether it shows the same on any canvas of `canvasSize`, whatever is there.
    func replaces(_ canvasSize: PixelSize) -> Bool { covers(canvasSize) && (blend == .source || isOpaque) }

    /// Whether it changes nothing: its rectangle lies outside the canvas, and what is left inside has no pixels.
    var isEmpty: Bool { size.width <= 0 || size.height <= 0 }

    /// Whether all of it lies on a canvas of `canvasSize`.
    func lies(inside canvasSize: PixelSize) -> Bool {
        left >= 0 && top >= 0 && left <= canvasSize.width - size.width && top <= canvasSize.height - size.height
    }
}
