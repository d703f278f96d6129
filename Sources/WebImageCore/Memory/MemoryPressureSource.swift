/// How short memory is.
public enum MemoryPressureLevel: Int, Sendable, Hashable, Comparable {
    /// Getting short: what is easily made again should go.
    case warning
    /// Nearly out: everything that can be spared must go.
    case critical

    /// Whether `first` is the less urgent one.
    public static func < (first: MemoryPressureLevel, second: MemoryPressureLevel) -> Bool {
        first.rawValue < second.rawValue
    }
}

/// Something that knows when memory gets short.
///
/// ``SystemMemoryPressure`` asks the kernel. A program that hears of it in another way, as from GLib's `GMemoryMonitor`,
/// passes it on with a ``ManualMemoryPressure``.
public protocol MemoryPressureSource: Sendable {
    /// Calls `receive` whenever memory gets short, on any thread, until the observation is cancelled or released.
    ///
    /// Caches observe while they have entries. One shortage may be reported many times: caches heed it once.
    func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation
}

/// Ends an observation of memory pressure, at the latest when it is released.
public final class MemoryPressureObservation: Sendable {
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// - Parameter onCancel: called once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Lock(onCancel) }

    deinit { cancel() }

    /// Ends it. A call that is under way on another thread may still finish.
    public func cancel() {
        let onCancel = onCancel.withLock { onCancel in
            defer { onCancel = nil }
            return onCancel
        }
        onCancel?()
    }
}

/// Memory pressure that the program reports itself.
public final class ManualMemoryPressure: MemoryPressureSource {
    private let observers = Lock(PressureObservers())

    /// Makes a source that has nothing to report yet.
    public init() {}

    /// How many observe it: caches that are not empty.
    public var observerCount: Int { observers.withLock { $0.receivers.count } }

    /// Tells all observers, before it returns.
    public func report(_ level: MemoryPressureLevel) {
        let receivers = observers.withLock { $0.receivers }
        for receive in receivers.values { receive(level) }
    }

    /// Calls `receive` with what is reported.
    public func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation {
        let number = observers.withLock { $0.add(receive) }
        return MemoryPressureObservation { [weak self] in
            _ = self?.observers.withLock { $0.receivers.removeValue(forKey: number) }
        }
    }
}

/// Closures under numbers, for a lock.
struct PressureObservers {
    private(set) var lastNumber = 0
    var receivers: [Int: @Sendable (MemoryPressureLevel) -> Void] = [:]

    mutating func add(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Int {
        lastNumber += 1
        receivers[lastNumber] = receive
        return lastNumber
    }
}
