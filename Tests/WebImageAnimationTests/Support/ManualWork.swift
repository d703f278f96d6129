import WebImageCore

/// Work that waits until the test does it.
final class ManualWork: Sendable {
    private let waiting = Lock<[(priority: LoadPriority, body: @Sendable () -> Void)]>([])

    var submit: @Sendable (LoadPriority, @escaping @Sendable () -> Void) -> Void {
        { [self] priority, body in waiting.withLock { $0.append((priority, body)) } }
    }

    var count: Int { waiting.withLock { $0.count } }
    /// Of the pieces, the first one first.
    var priorities: [LoadPriority] { waiting.withLock { $0.map(\.priority) } }

    /// Does so many pieces, as far as there are some.
    func run(_ count: Int = 1) {
        for _ in 0..<count {
            guard let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
            next.body()
        }
    }

    /// Does what is queued now before work for later.
    func runUrgent() {
        let urgent = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.priority > .low } }
            return waiting.filter { $0.priority > .low }
        }
        for piece in urgent { piece.body() }
    }

    /// Does all there is, with what comes of it.
    func runAll() {
        while count > 0 { run() }
    }
}
