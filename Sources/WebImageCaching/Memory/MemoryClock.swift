internal import Glibc

/// Where a ``MemoryCache`` gets the time of a use from.
///
/// One reading serves for both, the order of uses and their age. It is counted from the machine's start, sleep
/// included: what was to be kept for an hour is old after a night in a closed laptop. The kernel answers without a system
/// call, in steps of a nanosecond, so that two uses by one thread never have the same time.
@usableFromInline
struct MemoryClock: Sendable {
    /// In the place of the system's clock, for tests: nanoseconds.
    private let reading: (@Sendable () -> Int64)?

    static let system = MemoryClock(reading: nil)

    init(reading: (@Sendable () -> Int64)?) { self.reading = reading }

    /// Nanoseconds since some moment.
    @usableFromInline
    func now() -> Int64 {
        if let reading { return reading() }
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The same moment as ``now()``, in microseconds since 1970.
    func date() -> Int64 {
        if let reading { return reading() / 1_000 }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000
    }
}

extension Int64 {
    /// Nanoseconds, for a limit in seconds: `.max` for what is longer than some 290 years or no number, 0 for less
    /// than nothing.
    init(nanosecondsIn seconds: Double) {
        self = seconds < 9e9 ? Int64(Swift.max(seconds, 0) * 1e9) : .max
    }
}
