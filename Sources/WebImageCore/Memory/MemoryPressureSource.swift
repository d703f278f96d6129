/// The severity of a memory shortage.
public enum MemoryPressureLevel: Int, Sendable, Hashable, Comparable {
    /// Memory is getting low: data that can easily be recreated should be released.
    case warning
    /// Memory is nearly exhausted: everything that is not essential must be released.
    case critical

    /// Whether `first` is less severe.
    public static func < (first: MemoryPressureLevel, second: MemoryPressureLevel) -> Bool {
        first.rawValue < second.rawValue
    }
}

/// A source of memory pressure notifications.
///
/// ``SystemMemoryPressure`` uses the kernel. Programs with another source, such as GLib's `GMemoryMonitor`, report its
/// signals with a ``ManualMemoryPressure``.
public protocol MemoryPressureSource: Sendable {
    /// Calls `receive` whenever memory gets low, on any thread, until the observation is cancelled or released.
    ///
    /// Caches observe while they have entries. A shortage may be reported many times; caches respond to it once.
    func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation
}

/// An observation of memory pressure. Ends when it is cancelled or released.
public final class MemoryPressureObservation: Sendable {
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// - Parameter onCancel: called once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Lock(onCancel) }

    deinit { cancel() }

    /// Ends the observation. A call in progress on another thread may still finish.
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

    /// Creates a source.
    public init() {}

    /// The number of observers, which are the caches that are not empty.
    public var observerCount: Int { observers.withLock { $0.receivers.count } }

    /// Notifies all observers before it returns.
    public func report(_ level: MemoryPressureLevel) {
        let receivers = observers.withLock { $0.receivers }
        for receive in receivers.values { receive(level) }
    }

    /// Calls `receive` with each level that is reported.
    public func observe(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> MemoryPressureObservation {
        let number = observers.withLock { $0.add(receive) }
        return MemoryPressureObservation { [weak self] in
            _ = self?.observers.withLock { $0.receivers.removeValue(forKey: number) }
        }
    }
}

/// Closures by number, to be protected by a lock.
struct PressureObservers {
    private(set) var lastNumber = 0
    var receivers: [Int: @Sendable (MemoryPressureLevel) -> Void] = [:]

    mutating func add(_ receive: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Int {
        lastNumber += 1
        receivers[lastNumber] = receive
        return lastNumber
    }
}
