/// The state of a cache for ``CacheMaintenance``.
package protocol MaintainedCache: AnyObject, Sendable {
    var isEmpty: Bool { get }
    /// When the next entry expires, in nanoseconds; `.max` if none does.
    var nextSweep: Int64 { get }
    /// Removes expired entries, and schedules the next sweep.
    func sweep()
    /// Releases memory.
    func respond(to level: MemoryPressureLevel)
}

/// The single thread that maintains the memory caches of a process. It waits for memory pressure, and for the time at
/// which entries expire.
///
/// ```
///               observePressure, schedule                       nothing left to wait for
///  no thread ─────────────────────────────▶ waits ──────────────────────────────────▶ lingers for 1 s ──▶ no thread
///                                             ▲ │ wake, pressure, sweep due               │
///                                             └─┘◀────────────────────────────────────────┘ something again
/// ```
///
/// The thread lingers so that a cache which alternates between zero entries and one does not start a thread each time.
package final class CacheMaintenance: Sendable {
    package static let shared = CacheMaintenance()

    private struct Client {
        weak var cache: (any MaintainedCache)?
        var due: Int64
    }

    /// The events that the thread has to wait for.
    private struct Wait: Equatable {
        var until: Int64
        var watchesPressure: Bool
    }

    private struct State {
        var observers = PressureObservers()
        var clients: [ObjectIdentifier: Client] = [:]
        var isRunning = false
        var isLingering = false
        /// The wait of the thread; `nil` while it is awake.
        var wait: Wait?

        /// `nil` if there is nothing to wait for.
        var neededWait: Wait? {
            let due = clients.values.reduce(Int64.max) { min($0, $1.due) }
            guard !observers.receivers.isEmpty || due != .max else { return nil }
            return Wait(until: due, watchesPressure: !observers.receivers.isEmpty)
        }
    }

    private let state = Lock(State())
    private let now: @Sendable () -> Int64
    private let sensors: any PressureSensing
    /// How long the thread stays when there is nothing to wait for, in nanoseconds.
    let lingering: Int64
    private let startThread: WorkQueue.ThreadStart

    /// - Parameter now: the time in nanoseconds, for the deadlines of ``schedule(_:at:)``.
    init(
        now: @escaping @Sendable () -> Int64 = { BootTime.now.nanoseconds },
        sensors: any PressureSensing = SystemPressureSensors(),
        lingering: Int64 = 1_000_000_000,
        startThread: @escaping WorkQueue.ThreadStart = { PlatformThread.start(name: $0, $1) }
    ) {
        self.now = now
        self.sensors = sensors
        self.lingering = lingering
        self.startThread = startThread
    }

    func observePressure(
        _ receive: @escaping @Sendable (MemoryPressureLevel) -> Void
    ) -> MemoryPressureObservation {
        let number = change { $0.observers.add(receive) }
        return MemoryPressureObservation { [self] in
            _ = change { $0.observers.receivers.removeValue(forKey: number) }
        }
    }

    /// Notifies all observers before it returns.
    func report(_ level: MemoryPressureLevel) {
        let receivers = state.withLock { $0.observers.receivers }
        for receive in receivers.values { receive(level) }
    }

    /// Sweeps the cache at `due` or a little later; `.max` for never.
    package func schedule(_ cache: any MaintainedCache, at due: Int64) {
        change { $0.clients[ObjectIdentifier(cache)] = due == .max ? nil : Client(cache: cache, due: due) }
    }

    /// Stops maintaining a cache that is empty or about to be released.
    package func forget(_ cache: ObjectIdentifier) { change { $0.clients[cache] = nil } }

    /// Whether the thread exists.
    var isRunning: Bool { state.withLock { $0.isRunning } }

    private enum Reaction { case none, wake, start }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, reaction): (Result, Reaction) = state.withLock { state in
            let result = body(&state)
            let needed = state.neededWait
            guard state.isRunning else {
                state.isRunning = needed != nil
                return (result, needed == nil ? .none : .start)
            }
            // An awake thread looks at the state before it waits.
            guard let wait = state.wait else { return (result, .none) }
            guard let needed else { return (result, state.isLingering ? .none : .wake) }
            let isCovered = needed.until >= wait.until && (wait.watchesPressure || !needed.watchesPressure)
            return (result, isCovered ? .none : .wake)
        }
        switch reaction {
        case .none: break
        case .wake: sensors.wake()
        case .start:
            // Without a thread, caches still enforce their limits; the next change tries again.
            let isStarted = startThread("webimage-caches") { while self.turn() {} }
            if !isStarted { state.withLock { $0.isRunning = false } }
        }
        return result
    }

    /// Waits once and does the work that is due; returns `false` if the thread should end.
    func turn() -> Bool {
        let wait: Wait? = state.withLock { state in
            if let needed = state.neededWait {
                state.isLingering = false
                state.wait = needed
            } else if state.isLingering {
                (state.isLingering, state.isRunning, state.wait) = (false, false, nil)
                // Under the lock, since the next thread may start at once.
                sensors.close()
            } else {
                state.isLingering = true
                // A client that arrives now can use the existing sensors.
                state.wait = Wait(until: now() + lingering, watchesPressure: true)
            }
            return state.wait
        }
        guard let wait else { return false }
        let remaining = wait.until == .max ? nil : max(0, wait.until - now())
        let level = sensors.wait(nanoseconds: remaining, watchesPressure: wait.watchesPressure)
        let receivers = state.withLock { state in
            state.wait = nil
            return level == nil ? [:] : state.observers.receivers
        }
        if let level { for receive in receivers.values { receive(level) } }
        sweepDueCaches()
        return true
    }

    private func sweepDueCaches() {
        let now = self.now()
        let due = state.withLock { state in
            let due = state.clients.filter { $0.value.due <= now }
            for id in due.keys { state.clients[id] = nil }
            return due
        }
        for client in due.values { client.cache?.sweep() }
    }
}
