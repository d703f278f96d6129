internal import Glibc
internal import Synchronization
internal import WebImageCore

/// Registers a ``MemoryCache`` for memory pressure reports and its next sweep, while it has entries.
@usableFromInline
final class MemoryUpkeep: Sendable {
    /// The minimum time between two sweeps, in nanoseconds: 5 s. Expired entries are not returned anyway.
    static let sweepInterval: Int64 = 5_000_000_000

    private struct State {
        var observation: MemoryPressureObservation?
        /// The earliest time of the next sweep, in nanoseconds.
        var earliestSweep = Int64.min
        var isUpdating = false
        var isOutdated = false
        var gate = PressureGate()
    }

    private let maintenance: CacheMaintenance
    private let pressureSource: MemoryPressureSource?
    private let clock: MemoryClock
    private let state = Lock(State())
    /// The time of the scheduled sweep, in nanoseconds; `.min` if none could be earlier.
    private let scheduledSweep = Atomic(Int64.max)

    init(maintenance: CacheMaintenance, pressureSource: MemoryPressureSource?, clock: MemoryClock) {
        self.maintenance = maintenance
        self.pressureSource = pressureSource
        self.clock = clock
    }

    /// Whether the scheduled sweep comes after an entry's deadline.
    @usableFromInline
    func isLate(for deadline: SlotDeadline) -> Bool {
        deadline.time < scheduledSweep.load(ordering: .relaxed) / 1_000
    }

    /// Registers or unregisters the cache for its current state. Of overlapping calls, the last one's state counts.
    func update(for cache: some MaintainedCache) {
        let isBusy = state.withLock { state in
            if state.isUpdating { state.isOutdated = true }
            defer { state.isUpdating = true }
            return state.isUpdating
        }
        guard !isBusy else { return }
        repeat {
            updateOnce(for: cache)
        } while state.withLock { state in
            defer { state.isOutdated = false }
            state.isUpdating = state.isOutdated
            return state.isOutdated
        }
    }

    private func updateOnce(for cache: some MaintainedCache) {
        guard !cache.isEmpty else { return stop(ObjectIdentifier(cache)) }
        if state.withLock({ $0.observation == nil }) {
            let observation = pressureSource?.observe { [weak self, weak cache] level in
                guard let self, state.withLock({ $0.gate.admits(level, at: clock.now()) }) else { return }
                cache?.respond(to: level)
            }
            state.withLock { $0.observation = observation }
        }
        // First, so that a thread which stores an entry after the cache was checked finds its deadline too early.
        scheduledSweep.store(.max, ordering: .sequentiallyConsistent)
        let next = cache.nextSweep
        let earliest = state.withLock { $0.earliestSweep }
        scheduledSweep.store(next > earliest ? next : .min, ordering: .sequentiallyConsistent)
        maintenance.schedule(cache, at: max(next, earliest))
    }

    /// Delays the next sweep by ``sweepInterval``.
    func delayNextSweep() {
        let now = clock.now()
        state.withLock { $0.earliestSweep = now + Self.sweepInterval }
    }

    /// Unregisters the cache.
    func stop(_ cache: ObjectIdentifier) {
        let observation = state.withLock { state in
            defer { state.observation = nil }
            return state.observation
        }
        observation?.cancel()
        scheduledSweep.store(.max, ordering: .sequentiallyConsistent)
        maintenance.forget(cache)
    }
}

extension MemoryCache: MaintainedCache {
    var isEmpty: Bool { totals.isEmpty }

    /// When the next entry expires or becomes too old, in nanoseconds on the cache's clock; `.max` for never.
    var nextSweep: Int64 {
        var due = Int64.max
        for shard in shards.all {
            shard.locked {
                let (deadline, ageLimit) = (shard.store.earliestDeadline, shard.store.ageLimit)
                if deadline < .max / 1_000 { due = min(due, deadline * 1_000) }
                guard ageLimit != .max, shard.store.oldestStamp != .max else { return }
                let (end, overflows) = shard.store.oldestStamp.addingReportingOverflow(ageLimit)
                if !overflows { due = min(due, end) }
            }
        }
        return due
    }

    func sweep() {
        removeExpired()
        upkeep.delayNextSweep()
        keepUp()
    }

    func respond(to level: MemoryPressureLevel) {
        switch level {
        case .warning:
            let (cost, count) = (totals.cost, totals.count)
            // Without costs, half of the entries.
            evict(
                downTo: cost > 0
                    ? EvictionGoal(cost: cost / 2, cause: .memoryPressure)
                    : EvictionGoal(count: count / 2, cause: .memoryPressure))
        case .critical: evictCurrentEntries(because: .memoryPressure)
        }
    }
}

/// The clock of a ``MemoryCache``.
///
/// One reading determines both the order of uses and their age. The clock counts from the boot of the machine and
/// includes sleep, so an entry with a lifetime of an hour expires during a night in a closed laptop. Reading it takes
/// no system call and has a resolution of a nanosecond, so two uses by one thread never have the same time.
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

    /// The same moment as ``now()``, in microseconds since 1970.
    func date() -> Int64 {
        if let reading { return reading() / 1_000 }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000
    }
}

/// When an entry in memory expires: an ``ExpirationDeadline`` in 12 bytes.
@usableFromInline
struct SlotDeadline: Sendable, Equatable {
    /// Microseconds on the cache's ``MemoryClock``; `.max` is never.
    @usableFromInline var time: Int64
    /// The original lifetime of the entry, in seconds; -1 if uses must not extend it.
    @usableFromInline var lifetime: Float

    @inlinable
    init(time: Int64, lifetime: Float) {
        self.time = time
        self.lifetime = lifetime
    }

    @usableFromInline
    init(_ expiration: CacheExpiration, clock: MemoryClock) {
        let deadline = ExpirationDeadline(expiration, now: clock.now() / 1_000, date: clock.date())
        self.init(time: deadline.time, lifetime: deadline.lifetime.map { Float(Double($0) / 1e6) } ?? -1)
    }

    @inlinable static var never: SlotDeadline { SlotDeadline(time: .max, lifetime: -1) }
    @inlinable var isNever: Bool { time == .max }

    /// - Parameter now: nanoseconds, as returned by ``MemoryClock/now()``.
    @inlinable
    func isPassed(at now: Int64) -> Bool { !isNever && time <= now / 1_000 }

    /// Extends the deadline for a use at `now`, in nanoseconds.
    @usableFromInline
    mutating func extend(by rule: ExpirationExtension, at now: Int64) {
        var deadline = ExpirationDeadline(time: time, lifetime: lifetime < 0 ? nil : Int64(Double(lifetime) * 1e6))
        if deadline.extend(by: rule, at: now / 1_000) { time = deadline.time }
    }
}

extension Int64 {
    /// Converts a limit in seconds to nanoseconds: `.max` for more than about 290 years or NaN, 0 for a negative limit.
    init(nanosecondsIn seconds: Double) {
        self = seconds < 9e9 ? Int64(Swift.max(seconds, 0) * 1e9) : .max
    }
}
