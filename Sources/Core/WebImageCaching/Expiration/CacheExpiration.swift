public import FoundationEssentials

/// The expiration of a cache entry. Look-ups never return an expired entry; it is deleted when the cache is trimmed, or
/// earlier.
///
/// ```swift
/// var configuration = DiskCache.Configuration()
/// configuration.expiration = .after(.seconds(3 * 86_400))
/// ```
public enum CacheExpiration: Sendable, Hashable {
    /// Never expires. The cache's limits still apply.
    case never
    /// Expires this long after it was stored; immediately if the duration is 0 or less.
    case after(Duration)
    /// Expires at this date; immediately if the date has passed.
    case date(Date)

    /// `nil` for ``never``; memory then uses its own expiration.
    var unlessNever: CacheExpiration? { self == .never ? nil : self }
}

/// The effect of a use on the expiration of an entry.
///
/// ```swift
/// var configuration = DiskCache.Configuration()
/// configuration.expiration = .after(.seconds(86_400))
/// configuration.expirationExtension = .original  // each use starts the day again
/// ```
///
/// It applies only to entries that expire ``CacheExpiration/after(_:)`` a duration, not to a ``CacheExpiration/date(_:)``.
public enum ExpirationExtension: Sendable, Hashable {
    /// No effect.
    case none
    /// The entry's lifetime starts again.
    case original
    /// The entry lives for at least this long after the use.
    case atLeast(Duration)
}

/// An ``ExpirationExtension`` in the unit of deadlines.
@usableFromInline
enum DeadlineExtension: Sendable {
    case none
    case original
    /// In microseconds.
    case atLeast(Int64)

    init(_ rule: ExpirationExtension) {
        switch rule {
        case .none: self = .none
        case .original: self = .original
        case .atLeast(let duration): self = .atLeast(duration.clampedMicroseconds)
        }
    }
}

extension Duration {
    /// Whole microseconds, from 0 to those of about 30,000 years, so that sums do not overflow.
    var clampedMicroseconds: Int64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let longest: Int64 = 1_000_000_000_000
        return seconds < longest ? seconds * 1_000_000 + attoseconds / 1_000_000_000_000 : longest * 1_000_000
    }
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
        case .after(let duration):
            let lifetime = duration.clampedMicroseconds
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
    mutating func extend(by rule: DeadlineExtension, at now: Int64) -> Bool {
        guard let lifetime, !isNever else { return false }
        let extended =
            switch rule {
            case .none: time
            case .original: Self.sum(now, lifetime)
            case .atLeast(let microseconds): Self.sum(now, microseconds)
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
