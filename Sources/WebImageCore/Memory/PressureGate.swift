/// Passes one report of each shortage.
///
/// Reports come in quick succession while memory is low. Emptying a cache each time would cause images in use to be
/// loaded again and again, which would prolong the shortage.
package struct PressureGate {
    /// How long further reports of the same shortage are ignored, in nanoseconds: 10 s.
    package static let coolDown: Int64 = 10_000_000_000

    /// Creates a gate that passes the first report.
    package init() {}

    private var last: (level: MemoryPressureLevel, time: Int64)?

    /// Whether to respond to a report: the first, a more severe one, or one after the cool-down.
    package mutating func admits(_ level: MemoryPressureLevel, at now: Int64) -> Bool {
        if let last, now - last.time < Self.coolDown, level <= last.level { return false }
        last = (level, now)
        return true
    }
}
