/// The severity of a memory shortage.
public enum MemoryPressureLevel: Sendable, Comparable {
    /// Memory is getting low: data that can easily be recreated should be released.
    case warning
    /// Memory is nearly exhausted: everything that is not essential must be released.
    case critical
}

/// A source of memory pressure notifications, which caches observe while they have entries.
///
/// The system's source passes on the reports of the Linux kernel, and those of the program, for example from GLib's
/// `GMemoryMonitor`:
///
/// ```swift
/// MemoryPressureSource.report(isCritical: false)
/// ```
///
/// A shortage may be reported many times; caches respond to it once.
public final class MemoryPressureSource: Sendable {
    /// The kernel's reports, and those of ``report(isCritical:)``.
    ///
    /// The library uses pressure stall information (`/proc/pressure/memory`, or the control group's `memory.pressure`)
    /// if possible. The level is a warning when tasks have waited for memory for 150 ms within 2 s, and critical when
    /// all tasks have waited at once for 100 ms. The library is also notified when the process's control group reaches
    /// its limit.
    ///
    /// Without stall information, or without permission to use it, the free memory is checked every 5 s. Less than 10 %
    /// is a warning, less than 5 % is critical.
    ///
    /// All caches of a process share one thread for this, which exists only while one of them has entries.
    public static let system = MemoryPressureSource(maintenance: .shared)

    private let observers = Lock(PressureObservers())
    private let maintenance: CacheMaintenance?

    /// Creates a source that only the program reports to.
    init() { maintenance = nil }

    init(maintenance: CacheMaintenance) { self.maintenance = maintenance }

    /// The number of observers, for tests: the caches that are not empty. The kernel's are not counted.
    var observerCount: Int { observers.withLock { $0.receivers.count } }

    /// Reports that memory is low; caches have responded when this returns.
    ///
    /// - Parameter isCritical: whether memory is nearly exhausted, so that caches release everything that is not
    ///   essential. Otherwise they release what can easily be recreated.
    public static func report(isCritical: Bool) { system.report(isCritical ? .critical : .warning) }

    /// Notifies all observers before it returns.
    func report(_ level: MemoryPressureLevel) {
        if let maintenance { return maintenance.report(level) }
        let receivers = observers.withLock { $0.receivers }
        for receive in receivers.values { receive(level) }
    }

    /// Calls `receive` whenever memory gets low, on any thread, until the observation is cancelled or released.
    public func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation {
        if let maintenance { return maintenance.observePressure(receive) }
        let number = observers.withLock { $0.add(receive) }
        return MemoryPressureObservation { [weak self] in
            _ = self?.observers.withLock { $0.receivers.removeValue(forKey: number) }
        }
    }
}

/// An observation of memory pressure. Ends when it is cancelled or released.
public final class MemoryPressureObservation: Sendable {
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// - Parameter onCancel: called once.
    init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Lock(onCancel) }

    deinit { cancel() }

    /// Ends the observation. A call in progress on another thread may still finish.
    /// Ends the observation.
    public func cancel() {
        let onCancel = onCancel.withLock { $0.take() }
        onCancel?()
    }
}

/// Closures by number, to be protected by a lock.
struct PressureObservers {
    private var lastNumber = 0
    var receivers: [Int: @Sendable (MemoryPressureLevel) -> Void] = [:]

    mutating func add(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Int {
        lastNumber += 1
        receivers[lastNumber] = receive
        return lastNumber
    }
}

/// Passes one report of each shortage.
///
/// Reports come in quick succession while memory is low. Emptying a cache each time would cause images in use to be
/// loaded again and again, which would prolong the shortage.
package struct PressureGate {
    /// How long further reports of the same shortage are ignored, in nanoseconds: 10 s.
    static let coolDown: Int64 = 10_000_000_000

    /// Creates a gate that passes the first report.
    package init() {}

    private var last: (level: MemoryPressureLevel, time: Int64)?

    /// Whether to respond to a report: the first, a more severe one, or one after the cool-down.
    package mutating func admits(_ level: MemoryPressureLevel, at now: Int64) -> Bool {
        if let last, now - last.time < Self.coolDown, level <= last.level { return false }
        last = (level, now)
        return true
    }
}
