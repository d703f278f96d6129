internal import Synchronization
internal import WebImageCore

/// A part of a ``MemoryCache``, chosen by the hash of a key, with a lock and an order of its own.
///
/// Two threads meet at a lock only if their keys are in one shard. No two shards have a cache line in common.
@usableFromInline
final class MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ShardLock, @unchecked Sendable {
    // `@unchecked`: all variables are touched in the closures given to `locked` only, which is also why the compiler's
    // checks for exclusive access at run time are left out: they would cost as much as the lock.
    @exclusivity(unchecked) @usableFromInline var store: LRUStore<Key, Value>
    @exclusivity(unchecked) @usableFromInline var weakTier = WeakTier<Key, Value>()
    @exclusivity(unchecked) @usableFromInline var announcedStamp = Int64.max
    private let end = CacheLines()

    init(store: LRUStore<Key, Value>) { self.store = store }

    /// To be called at the end of whatever changes the store.
    @inlinable
    func announceOldest() {
        guard store.oldestStamp != announcedStamp else { return }
        announcedStamp = store.oldestStamp
        oldestStamp = announcedStamp
    }
}

/// What shards of all types have in common, and what the others may read of one without its lock.
@usableFromInline
class ShardLock: @unchecked Sendable {
    // `@unchecked` for the sake of subclasses; a lock and an atomic need no more.
    private let start = CacheLines()
    #if WEBIMAGE_TSAN
        // See `Lock` for the reason; its own value needs a size.
        private let lock = Lock(0)
    #else
        // Not a `Lock`, which would be an object of its own, beside other shards' locks.
        private let mutex = Mutex<Void>(())
    #endif
    private let announced = Atomic<Int64>(.max)

    /// The stamp of the least recently used entry; `.max` when there is none. Written under the lock, read without.
    @usableFromInline final var oldestStamp: Int64 {
        get { announced.load(ordering: .relaxed) }
        set { announced.store(newValue, ordering: .relaxed) }
    }

    /// Runs `body` alone.
    ///
    /// It is not generic, and the lock is not inlined, so that callers in other modules get specialised code for
    /// everything that depends on `Key` and `Value` without seeing the lock.
    @usableFromInline
    final func locked(_ body: () -> Void) {
        #if WEBIMAGE_TSAN
            lock.withLock { _ in body() }
        #else
            mutex._unsafeLock()
            body()
            mutex._unsafeUnlock()
        #endif
    }
}

/// Room that keeps what comes before it and what comes after it off each other's cache lines: two lines of 64 bytes, as
/// processors fetch them in pairs.
struct CacheLines {
    private let words: (SIMD8<Int64>, SIMD8<Int64>) = (.zero, .zero)
}
