import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct JobTests {
    private let table = JobTable<String, Int, Note>()

    @Test func runsOnceForAllSubscribers() throws {
        let first = Recorder<Int>()
        let second = Recorder<Int>()
        var started: [Job<Int, Note>] = []
        _ = table.join("a", priority: .normal, handler: first.note) { started.append($0) }
        _ = table.join("a", priority: .normal, handler: second.note) { started.append($0) }
        _ = table.join("b", priority: .normal, handler: { _ in }) { started.append($0) }

        #expect(started.count == 2)
        started[0].finish(.success(7))
        #expect(first.results == [.success(7)])
        #expect(second.results == [.success(7)])
        #expect(table.count == 1, "what has ended cannot be joined")
    }

    @Test func thereIsNothingToLeaveAfterAnEndWithinTheCall() {
        let recorder = Recorder<Int>()
        let subscription = table.join("a", priority: .normal, handler: recorder.note) { $0.finish(.success(7)) }
        #expect(subscription == nil)
        #expect(recorder.results == [.success(7)])
        #expect(table.count == 0)
    }

    @Test func endsOnce() throws {
        let recorder = Recorder<Int>()
        var work: Job<Int, Note>?
        _ = table.join("a", priority: .normal, handler: recorder.note) { work = $0 }
        work?.finish(.success(1))
        work?.finish(.failure(.cancelled))
        #expect(recorder.results == [.success(1)])
    }

    @Test func continuesForOthersWhenOneLeaves() throws {
        let staying = Recorder<Int>()
        let leaving = Recorder<Int>()
        let step = StepProbe()
        var work: Job<Int, Note>?
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

    @Test func loadsIfOneSubscriberAllowsIt() {
        let refusal = WebImageError.notInCache(key: "refused")
        let asked = LockBox(0)
        func veto(_ error: WebImageError?) -> Job<Int, Note>.Veto {
            {
                asked.withLock { $0 += 1 }
                return error
            }
        }
        var work: Job<Int, Note>?
        _ = table.join("a", priority: .normal, veto: veto(refusal), handler: { _ in }) { work = $0 }
        _ = table.join("a", priority: .normal, veto: veto(nil), handler: { _ in }) { _ in }
        _ = table.join("a", priority: .normal, veto: veto(refusal), handler: { _ in }) { _ in }
        #expect(work?.loadingVeto() == nil)
        #expect(work?.loadingVeto() == nil)
        #expect(asked.withLock { $0 } == 2, "each is asked at most once, and none after the first that allows it")
    }

    @Test func aJobRefusedByAllSubscribersCannotBeJoined() throws {
        let refusal = WebImageError.notInCache(key: "refused")
        let (first, late) = (Recorder<Int>(), Recorder<Int>())
        var works: [Job<Int, Note>] = []
        _ = table.join("a", priority: .normal, veto: { refusal }, handler: first.note) { works.append($0) }
        let work = try #require(works.first)
        #expect(work.loadingVeto() == refusal)
        _ = table.join("a", priority: .normal, handler: late.note) { works.append($0) }
        #expect(works.count == 2, "the late one has work of its own")
        work.finish(.failure(refusal))
        #expect(first.results == [.failure(refusal)])
        #expect(late.results.isEmpty && table.count == 1)
    }

    @Test func aRefusedJobThatLoadsForOthersCanBeJoined() throws {
        let refusal = WebImageError.notInCache(key: "refused")
        let late = Recorder<Int>()
        var works: [Job<Int, Note>] = []
        _ = table.join("a", priority: .normal, veto: { refusal }, handler: { _ in }) { works.append($0) }
        let work = try #require(works.first)
        #expect(work.loadingVeto() == refusal)
        // The bytes are those of another request, too.
        work.allowJoining()
        _ = table.join("a", priority: .normal, handler: late.note) { works.append($0) }
        #expect(works.count == 1)
        work.finish(.success(1))
        #expect(late.results == [.success(1)])
    }

    @Test func aSubscriberThatJoinsDuringTheChecksIsCheckedToo() {
        let refusal = WebImageError.notInCache(key: "refused")
        let late = Recorder<Int>()
        var work: Job<Int, Note>?
        _ = table.join(
            "a", priority: .normal,
            veto: { [table] in
                _ = table.join("a", priority: .normal, handler: late.note) { _ in }
                return refusal
            }, handler: { _ in }
        ) { work = $0 }
        #expect(work?.loadingVeto() == nil)
        work?.finish(.success(1))
        #expect(late.results == [.success(1)])
    }

    @Test func stopsWhenTheLastSubscriberLeaves() throws {
        let step = StepProbe()
        let first = try #require(table.join("a", priority: .normal, handler: { _ in }) { $0.run { _ in step } })
        let second = try #require(table.join("a", priority: .normal, handler: { _ in }) { _ in })
        first.cancel()
        second.cancel()
        second.cancel()
        #expect(step.cancelCount == 1)
        #expect(table.count == 0)
    }

    @Test func startsAgainAfterAllSubscribersLeft() throws {
        var startCount = 0
        let first = try #require(table.join("a", priority: .normal, handler: { _ in }) { _ in startCount += 1 })
        first.cancel()
        _ = table.join("a", priority: .normal, handler: { _ in }) { _ in startCount += 1 }
        #expect(startCount == 2)
    }

    @Test func runsAtTheHighestPriorityAmongSubscribers() throws {
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

    @Test func aLessUrgentSubscriberDoesNotLowerThePriority() throws {
        let step = StepProbe()
        _ = table.join("a", priority: .normal, handler: { _ in }) { $0.run { _ in step } }
        _ = table.join("a", priority: .high, handler: { _ in }) { _ in }
        _ = table.join("a", priority: .veryLow, handler: { _ in }) { _ in }
        #expect(step.priority == .high)
    }

    @Test func aLateSubscriberGetsTheNewestNewsOfEachKind() throws {
        let late = Recorder<Int>()
        _ = table.join("a", priority: .normal, handler: { _ in }) { work in
            for note in [Note(kind: 1, number: 5), Note(kind: 2, number: 6), Note(kind: 1, number: 7)] {
                work.report(note)
            }
        }
        _ = table.join("a", priority: .normal, handler: late.note) { _ in }
        #expect(late.news == [Note(kind: 1, number: 7), Note(kind: 2, number: 6)])
    }

    @Test func doesNotCancelAStepThatEndedBeforeItWasStored() throws {
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

    @Test func cancelsAStepThatStartsAfterAllHaveLeft() throws {
        let step = StepProbe()
        var work: Job<Int, Note>?
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

    @Test func aLateSubscriberGetsTheLastProvisionalResult() throws {
        let (first, late) = (Recorder<Int>(), Recorder<Int>())
        var work: Job<Int, Note>?
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

    @Test func cancelsTheSideStepAtTheEnd() throws {
        let (step, beside, replaced) = (StepProbe(), StepProbe(), StepProbe())
        var work: Job<Int, Note>?
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

    @Test func cancelsTheSideStepWhenTheLastSubscriberLeaves() throws {
        let beside = StepProbe()
        let subscription = try #require(
            table.join("a", priority: .normal, handler: { _ in }) { $0.runBeside { _ in beside } })
        subscription.setPriority(.high)
        #expect(beside.priority == .high)
        subscription.cancel()
        #expect(beside.isCancelled)
    }

    // MARK: Waiting for the result

    @Test func severalTasksAwaitOneJob() async throws {
        let jobs = LockBox<[Job<Int, Note>]>([])
        func subscriberCount() -> Int { jobs.withLock { $0.reduce(0) { $0 + $1.subscriberCount } } }
        @Sendable func wait() async -> Int? {
            try? await table.result(for: "a", priority: .normal) { started in
                jobs.withLock { $0.append(started) }
            }.get()
        }
        async let first = wait()
        while subscriberCount() < 1, !Task.isCancelled { await Task.yield() }
        async let second = wait()
        while subscriberCount() < 2, !Task.isCancelled { await Task.yield() }
        #expect(jobs.withLock { $0.count } == 1)
        for job in jobs.withLock({ $0 }) { job.finish(.success(7)) }
        #expect(await [first, second] == [7, 7])
    }

    @Test func aCancelledTaskLeavesTheJob() async throws {
        let (step, started) = (StepProbe(), Countdown())
        let waiting = Task { [table] in
            await table.result(for: "a", priority: .normal) { job in
                job.run { _ in step }
                started.signal()
            }
        }
        try await started.wait()
        waiting.cancel()
        #expect(await waiting.value == .failure(.cancelled))
        #expect(table.count == 0)
    }
}

@Suite(.timeLimit(.minutes(3))) struct DeferredTaskTests {
    @Test func forwardsEarlierCallsWhenTheTaskStarts() {
        let (deferred, task) = (DeferredTask(), TaskRecorder())
        deferred.pause()
        deferred.setPriority(.high)
        deferred.attach(task)
        #expect(task.calls == ["priority high", "pause"])
        deferred.resume()
        deferred.cancel()
        #expect(task.calls == ["priority high", "pause", "resume", "cancel"])
    }

    @Test func cancelsATaskThatStartsLate() {
        let (deferred, task) = (DeferredTask(), TaskRecorder())
        deferred.pause()
        deferred.cancel()
        deferred.attach(task)
        #expect(task.calls == ["cancel"])
    }

    @Test func forwardsNothingThatIsUnchanged() {
        let (deferred, task) = (DeferredTask(), TaskRecorder())
        deferred.setPriority(.high)
        deferred.pause()
        deferred.resume()
        deferred.attach(task, priority: .high)
        #expect(task.calls.isEmpty)
    }

    @Test func releasesTheTaskAtTheEnd() {
        let deferred = DeferredTask()
        weak var task: TaskRecorder?
        do {
            let recorder = TaskRecorder()
            task = recorder
            deferred.attach(recorder)
            deferred.end()
        }
        #expect(task == nil)
    }

    /// What the task controls next must not stay paused.
    @Test func resumesATaskThatEndsWhileItIsPaused() {
        let deferred = DeferredTask()
        let task = TaskRecorder(onPause: { deferred.end() })
        deferred.attach(task)
        deferred.pause()
        #expect(task.calls == ["pause", "resume"])
    }
}

extension DeferredTaskTests {
    @Test func hasTheLatestStateWithManyThreads() async {
        let (deferred, task) = (DeferredTask(), TaskRecorder())
        deferred.attach(task)
        await withTaskGroup(of: Void.self) { group in
            for parity in 0..<4 {
                group.addTask { for count in 0..<2000 { deferred.setPaused((count + parity) % 2 == 0) } }
            }
        }
        deferred.pause()
        #expect(task.calls.last == "pause")
        deferred.resume()
        let calls = task.calls
        #expect(calls.last == "resume")
        #expect(zip(calls, calls.dropFirst()).allSatisfy { $0 != $1 }, "each is told once")
    }
}

@Suite(.timeLimit(.minutes(3))) struct LoaderTaskTests {
    @Test func followsAPriorityThatChangesWhileItIsForwarded() {
        let task = TaskRecorder()
        let wanted = LockBox([LoadPriority.high, .low, .low, .veryHigh])
        task.follow { wanted.withLock { $0.removeFirst() } }
        #expect(task.calls == ["priority high", "priority low"])
        #expect(wanted.withLock { $0 } == [.veryHigh])
    }

    @Test func isNotGivenItsInitialPriorityAgain() {
        let task = TaskRecorder()
        task.follow(unlessStill: .normal) { .normal }
        #expect(task.calls.isEmpty)
    }
}

private final class TaskRecorder: PausableTask {
    private let recorded = LockBox<[String]>([])
    private let onPause: @Sendable () -> Void

    init(onPause: @escaping @Sendable () -> Void = {}) { self.onPause = onPause }

    var calls: [String] { recorded.withLock { $0 } }

    private func note(_ call: String) { recorded.withLock { $0.append(call) } }

    func cancel() { note("cancel") }
    func setPriority(_ priority: LoadPriority) { note("priority \(priority)") }
    func pause() {
        note("pause")
        onPause()
    }

    func resume() { note("resume") }
}

/// News of several kinds.
private struct Note: JobNews, Equatable {
    let kind: Int
    let number: Int

    func add(to news: inout [Note]) -> Note? {
        guard let index = news.firstIndex(where: { $0.kind == kind }) else {
            news.append(self)
            return nil
        }
        return exchange(&news[index], with: self)
    }
}

private final class Recorder<Output: Hashable & Sendable>: Sendable {
    private let events = LockBox<[Job<Output, Note>.Event]>([])

    var note: Job<Output, Note>.Handler { { event in self.events.withLock { $0.append(event) } } }

    var results: [Result<Output, WebImageError>] {
        events.withLock { $0 }.compactMap { if case .finished(let result) = $0 { result } else { nil } }
    }

    /// Number by result.
    var provisional: [Output: Int] {
        var numbers: [Output: Int] = [:]
        for case .provisional(let output, let number) in events.withLock({ $0 }) { numbers[output] = number }
        return numbers
    }

    var news: [Note] {
        events.withLock { $0 }.compactMap { if case .news(let news) = $0 { news } else { nil } }
    }
}

private final class StepProbe: LoaderTask {
    private let state = LockBox((cancelCount: 0, priority: LoadPriority?.none))

    var cancelCount: Int { state.withLock { $0.cancelCount } }
    var isCancelled: Bool { cancelCount > 0 }
    var priority: LoadPriority? { state.withLock { $0.priority } }

    func cancel() { state.withLock { $0.cancelCount += 1 } }
    func setPriority(_ priority: LoadPriority) { state.withLock { $0.priority = priority } }
}
