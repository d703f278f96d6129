internal import WebImageCoding
internal import WebImageCore

/// How long each frame is to be shown that a program puts together itself.
struct FrameDurations {
    /// The frames they make; each can be decoded by itself.
    let frames: [AnimationFrame]

    /// - Parameter seconds: those of each frame.
    /// - Throws: ``WebImageCore/WebImageError/invalidAnimation(reason:)``.
    init(_ seconds: [Double], frameCount: Int) throws(WebImageError) {
        guard frameCount > 0 else { throw .invalidAnimation(reason: .noFrames) }
        guard seconds.count == frameCount else {
            throw .invalidAnimation(reason: .durationCount(seconds.count, frameCount: frameCount))
        }
        if let frame = seconds.firstIndex(where: { !$0.isFinite || $0 < 0 }) {
            throw .invalidAnimation(reason: .duration(seconds[frame], frame: frame))
        }
        frames = seconds.map { AnimationFrame(duration: FrameDuration.played($0), isKeyframe: true) }
    }
}
