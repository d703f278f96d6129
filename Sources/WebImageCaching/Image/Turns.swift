internal import WebImageCore

/// Lets only so many be at something at once: the others wait for their turn, the most urgent first, and first come first
/// served among equals.
///
/// What waits holds no thread. Coming, leaving and being next take constant time on average, however many wait.
final class Turns: Sendable {
    private struct Waiter {
        var priority: LoadPriority
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var freeCount: Int
        var waiters: [Int: Waiter] = [:]
        /// Their numbers by priority. Some have left, or moved to another line: they are skipped.
        var lines = [Line](repeating: Line(), count: LoadPriority.allCases.count)
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        mutating func takeFirst() -> Waiter? {
            for priority in LoadPriority.allCases.reversed() {
                while let number = lines[priority.rawValue].popFirst() {
                    if waiters[number]?.priority == priority { return waiters.removeValue(forKey: number) }
                }
            }
            return nil
        }
    }

    /// Numbers in the order of their coming; those that are taken out leave room in front, until it is half of all.
    private struct Line {
        private var numbers: [Int] = []
        private var firstIndex = 0

        mutating func append(_ number: Int) { numbers.append(number) }

        mutating func popFirst() -> Int? {
            guard firstIndex < numbers.count else { return nil }
            defer {
                firstIndex += 1
                if firstIndex * 2 >= numbers.count {
                    numbers.removeFirst(firstIndex)
                    firstIndex = 0
                }
            }
            return numbers[firstIndex]
        }
    }

    private let state: Lock<State>

    init(count: Int) { state = Lock(State(freeCount: count)) }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for a turn, which ends with ``end()``; `false`, and no turn, when the task is cancelled before.
    func begin(_ urgency: Urgency) async -> Bool {
        let number = state.withLock { $0.nextNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let priority = urgency.priority
                let isFree = state.withLock { state in
                    guard state.freeCount == 0 else {
                        state.freeCount -= 1
                        return true
                    }
                    state.waiters[number] = Waiter(priority: priority, continuation: continuation)
                    state.lines[priority.rawValue].append(number)
                    return false
                }
                if isFree { return continuation.resume(returning: true) }
                urgency.apply { self.setPriority($0, of: number) }
                // The handler may have come too early to find it.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Passes the turn on.
    func end() {
        let next = state.withLock { state -> Waiter? in
            let next = state.takeFirst()
            if next == nil { state.freeCount += 1 }
            return next
        }
        next?.continuation.resume(returning: true)
    }

    /// Moves one that still waits behind those of its new priority.
    private func setPriority(_ priority: LoadPriority, of number: Int) {
        state.withLock { state in
            guard let waiter = state.waiters[number], waiter.priority != priority else { return }
            state.waiters[number]?.priority = priority
            state.lines[priority.rawValue].append(number)
        }
    }

    private func leave(_ number: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: false)
    }
}
