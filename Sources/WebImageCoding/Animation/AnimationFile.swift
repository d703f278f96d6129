internal import WebImageCore

/// An animation as a file has it: pieces of pictures, and rules for putting them together. One type a format conforms;
/// ``ComposedAnimation`` puts them together for all.
protocol AnimationFile: Sendable {
    var format: ImageFormat { get }
    /// The size that all frames share, as stored.
    var canvasSize: PixelSize { get }
    /// How the canvas is turned.
    var orientation: ImageOrientation { get }
    /// In their order; each lies on the canvas: what a file has outside is cut off, at the worst to nothing.
    var parts: [FramePart] { get }
    /// How often it plays; 0 for ever.
    var loopCount: Int { get }
    /// Whether the file has no more frames than these.
    var isComplete: Bool { get }
    /// Of the file, in memory.
    var byteCount: Int { get }

    /// What decoding a part of `size` takes besides its pixels, in bytes.
    func workingByteCount(of size: PixelSize) -> Int

    /// The part's own pixels: as large as its rectangle, premultiplied, not yet turned.
    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
}

/// One frame of a file: the rectangle that it changes, and what becomes of it.
struct FramePart: Sendable, Hashable {
    /// On the canvas as stored.
    var left: Int
    var top: Int
    var size: PixelSize
    /// In seconds, already as it is to be played.
    var duration: Double
    var blend: Blend
    var disposal: Disposal
    /// Whether no pixel of it can be transparent.
    var isOpaque: Bool

    /// How its pixels meet those that are there.
    enum Blend: Sendable {
        /// They lie over them.
        case over
        /// They take their place.
        case source
    }

    /// What its rectangle shows when the next frame is drawn.
    enum Disposal: Sendable {
        /// What it shows.
        case keep
        /// Nothing: transparent black.
        case clear
        /// What it showed before.
        case restore
    }
}
