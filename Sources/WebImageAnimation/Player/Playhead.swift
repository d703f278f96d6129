/// Where an animation stands, and how time moves it.
///
/// Times are nanoseconds: those of the clock, and those of the animation, which are as many at a rate of 1. All of it is
/// whole numbers, so that nothing drifts however long it plays.
struct Playhead: Sendable {
    var timeline: Timeline
    /// Not below 0.
    private(set) var rate: Double
    /// How many loops are over.
    private(set) var loop = 0
    private(set) var entry = 0
    /// How many entries were passed since the last ``seek(to:loop:)``.
    private(set) var ordinal = 0
    /// How long the entry has been shown, at ``anchor``, in the animation's time.
    private var elapsed: Int64 = 0
    /// The clock's time that ``elapsed`` is of; `nil` while time stands still.
    private var anchor: Int64?

    init(_ timeline: Timeline, rate: Double) {
        self.timeline = timeline
        self.rate = Self.usable(rate)
    }

    var frame: Int { timeline.order.frame(at: entry) }
    var isRunning: Bool { anchor != nil }

    /// What moving it has come to.
    enum Move: Equatable {
        /// The entry's time is not over.
        case stayed
        /// Another entry's time has come; so many loops ended on the way.
        case moved(loopsEnded: Int)
        /// The last loop is over; so many ended in this step. It stands on the frame on which the mode stops.
        case ended(loopsEnded: Int)
        /// The next frame is not there yet. It stands on the last one that is.
        case starved
    }

    /// Lets time go on from now.
    mutating func run(from now: Int64) {
        if anchor == nil { anchor = now }
    }

    /// Lets time stand still; what the entry was shown for is kept.
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

    /// When the entry's time is over by the clock; `nil` for never.
    var due: Int64? {
        guard let anchor, rate > 0 else { return nil }
        let wait = (Double(max(0, timeline.duration(of: entry) - elapsed)) / rate).rounded(.up)
        return wait < 4e18 ? anchor.addingReportingOverflow(Int64(wait)).overflow ? nil : anchor + Int64(wait) : nil
    }

    /// Stands at the beginning of an entry; time stands still.
    mutating func seek(to entry: Int, loop: Int) {
        self.entry = entry
        self.loop = loop
        ordinal += 1
        elapsed = 0
        anchor = nil
    }

    /// Goes over to a timeline in which the entry has another number; nothing else changes.
    mutating func goOver(to timeline: Timeline, entry: Int) {
        self.timeline = timeline
        self.entry = entry
    }

    /// Goes to where the clock says: over any number of entries and loops.
    ///
    /// - Parameters:
    ///   - loopLimit: `nil` for none.
    ///   - isComplete: whether the frame behind the last one is the first of the next loop.
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

    /// Goes to the next entry, if the time of this one is over; never further, however late it is.
    mutating func step(at now: Int64, loopLimit: Int?, isComplete: Bool) -> Move {
        let surplus = time(at: now) - timeline.duration(of: entry)
        guard surplus >= 0 else { return .stayed }
        let endsLoop = entry + 1 == timeline.order.entryCount
        if !isComplete, entry + 1 >= timeline.order.frameCount { return starve(now) }
        if endsLoop, let loopLimit, loop + 1 >= loopLimit { return end(loopLimit, at: now) }
        entry = endsLoop ? 0 : entry + 1
        loop += endsLoop ? 1 : 0
        ordinal += 1
        // A frame that is late by less than a frame leaves the rhythm as it is.
        elapsed = surplus < timeline.duration(of: entry) ? surplus : 0
        anchor = anchor.map { _ in now }
        return .moved(loopsEnded: endsLoop ? 1 : 0)
    }

    /// For a frame that has to be waited for: its time begins when it is there.
    mutating func beginEntryAnew() {
        elapsed = 0
        anchor = nil
    }

    private mutating func starve(_ now: Int64) -> Move {
        let last = max(entry, timeline.order.frameCount - 1)
        ordinal += last - entry
        entry = last
        // Whatever comes next comes at once.
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

    /// What the entry has been shown for, in the animation's time.
    private func time(at now: Int64) -> Int64 {
        guard let anchor else { return elapsed }
        // Limits behind which there is no end of a loop, and far from an overflow.
        return min(elapsed, Self.longestTime) + Int64(min(Double(max(0, now - anchor)) * rate, 2e18).rounded())
    }

    private static func usable(_ rate: Double) -> Double { rate > 0 ? min(rate, 100) : 0 }
}
