public import FoundationEssentials

/// The expiration of a cache entry. Look-ups never return an expired entry; it is deleted when the cache is trimmed, or
/// earlier.
///
/// ```swift
/// var configuration = DiskCache.Configuration()
/// configuration.expiration = .seconds(3 * 86_400)
/// ```
public enum CacheExpiration: Sendable, Hashable {
    /// Never expires. The cache's limits still apply.
    case never
    /// Expires a number of seconds after it was stored; immediately if the number is NaN, 0 or less.
    case seconds(Double)
    /// Expires at this date; immediately if the date has passed.
    case date(Date)

    /// `nil` for ``never``; memory then uses its own expiration.
    var unlessNever: CacheExpiration? { self == .never ? nil : self }
}

/// The effect of a use on the expiration of an entry.
///
/// ```swift
/// var configuration = DiskCache.Configuration()
/// configuration.expiration = .seconds(86_400)
/// configuration.expirationExtension = .original  // each use starts the day again
/// ```
///
/// It applies only to entries that expire after a number of seconds, not to a ``CacheExpiration/date(_:)``.
public enum ExpirationExtension: Sendable, Hashable {
    /// No effect.
    case none
    /// The entry's lifetime starts again.
    case original
    /// The entry lives for at least this many seconds after the use.
    case seconds(Double)
}

/// An expiration in its stored form: two numbers on the cache's clock.
@usableFromInline
struct ExpirationDeadline: Sendable, Hashable {
    /// Microseconds on the cache's clock; `.max` is never.
    @usableFromInline var time: Int64
    /// The original lifetime of the entry, in microseconds; `nil` if uses do not extend it.
    @usableFromInline let lifetime: Int64?

    @inlinable static var never: ExpirationDeadline { ExpirationDeadline(time: .max, lifetime: nil) }
    @inlinable var isNever: Bool { time == .max }

    /// - Parameters:
    ///   - time: the stored time; `.max` is never.
    ///   - lifetime: the stored lifetime.
    @inlinable
    init(time: Int64, lifetime: Int64?) {
        self.time = time
        self.lifetime = lifetime
    }

    /// - Parameters:
    ///   - now: microseconds on the cache's clock.
    ///   - date: the same moment in microseconds since 1970, which differs if that clock is monotonic.
    init(_ expiration: CacheExpiration, now: Int64, date: Int64) {
        switch expiration {
        case .never:
            self = .never
        case .seconds(let seconds):
            let lifetime = Self.microseconds(seconds)
            self.init(time: Self.sum(now, lifetime), lifetime: lifetime)
        case .date(let end):
            let remaining = Self.microseconds(end.timeIntervalSince1970 - Double(date) / 1_000_000)
            self.init(time: Self.sum(now, remaining), lifetime: nil)
        }
    }

    @inlinable
    func isPassed(at now: Int64) -> Bool { !isNever && time <= now }

    /// Extends the expiration for a use at `now`; returns `false` if that changes nothing.
    @usableFromInline
    mutating func extend(by rule: ExpirationExtension, at now: Int64) -> Bool {
        guard let lifetime, !isNever else { return false }
        let extended =
            switch rule {
            case .none: time
            case .original: Self.sum(now, lifetime)
            case .seconds(let seconds): Self.sum(now, Self.microseconds(seconds))
            }
        guard extended > time else { return false }
        time = extended
        return true
    }

    /// Converts seconds, clamped to about 30,000 years so that sums do not overflow; 0 for NaN.
    private static func microseconds(_ seconds: Double) -> Int64 {
        seconds.isNaN ? 0 : Int64(min(max(seconds, 0), 1e12) * 1_000_000)
    }

    private static func sum(_ time: Int64, _ duration: Int64) -> Int64 {
        let (sum, overflows) = time.addingReportingOverflow(duration)
        return overflows ? .max : sum
    }
}
