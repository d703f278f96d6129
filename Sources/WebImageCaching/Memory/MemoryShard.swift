internal import Synchronization
internal import WebImageCore

#if WEBIMAGE_TSAN
    internal import Glibc
#endif

/// A part of a ``MemoryCache``, chosen by the hash of a key, with a lock and an order of its own.
///
/// Two threads meet at a lock only if their keys are in one shard. No two shards have a cache line in common.
@usableFromInline
final class MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ShardLock, @unchecked Sendable {
    // `@unchecked`: all variables are touched between `lock` and `unlock` only, which is also why the compiler's checks
    // for exclusive access at run time are left out: they would cost as much as the lock.
    @exclusivity(unchecked) @usableFromInline var store: LRUStore<Key, Value>
    @exclusivity(unchecked) @usableFromInline var weakTier = WeakTier<Key, Value>()
    @exclusivity(unchecked) @usableFromInline var announcedStamp = Int64.max
    /// Its place among the cache's shards.
    @usableFromInline let index: Int
    private let end = CacheLines()

    init(index: Int, ageLimit: Int64, expirationExtension: ExpirationExtension) {
        self.index = index
        store = LRUStore(ageLimit: ageLimit, expirationExtension: expirationExtension)
    }

    /// Takes the store, with all entries, and leaves an empty one with its settings and statistics.
    func takeStore() -> RetiredStore<Key, Value> {
        var successor = LRUStore<Key, Value>(
            ageLimit: store.ageLimit, expirationExtension: store.expirationExtension)
        (successor.statistics, successor.lastStamp) = (store.statistics, store.lastStamp)
        return RetiredStore(exchange(&store, with: successor))
    }

    /// Runs `body` alone with the shard.
    @inlinable
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }
}

/// A store that is done with, for the thread that is to release its values.
final class RetiredStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: nobody looks at the store any more; whoever lets go of this last releases what is in it.
    private let store: LRUStore<Key, Value>
    init(_ store: consuming LRUStore<Key, Value>) { self.store = store }
}

/// What shards of all types have in common.
///
/// It is not generic, and the lock is not inlined, so that callers in other modules get specialised code for everything
/// that depends on `Key` and `Value` without seeing the lock.
@usableFromInline
class ShardLock: @unchecked Sendable {
    // `@unchecked` for the sake of subclasses; a lock needs no more.
    private let start = CacheLines()
    #if WEBIMAGE_TSAN
        // See `Lock` for the reason.
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

        init() {
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        @usableFromInline final func lock() { pthread_mutex_lock(mutex) }
        @usableFromInline final func unlock() { pthread_mutex_unlock(mutex) }
    #else
        // Not a `Lock`, which would be an object of its own, beside other shards' locks.
        private let mutex = Mutex<Void>(())

        @usableFromInline final func lock() { mutex._unsafeLock() }
        @usableFromInline final func unlock() { mutex._unsafeUnlock() }
    #endif
}

/// Room that keeps what comes before it and what comes after it off each other's cache lines: two lines of 64 bytes, as
/// processors fetch them in pairs.
struct CacheLines {
    private let words: (SIMD8<Int64>, SIMD8<Int64>) = (.zero, .zero)
}
