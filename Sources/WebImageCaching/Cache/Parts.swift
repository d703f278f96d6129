internal import WebImageCore

/// Work in several parts, which end on threads of their own: calls somebody once, when the last has ended.
struct Parts: Sendable {
    private let remaining: Lock<Int>
    private let completion: @Sendable () -> Void

    init(_ count: Int, completion: @escaping @Sendable () -> Void) {
        remaining = Lock(count)
        self.completion = completion
    }

    /// Each part calls it once.
    func end() {
        let isLast = remaining.withLock { count in
            count -= 1
            return count == 0
        }
        if isLast { completion() }
    }
}
