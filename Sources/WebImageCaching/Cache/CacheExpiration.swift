public import FoundationEssentials

/// When a cache entry expires. Look-ups never return an expired entry; it is deleted when the cache is trimmed, or earlier.
public enum CacheExpiration: Sendable, Hashable {
    /// Never. The cache's limits still apply.
    case never
    /// A number of seconds after it was stored. Expires at once if it is NaN, 0 or less.
    case seconds(Double)
    /// At this date. Expires at once if the date has passed.
    case date(Date)

    /// `nil` for ``never``: then memory uses its own expiration.
    var unlessNever: CacheExpiration? { self == .never ? nil : self }
}

/// What a use does to the expiration of an entry.
///
/// It applies only to entries that expire after a number of seconds, not to a ``CacheExpiration/date(_:)``.
public enum ExpirationExtension: Sendable, Hashable {
    /// Nothing.
    case none
    /// The entry's lifetime starts again.
    case original
    /// The entry lives for at least this many seconds after the use.
    case seconds(Double)
}

/// An expiration as caches store it: two numbers on the cache's clock.
struct ExpirationDeadline: Sendable, Hashable {
    /// Microseconds on the cache's clock; `.max` is never.
    private(set) var time: Int64
    /// How long its entry was to live, in microseconds; `nil` if uses don't extend it.
    let lifetime: Int64?

    static let never = ExpirationDeadline(time: .max, lifetime: nil)

    /// - Parameters:
    ///   - time: as stored; `.max` is never.
    ///   - lifetime: as stored.
    init(time: Int64, lifetime: Int64?) {
        self.time = time
        self.lifetime = lifetime
    }

    /// - Parameters:
    ///   - now: microseconds on the cache's clock.
    ///   - date: the same moment on the calendar, in microseconds since 1970; it differs where that clock is monotonic.
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

    func isPassed(at now: Int64) -> Bool { time != .max && time <= now }

    /// Extends it for a use at `now`; returns `false` when that changes nothing.
    mutating func extend(by rule: ExpirationExtension, at now: Int64) -> Bool {
        guard let lifetime, time != .max else { return false }
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

    /// At most some 30,000 years, so that sums stay in range; 0 for what is no number.
    private static func microseconds(_ seconds: Double) -> Int64 {
        seconds.isNaN ? 0 : Int64(min(max(seconds, 0), 1e12) * 1_000_000)
    }

    private static func sum(_ time: Int64, _ duration: Int64) -> Int64 {
        let (sum, overflows) = time.addingReportingOverflow(duration)
        return overflows ? .max : sum
    }
}
