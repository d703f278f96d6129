internal import Dispatch
internal import Glibc
internal import Synchronization
internal import WebImageCore

/// A cache with changes that may not be on disk yet.
protocol UnwrittenCache: AnyObject, Sendable {
    /// Writes earlier changes, and calls `completion` afterwards; at once if there are none. Called on a thread of its
    /// own, which may take part in the work.
    func writeUnwritten(completion: @escaping @Sendable () -> Void)
}

/// Writes the changes of all caches when the program ends: when `main` returns, or `exit` is called.
///
/// ```
///  exit ─► atexit handler waits ◄──────────────────────────────────────── all written, or the time limit
///               └─► another thread ─► caches ─► work in progress ends ─► caches ──┘
/// ```
///
/// Another thread does the work, since the thread that calls `exit` may hold a lock, as in a signal handler, or be the
/// one that writes: in a completion of a disk cache, whose work it does then. In other places it waits in vain, but not for longer
/// than the limit. `_exit`, `quick_exit` and signals write nothing.
final class ProgramEnd: Sendable {
    /// How long the end of a program is delayed at most.
    static let timeLimit = DispatchTimeInterval.seconds(2)

    private struct WeakCache {
        weak var cache: (any UnwrittenCache)?
    }

    private static let shared: ProgramEnd = {
        let end = ProgramEnd()
        atexit { shared.finish() }
        return end
    }()

    private let caches = Lock<[ObjectIdentifier: WeakCache]>([:])
    /// Work that ends with changes of a cache, or is done for a cache that no longer exists.
    let work = DispatchGroup()
    /// A child of `fork` has the handler, but not the threads.
    private let process = getpid()
    /// The thread that ends the program; 0 before.
    private let thread = Atomic<pthread_t>(0)

    /// Adds a cache until it is released.
    func add(_ cache: some UnwrittenCache) {
        caches.withLock { $0[ObjectIdentifier(cache)] = WeakCache(cache: cache) }
    }

    static func add(_ cache: some UnwrittenCache) { shared.add(cache) }

    /// Called by the `deinit` of each cache that was added.
    static func remove(_ cache: ObjectIdentifier) { _ = shared.caches.withLock { $0.removeValue(forKey: cache) } }

    /// Delays the end of the program until ``endWork()`` is called.
    static func beginWork() { shared.work.enter() }
    static func endWork() { shared.work.leave() }

    /// The thread that ends the program, which does nothing else any more; `nil` before.
    static var thread: pthread_t? {
        let thread = shared.thread.load(ordering: .acquiring)
        return thread == 0 ? nil : thread
    }

    private func finish() {
        guard getpid() == process else { return }
        thread.store(pthread_self(), ordering: .releasing)
        let end = DispatchSemaphore(value: 0)
        let isStarted = PlatformThread.start(name: "webimage-end") {
            self.writeAll()
            end.signal()
        }
        guard isStarted else { return }
        // It may be a thread that the work needs.
        WorkQueue.letAnotherThreadWork()
        _ = end.wait(timeout: .now() + Self.timeLimit)
    }

    /// Writes what is there at once, because the work in progress may take longer than the limit.
    func writeAll() {
        writeCaches()
        work.wait()
        writeCaches()
    }

    private func writeCaches() {
        let caches = caches.withLock { $0.values.compactMap(\.cache) }
        let unwritten = DispatchGroup()
        for cache in caches {
            unwritten.enter()
            cache.writeUnwritten { unwritten.leave() }
        }
        unwritten.wait()
    }
}
