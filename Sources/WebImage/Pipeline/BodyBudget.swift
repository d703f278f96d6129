import WebImageCore

/// Bounds the memory of bodies that wait to be decoded.
///
/// Disk and network are faster than decoders. Without a limit, a thousand requests at once would soon hold a thousand
/// whole files in memory. Above it, no file is read from the disk cache, and what a server sends goes to a temporary
/// file instead (it can't be kept waiting before it is known which host is slow).
///
/// ```
///  disk:    admit ──► below the limit? ── yes ──► read ──► settle ──► decode ──► share goes
///                        │ no                                                        │
///                        └─► waiting, the most urgent first ◄────────────────────────┘
///  network: full when the answer begins? ── no ──► memory ──► hold ──► decode ──► share goes
///                        └ yes ──► temporary file
/// ```
final class BodyBudget: Sendable {
    private struct Waiter {
        let id: Int
        var priority: LoadPriority
        let start: @Sendable (Share) -> Void
    }

    private struct State {
        var heldByteCount = 0
        /// Of these, what is only expected.
        var estimatedByteCount = 0
        var waiters: [Waiter] = []
        var lastID = 0

        mutating func addEstimate() {
            heldByteCount += BodyBudget.estimatedByteCount
            estimatedByteCount += BodyBudget.estimatedByteCount
        }

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

    /// - Parameter byteLimit: 256 MiB by default: as much again as the downloader's 32 connections may have under way.
    init(byteLimit: Int = 256 << 20) { self.byteLimit = byteLimit }

    /// How many bytes are held.
    var heldByteCount: Int { state.withLock { $0.heldByteCount } }

    /// Whether bodies should go elsewhere for now. Reads under way do not count: of pictures that are loaded for the first time the
    /// disk has nothing.
    var isFull: Bool { state.withLock { $0.heldByteCount - $0.estimatedByteCount >= byteLimit } }

    /// Counts a body until the share is let go.
    func hold(_ byteCount: Int) -> Share {
        add(byteCount)
        return Share(budget: self, byteCount: byteCount)
    }

    /// Calls `start` as soon as there is room: at once, inside this call, or later, on the thread that made room.
    ///
    /// - Parameter start: gets a share of the budget, for whoever will hold the body.
    /// - Returns: the waiting, if it has to wait.
    func admit(priority: LoadPriority, _ start: @escaping @Sendable (Share) -> Void) -> (any WorkStep)? {
        let id = state.withLock { state -> Int? in
            guard state.heldByteCount >= byteLimit else {
                state.addEstimate()
                return nil
            }
            state.lastID += 1
            state.waiters.append(Waiter(id: state.lastID, priority: priority, start: start))
            return state.lastID
        }
        if let id { return Waiting(budget: self, id: id) }
        start(Share(budget: self))
        return nil
    }

    /// - Parameter isEstimateOver: whether it takes the place of an estimate.
    private func add(_ byteCount: Int, isEstimateOver: Bool = false) {
        state.withLock { state in
            state.heldByteCount += byteCount
            if isEstimateOver { state.estimatedByteCount -= Self.estimatedByteCount }
        }
        guard byteCount < 0 else { return }
        // Each that starts may fill the budget again.
        while let start = nextStart() { start(Share(budget: self)) }
    }

    private func nextStart() -> (@Sendable (Share) -> Void)? {
        state.withLock { state in
            guard state.heldByteCount < byteLimit, let waiter = state.takeFirst() else { return nil }
            state.addEstimate()
            return waiter.start
        }
    }

    /// What a body counts before its length is known; most pictures on the web are smaller.
    static let estimatedByteCount = 1 << 20

    /// One body's part of the budget, until it is let go.
    final class Share: Sendable {
        private let budget: BodyBudget
        /// `nil` until it is known.
        private let byteCount: Lock<Int?>

        fileprivate init(budget: BodyBudget, byteCount: Int? = nil) {
            self.budget = budget
            self.byteCount = Lock(byteCount)
        }

        /// Puts the body's length in place of the estimate.
        func settle(_ newByteCount: Int) {
            let last = byteCount.withLock { byteCount in
                defer { byteCount = newByteCount }
                return byteCount
            }
            budget.add(newByteCount - (last ?? BodyBudget.estimatedByteCount), isEstimateOver: last == nil)
        }

        deinit { settle(0) }
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
