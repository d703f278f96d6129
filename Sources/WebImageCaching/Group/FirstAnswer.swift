internal import WebImageCore

/// Asks several at once; the first answer that is one counts.
///
/// A task group would wait for all of them in the end, also for one that does not mind being cancelled: here nobody waits
/// for the others.
final class FirstAnswer<Answer: Sendable>: Sendable {
    private struct State {
        var waiter: CheckedContinuation<Answer?, Never>?
        var tasks: [Task<Void, Never>] = []
        /// Who has not answered yet.
        var remaining: Int
        var isOver = false
    }

    private let state: Lock<State>

    private init(count: Int) { state = Lock(State(remaining: count)) }

    /// The first answer that is not `nil`; `nil` when there is none, or the task is cancelled.
    static func of(_ questions: [@Sendable () async -> Answer?]) async -> Answer? {
        let race = FirstAnswer(count: questions.count)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                race.begin(questions, waiter: continuation)
            }
        } onCancel: {
            race.finish(nil)
        }
    }

    private func begin(_ questions: [@Sendable () async -> Answer?], waiter: CheckedContinuation<Answer?, Never>) {
        let isOver = state.withLock { state in
            if state.isOver { return true }
            state.waiter = waiter
            state.tasks = questions.map { question in Task { self.receive(await question()) } }
            return false
        }
        if isOver { return waiter.resume(returning: nil) }
        if questions.isEmpty { finish(nil) }
    }

    private func receive(_ answer: Answer?) {
        let isLast = state.withLock { state in
            state.remaining -= 1
            return state.remaining == 0
        }
        if answer != nil || isLast { finish(answer) }
    }

    /// The first call counts.
    private func finish(_ answer: Answer?) {
        let (waiter, tasks) = state.withLock { state in
            defer { (state.waiter, state.tasks, state.isOver) = (nil, [], true) }
            return (state.waiter, state.tasks)
        }
        waiter?.resume(returning: answer)
        for task in tasks { task.cancel() }
    }
}
