internal import WebImageCore

/// Lets only so many be at something at once: the others wait for their turn, the most urgent first, and first come first
/// served among equals.
///
/// What waits holds no thread.
final class Turns: Sendable {
    private struct Waiter {
        let number: Int
        let priority: LoadPriority
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var freeCount: Int
        /// In the order of their coming.
        var waiters: [Waiter] = []
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state: Lock<State>

    init(count: Int) { state = Lock(State(freeCount: count)) }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for a turn, which ends with ``end()``; `false`, and no turn, when the task is cancelled before.
    func begin(priority: LoadPriority) async -> Bool {
        let number = state.withLock { $0.nextNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    guard state.freeCount == 0 else {
                        state.freeCount -= 1
                        return true
                    }
                    state.waiters.append(Waiter(number: number, priority: priority, continuation: continuation))
                    return false
                }
                if isFree {
                    continuation.resume(returning: true)
                } else if Task.isCancelled {
                    // The handler may have come too early to find it.
                    leave(number)
                }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Passes the turn on.
    func end() {
        let next = state.withLock { state -> Waiter? in
            guard let highest = state.waiters.map(\.priority).max(),
                let index = state.waiters.firstIndex(where: { $0.priority == highest })
            else {
                state.freeCount += 1
                return nil
            }
            return state.waiters.remove(at: index)
        }
        next?.continuation.resume(returning: true)
    }

    private func leave(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }
}
