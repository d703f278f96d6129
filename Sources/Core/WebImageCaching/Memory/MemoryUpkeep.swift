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
    func isLate(for deadline: ExpirationDeadline) -> Bool {
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
    var isEmpty: Bool { count == 0 }

    /// When the next entry expires or becomes too old, in nanoseconds on the cache's clock; `.max` for never.
    var nextSweep: Int64 { table.withLock { $0.nextSweep } }

    func sweep() {
        removeExpired()
        upkeep.delayNextSweep()
        keepUp()
    }
}
