internal import WebImageCore

/// Bounds the memory of what waits for work that nobody waits for.
final class Backlog: Sendable {
    private let byteLimit: Int
    private let byteCount = Lock(0)

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// Whether there is room, which is taken then until ``end(_:)``. Something larger than the limit may wait alone, and
    /// what takes no room always.
    func admit(_ count: Int) -> Bool {
        byteCount.withLock { byteCount in
            guard count == 0 || byteCount == 0 || count <= byteLimit - byteCount else { return false }
            byteCount += count
            return true
        }
    }

    /// Gives the room back.
    func end(_ count: Int) { byteCount.withLock { $0 -= count } }
}
