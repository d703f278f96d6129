package import WebImageCore

/// Counts the checks of a cancellation, and can cancel at one of them.
package struct Checkpoints: Sendable {
    package let cancellation: Cancellation
    private let counter: LockBox<Int>

    /// - Parameter number: the check that finds it cancelled, from 1; `nil` for none.
    package init(cancellingAt number: Int? = nil) {
        let counter = LockBox(0)
        self.counter = counter
        cancellation = Cancellation { cancellation in
            let count = counter.withLock { count in
                count += 1
                return count
            }
            if count == number { cancellation.cancel() }
        }
    }

    /// The number of checks.
    package var count: Int { counter.withLock { $0 } }
}
