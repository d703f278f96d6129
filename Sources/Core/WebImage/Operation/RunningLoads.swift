import WebImageCore

/// The loads of a manager that memory did not answer: those in progress, and those that wait while the manager is
/// suspended.
final class RunningLoads: Sendable {
    private struct Waiting {
        let number: Int
        let operation: WebImageOperation
        let start: @Sendable () -> Void
    }

    private struct State {
        var operations: [ObjectIdentifier: (operation: WebImageOperation, isPrefetch: Bool)] = [:]
        /// The number of operations that are not prefetches.
        var wantedCount = 0
        var isSuspended = false
        var waiting: [ObjectIdentifier: Waiting] = [:]
        var lastWaiting = 0
        var idleHandlers: [Int: @Sendable () -> Void] = [:]
        var lastHandler = 0
    }

    private let state = Lock(State())

    var operations: [WebImageOperation] { state.withLock { $0.operations.values.map(\.operation) } }
    var count: Int { state.withLock { $0.operations.count } }
    var waitingCount: Int { state.withLock { $0.waiting.count } }
    /// Whether any load other than a prefetch is in progress.
    var hasWanted: Bool { state.withLock { $0.wantedCount > 0 } }

    /// Lists `operation` until it ends.
    func insert(_ operation: WebImageOperation, isPrefetch: Bool) {
        state.withLock { state in
            state.operations[ObjectIdentifier(operation)] = (operation, isPrefetch)
            if !isPrefetch { state.wantedCount += 1 }
        }
        if !operation.noteListing() { remove(operation) }
    }

    /// Removes an operation, which has ended.
    func remove(_ operation: WebImageOperation) {
        // The waiting closure is released outside the lock.
        let (handlers, _) = state.withLock { state -> ([@Sendable () -> Void], Waiting?) in
            let id = ObjectIdentifier(operation)
            let waiting = state.waiting.isEmpty ? nil : state.waiting.removeValue(forKey: id)
            guard let isPrefetch = state.operations.removeValue(forKey: id)?.isPrefetch else { return ([], waiting) }
            if !isPrefetch { state.wantedCount -= 1 }
            guard !isPrefetch, state.wantedCount == 0 else { return ([], waiting) }
            return (Array(state.idleHandlers.values), waiting)
        }
        for handler in handlers { handler() }
    }

    /// Calls `handler` each time the last load that is not a prefetch has ended.
    ///
    /// - Returns: the number for ``removeIdleHandler(_:)``.
    func addIdleHandler(_ handler: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastHandler += 1
            state.idleHandlers[state.lastHandler] = handler
            return state.lastHandler
        }
    }

    func removeIdleHandler(_ number: Int) { _ = state.withLock { $0.idleHandlers.removeValue(forKey: number) } }

    // MARK: Suspending

    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Calls `start` at once, or when the manager is resumed.
    func start(_ operation: WebImageOperation, _ start: @escaping @Sendable () -> Void) {
        let waits = state.withLock { state in
            guard state.isSuspended else { return false }
            state.lastWaiting += 1
            state.waiting[ObjectIdentifier(operation)] = Waiting(
                number: state.lastWaiting, operation: operation, start: start)
            // Under the lock, so that it precedes the end of the wait.
            operation.note(isHeldUp: true)
            return true
        }
        guard waits else { return start() }
        // An operation that ended before it was added here has not been removed.
        if operation.isFinished {
            let last = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(operation)) }
            withExtendedLifetime(last) {}
        }
    }

    func setSuspended(_ isSuspended: Bool) {
        let waiting = state.withLock { state -> [Waiting] in
            state.isSuspended = isSuspended
            guard !isSuspended else { return [] }
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        // In order of priority. Among equals, the load that waited longest starts first.
        // A priority may change meanwhile, so each is read once.
        let inOrder = waiting.map { (priority: $0.operation.priority, load: $0) }.sorted(by: Self.precedes)
        for (_, load) in inOrder where !load.operation.isCancelled {
            load.operation.note(isHeldUp: false)
            load.start()
        }
    }

    // Not a closure, whose types took the compiler seconds to find.
    private static func precedes(_ first: PrioritizedLoad, _ second: PrioritizedLoad) -> Bool {
        guard first.priority == second.priority else { return first.priority > second.priority }
        return first.load.number < second.load.number
    }

    private typealias PrioritizedLoad = (priority: LoadPriority, load: Waiting)
}
