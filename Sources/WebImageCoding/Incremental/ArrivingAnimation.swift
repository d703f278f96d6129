internal import WebImageCore

/// The animation of a file whose frames are still arriving, made anew only when it has grown by a sixteenth.
///
/// Making one goes through all of its frames, so that a file of 50,000, asked for its animation with each of them, would take a
/// billion steps. Up to 31 frames each counts at once; later some wait for others, a sixteenth of all at the most. So
/// however the bytes come, all animations together have about 17 times the frames of the last one.
struct ArrivingAnimation {
    private var made: (result: Result<ComposedAnimation?, WebImageError>, frameCount: Int, isComplete: Bool)?

    /// The animation of `frameCount` frames, or of nearly all of them; `nil` for none.
    ///
    /// - Parameter isComplete: whether no further frame comes, and none is to be missing.
    mutating func source(
        frameCount: Int, isComplete: Bool, make: () throws(WebImageError) -> ComposedAnimation?
    ) throws(WebImageError) -> ComposedAnimation? {
        guard frameCount > 0 else { return nil }
        if let made, made.isComplete == isComplete {
            let step = isComplete ? 1 : max(1, made.frameCount / 16)
            if made.frameCount..<made.frameCount + step ~= frameCount { return try made.result.get() }
        }
        let result = Result { () throws(WebImageError) in try make() }
        made = (result, frameCount, isComplete)
        return try result.get()
    }
}
