internal import Synchronization
internal import WebImageCore

/// Keeps a ``MemoryCache`` in touch with what it must react to, as long as it has entries: memory pressure, and the time at
/// which the next entry goes.
@usableFromInline
final class MemoryUpkeep: Sendable {
    /// The least time between two sweeps, in nanoseconds: 5 s. What has expired is not handed out anyway.
    static let sweepInterval: Int64 = 5_000_000_000

    private struct State {
        var observation: MemoryPressureObservation?
        /// The next sweep comes no sooner, in nanoseconds.
        var earliestSweep = Int64.min
        var isUpdating = false
        var isOutdated = false
    }

    private let maintenance: CacheMaintenance
    private let pressureSource: (any MemoryPressureSource)?
    private let clock: MemoryClock
    private let state = Lock(State())
    private let gate = Lock(PressureGate())
    /// The sweep that was asked for, in nanoseconds; `.min` where none could be sooner.
    private let scheduledSweep = Atomic(Int64.max)

    init(maintenance: CacheMaintenance, pressureSource: (any MemoryPressureSource)?, clock: MemoryClock) {
        self.maintenance = maintenance
        self.pressureSource = pressureSource
        self.clock = clock
    }

    /// Whether the sweep that was asked for comes too late for an entry.
    @usableFromInline
    func isLate(for deadline: SlotDeadline) -> Bool {
        deadline.time < scheduledSweep.load(ordering: .relaxed) / 1_000
    }

    /// Looks at what the cache needs now. Calls may overlap: the last one sees to it that the last state counts.
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
            let observation = pressureSource?.observe { [gate, clock, weak cache] level in
                guard gate.withLock({ $0.admits(level, at: clock.now()) }) else { return }
                cache?.respond(to: level)
            }
            state.withLock { $0.observation = observation }
        }
        // First this, so that whoever stores an entry after the cache was asked finds its deadline too early.
        scheduledSweep.store(.max, ordering: .sequentiallyConsistent)
        let next = cache.nextSweep
        let earliest = state.withLock { $0.earliestSweep }
        scheduledSweep.store(next > earliest ? next : .min, ordering: .sequentiallyConsistent)
        maintenance.schedule(cache, at: max(next, earliest))
    }

    /// Has the next sweep wait a while, after one.
    func rest() {
        let now = clock.now()
        state.withLock { $0.earliestSweep = now + Self.sweepInterval }
    }

    /// For a cache that is about to be gone.
    func end(_ cache: ObjectIdentifier) { stop(cache) }

    private func stop(_ cache: ObjectIdentifier) {
        let observation = state.withLock { state in
            defer { state.observation = nil }
            return state.observation
        }
        observation?.cancel()
        scheduledSweep.store(.max, ordering: .sequentiallyConsistent)
        maintenance.forget(cache)
    }
}
