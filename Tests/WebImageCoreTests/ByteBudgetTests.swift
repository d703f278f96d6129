import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(1))) struct ByteBudgetTests {
    private let budget = ByteBudget(byteLimit: 3 * ByteBudget.estimatedByteCount)
    private let started = LockBox<[String]>([])
    private let shares = LockBox<[String: ByteBudget.Share]>([:])

    private func admit(_ name: String, priority: LoadPriority = .normal) -> (any LoaderTask)? {
        budget.admit(priority: priority) { [started, shares] share in
            started.withLock { $0.append(name) }
            shares.withLock { $0[name] = share }
        }
    }

    private func release(_ name: String) {
        let share = shares.withLock { $0.removeValue(forKey: name) }
        withExtendedLifetime(share) {}
    }

    @Test func countsAnEstimateUntilTheLengthIsKnown() {
        for name in ["a", "b", "c"] { #expect(admit(name) == nil) }
        #expect(admit("d") != nil)
        #expect(started.withLock { $0 } == ["a", "b", "c"])
        shares.withLock { $0["a"] }?.settle(10)
        #expect(started.withLock { $0 } == ["a", "b", "c", "d"], "it was shorter than estimated")
    }

    @Test func admitsByPriority() {
        shares.withLock { $0["all"] = budget.hold(3 * ByteBudget.estimatedByteCount) }
        let waiting = [admit("low", priority: .low), admit("first"), admit("second"), admit("late", priority: .low)]
        #expect(waiting.allSatisfy { $0 != nil })
        waiting[3]?.setPriority(.high)
        waiting[1]?.cancel()
        release("all")
        #expect(started.withLock { $0 } == ["late", "second", "low"])
    }

    @Test func estimatesDoNotFillTheBudget() {
        for name in ["a", "b", "c"] { #expect(admit(name) == nil) }
        #expect(!budget.isFull, "the disk may have none of the three")
        shares.withLock { $0["a"] }?.settle(3 * ByteBudget.estimatedByteCount)
        #expect(budget.isFull)
        for name in ["a", "b", "c"] { release(name) }
        #expect(!budget.isFull)
        #expect(budget.heldByteCount == 0)
    }

    @Test func admitsNothingWhileABodyExceedsTheLimit() {
        #expect(admit("long") == nil)
        shares.withLock { $0["long"] }?.settle(10 * ByteBudget.estimatedByteCount)
        #expect(budget.isFull)
        #expect(admit("after") != nil)
        release("long")
        #expect(started.withLock { $0 } == ["long", "after"])
        release("after")
        #expect(budget.heldByteCount == 0)
    }

    @Test func nothingStartsWhileAReleaseLeavesTheBudgetFull() {
        for name in ["first", "second"] {
            shares.withLock { $0[name] = budget.hold(3 * ByteBudget.estimatedByteCount) }
        }
        #expect(admit("after") != nil)
        release("first")
        #expect(started.withLock { $0 } == [])
        release("second")
        #expect(started.withLock { $0 } == ["after"])
    }

    @Test func aShareTakesTheBytesOfAnother() {
        let budget = ByteBudget(byteLimit: 100)
        var (share, other): (ByteBudget.Share?, ByteBudget.Share?) = (budget.hold(30), budget.hold(20))
        if let other { share?.absorb(other) }
        #expect(budget.heldByteCount == 50)
        other = nil
        #expect(budget.heldByteCount == 50)
        share = nil
        #expect(budget.heldByteCount == 0)
        withExtendedLifetime(other) {}
    }

    @Test func admitsItemsThatFitAndASingleLargeItem() {
        let budget = ByteBudget(byteLimit: 100)
        var large = budget.holdIfPossible(1_000)
        #expect(large != nil)
        #expect(budget.holdIfPossible(1) == nil)
        let empty = budget.holdIfPossible(0)
        #expect(empty != nil, "what takes no memory is never refused")
        large = nil
        let shares = (budget.holdIfPossible(60), budget.holdIfPossible(40))
        #expect(shares.0 != nil && shares.1 != nil && budget.holdIfPossible(1) == nil)
    }
}
