/// When an entry in memory expires: an ``ExpirationDeadline`` in the two words that every slot has room for.
@usableFromInline
struct SlotDeadline: Sendable, Equatable {
    /// Microseconds on the cache's ``MemoryClock``; `.max` is never.
    @usableFromInline var time: Int64
    /// How long the entry was to live, in microseconds; -1 where uses must not lengthen it.
    @usableFromInline var lifetime: Int64

    @inlinable
    init(time: Int64, lifetime: Int64) {
        self.time = time
        self.lifetime = lifetime
    }

    @usableFromInline
    init(_ expiration: CacheExpiration, clock: MemoryClock) {
        let deadline = ExpirationDeadline(expiration, now: clock.now() / 1_000, date: clock.date())
        self.init(time: deadline.time, lifetime: deadline.lifetime ?? -1)
    }

    @inlinable static var never: SlotDeadline { SlotDeadline(time: .max, lifetime: -1) }
    @inlinable var isNever: Bool { time == .max }

    /// - Parameter now: nanoseconds, as ``MemoryClock/now()`` has them.
    @inlinable
    func isPassed(at now: Int64) -> Bool { !isNever && time <= now / 1_000 }

    /// Lengthens it, for a use at `now`, in nanoseconds.
    @usableFromInline
    mutating func extend(by rule: ExpirationExtension, at now: Int64) {
        var deadline = ExpirationDeadline(time: time, lifetime: lifetime < 0 ? nil : lifetime)
        if deadline.extend(by: rule, at: now / 1_000) { time = deadline.time }
    }
}
