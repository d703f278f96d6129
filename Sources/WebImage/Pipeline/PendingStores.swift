import WebImageCaching
import WebImageCore

/// Pictures that are being encoded for the disk, so that somebody can wait for one.
final class PendingStores: Sendable {
    private struct Entry {
        var count = 0
        var waiters: [@Sendable () -> Void] = []
    }

    private let entries = Lock<[ImageCacheKey: Entry]>([:])

    func begin(_ key: ImageCacheKey) { entries.withLock { $0[key, default: Entry()].count += 1 } }

    func end(_ key: ImageCacheKey) {
        let waiters = entries.withLock { entries -> [@Sendable () -> Void] in
            entries[key]?.count -= 1
            guard let entry = entries[key], entry.count == 0 else { return [] }
            entries[key] = nil
            return entry.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Calls `body` when nothing is on its way for `key`: at once, or later on another thread.
    func whenDone(_ key: ImageCacheKey, _ body: @escaping @Sendable () -> Void) {
        let isDone = entries.withLock { entries in
            guard entries[key] != nil else { return true }
            entries[key]?.waiters.append(body)
            return false
        }
        if isDone { body() }
    }
}
