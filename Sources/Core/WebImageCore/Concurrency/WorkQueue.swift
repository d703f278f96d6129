internal import CWebImageLock
internal import Dispatch
internal import Glibc
internal import Synchronization

/// A bounded pool of threads that runs blocking or expensive work, the most urgent first and equally urgent work in
/// order.
///
/// Swift's cooperative threads must never block, so every disk read, decode and resize of the library runs on such a
/// queue. Threads start on demand, sleep while there is no work, and live as long as the process, but for those that
/// worked in place of one that waited.
package final class WorkQueue: Sendable {
    /// Runs the body on a new thread of that name; returns `false` when the system has no thread to give.
    package typealias ThreadStart = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool
    package typealias Body = @Sendable () -> Void

    /// The largest number of bodies that run at once.
    package let threadCount: Int

    private let label: String
    private let niceness: Int32
    private let startThread: ThreadStart
    private let monitor = Monitor()

    /// - Parameters:
    ///   - label: the threads' name in debuggers; the kernel keeps its first 15 bytes.
    ///   - threadCount: at least 1.
    ///   - niceness: added to each thread's nice value; above 0, the main thread takes precedence over this pool.
    ///   - startThread: starts the threads; replaced only in tests.
    package init(
        label: String, threadCount: Int, niceness: Int32 = 0,
        startThread: @escaping ThreadStart = { PlatformThread.start(name: $0, $1) }
    ) {
        self.label = label
        self.threadCount = max(1, threadCount)
        self.niceness = niceness
        self.startThread = startThread
    }

    /// Queues `body` and returns at once, on any thread.
    @discardableResult
    package func submit(priority: LoadPriority = .normal, _ body: @escaping Body) -> WorkItem {
        let (ticket, startsThread, wakesThread) = monitor.withLock { state in
            let ticket = state.waiting.insert(body, priority: priority)
            monitor.noteArrival(&state)
            let startsThread = claimThread(&state)
            return (ticket, startsThread, startsThread ? false : state.claimWaking())
        }
        if startsThread { addThread() }
        if wakesThread { monitor.signal() }
        return WorkItem(monitor: monitor, ticket: ticket)
    }

    /// Like ``submit(priority:_:)``, for work that stops at its next checkpoint when the task is cancelled.
    package func run(priority: LoadPriority, _ body: @escaping @Sendable (Cancellation) -> Void) -> any LoaderTask {
        let cancellation = Cancellation()
        return QueuedTask(submit(priority: priority) { body(cancellation) }, cancellation: cancellation)
    }

    /// Returns `true` to the caller that has to start a thread.
    private func claimThread(_ state: inout Monitor.State) -> Bool {
        let freeThreadCount = state.idleThreadCount + state.lookingThreadCount
        guard freeThreadCount < state.waiting.count,
            state.threadCount < threadCount + state.lentCount
        else { return false }
        state.threadCount += 1
        return true
    }

    /// Lets another thread work in place of the calling one until the body ends that it runs, because it waits for
    /// something else than a processor. Does nothing on threads that are not a queue's, and the second time.
    package static func letAnotherThreadWork() {
        guard let thread = currentThread, !thread.isLent else { return }
        thread.isLent = true
        let (startsThread, wakesThread) = thread.queue.monitor.withLock { state in
            state.lentCount += 1
            let startsThread = thread.queue.claimThread(&state)
            return (startsThread, startsThread ? false : state.claimWaking())
        }
        if startsThread { thread.queue.addThread() }
        if wakesThread { thread.queue.monitor.signal() }
    }

    /// Whether the calling thread is a queue's, which may wait for the disk.
    package static var isCurrentThreadOfQueue: Bool { currentThread != nil }

    private static var currentThread: QueueThread? {
        pthread_getspecific(currentKey).map { Unmanaged<QueueThread>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The ``QueueThread`` of a thread.
    private static let currentKey: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The number of threads, for tests.
    var startedThreadCount: Int { monitor.withLock { $0.threadCount } }

    /// The number of bodies that wait for a thread.
    package var waitingCount: Int { monitor.withLock { $0.waiting.count } }

    private func addThread() {
        let isStarted = startThread(label) { [self] in
            if niceness != 0 { PlatformThread.lowerPriority(by: niceness) }
            let thread = QueueThread(queue: self)
            pthread_setspecific(Self.currentKey, Unmanaged.passUnretained(thread).toOpaque())
            while let work = monitor.nextWork(threadLimit: threadCount, wasLent: thread.isLent) {
                thread.isLent = false
                work()
            }
        }
        guard !isStarted else { return }
        // The system is out of threads, so existing threads do the work. Without any, a Dispatch thread works until
        // nothing waits. Its nice value is not changed, since it could not be lowered again.
        let isAlone = monitor.withLock { state in
            if state.threadCount == 1 { return true }
            state.threadCount -= 1
            return false
        }
        guard isAlone else { return }
        DispatchQueue.global().async { [monitor] in
            while let work = monitor.nextWorkOrLeave() { work() }
        }
    }
}

/// A thread of a queue. Only the thread itself uses it.
private final class QueueThread {
    let queue: WorkQueue
    /// Whether another thread works in its place.
    var isLent = false

    init(queue: WorkQueue) { self.queue = queue }
}

/// One body in a ``WorkQueue``. Until it starts, it can be cancelled or moved to another priority.
package struct WorkItem: Sendable {
    fileprivate let monitor: Monitor
    fileprivate let ticket: PriorityQueue<WorkQueue.Body>.Ticket

    /// Removes the body from the queue; returns `false` when it has started or was cancelled before.
    @discardableResult
    package func cancel() -> Bool {
        // The closure is released outside the lock, since values it captures may run code when they are deallocated.
        let work = monitor.withLock { $0.waiting.remove(ticket) }
        return work != nil
    }

    /// Moves the body after those that wait at `priority`; does nothing once it has started.
    package func setPriority(_ priority: LoadPriority) {
        monitor.withLock { _ = $0.waiting.setPriority(priority, of: ticket) }
    }
}

/// The queue's state with its mutex and condition; a pthread pair because `Synchronization` has no condition variable.
private final class Monitor: @unchecked Sendable {
    struct State {
        var waiting = PriorityQueue<WorkQueue.Body>()
        var threadCount = 0
        /// Threads that wait in their body, so that as many more may work.
        var lentCount = 0
        /// Threads that sleep.
        var idleThreadCount = 0
        /// Threads that look for work before they sleep.
        var lookingThreadCount = 0
        /// Whether a thread was woken and has not looked for work since.
        var isWaking = false
        /// When a thread last ran out of work, in nanoseconds of the monotonic clock.
        var idleSince: Int64 = 0
        /// The time from then to the next work, in nanoseconds.
        var lastGap = Int64.max

        /// Returns `true` to the caller that has to wake a thread. Only one does at a time, since waking takes longer
        /// than much of the work; a thread that finds more than it takes wakes the next before it starts to work.
        mutating func claimWaking() -> Bool {
            guard !isWaking, waiting.count > lookingThreadCount, idleThreadCount > 0 else { return false }
            isWaking = true
            return true
        }
    }

    // `@unchecked`: `state` is accessed only in `withLock` and `nextWork`, where the mutex is held.
    private var state = State()
    /// The number of pieces of work so far, for threads that look for work without the mutex.
    private let arrivalCount = Atomic(0)

    /// Waking a thread takes some 50 µs, and as much processor time. When the last work came sooner than this, a thread
    /// looks for more as long before it sleeps: loads one after the other take half as long.
    private static let longestLook: Int64 = 100_000
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    func signal() { pthread_cond_signal(condition) }

    /// Notes that work has come; called with the mutex held.
    func noteArrival(_ state: inout State) {
        arrivalCount.wrappingAdd(1, ordering: .relaxed)
        guard state.idleThreadCount + state.lookingThreadCount > 0 else { return }
        state.lastGap = Self.now - state.idleSince
    }

    /// Returns after some time, or as soon as work has come.
    private func look(for gap: Int64, from start: Int64, seen: Int) {
        while Self.now - start < gap {
            for _ in 0..<20 {
                if arrivalCount.load(ordering: .relaxed) != seen { return }
                cwi_pause()
            }
            // Another thread may need this processor to bring the work.
            sched_yield()
        }
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Waits for work and takes the most urgent. `nil` if there are more threads than the limit: then the calling one ends.
    ///
    /// - Parameter wasLent: whether another thread worked in place of the calling one.
    func nextWork(threadLimit: Int, wasLent: Bool) -> WorkQueue.Body? {
        pthread_mutex_lock(mutex)
        if wasLent {
            state.lentCount -= 1
            if state.threadCount > threadLimit + state.lentCount {
                state.threadCount -= 1
                pthread_mutex_unlock(mutex)
                return nil
            }
        }
        var hasLooked = false
        while true {
            if let work = state.waiting.popFirst() {
                let wakesAnother = state.claimWaking()
                pthread_mutex_unlock(mutex)
                if wakesAnother { signal() }
                return work
            }
            if !hasLooked {
                hasLooked = true
                let start = Self.now
                state.idleSince = start
                guard state.lastGap <= Self.longestLook else { continue }
                state.lookingThreadCount += 1
                let seen = arrivalCount.load(ordering: .relaxed)
                pthread_mutex_unlock(mutex)
                look(for: Self.longestLook, from: start, seen: seen)
                pthread_mutex_lock(mutex)
                state.lookingThreadCount -= 1
                continue
            }
            state.idleThreadCount += 1
            pthread_cond_wait(condition, mutex)
            state.idleThreadCount -= 1
            state.isWaking = false
        }
    }

    /// Takes the most urgent work. If none waits, releases the thread's place in the same step, so that work submitted
    /// later gets a new thread.
    func nextWorkOrLeave() -> WorkQueue.Body? {
        withLock { state in
            if let work = state.waiting.popFirst() { return work }
            state.threadCount -= 1
            return nil
        }
    }
}
