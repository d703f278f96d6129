import WebImageCore

/// Keeps bodies that wait to be decoded from piling up: above a limit no new one is fetched.
///
/// Disk and network are faster than decoders. Without a limit, a thousand requests at once would soon hold a thousand
/// whole files in memory.
///
/// ```
///  admit ──► below the limit? ── yes ──► fetch ──► hold ──► decode ──► share goes
///               no │                                                      │
///                  └─► waiting, the most urgent first ◄───────────────────┘
/// ```
///
/// What was admitted is fetched to its end, so the limit may be passed by what is under way.
final class BodyBudget: Sendable {
    private struct Waiter {
        let id: Int
        var priority: LoadPriority
        let start: @Sendable () -> Void
    }

    private struct State {
        var heldByteCount = 0
        var waiters: [Waiter] = []
        var lastID = 0

        /// The longest waiting of the most urgent.
        mutating func takeFirst() -> Waiter? {
            guard let priority = waiters.lazy.map(\.priority).max(),
                let index = waiters.firstIndex(where: { $0.priority == priority })
            else { return nil }
            return waiters.remove(at: index)
        }
    }

    private let byteLimit: Int
    private let state = Lock(State())

    /// - Parameter byteLimit: 256 MiB by default: what the downloader's 32 connections bring at most in bodies that are
    ///   kept in memory.
    init(byteLimit: Int = 256 << 20) { self.byteLimit = byteLimit }

    /// How many bytes are held.
    var heldByteCount: Int { state.withLock { $0.heldByteCount } }

    /// Calls `start` as soon as there is room: at once, inside this call, or later, on the thread that made room.
    ///
    /// - Returns: the waiting, if it has to wait.
    func admit(priority: LoadPriority, _ start: @escaping @Sendable () -> Void) -> (any WorkStep)? {
        let id = state.withLock { state -> Int? in
            guard state.heldByteCount >= byteLimit else { return nil }
            state.lastID += 1
            state.waiters.append(Waiter(id: state.lastID, priority: priority, start: start))
            return state.lastID
        }
        if let id { return Waiting(budget: self, id: id) }
        start()
        return nil
    }

    /// Counts a body until the share is let go.
    func hold(_ byteCount: Int) -> Share {
        state.withLock { $0.heldByteCount += byteCount }
        return Share(budget: self, byteCount: byteCount)
    }

    private func release(_ byteCount: Int) {
        state.withLock { $0.heldByteCount -= byteCount }
        // Each that starts may fill the budget again.
        while let start = nextStart() { start() }
    }

    private func nextStart() -> (@Sendable () -> Void)? {
        state.withLock { state in state.heldByteCount < byteLimit ? state.takeFirst()?.start : nil }
    }

    /// One body's part of the budget.
    final class Share: Sendable {
        private let budget: BodyBudget
        private let byteCount: Int

        fileprivate init(budget: BodyBudget, byteCount: Int) {
            self.budget = budget
            self.byteCount = byteCount
        }

        deinit { budget.release(byteCount) }
    }

    /// A place in the line.
    private struct Waiting: WorkStep {
        let budget: BodyBudget
        let id: Int

        func cancel() {
            // Released outside the lock: what the closure captures may run code when it goes.
            let waiter = budget.state.withLock { state -> Waiter? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiters.remove(at: index)
            }
            _ = waiter
        }

        func setPriority(_ priority: LoadPriority) {
            budget.state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return }
                state.waiters[index].priority = priority
            }
        }
    }
}
