internal import WebImageCore

/// What a player wants of its pool.
struct FrameWant {
    var order: FrameOrder
    /// Where it stands.
    var entry: Int
    /// Whether it waits for the frame there.
    var needsFrame: Bool
    /// How many entries it will show after this one; 0 if it does not play, `Int.max` if there is no end to it.
    var upcomingCount: Int
    /// Whether all frames are to be decoded, as long as they fit.
    var preloadsAll: Bool

    /// The frame where it stands.
    var frame: Int { order.frame(at: entry) }

    /// The next frames it will ask for, `depth` of them at most.
    func frames(depth: Int) -> [Range<Int>] {
        let ahead = min(depth - (needsFrame ? 1 : 0), upcomingCount)
        return needsFrame
            ? order.frames(from: entry, count: ahead + 1)
            : order.frames(from: order.entry(1, after: entry), count: ahead)
    }
}

/// A frame as a pool has it.
enum FrameResult {
    case picture(PixelBuffer)
    /// It can't be decoded.
    case failed(WebImageError)

    var byteCount: Int {
        switch self {
        case .picture(let pixels): pixels.byteCount
        case .failed: 0
        }
    }
}
