import Dispatch
import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(1))) struct WaitingLineTests {
    /// With the weights that are in use, of 100.
    private let line = WaitingLine(0) { held, weight in
        guard held + weight <= 100 else { return false }
        held += weight
        return true
    }
    private let started = LockBox<[String]>([])

    private func enter(
        _ name: String, _ weight: Int, priority: LoadPriority = .normal, lengthLimit: Int = .max
    ) -> WaitingLine<Int>.Place? {
        line.enter(weight, priority: priority, lengthLimit: lengthLimit) { [started] in
            started.withLock { $0.append(name) }
        }
    }

    private func release(_ weight: Int) { line.update { $0 -= weight } }
    private var names: [String] { started.withLock { $0 } }

    @Test func theMostUrgentStartsFirstAndThenTheFirstThatCame() {
        #expect(line.takeIfPossible(100))
        let places = [
            enter("low", 50, priority: .low), enter("first", 50), enter("second", 50),
            enter("late", 50, priority: .low),
        ]
        places[3]?.setPriority(.high)
        #expect(names == [] && line.waitingCount == 4)
        release(100)
        #expect(names == ["late", "first"])
        release(100)
        #expect(names == ["late", "first", "second", "low"] && line.waitingCount == 0)
    }

    @Test func theFirstInLineIsNotOvertaken() {
        #expect(line.takeIfPossible(60))
        _ = (enter("large", 90), enter("small", 10))
        #expect(!line.takeIfPossible(10))
        #expect(line.ifNoneWaits { _ in true } == false)
        #expect(names == [])
        release(60)
        #expect(names == ["large", "small"])
        #expect(line.withLock { $0 } == 100)
    }

    @Test func thoseBehindAPlaceThatIsLeftMoveUp() {
        #expect(line.takeIfPossible(60))
        let (large, small) = (enter("large", 90), enter("small", 10))
        #expect(large?.leave() == true)
        #expect(names == ["small"])
        #expect(large?.leave() == false && small?.leave() == false)
        #expect(line.withLock { $0 } == 70)
    }

    @Test func thoseBehindAPlaceThatMovesMoveUp() {
        #expect(line.takeIfPossible(60))
        let (large, _) = (enter("large", 90), enter("small", 10))
        large?.setPriority(.low)
        #expect(names == ["small"])
    }

    @Test func aFullLineRefuses() {
        #expect(line.takeIfPossible(100))
        #expect(enter("refused", 1, lengthLimit: 0) == nil)
        #expect(enter("waits", 1, lengthLimit: 1) != nil)
        #expect(enter("refused", 1, lengthLimit: 1) == nil)
        release(100)
        #expect(names == ["waits"])
    }

    @Test func whatStartsMayTakeMore() {
        #expect(line.takeIfPossible(100))
        _ = line.enter(10) { [line] in line.withLock { $0 += 60 } }
        _ = enter("second", 50)
        release(100)
        #expect(names == [] && line.withLock { $0 } == 70)
        release(60)
        #expect(names == ["second"])
    }

    @Test func aThreadWaitsUntilTheDeadlineOrTheFlag() {
        let waiter = Waiter<String>()
        #expect(waiter.wait(until: .now(), cancellation: nil) { waiter.resume("deadline") } == "deadline")
        let (other, cancellation) = (Waiter<String>(), Cancellation())
        _ = PlatformThread.start(name: "cancelling") { cancellation.cancel() }
        #expect(other.wait(cancellation: cancellation) { other.resume("flag") } == "flag")
        let third = Waiter<String>()
        _ = PlatformThread.start(name: "resuming") { third.resume("value") }
        #expect(third.wait(cancellation: Cancellation()) { third.resume("flag") } == "value")
    }
}
