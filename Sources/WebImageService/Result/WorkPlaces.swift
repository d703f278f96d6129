internal import WebImageCore

/// A limit on the results that are made at a time, and on those that wait. What is beyond both is refused at once.
final class WorkPlaces: Sendable {
    private struct State {
        var runningCount = 0
        /// In order of arrival.
        var waiting: [(number: Int, waiter: Waiter<Bool>)] = []
        var lastNumber = 0
    }

    private let placeCount: Int
    private let queueLength: Int
    private let state = Lock(State())

    init(placeCount: Int, queueLength: Int) {
        (self.placeCount, self.queueLength) = (max(1, placeCount), max(0, queueLength))
    }

    var runningCount: Int { state.withLock { $0.runningCount } }
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Whether work that arrives now would wait, or be refused.
    var isBusy: Bool { state.withLock { $0.runningCount >= placeCount } }

    /// Whether a request that arrives now would be refused.
    var isFull: Bool { state.withLock { $0.runningCount >= placeCount && $0.waiting.count >= queueLength } }

    /// Runs `body` in a place, after those that came before.
    ///
    /// - Returns: `nil` if the task was cancelled while it waited.
    func run<Result: Sendable>(_ body: () async -> Result) async throws(Refusal) -> Result? {
        let waiter = Waiter<Bool>()
        let number = state.withLock { state -> Int? in
            if state.runningCount < placeCount {
                state.runningCount += 1
                waiter.resume(true)
                return 0
            }
            guard state.waiting.count < queueLength else { return nil }
            state.lastNumber += 1
            state.waiting.append((state.lastNumber, waiter))
            return state.lastNumber
        }
        guard let number else { throw .overloaded }
        let hasPlace = await withTaskCancellationHandler {
            await waiter.value
        } onCancel: {
            let isRemoved = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return false }
                state.waiting.remove(at: index)
                return true
            }
            // Otherwise the place was given already, and `body` notices the cancellation.
            if isRemoved { waiter.resume(false) }
        }
        guard hasPlace else { return nil }
        let result = await body()
        leave()
        return result
    }

    /// Passes the place on.
    private func leave() {
        let next = state.withLock { state -> Waiter<Bool>? in
            guard !state.waiting.isEmpty else {
                state.runningCount -= 1
                return nil
            }
            return state.waiting.removeFirst().waiter
        }
        next?.resume(true)
    }
}
