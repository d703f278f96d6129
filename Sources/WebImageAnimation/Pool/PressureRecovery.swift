internal import WebImageCore

/// How a pool comes back from a shortage of memory: for a while it makes do with what it was left, then it takes a frame
/// more with each that is shown, however many players there are.
///
/// Steps are counted, not time: an animation that stands still takes no memory back.
struct PressureRecovery {
    /// How many steps a pool stays where it is: some seconds of a usual animation.
    static let holdCount = 60

    /// The most frames the pool may keep; `Int.max` when all is well.
    private(set) var ceiling = Int.max
    private var holdsFor = 0

    /// Leaves half of the frames after a warning, and as few as can be after worse.
    mutating func begin(_ level: MemoryPressureLevel, frameCount: Int) {
        ceiling = min(ceiling, level == .critical ? 2 : max(2, frameCount / 2))
        holdsFor = Self.holdCount
    }

    /// The first player has moved on.
    mutating func step(upTo frameCount: Int) {
        guard ceiling != .max else { return }
        guard holdsFor == 0 else { return holdsFor -= 1 }
        ceiling = ceiling + 1 >= frameCount ? .max : ceiling + 1
    }
}
