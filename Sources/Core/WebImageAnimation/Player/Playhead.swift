internal import WebImageCoding
internal import WebImageCore

/// The position in an animation, and how time moves it.
///
/// Times are whole nanoseconds, of the clock and of the animation, so that nothing drifts. Both are equal at a rate of
/// 1.
struct Playhead: Sendable {
    var timeline: Timeline
    /// 0 or more.
    private(set) var rate: Double
    /// The number of completed loops.
    private(set) var loop = 0
    private(set) var entry = 0
    /// The number of entries since the last ``seek(to:loop:)``.
    private(set) var ordinal = 0
    /// How long the entry had been shown at ``anchor``, in the animation's time.
    private var elapsed: Int64 = 0
    /// The clock's time of ``elapsed``; `nil` while time stands still.
    private var anchor: Int64?

    init(_ timeline: Timeline, rate: Double) {
        self.timeline = timeline
        self.rate = Self.usable(rate)
    }

    var frame: Int { timeline.order.frame(at: entry) }
    var isRunning: Bool { anchor != nil }

    /// The result of a move.
    enum Move: Equatable {
        /// The time of the entry is not over.
        case stayed
        /// Moved to another entry, completing a number of loops.
        case moved(loopsEnded: Int)
        /// The last loop is completed. Stands on the frame on which the mode stops.
        case ended(loopsEnded: Int)
        /// The next frame has not arrived. Stands on the last one.
        case starved
    }

    /// Starts time.
    mutating func run(from now: Int64) {
        if anchor == nil { anchor = now }
    }

    /// Stops time.
    mutating func freeze(at now: Int64) {
        elapsed = time(at: now)
        anchor = nil
    }

    private static let longestTime: Int64 = .max / 4

    mutating func setRate(_ rate: Double, at now: Int64) {
        elapsed = time(at: now)
        if anchor != nil { anchor = now }
        self.rate = Self.usable(rate)
    }

    /// When the time of the entry is over by the clock; `nil` for never.
    var due: Int64? {
        guard let anchor, rate > 0 else { return nil }
        let wait = (Double(max(0, timeline.duration(of: entry) - elapsed)) / rate).rounded(.up)
        return wait < 4e18 ? anchor.addingReportingOverflow(Int64(wait)).overflow ? nil : anchor + Int64(wait) : nil
    }

    /// Moves to the beginning of an entry and stops time.
    mutating func seek(to entry: Int, loop: Int) {
        self.entry = entry
        self.loop = loop
        ordinal += 1
        elapsed = 0
        anchor = nil
    }

    /// Replaces the timeline by one in which the entry has another number.
    mutating func replaceTimeline(with timeline: Timeline, entry: Int) {
        self.timeline = timeline
        self.entry = entry
    }

    /// Moves to the clock's time, over any number of entries and loops.
    ///
    /// - Parameters:
    ///   - loopLimit: `nil` for no limit.
    ///   - isComplete: whether the first frame follows the last one.
    mutating func advance(to now: Int64, loopLimit: Int?, isComplete: Bool) -> Move {
        let time = time(at: now)
        guard time >= timeline.duration(of: entry) else { return .stayed }
        let reached = timeline.start(of: entry) + time
        let (entryCount, loopDuration) = (timeline.order.entryCount, timeline.loopDuration)
        if !isComplete, reached >= timeline.start(of: timeline.order.frameCount) { return starve(now) }
        let loopsPassed = Int(reached / loopDuration)
        if let loopLimit, loopsPassed > 0, loop + loopsPassed >= loopLimit { return end(loopLimit, at: now) }
        let target = reached % loopDuration
        let former = entry
        entry = timeline.entry(at: target)
        elapsed = target - timeline.start(of: entry)
        anchor = anchor.map { _ in now }
        loop += loopsPassed
        ordinal += loopsPassed * entryCount + entry - former
        return .moved(loopsEnded: loopsPassed)
    }

    /// Moves by at most one entry, if the time of this one is over.
    mutating func step(at now: Int64, loopLimit: Int?, isComplete: Bool) -> Move {
        let surplus = time(at: now) - timeline.duration(of: entry)
        guard surplus >= 0 else { return .stayed }
        let endsLoop = entry + 1 == timeline.order.entryCount
        if !isComplete, entry + 1 >= timeline.order.frameCount { return starve(now) }
        if endsLoop, let loopLimit, loop + 1 >= loopLimit { return end(loopLimit, at: now) }
        entry = endsLoop ? 0 : entry + 1
        loop += endsLoop ? 1 : 0
        ordinal += 1
        // A frame that is late by less than its duration does not change the rhythm.
        elapsed = surplus < timeline.duration(of: entry) ? surplus : 0
        anchor = anchor.map { _ in now }
        return .moved(loopsEnded: endsLoop ? 1 : 0)
    }

    /// Restarts the time of an entry whose frame has to be waited for.
    mutating func restartEntry() {
        elapsed = 0
        anchor = nil
    }

    private mutating func starve(_ now: Int64) -> Move {
        let last = max(entry, timeline.order.frameCount - 1)
        ordinal += last - entry
        entry = last
        // The next frame is shown at once.
        elapsed = timeline.duration(of: last)
        anchor = anchor.map { _ in now }
        return .starved
    }

    private mutating func end(_ loopLimit: Int, at now: Int64) -> Move {
        let order = timeline.order
        let ended = loopLimit - loop
        let last = order.mode.turnsBack ? 0 : order.entryCount - 1
        ordinal += (ended - 1) * order.entryCount + (order.mode.turnsBack ? order.entryCount : last) - entry
        entry = last
        loop = loopLimit
        elapsed = 0
        anchor = nil
        return .ended(loopsEnded: ended)
    }

    /// How long the entry has been shown, in the animation's time.
    private func time(at now: Int64) -> Int64 {
        guard let anchor else { return elapsed }
        // Limits that are beyond any loop and far from an overflow.
        return min(elapsed, Self.longestTime) + Int64(min(Double(max(0, now - anchor)) * rate, 2e18).rounded())
    }

    private static func usable(_ rate: Double) -> Double { rate > 0 ? min(rate, 100) : 0 }
}

/// When each entry of a loop begins, in nanoseconds at a rate of 1. Entries are found by binary search.
struct Timeline: Sendable {
    let order: FrameOrder
    /// When each frame begins in forward order, and when the last one ends.
    private let starts: [Int64]

    /// A day. With the limit of the sum, no sum of two times of a loop overflows.
    private static let longestDuration: Int64 = 86_400_000_000_000
    private static let longestSum: Int64 = .max / 8

    /// - Parameter frames: at least one. Durations of at most 10 ms count as 100 ms.
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

    func with(_ mode: PlaybackMode) -> Timeline {
        Timeline(order: FrameOrder(mode: mode, frameCount: order.frameCount), starts: starts)
    }

    /// Above 0.
    var loopDuration: Int64 { max(1, start(of: order.entryCount)) }

    /// Above 0.
    func duration(of entry: Int) -> Int64 { max(1, start(of: entry + 1) - start(of: entry)) }

    /// The start of an entry; for the one after the last, the end of the loop.
    func start(of entry: Int) -> Int64 {
        let count = order.frameCount
        guard entry > count else { return forward(entry) }
        // After the turn, frames follow in reverse order, starting with the last but one.
        return forward(count) + forward(count - 1) - forward(2 * count - 1 - entry)
    }

    /// The entry at a time of the loop.
    func entry(at time: Int64) -> Int {
        var range = 0..<order.entryCount
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range = start(of: middle) <= time ? middle..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// The start of the frame at a position from the mode's first frame.
    private func forward(_ place: Int) -> Int64 {
        order.mode.beginsAtTheEnd ? starts[order.frameCount] - starts[order.frameCount - place] : starts[place]
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        min(FrameDuration.played(duration).nanoseconds, longestDuration)
    }
}
