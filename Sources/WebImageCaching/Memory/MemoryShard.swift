internal import Synchronization
internal import WebImageCore

#if WEBIMAGE_TSAN
    internal import Glibc
#endif

/// A part of a ``MemoryCache``, chosen by the hash of a key, with a lock and an order of its own.
///
/// Two threads meet at a lock only if their keys are in one shard. It is the address of memory that the cache owns, since
/// an object would be retained and released for each use, by all threads. No two shards have a cache line in common, and what
/// every use touches lies beside the lock: a line that another processor had costs more than all the rest of a use.
@usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: the contents are touched between `lock` and `unlock` only.

    @usableFromInline
    struct Contents: ~Copyable {
        @usableFromInline var store: LRUStore<Key, Value>
        @usableFromInline var weakTier = WeakTier<Key, Value>()

        /// Its place among the cache's shards.
        @usableFromInline let index: Int

        init(index: Int, store: consuming LRUStore<Key, Value>) {
            self.index = index
            self.store = store
        }
    }

    /// Not a part of the contents: to lock it would be an access to all of them.
    @usableFromInline let mutex: UnsafeMutablePointer<ShardMutex>
    @usableFromInline let contents: UnsafeMutablePointer<Contents>

    /// - Parameter address: of memory for the lock, and the contents behind it.
    @inlinable
    init(at address: UnsafeMutableRawPointer) {
        mutex = address.assumingMemoryBound(to: ShardMutex.self)
        contents = (address + Self.contentsOffset).assumingMemoryBound(to: Contents.self)
    }

    /// In bytes; room for the lock, and no less than contents are aligned to.
    @inlinable static var contentsOffset: Int { 16 }

    @inlinable var store: LRUStore<Key, Value> {
        _read { yield contents.pointee.store }
        nonmutating _modify { yield &contents.pointee.store }
    }

    @inlinable var weakTier: WeakTier<Key, Value> {
        _read { yield contents.pointee.weakTier }
        nonmutating _modify { yield &contents.pointee.weakTier }
    }

    @inlinable
    func lock() { mutex.pointee.lock() }

    @inlinable
    func unlock() { mutex.pointee.unlock() }

    /// Runs `body` alone with the shard.
    @inlinable
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Takes the store, with all entries, and leaves an empty one with its settings and counts.
    func takeStore() -> RetiredStore<Key, Value> { RetiredStore(exchange(&store, with: store.successor())) }
}

/// The memory of a cache's shards.
@usableFromInline
struct MemoryShards<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: the addresses never change.
    @usableFromInline let base: UnsafeMutableRawPointer
    /// Two cache lines, as processors fetch them in pairs, or a multiple.
    @usableFromInline let stride: Int
    @usableFromInline let count: Int

    init(count: Int, _ makeStore: () -> LRUStore<Key, Value>) {
        typealias Shard = MemoryShard<Key, Value>
        precondition(MemoryLayout<ShardMutex>.size <= Shard.contentsOffset)
        precondition(MemoryLayout<Shard.Contents>.alignment <= Shard.contentsOffset)
        let alignment = 128
        let size = Shard.contentsOffset + MemoryLayout<Shard.Contents>.size
        self.count = count
        stride = (size + alignment - 1) / alignment * alignment
        base = .allocate(byteCount: count * stride, alignment: alignment)
        for (index, shard) in all.enumerated() {
            shard.mutex.initialize(to: ShardMutex())
            shard.contents.initialize(to: Shard.Contents(index: index, store: makeStore()))
        }
    }

    deinit {
        for shard in all {
            shard.contents.deinitialize(count: 1)
            shard.mutex.deinitialize(count: 1)
        }
        base.deallocate()
    }

    var all: [MemoryShard<Key, Value>] { (0..<count).map { self[$0] } }

    @inlinable
    @inline(__always)
    subscript(index: Int) -> MemoryShard<Key, Value> {
        MemoryShard(at: base + index &* stride)
    }
}

/// A store that is done with, for the thread that is to release its values.
final class RetiredStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: nobody looks at the store any more; whoever lets go of this last releases what is in it.
    private let store: LRUStore<Key, Value>
    init(_ store: consuming LRUStore<Key, Value>) { self.store = store }
}

/// The lock of a shard.
///
/// It is not inlined, so that callers in other modules get specialised code for everything that depends on `Key` and
/// `Value` without seeing it. Not a `Lock`, which would be an object of its own, beside other shards' locks.
@usableFromInline
struct ShardMutex: ~Copyable, @unchecked Sendable {
    // `@unchecked` for the pointer: POSIX locks are for all threads.
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

        @usableFromInline func lock() { pthread_mutex_lock(mutex) }
        @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }
    #else
        private let mutex = Mutex<Void>(())

        init() {}

        @usableFromInline func lock() { mutex._unsafeLock() }
        @usableFromInline func unlock() { mutex._unsafeUnlock() }
    #endif
}

/// Room that keeps what comes before it and what comes after it off each other's cache lines.
struct CacheLines {
    private let words: (SIMD8<Int64>, SIMD8<Int64>) = (.zero, .zero)
}
