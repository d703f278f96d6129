internal import Glibc
internal import WebImageCore

/// The clock of a ``MemoryCache``.
///
/// It counts from the boot of the machine and includes sleep, so an entry with a lifetime of an hour expires during a
/// night in a closed laptop. Reading it takes no system call.
@usableFromInline
struct MemoryClock: Sendable {
    /// Replaces the system's clock in tests: nanoseconds.
    private let reading: (@Sendable () -> Int64)?

    static let system = MemoryClock(reading: nil)

    init(reading: (@Sendable () -> Int64)?) { self.reading = reading }

    /// The time since boot, in nanoseconds.
    @usableFromInline
    func now() -> Int64 {
        if let reading { return reading() }
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The deadline of an entry that is stored now, in microseconds on this clock.
    @usableFromInline
    func deadline(of expiration: CacheExpiration) -> ExpirationDeadline {
        if case .never = expiration { return .never }
        return ExpirationDeadline(expiration, now: now() / 1_000, date: date())
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
    /// Converts a limit to nanoseconds: `.max` for more than about 285 years or `nil`, 0 for a negative limit.
    init(nanosecondsIn limit: Duration?) {
        guard let limit, limit < .seconds(9_000_000_000) else {
            self = .max
            return
        }
        self = Swift.max(limit.nanoseconds, 0)
    }
}
