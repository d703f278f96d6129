internal import Dispatch
internal import Glibc

/// A bounded pool of threads that runs blocking or heavy work in order of priority, first come first served within one.
///
/// Swift's cooperative threads must never block, so every disk read, decode and resize of the library runs on one of
/// these. Threads start on demand and sleep while there is nothing to do; they live as long as the process.
package final class WorkQueue: Sendable {
    /// Runs the body on a new thread of that name; `false` when there is none to be had.
    package typealias ThreadStart = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    /// The most pieces of work that run at once.
    package let threadCount: Int

    private let label: String
    private let niceness: Int32
    private let startThread: ThreadStart
    private let monitor = Monitor()

    /// - Parameters:
    ///   - label: the threads' name in debuggers; the kernel keeps its first 15 bytes.
    ///   - threadCount: how many threads may run at once, at least 1.
    ///   - niceness: added to each thread's nice value; above 0 leaves the main thread ahead of this pool.
    ///   - startThread: where its threads come from; the system, unless a test says otherwise.
    package init(
        label: String, threadCount: Int, niceness: Int32 = 0,
        startThread: @escaping ThreadStart = { PlatformThread.start(name: $0, $1) }
    ) {
        self.label = label
        self.threadCount = max(1, threadCount)
        self.niceness = niceness
        self.startThread = startThread
    }

    /// Queues `body`; returns at once, from any thread.
    @discardableResult
    package func submit(priority: LoadPriority = .normal, _ body: @escaping @Sendable () -> Void) -> WorkItem {
        let item = WorkItem(body: body, priority: priority, monitor: monitor)
        let (startsThread, wakesThread) = monitor.withLock { state in
            state.enqueue(item)
            guard state.idleThreadCount < state.waitingCount, state.threadCount < threadCount else {
                return (false, state.claimWaking())
            }
            state.threadCount += 1
            return (true, false)
        }
        if startsThread { addThread() }
        if wakesThread { monitor.signal() }
        return item
    }

    /// How many pieces of work wait for a thread.
    package var waitingCount: Int { monitor.withLock { $0.waitingCount } }

    /// How many places the buckets take, for live and stale entries.
    var entryCount: Int { monitor.withLock { $0.entryCount } }

    private func addThread() {
        let (monitor, niceness) = (monitor, niceness)
        let isStarted = startThread(label) {
            if niceness != 0 { PlatformThread.lowerPriority(by: niceness) }
            while true { monitor.nextBody()() }
        }
        guard !isStarted else { return }
        // Out of threads: the ones that run do the work. Where there are none, one of Dispatch's takes this one's place
        // until nothing waits; it keeps its nice value, which it could not lower again.
        let isAlone = monitor.withLock { state in
            if state.threadCount == 1 { return true }
            state.threadCount -= 1
            return false
        }
        guard isAlone else { return }
        DispatchQueue.global().async {
            while let body = monitor.nextBodyOrLeave() { body() }
        }
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
            state.forgetEntry(at: priority)
            return body
        }
        return taken != nil
    }

    /// Moves the work behind what waits at `priority` already; does nothing once it has started.
    package func setPriority(_ priority: LoadPriority) {
        monitor.withLock { state in
            guard body != nil, priority != self.priority else { return }
            let formerPriority = self.priority
            self.priority = priority
            ticket += 1
            state.append(self)
            state.forgetEntry(at: formerPriority)
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
        while true {
            if let body = state.takeFirst() {
                let wakesAnother = state.claimWaking()
                pthread_mutex_unlock(mutex)
                if wakesAnother { signal() }
                return body
            }
            state.idleThreadCount += 1
            pthread_cond_wait(condition, mutex)
            state.idleThreadCount -= 1
            state.isWaking = false
        }
    }

    /// Takes the most urgent work; where none waits, gives the thread's place up in the same step, so that work
    /// submitted after it gets a thread of its own.
    func nextBodyOrLeave() -> (@Sendable () -> Void)? {
        withLock { state in
            if let body = state.takeFirst() { return body }
            state.threadCount -= 1
            return nil
        }
    }
}

/// Waiting items by priority. Moving or cancelling one leaves a stale entry behind, skipped when it comes up; a bucket is
/// rebuilt once most of it is stale, so that both take constant time on average and the buckets stay small.
private struct WaitingWork {
    private struct Entry {
        let item: WorkItem
        let ticket: Int

        var isLive: Bool { ticket == item.ticket && item.body != nil }
    }

    private struct Bucket {
        var entries: [Entry] = []
        var firstIndex = 0
        /// How many of the entries from `firstIndex` on are not live.
        var staleCount = 0

        /// Removes the oldest live entry; the space in front of it is given back once it is half of the array.
        mutating func popFirst() -> Entry? {
            while firstIndex < entries.count {
                let entry = entries[firstIndex]
                firstIndex += 1
                if firstIndex == entries.count {
                    entries.removeAll(keepingCapacity: firstIndex < 1024)
                    firstIndex = 0
                } else if firstIndex >= 32, firstIndex * 2 >= entries.count {
                    entries.removeFirst(firstIndex)
                    firstIndex = 0
                }
                if entry.isLive { return entry }
                staleCount -= 1
            }
            return nil
        }

        /// Counts an entry that has just become stale.
        mutating func forgetEntry() {
            staleCount += 1
            guard staleCount > 32, staleCount * 2 > entries.count - firstIndex else { return }
            entries = entries[firstIndex...].filter(\.isLive)
            firstIndex = 0
            staleCount = 0
        }
    }

    private var buckets = [Bucket](repeating: Bucket(), count: LoadPriority.allCases.count)
    var waitingCount = 0
    var threadCount = 0
    var idleThreadCount = 0
    /// Whether a thread was woken that has not looked for work since.
    var isWaking = false

    /// `true` for the caller that has to wake a thread: one at a time, since waking takes longer than much of the work. A
    /// thread that finds more than it takes wakes the next, before it sets to work.
    mutating func claimWaking() -> Bool {
        guard !isWaking, waitingCount > 0, idleThreadCount > 0 else { return false }
        isWaking = true
        return true
    }

    var entryCount: Int { buckets.reduce(0) { $0 + $1.entries.count } }

    mutating func enqueue(_ item: WorkItem) {
        waitingCount += 1
        append(item)
    }

    mutating func append(_ item: WorkItem) {
        buckets[item.priority.rawValue].entries.append(Entry(item: item, ticket: item.ticket))
    }

    /// Notes that an item has left, or moved from, its place at `priority`.
    mutating func forgetEntry(at priority: LoadPriority) {
        buckets[priority.rawValue].forgetEntry()
    }

    mutating func takeFirst() -> (@Sendable () -> Void)? {
        for index in buckets.indices.reversed() {
            guard let item = buckets[index].popFirst()?.item, let body = item.body else { continue }
            item.body = nil
            waitingCount -= 1
            return body
        }
        return nil
    }
}
