import Foundation
import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(1))) struct WorkQueueTests {
    /// A queue of one thread that is held until `open` is called, so that what is submitted meanwhile has to queue.
    private final class HeldQueue: Sendable {
        let queue = WorkQueue(label: "held", threadCount: 1)
        private let gate = DispatchSemaphore(value: 0)
        private let finished = Lock<[String]>([])

        init() {
            let started = DispatchSemaphore(value: 0)
            queue.submit { [gate] in
                started.signal()
                gate.wait()
            }
            started.wait()
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
            last.wait()
            return finished.withLock { $0 }
        }
    }

    @Test func runsTheMostUrgentFirstAndEqualsInTurn() {
        let held = HeldQueue()
        held.submit("low", .low)
        held.submit("first")
        held.submit("second")
        held.submit("urgent", .veryHigh)
        #expect(held.order() == ["urgent", "first", "second", "low"])
    }

    @Test func leavesOutWhatWasCancelled() {
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

    @Test func doesNotCancelWhatHasRun() {
        let held = HeldQueue()
        let item = held.submit("done")
        #expect(held.order() == ["done"])
        #expect(!item.cancel())
        item.setPriority(.veryHigh)
    }

    @Test func runsAsMuchAtOnceAsItHasThreads() {
        let queue = WorkQueue(label: "pair", threadCount: 2)
        let (arrived, leave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let counts = Lock((running: 0, most: 0))
        let done = DispatchGroup()
        for _ in 0..<6 {
            done.enter()
            queue.submit {
                counts.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
                arrived.signal()
                leave.wait()
                counts.withLock { $0.running -= 1 }
                done.leave()
            }
        }
        // Two are inside at the same time, or the second of these waits for ever.
        arrived.wait()
        arrived.wait()
        #expect(queue.waitingCount == 4)
        for _ in 0..<6 { leave.signal() }
        done.wait()
        #expect(counts.withLock { $0.most } == 2)
    }
}
