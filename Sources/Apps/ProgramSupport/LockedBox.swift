internal import Synchronization

/// A value that closures share.
public final class LockedBox<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    /// Creates a box with a value.
    public init(_ value: Value) { mutex = Mutex(value) }

    /// Runs `body` with exclusive access to the value.
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in body(&value) }
    }
}
