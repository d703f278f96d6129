import Foundation
import Testing

@testable import WebImageCore

extension DispatchSemaphore {
    /// Waits for a signal; `false` when none comes. A wait without an end would outlast the suite's time limit, which
    /// cannot interrupt it.
    fileprivate func isSignalled() -> Bool { wait(timeout: .now() + 10) == .success }
}

/// Work that stays on its threads until the test lets it go.
private struct Visitors {
    private let arrived = DispatchSemaphore(value: 0)
    private let leave = DispatchSemaphore(value: 0)
    private let done = DispatchGroup()

    func visit(
        _ queue: WorkQueue, count: Int, before: @escaping @Sendable () -> Void = {},
        after: @escaping @Sendable () -> Void = {}
    ) {
        for _ in 0..<count {
            done.enter()
            queue.submit { [arrived, leave, done] in
                before()
                arrived.signal()
                #expect(leave.isSignalled())
                after()
                done.leave()
            }
        }
    }

    /// Whether `count` are there at the same time.
    func haveArrived(_ count: Int) -> Bool { (0..<count).allSatisfy { _ in arrived.isSignalled() } }

    /// Lets `count` go; returns whether all have ended.
    func haveLeft(_ count: Int) -> Bool {
        for _ in 0..<count { leave.signal() }
        return done.wait(timeout: .now() + 10) == .success
    }
}

@Suite(.timeLimit(.minutes(1))) struct WorkQueueTests {
    /// A queue of one thread that is held until `open` is called, so that work submitted before that has to wait.
    private final class HeldQueue: Sendable {
        let queue = WorkQueue(label: "held", threadCount: 1)
        private let gate = DispatchSemaphore(value: 0)
        private let finished = LockBox<[String]>([])

        init() {
            let started = DispatchSemaphore(value: 0)
            queue.submit { [gate] in
                started.signal()
                #expect(gate.isSignalled())
            }
            #expect(started.isSignalled())
        }

        @discardableResult
        func submit(_ name: String, _ priority: LoadPriority = .normal) -> WorkItem {
            queue.submit(priority: priority) { [finished] in finished.withLock { $0.append(name) } }
        }

        /// Lets the queue run and returns the names in the order in which their work ran.
        func order() -> [String] {
            let last = DispatchSemaphore(value: 0)
            queue.submit(priority: .veryLow) { last.signal() }
            gate.signal()
            #expect(last.isSignalled())
            return finished.withLock { $0 }
        }
    }

    @Test func runsTheMostUrgentFirstAndEqualPrioritiesInOrder() {
        let held = HeldQueue()
        held.submit("low", .low)
        held.submit("first")
        held.submit("second")
        held.submit("urgent", .veryHigh)
        #expect(held.order() == ["urgent", "first", "second", "low"])
    }

    @Test func doesNotRunCancelledWork() {
        let held = HeldQueue()
        held.submit("kept")
        let item = held.submit("cancelled")
        #expect(held.queue.waitingCount == 2)
        #expect(item.cancel())
        #expect(!item.cancel())
        #expect(held.queue.waitingCount == 1)
        #expect(held.order() == ["kept"])
    }

    @Test func movesWaitingWorkToAnotherPriority() {
        let held = HeldQueue()
        let first = held.submit("first")
        held.submit("second")
        let third = held.submit("third", .low)
        first.setPriority(.low)
        third.setPriority(.high)
        #expect(held.order() == ["third", "second", "first"])
    }

    @Test func cannotCancelFinishedWork() {
        let held = HeldQueue()
        let item = held.submit("done")
        #expect(held.order() == ["done"])
        #expect(!item.cancel())
        item.setPriority(.veryHigh)
    }

    @Test func runsAsManyItemsAtOnceAsItHasThreads() {
        let queue = WorkQueue(label: "pair", threadCount: 2)
        let counts = LockBox((running: 0, most: 0))
        let visitors = Visitors()
        visitors.visit(
            queue, count: 6, before: { counts.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) } },
            after: { counts.withLock { $0.running -= 1 } })
        #expect(visitors.haveArrived(2))
        #expect(queue.waitingCount == 4)
        #expect(visitors.haveLeft(6))
        #expect(counts.withLock { $0.most } == 2)
    }

    @Test func anotherThreadWorksInPlaceOfOneThatWaits() {
        let queue = WorkQueue(label: "lent", threadCount: 1)
        let visitors = Visitors()
        visitors.visit(
            queue, count: 3,
            before: {
                // The second time does nothing.
                WorkQueue.letAnotherThreadWork()
                WorkQueue.letAnotherThreadWork()
            })
        #expect(visitors.haveArrived(3))
        #expect(visitors.haveLeft(3))
        while queue.startedThreadCount > 1, !Task.isCancelled { sched_yield() }
        // One thread remains, and no other joins it.
        visitors.visit(queue, count: 2)
        #expect(visitors.haveArrived(1))
        #expect(queue.waitingCount == 1)
        #expect(queue.startedThreadCount == 1)
        #expect(visitors.haveLeft(2))
    }

    @Test func wakesAThreadForEachWorkItem() {
        let queue = WorkQueue(label: "sleepers", threadCount: 3)
        let visitors = Visitors()
        // After the first round they sleep, or are about to.
        for _ in 0..<100 {
            visitors.visit(queue, count: 3)
            #expect(visitors.haveArrived(3))
            #expect(visitors.haveLeft(3))
        }
    }

    @Test func setsTheNicenessOfItsThreads() {
        let ownNiceness = niceness()
        let found = LockBox<Int32?>(nil)
        let done = DispatchSemaphore(value: 0)
        WorkQueue(label: "nice", threadCount: 1, niceness: 3).submit {
            found.withLock { $0 = niceness() }
            done.signal()
        }
        #expect(done.isSignalled())
        #expect(found.withLock { $0 } == min(ownNiceness + 3, 19))
    }

    @Test func runsWorkOnceIfNoThreadCanBeStarted() {
        let queue = WorkQueue(label: "none", threadCount: 2) { _, _ in false }
        for round in 0..<3 {
            let done = DispatchGroup()
            let numbers = LockBox<[Int]>([])
            for number in 0..<100 {
                done.enter()
                queue.submit {
                    numbers.withLock { $0.append(number) }
                    done.leave()
                }
            }
            #expect(done.wait(timeout: .now() + 10) == .success, "round \(round)")
            #expect(numbers.withLock { $0.sorted() } == Array(0..<100))
        }
    }

    @Test func runsWorkOnExistingThreadsIfNoMoreCanBeStarted() {
        let startCount = LockBox(0)
        let queue = WorkQueue(label: "one", threadCount: 2) { name, body in
            let isFirst = startCount.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst && PlatformThread.start(name: name, body)
        }
        let (started, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = DispatchSemaphore(value: 0)
        queue.submit {
            started.signal()
            #expect(gate.isSignalled())
        }
        #expect(started.isSignalled())
        queue.submit { done.signal() }
        #expect(startCount.withLock { $0 } == 2)
        #expect(queue.waitingCount == 1)
        gate.signal()
        #expect(done.isSignalled())
    }

    private func niceness() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
}
