/// Something limited, and the line of work that waits for a share of it: the most urgent first, and equally urgent work in order of arrival.
///
///     work ──► none waits, and it fits? ── yes ──► starts
///                    └ no ─► waits ──► is first in line, and fits after a change? ── yes ──► starts
///                              └─► leaves
///
/// The first in line is not overtaken: otherwise a stream of small shares would keep a large one waiting forever.
@usableFromInline package final class WaitingLine<State>: Sendable {
    /// Work that waits.
    @usableFromInline struct Entry {
        @usableFromInline let weight: Int
        @usableFromInline let start: @Sendable () -> Void
    }

    @usableFromInline struct Contents {
        @usableFromInline var state: State
        @usableFromInline var waiting = PriorityQueue<Entry>()
    }

    @usableFromInline let contents: Lock<Contents>
    @usableFromInline let take: @Sendable (inout State, Int) -> Bool

    /// - Parameters:
    ///   - state: what is in use, guarded by the line's lock.
    ///   - take: takes a share of a weight; returns `false` if it does not fit now.
    package init(_ state: sending State, take: @escaping @Sendable (inout State, Int) -> Bool) {
        contents = Lock(Contents(state: state))
        self.take = take
    }

    /// The number of entries that wait.
    package var waitingCount: Int { contents.withLock { $0.waiting.count } }

    /// Runs `body` with the state. ``update(_:)`` is for changes after which something may fit.
    package func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        contents.withLock { body(&$0.state) }
    }

    /// Changes the state, and starts what fits then, on the calling thread.
    @inlinable package func update(_ body: (inout State) -> Void) { change { body(&$0.state) } }

    /// Takes a share if none waits, and it fits; returns whether it did.
    @inlinable package func takeIfPossible(_ weight: Int) -> Bool { ifNoneWaits { take(&$0, weight) } }

    /// Calls `body` if none waits, and returns its result; `false` otherwise.
    @inlinable package func ifNoneWaits(_ body: (inout State) -> Bool) -> Bool {
        contents.withLock { $0.waiting.isEmpty && body(&$0.state) }
    }

    /// Calls `start` once a share is taken: within this call, or on the thread whose change lets it fit. Never under the lock.
    ///
    /// - Parameter lengthLimit: the maximum number of entries that wait.
    /// - Returns: the place in the line; `nil` if the line is full.
    package func enter(
        _ weight: Int, priority: LoadPriority = .normal, lengthLimit: Int = .max, start: @escaping @Sendable () -> Void
    ) -> Place? {
        change { contents in
            guard contents.waiting.count < lengthLimit else { return nil }
            let entry = Entry(weight: weight, start: start)
            return Place(line: self, ticket: contents.waiting.insert(entry, priority: priority))
        }
    }

    @inlinable func change<Result>(_ body: (inout Contents) -> Result) -> Result {
        let (result, first) = contents.withLock { (body(&$0), takeFirst(&$0)) }
        var next = first
        // Each that starts may take more.
        while let entry = next {
            entry.start()
            next = contents.withLock { takeFirst(&$0) }
        }
        return result
    }

    @inlinable func takeFirst(_ contents: inout Contents) -> Entry? {
        guard let first = contents.waiting.first, take(&contents.state, first.weight) else { return nil }
        return contents.waiting.popFirst()
    }

    /// A place in the line. After its work has started, it does nothing.
    package struct Place: LoaderTask {
        fileprivate let line: WaitingLine
        fileprivate let ticket: PriorityQueue<Entry>.Ticket

        package func cancel() { leave() }

        /// Leaves the line; returns `false` if the work has started, or left before.
        @discardableResult package func leave() -> Bool {
            // Released outside the lock: what the closure captures may run code when it is released.
            let entry = line.change { $0.waiting.remove(ticket) }
            return entry != nil
        }

        package func setPriority(_ priority: LoadPriority) {
            line.change { _ = $0.waiting.setPriority(priority, of: ticket) }
        }
    }
}
