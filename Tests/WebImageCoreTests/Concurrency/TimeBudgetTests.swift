import Testing
@testable import WebImageCore

/// Time that counts only while work runs.
@Suite(.timeLimit(.minutes(3))) struct TimeBudgetTests {
    @Test func countsStepsAndNotTheTimeBetweenThem() {
        let now = LockBox(0.0)
        let budget = TimeBudget(.seconds(3)) { now.withLock { $0 } }
        let cancellation = budget.cancellation(after: nil)
        budget.running { now.withLock { $0 += 2 } }
        now.withLock { $0 += 100 }
        #expect(throws: Never.self) { try cancellation.check() }
        budget.running {
            now.withLock { $0 += 0.9 }
            #expect(throws: Never.self) { try cancellation.check() }
            now.withLock { $0 += 0.2 }
            #expect(throws: WebImageError.limitExceeded(reason: .processorTime(limit: .seconds(3)))) {
                try cancellation.check()
            }
        }
    }

    @Test func isCancelledWithItsParent() {
        let parent = Cancellation()
        let cancellation = TimeBudget(.seconds(1000)).cancellation(after: parent)
        #expect(!cancellation.isCancelled)
        parent.cancel()
        #expect(throws: WebImageError.cancelled) { try cancellation.check() }
    }

    @Test func readsTheProcessorTimeOfTheThread() {
        let start = TimeBudget.threadTime()
        var sum = 0.0
        while TimeBudget.threadTime() == start { sum += 1 }
        #expect(TimeBudget.threadTime() > start && sum >= 0)
    }
}
