internal import WebImageCore

/// Lets all who ask the same question at the same time share one answer.
///
/// One that is cancelled gets `nil` at once; the others go on. When nobody is left, the work is cancelled.
final class SharedQueries<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    private struct Query {
        let number: Int
        let urgency: Urgency
        let task: Task<Void, Never>
        var waiters: [Int: CheckedContinuation<Answer?, Never>] = [:]
    }

    private struct State {
        var queries: [Question: Query] = [:]
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Lock(State())

    /// The answer to `question`: from the work on it that is under way, which is as urgent as this at least from now on,
    /// else from `work`.
    func answer(
        to question: Question, priority: LoadPriority = .normal,
        work: @escaping @Sendable (Urgency) async -> Answer?
    ) async -> Answer? {
        let waiter = state.withLock { $0.nextNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if let query = state.queries[question] {
                        query.urgency.raise(to: priority)
                    } else {
                        let (number, urgency) = (state.nextNumber(), Urgency(priority))
                        // It waits for the lock before it can end the query that is about to be noted.
                        let task = Task { self.end(question, number, with: await work(urgency)) }
                        state.queries[question] = Query(number: number, urgency: urgency, task: task)
                    }
                    state.queries[question]?.waiters[waiter] = continuation
                }
                if Task.isCancelled { leave(question, waiter) }
            }
        } onCancel: {
            leave(question, waiter)
        }
    }

    /// How many wait for an answer.
    var waiterCount: Int { state.withLock { $0.queries.values.reduce(0) { $0 + $1.waiters.count } } }

    private func end(_ question: Question, _ number: Int, with answer: Answer?) {
        let waiters = state.withLock { state -> [CheckedContinuation<Answer?, Never>] in
            // After everybody left, the question may have been asked anew.
            guard let query = state.queries[question], query.number == number else { return [] }
            state.queries[question] = nil
            return Array(query.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    private func leave(_ question: Question, _ waiter: Int) {
        let (continuation, task) = state.withLock {
            state -> (CheckedContinuation<Answer?, Never>?, Task<Void, Never>?) in
            guard let continuation = state.queries[question]?.waiters.removeValue(forKey: waiter) else {
                return (nil, nil)
            }
            guard state.queries[question]?.waiters.isEmpty == true else { return (continuation, nil) }
            return (continuation, state.queries.removeValue(forKey: question)?.task)
        }
        task?.cancel()
        continuation?.resume(returning: nil)
    }
}
