internal import WebImageCoding
internal import WebImageCore

/// When each entry of a loop begins, in nanoseconds at a rate of 1.
///
/// Any time is found in as many steps as the frame count has binary digits: an animation of 100,000 frames that was held
/// up for a day goes on at once.
struct Timeline: Sendable {
    let order: FrameOrder
    /// When each frame begins if they play forwards, and at the end when the last one ends.
    private let starts: [Int64]

    /// The longest a frame is shown: a day. With the limit of the sum, no sum of two times of a loop overflows.
    private static let longestDuration: Int64 = 86_400_000_000_000
    private static let longestSum: Int64 = .max / 8

    /// - Parameter frames: at least one. Durations that are no number or not above 0.01 s count as 0.1 s, whatever the
    ///   source says.
    init(_ frames: [AnimationFrame], mode: PlaybackMode) {
        precondition(!frames.isEmpty, "an animation has a frame")
        order = FrameOrder(mode: mode, frameCount: frames.count)
        var starts: [Int64] = [0]
        starts.reserveCapacity(frames.count + 1)
        var sum: Int64 = 0
        for frame in frames {
            sum = min(sum + Self.nanoseconds(frame.duration), Self.longestSum)
            starts.append(sum)
        }
        self.starts = starts
    }

    private init(order: FrameOrder, starts: [Int64]) {
        self.order = order
        self.starts = starts
    }

    /// The same frames in another order.
    func with(_ mode: PlaybackMode) -> Timeline {
        Timeline(order: FrameOrder(mode: mode, frameCount: order.frameCount), starts: starts)
    }

    /// How long a loop takes, above 0.
    var loopDuration: Int64 { max(1, start(of: order.entryCount)) }

    /// How long an entry is shown, above 0.
    func duration(of entry: Int) -> Int64 { max(1, start(of: entry + 1) - start(of: entry)) }

    /// When an entry begins; of the one behind the last, when the loop ends.
    func start(of entry: Int) -> Int64 {
        let count = order.frameCount
        guard entry > count else { return forward(entry) }
        // Behind the turn, the frames from the last but one on.
        return forward(count) + forward(count - 1) - forward(2 * count - 1 - entry)
    }

    /// The entry that is shown at a time of the loop.
    func entry(at time: Int64) -> Int {
        var range = 0..<order.entryCount
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range = start(of: middle) <= time ? middle..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// When the frame at a place begins if they play from the mode's own beginning.
    private func forward(_ place: Int) -> Int64 {
        order.mode.beginsAtTheEnd ? starts[order.frameCount] - starts[order.frameCount - place] : starts[place]
    }

    private static func nanoseconds(_ seconds: Double) -> Int64 {
        let played = FrameDuration.played(seconds.isNaN ? 0 : seconds)
        return played < 86_400 ? Int64((played * 1e9).rounded()) : longestDuration
    }
}
