internal import Glibc

/// A bounded pool of threads that runs blocking or heavy work in order of priority, first come first served within one.
///
/// Swift's cooperative threads must never block, so every disk read, decode and resize of the library runs on one of
/// these. Threads start on demand and sleep while there is nothing to do; they live as long as the process.
package final class WorkQueue: Sendable {
    /// The most pieces of work that run at once.
    package let threadCount: Int

    private let label: String
    private let niceness: Int32
    private let monitor = Monitor()

    /// - Parameters:
    ///   - label: the threads' name in debuggers; the kernel keeps its first 15 bytes.
    ///   - threadCount: how many threads may run at once, at least 1.
    ///   - niceness: added to each thread's nice value; above 0 leaves the main thread ahead of this pool.
    package init(label: String, threadCount: Int, niceness: Int32 = 0) {
        self.label = label
        self.threadCount = max(1, threadCount)
        self.niceness = niceness
    }

    /// Queues `body`; returns at once, from any thread.
    @discardableResult
    package func submit(priority: LoadPriority = .normal, _ body: @escaping @Sendable () -> Void) -> WorkItem {
        let item = WorkItem(body: body, priority: priority, monitor: monitor)
        let startsThread = monitor.withLock { state in
            state.enqueue(item)
            guard state.idleThreadCount < state.waitingCount, state.threadCount < threadCount else { return false }
            state.threadCount += 1
            return true
        }
        if startsThread { startThread() } else { monitor.signal() }
        return item
    }

    /// How many pieces of work wait for a thread.
    package var waitingCount: Int { monitor.withLock { $0.waitingCount } }

    private func startThread() {
        let (monitor, label, niceness) = (monitor, label, niceness)
        let isStarted = PlatformThread.start(name: label) {
            if niceness != 0 { PlatformThread.lowerPriority(by: niceness) }
            while true { monitor.nextBody()() }
        }
        // Out of threads: the ones that run already do the work, or the next submission tries again.
        if !isStarted { monitor.withLock { $0.threadCount -= 1 } }
    }
}

/// One piece of queued work: it can be moved to another priority, or taken out, until it starts.
package final class WorkItem: @unchecked Sendable {
    // `@unchecked`: everything mutable is touched only while `monitor` is locked.
    private let monitor: Monitor
    fileprivate var body: (@Sendable () -> Void)?
    fileprivate var priority: LoadPriority
    /// Grows with every move; an entry of a bucket with an older number is stale and skipped.
    fileprivate var ticket = 0

    fileprivate init(body: @escaping @Sendable () -> Void, priority: LoadPriority, monitor: Monitor) {
        self.body = body
        self.priority = priority
        self.monitor = monitor
    }

    /// Takes the work out of the queue; `false` when it has started, or was taken out before.
    @discardableResult
    package func cancel() -> Bool {
        // The closure is released outside the lock: what it captures may run code when it goes.
        let taken = monitor.withLock { state -> (@Sendable () -> Void)? in
            guard let body = self.body else { return nil }
            self.body = nil
            state.waitingCount -= 1
            return body
        }
        return taken != nil
    }

    /// Moves the work behind what waits at `priority` already; does nothing once it has started.
    package func setPriority(_ priority: LoadPriority) {
        monitor.withLock { state in
            guard body != nil, priority != self.priority else { return }
            self.priority = priority
            ticket += 1
            state.append(self)
        }
    }
}

/// The queue's state with its mutex and condition; a pthread pair because `Synchronization` has no condition variable.
private final class Monitor: @unchecked Sendable {
    // `@unchecked`: `state` is reached in `withLock` and `nextBody` only, where the mutex is held.
    private var state = WaitingWork()
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

    func withLock<Result>(_ body: (inout WaitingWork) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    func signal() { pthread_cond_signal(condition) }

    /// Waits for work and takes the most urgent.
    func nextBody() -> @Sendable () -> Void {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let body = state.takeFirst() { return body }
            state.idleThreadCount += 1
            pthread_cond_wait(condition, mutex)
            state.idleThreadCount -= 1
        }
    }
}

/// Waiting items by priority. Moving or cancelling one leaves a stale entry behind, skipped when it comes up, so that
/// both take constant time.
private struct WaitingWork {
    private struct Entry {
        let item: WorkItem
        let ticket: Int
    }

    private struct Bucket {
        var entries: [Entry] = []
        var firstIndex = 0

        /// Removes the oldest entry; the space in front of it is given back once it is half of the array.
        mutating func popFirst() -> Entry? {
            guard firstIndex < entries.count else { return nil }
            let entry = entries[firstIndex]
            firstIndex += 1
            if firstIndex == entries.count {
                entries.removeAll(keepingCapacity: firstIndex < 1024)
                firstIndex = 0
            } else if firstIndex >= 32, firstIndex * 2 >= entries.count {
                entries.removeFirst(firstIndex)
                firstIndex = 0
            }
            return entry
        }
    }

    private var buckets = [Bucket](repeating: Bucket(), count: LoadPriority.allCases.count)
    var waitingCount = 0
    var threadCount = 0
    var idleThreadCount = 0

    mutating func enqueue(_ item: WorkItem) {
        waitingCount += 1
        append(item)
    }

    mutating func append(_ item: WorkItem) {
        buckets[item.priority.rawValue].entries.append(Entry(item: item, ticket: item.ticket))
    }

    mutating func takeFirst() -> (@Sendable () -> Void)? {
        for index in buckets.indices.reversed() {
            while let entry = buckets[index].popFirst() {
                guard entry.ticket == entry.item.ticket, let body = entry.item.body else { continue }
                entry.item.body = nil
                waitingCount -= 1
                return body
            }
        }
        return nil
    }
}
