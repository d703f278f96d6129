internal import WebImageCoding
internal import WebImageCore

/// A still as an animation of one frame.
struct StillSource: AnimationSource {
    let identity = AnimationIdentity()
    private let pixels: PixelBuffer

    init(_ pixels: PixelBuffer) { self.pixels = pixels }

    var frameSize: PixelSize { pixels.size }
    var frames: [AnimationFrame] { [AnimationFrame(duration: FrameDuration.played(0), isKeyframe: true)] }
    var loopCount: Int { 0 }
    var isComplete: Bool { true }
    /// The picture has them too.
    var byteCount: Int { 0 }

    func makeFrameReader() -> any AnimationFrameReader { Reader(pixels) }

    private final class Reader: AnimationFrameReader {
        private let pixels: PixelBuffer

        init(_ pixels: PixelBuffer) { self.pixels = pixels }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer { pixels }
    }
}
