import Testing
import WebImageCore

@testable import WebImage

@Suite struct SharedWorkTests {
    private let table = WorkTable<String, Int>()

    @Test func runsOnceForAllWhoJoin() throws {
        let first = Recorder<Int>()
        let second = Recorder<Int>()
        var started: [SharedWork<Int>] = []
        _ = table.join("a", priority: .normal, handler: first.note) { started.append($0) }
        _ = table.join("a", priority: .normal, handler: second.note) { started.append($0) }
        _ = table.join("b", priority: .normal, handler: { _ in }) { started.append($0) }

        #expect(started.count == 2)
        started[0].finish(.success(7))
        #expect(first.results == [.success(7)])
        #expect(second.results == [.success(7)])
        #expect(table.count == 1, "what has ended can't be joined")
    }

    @Test func endsOnce() throws {
        let recorder = Recorder<Int>()
        var work: SharedWork<Int>?
        _ = table.join("a", priority: .normal, handler: recorder.note) { work = $0 }
        work?.finish(.success(1))
        work?.finish(.failure(.cancelled))
        #expect(recorder.results == [.success(1)])
    }

    @Test func leavesTheOthersAloneWhenOneLeaves() throws {
        let staying = Recorder<Int>()
        let leaving = Recorder<Int>()
        let step = StepProbe()
        var work: SharedWork<Int>?
        _ = table.join("a", priority: .normal, handler: staying.note) { started in
            work = started
            started.run { _ in step }
        }
        let subscription = try #require(table.join("a", priority: .normal, handler: leaving.note) { _ in })

        subscription.cancel()
        #expect(!step.isCancelled)
        work?.finish(.success(3))
        #expect(staying.results == [.success(3)])
        #expect(leaving.results.isEmpty)
    }

    @Test func oneSubscriberThatAllowsItIsEnoughToAskALoader() {
        let refusal = WebImageError.notInCache(key: "refused")
        let asked = Lock(0)
        func objection(_ error: WebImageError?) -> SharedWork<Int>.Objection {
            {
                asked.withLock { $0 += 1 }
                return error
            }
        }
        var work: SharedWork<Int>?
        _ = table.join("a", priority: .normal, objection: objection(refusal), handler: { _ in }) { work = $0 }
        _ = table.join("a", priority: .normal, objection: objection(nil), handler: { _ in }) { _ in }
        _ = table.join("a", priority: .normal, objection: objection(refusal), handler: { _ in }) { _ in }
        #expect(work?.objectionToLoading() == nil)
        #expect(work?.objectionToLoading() == nil)
        #expect(asked.withLock { $0 } == 2, "each is asked at most once, and none after the first that allows it")
    }

    @Test func noneJoinsWorkThatAllSubscribersRefuse() throws {
        let refusal = WebImageError.notInCache(key: "refused")
        let (first, late) = (Recorder<Int>(), Recorder<Int>())
        var works: [SharedWork<Int>] = []
        _ = table.join("a", priority: .normal, objection: { refusal }, handler: first.note) { works.append($0) }
        let work = try #require(works.first)
        #expect(work.objectionToLoading() == refusal)
        _ = table.join("a", priority: .normal, handler: late.note) { works.append($0) }
        #expect(works.count == 2, "the late one has work of its own")
        work.finish(.failure(refusal))
        #expect(first.results == [.failure(refusal)])
        #expect(late.results.isEmpty && table.count == 1)
    }

    @Test func workThatLoadsAlthoughItsSubscribersRefuseCanBeJoined() throws {
        let refusal = WebImageError.notInCache(key: "refused")
        let late = Recorder<Int>()
        var works: [SharedWork<Int>] = []
        _ = table.join("a", priority: .normal, objection: { refusal }, handler: { _ in }) { works.append($0) }
        let work = try #require(works.first)
        #expect(work.objectionToLoading() == refusal)
        // The bytes are those of another request, too.
        work.report(LoaderActivity())
        _ = table.join("a", priority: .normal, handler: late.note) { works.append($0) }
        #expect(works.count == 1)
        work.finish(.success(1))
        #expect(late.results == [.success(1)])
    }

    @Test func oneThatJoinsWhileOthersAreAskedIsAskedToo() {
        let refusal = WebImageError.notInCache(key: "refused")
        let late = Recorder<Int>()
        var work: SharedWork<Int>?
        _ = table.join(
            "a", priority: .normal,
            objection: { [table] in
                _ = table.join("a", priority: .normal, handler: late.note) { _ in }
                return refusal
            }, handler: { _ in }
        ) { work = $0 }
        #expect(work?.objectionToLoading() == nil)
        work?.finish(.success(1))
        #expect(late.results == [.success(1)])
    }

    @Test func stopsWhenTheLastOneLeaves() throws {
        let step = StepProbe()
        let first = try #require(table.join("a", priority: .normal, handler: { _ in }) { $0.run { _ in step } })
        let second = try #require(table.join("a", priority: .normal, handler: { _ in }) { _ in })
        first.cancel()
        second.cancel()
        second.cancel()
        #expect(step.cancelCount == 1)
        #expect(table.count == 0)
    }

    @Test func startsAnewAfterItWasAbandoned() throws {
        var startCount = 0
        let first = try #require(table.join("a", priority: .normal, handler: { _ in }) { _ in startCount += 1 })
        first.cancel()
        _ = table.join("a", priority: .normal, handler: { _ in }) { _ in startCount += 1 }
        #expect(startCount == 2)
    }

    @Test func runsAtTheHighestPriorityAmongThoseWhoWait() throws {
        let step = StepProbe()
        let low = try #require(table.join("a", priority: .low, handler: { _ in }) { $0.run { _ in step } })
        #expect(step.priority == nil, "the step was started with the priority it needs")
        let high = try #require(table.join("a", priority: .high, handler: { _ in }) { _ in })
        #expect(step.priority == .high)
        low.setPriority(.veryHigh)
        #expect(step.priority == .veryHigh)
        low.cancel()
        #expect(step.priority == .high)
        high.setPriority(.veryLow)
        #expect(step.priority == .veryLow)
    }

    @Test func tellsALateComerHowFarItIs() throws {
        let late = Recorder<Int>()
        _ = table.join("a", priority: .normal, handler: { _ in }) { work in
            work.report(LoadProgress(received: 5, expected: 9))
        }
        _ = table.join("a", priority: .normal, handler: late.note) { _ in }
        #expect(late.progress == [LoadProgress(received: 5, expected: 9)])
    }

    @Test func dropsAStepThatEndedBeforeItWasStored() throws {
        let (finished, next) = (StepProbe(), StepProbe())
        let subscription = try #require(
            table.join("a", priority: .normal, handler: { _ in }) { work in
                work.run { _ in
                    work.run { _ in next }
                    return finished
                }
            })
        subscription.cancel()
        #expect(next.isCancelled)
        #expect(!finished.isCancelled)
    }

    @Test func cancelsAStepThatStartsAfterEverybodyLeft() throws {
        let step = StepProbe()
        var work: SharedWork<Int>?
        let subscription = try #require(table.join("a", priority: .normal, handler: { _ in }) { work = $0 })
        work?.run { _ in
            subscription.cancel()
            return step
        }
        #expect(step.isCancelled)
        var isStarted = false
        work?.run { _ in
            isStarted = true
            return nil
        }
        #expect(!isStarted)
    }

    @Test func tellsALateComerTheLastProvisionalResult() throws {
        let (first, late) = (Recorder<Int>(), Recorder<Int>())
        var work: SharedWork<Int>?
        _ = table.join("a", priority: .normal, handler: first.note) { work = $0 }
        work?.report(provisional: 4)
        work?.report(provisional: 5)
        _ = table.join("a", priority: .normal, handler: late.note) { _ in }
        work?.finish(.success(6))
        work?.report(provisional: 7)

        #expect(first.provisional == [4: 1, 5: 2])
        #expect(late.provisional == [5: 2])
        #expect(late.results == [.success(6)])
    }

    @Test func cancelsWhatRunsBesideAtTheEnd() throws {
        let (step, beside, replaced) = (StepProbe(), StepProbe(), StepProbe())
        var work: SharedWork<Int>?
        _ = table.join("a", priority: .high, handler: { _ in }) { started in
            work = started
            started.run { _ in step }
            started.runBeside { _ in replaced }
            started.runBeside { _ in beside }
        }
        #expect(replaced.isCancelled)
        #expect(!beside.isCancelled)
        work?.finish(.success(1))
        #expect(beside.isCancelled)
        #expect(!step.isCancelled)
    }

    @Test func cancelsWhatRunsBesideWhenTheLastOneLeaves() throws {
        let beside = StepProbe()
        let subscription = try #require(
            table.join("a", priority: .normal, handler: { _ in }) { $0.runBeside { _ in beside } })
        subscription.setPriority(.high)
        #expect(beside.priority == .high)
        subscription.cancel()
        #expect(beside.isCancelled)
    }
}

private final class Recorder<Output: Hashable & Sendable>: Sendable {
    private let events = Lock<[SharedWork<Output>.Event]>([])

    var note: SharedWork<Output>.Handler { { event in self.events.withLock { $0.append(event) } } }

    var results: [Result<Output, WebImageError>] {
        events.withLock { $0 }.compactMap { if case .finished(let result) = $0 { result } else { nil } }
    }

    /// Number by result.
    var provisional: [Output: Int] {
        var numbers: [Output: Int] = [:]
        for case .provisional(let output, let number) in events.withLock({ $0 }) { numbers[output] = number }
        return numbers
    }

    var progress: [LoadProgress] {
        events.withLock { $0 }.compactMap { if case .progress(let progress) = $0 { progress } else { nil } }
    }
}

private final class StepProbe: WorkStep {
    private let state = Lock((cancelCount: 0, priority: LoadPriority?.none))

    var cancelCount: Int { state.withLock { $0.cancelCount } }
    var isCancelled: Bool { cancelCount > 0 }
    var priority: LoadPriority? { state.withLock { $0.priority } }

    func cancel() { state.withLock { $0.cancelCount += 1 } }
    func setPriority(_ priority: LoadPriority) { state.withLock { $0.priority = priority } }
}
