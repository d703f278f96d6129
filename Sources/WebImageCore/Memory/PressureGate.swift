/// Lets one report of each shortage pass.
///
/// While memory is short, reports come in quick succession. To empty a cache again and again would make what is
/// still wanted be loaded again and again, and so prolong the shortage.
package struct PressureGate {
    /// How long after a report others of the same shortage are ignored, in nanoseconds: 10 s.
    package static let coolDown: Int64 = 10_000_000_000

    /// Makes a gate that lets the first report pass.
    package init() {}

    private var last: (level: MemoryPressureLevel, time: Int64)?

    /// Whether a report is to be heeded: the first one, one that is more urgent, or one after the cool-down.
    package mutating func admits(_ level: MemoryPressureLevel, at now: Int64) -> Bool {
        if let last, now - last.time < Self.coolDown, level <= last.level { return false }
        last = (level, now)
        return true
    }
}
