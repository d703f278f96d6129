internal import Dispatch
internal import WebImageCore

/// Where a ``MemoryCache`` lets go of values that it removes, replaces or evicts. Never under a lock.
///
/// It matters for values whose release is expensive, or must happen on a certain thread.
public enum ValueRelease: Sendable {
    /// On the thread whose call displaced them; for what memory pressure and age take, that may be a thread of the
    /// library's. The default: to free a picture is to put its memory back into a pool.
    case caller
    /// On a queue of the system's, at low priority.
    case background
    /// Wherever the closure runs the work it is given, such as on the main queue. It is called on the thread whose call
    /// displaced the values; work that it does not run, or not yet, keeps them in memory.
    case custom(@Sendable (_ work: @escaping @Sendable () -> Void) -> Void)

    /// Whether the thread that displaces values releases them.
    @inlinable var isImmediate: Bool {
        if case .caller = self { true } else { false }
    }

    /// Lets go of values. It has to be given them (`consume`): a reference that the caller kept would be the last one to go, on
    /// the wrong thread.
    @usableFromInline
    func release<Values>(_ values: consuming Values) {
        let execute: @Sendable (@escaping @Sendable () -> Void) -> Void
        switch self {
        case .caller:
            _ = consume values
            return
        case .background: execute = { DispatchQueue.global(qos: .utility).async(execute: $0) }
        case .custom(let closure): execute = closure
        }
        let bin = Bin(consume values)
        execute { bin.empty() }
    }

    /// The thread that empties it releases the values, however long others hold on to the closure that does.
    private final class Bin<Values>: @unchecked Sendable {
        // `@unchecked`: the values were given away by whoever made it, and are taken out once, under the lock.
        private var values: Values?
        private let lock = Lock(0)

        init(_ values: consuming Values) { self.values = consume values }

        func empty() {
            let values = lock.withLock { _ in
                defer { self.values = nil }
                return self.values
            }
            withExtendedLifetime(values) {}
        }
    }
}
