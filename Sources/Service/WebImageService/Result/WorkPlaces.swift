internal import WebImageCore
internal import WebImageIsolation

/// A limit on the results that are made at a time, and on those that wait. What is beyond both is refused at once.
///
/// Images that take long do not count: they wait for each other in ``IsolatedDecoding``, and a few of them would hold all places.
final class WorkPlaces: Sendable {
    private struct State {
        var runningCount = 0
        /// In order of arrival.
        var waiting: [(number: Int, waiter: Waiter<Bool>)] = []
        var lastNumber = 0
    }

    private let usualPlaceCount: Int
    private let queueLength: Int
    private let isolation: IsolatedDecoding?
    private let state = Lock(State())

    /// - Parameter isolation: whose slow images leave their places to as many other results, at most `queueLength`.
    init(placeCount: Int, queueLength: Int, isolation: IsolatedDecoding? = nil) {
        (usualPlaceCount, self.queueLength) = (max(1, placeCount), max(0, queueLength))
        self.isolation = isolation
        isolation?.observeSlowImages(by: self) { [weak self] in self?.admit() }
    }

    deinit { isolation?.removeSlowImageObserver(self) }

    private var placeCount: Int { usualPlaceCount + min(isolation?.slowImageCount ?? 0, queueLength) }

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
        state.withLock { $0.runningCount -= 1 }
        admit()
        return result
    }

    /// Gives free places to those that wait.
    private func admit() {
        let admitted = state.withLock { state in
            let count = min(max(0, placeCount - state.runningCount), state.waiting.count)
            state.runningCount += count
            defer { state.waiting.removeFirst(count) }
            return state.waiting.prefix(count).map(\.waiter)
        }
        for waiter in admitted { waiter.resume(true) }
    }
}
