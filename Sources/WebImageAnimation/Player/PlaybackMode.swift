/// The order in which a player shows frames. One loop of four frames, and the frame on which it stops after its last loop:
///
/// | | a loop | stops on |
/// |---|---|---|
/// | `normal` | 0 1 2 3 | 3, the last |
/// | `reverse` | 3 2 1 0 | 0, the first |
/// | `bounce` | 0 1 2 3 2 1 | 0, where it began |
/// | `reversedBounce` | 3 2 1 0 1 2 | 3, where it began |
///
/// So a frame at which it turns is shown once, and a loop of a bounce ends when it is back where it began.
public enum PlaybackMode: String, Sendable, Hashable, CaseIterable {
    /// From the first frame to the last.
    case normal
    /// From the last frame to the first.
    case reverse
    /// From the first frame to the last and back.
    case bounce
    /// From the last frame to the first and back.
    case reversedBounce

    var turnsBack: Bool { self == .bounce || self == .reversedBounce }
    var beginsAtTheEnd: Bool { self == .reverse || self == .reversedBounce }
}

/// How often a player plays.
public enum LoopLimit: Sendable, Hashable {
    /// As often as the image says.
    case image
    /// So often; less than 1 counts as 1.
    case count(Int)
    /// Until somebody stops it.
    case endless
}

/// What a player does when it can't keep up.
public enum LatePolicy: String, Sendable, Hashable, CaseIterable {
    /// It keeps to the clock and leaves frames out; ``AnimationPlayer/droppedFrameCount`` counts them. While a frame is not
    /// decoded, it runs ahead of the picture by 8 frames at most, then waits: of an animation that takes longer to decode
    /// than to play, something is to be seen.
    case dropFrames
    /// It shows each frame for its duration at least, and the animation takes longer.
    case slowDown
}
