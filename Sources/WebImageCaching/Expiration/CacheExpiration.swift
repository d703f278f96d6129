public import FoundationEssentials

/// When an entry of a cache stops being valid.
///
/// An expired entry is never handed out; it is deleted when the cache is trimmed, or earlier.
public enum CacheExpiration: Sendable, Hashable {
    /// Not by time. The cache's limits still apply.
    case never
    /// This many seconds after it was stored. 0 or less, or no number, counts as expired at once.
    case seconds(Double)
    /// At this moment. A date that has passed counts as expired at once.
    case date(Date)

    /// `nil` for ``never``: where the disk sets no time, memory goes by its own.
    var unlessNever: CacheExpiration? { self == .never ? nil : self }
}

/// What a use does to the expiration of an entry.
///
/// Only entries that expire after a number of seconds can live longer by being used: one with a
/// ``CacheExpiration/date(_:)`` ends then, since whoever named a date meant it.
public enum ExpirationExtension: Sendable, Hashable {
    /// Nothing: an entry expires when it was to expire from the beginning.
    case none
    /// It lives for its whole time again, counted from the use.
    case original
    /// It lives for at least this many seconds, counted from the use; never less than it would have without.
    case seconds(Double)
}
