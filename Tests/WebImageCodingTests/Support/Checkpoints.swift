import WebImageCore

/// Counts how often work looks at its cancellation flag, and can set the flag at one of these looks.
struct Checkpoints {
    let cancellation: Cancellation
    private let counter: Lock<Int>

    /// - Parameter number: the look that finds the flag set, counted from 1; `nil` for none.
    init(cancellingAt number: Int? = nil) {
        let counter = Lock(0)
        self.counter = counter
        cancellation = Cancellation { cancellation in
            let count = counter.withLock { count in
                count += 1
                return count
            }
            if count == number { cancellation.cancel() }
        }
    }

    /// How many looks there were.
    var count: Int { counter.withLock { $0 } }
}
