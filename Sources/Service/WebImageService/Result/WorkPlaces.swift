internal import WebImageCore
internal import WebImageIsolation

/// A limit on the results that are made at a time, and on those that wait. What is beyond both is refused at once.
///
/// Images that take long do not count: they wait for each other in ``IsolatedDecoding``, and a few of them would hold all places.
final class WorkPlaces: Sendable {
    private let placeCount: @Sendable () -> Int
    private let queueLength: Int
    private let isolation: IsolatedDecoding?
    /// With the number of results that are being made.
    private let line: WaitingLine<Int>

    /// - Parameter isolation: whose slow images leave their places to as many other results, at most `queueLength`.
    init(placeCount: Int, queueLength: Int, isolation: IsolatedDecoding? = nil) {
        let count = { @Sendable in max(1, placeCount) + min(isolation?.slowImageCount ?? 0, max(0, queueLength)) }
        (self.placeCount, self.queueLength, self.isolation) = (count, queueLength, isolation)
        line = WaitingLine(0) { runningCount, place in
            guard runningCount < count() else { return false }
            runningCount += place
            return true
        }
        isolation?.observeSlowImages(by: self) { [weak self] in self?.line.update { _ in } }
    }

    deinit { isolation?.removeSlowImageObserver(self) }

    var runningCount: Int { line.withLock { $0 } }
    var waitingCount: Int { line.waitingCount }

    /// Whether work that arrives now would wait, or be refused.
    var isBusy: Bool { runningCount >= placeCount() }

    /// Whether a request that arrives now would be refused.
    var isFull: Bool { isBusy && waitingCount >= queueLength }

    /// Runs `body` in a place, after those that came before.
    ///
    /// - Returns: `nil` if the task was cancelled while it waited.
    func run<Result: Sendable>(_ body: () async -> Result) async throws(Refusal) -> Result? {
        if !line.takeIfPossible(1) {
            let waiter = Waiter<Bool>()
            let place = line.enter(1, lengthLimit: queueLength) { waiter.resume(true) }
            guard let place else { throw .overloaded }
            let hasPlace = await withTaskCancellationHandler {
                await waiter.value
            } onCancel: {
                // Otherwise the place was given already, and `body` notices the cancellation.
                if place.leave() { waiter.resume(false) }
            }
            guard hasPlace else { return nil }
        }
        let result = await body()
        line.update { $0 -= 1 }
        return result
    }
}
