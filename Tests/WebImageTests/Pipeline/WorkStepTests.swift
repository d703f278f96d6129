import Testing
import WebImageCore

@testable import WebImage

@Suite struct WorkStepTests {
    @Test func followsAPriorityThatChangesWhileItIsPassedOn() {
        let step = RecordingStep()
        let wanted = Lock([LoadPriority.high, .low, .low, .veryHigh])
        step.follow { wanted.withLock { $0.removeFirst() } }
        #expect(step.priorities == [.high, .low])
        #expect(wanted.withLock { $0 } == [.veryHigh])
    }

    @Test func isNotToldWhatItBeganWith() {
        let step = RecordingStep()
        step.follow(unlessStill: .normal) { .normal }
        #expect(step.priorities.isEmpty)
    }
}

private final class RecordingStep: WorkStep {
    private let told = Lock<[LoadPriority]>([])

    var priorities: [LoadPriority] { told.withLock { $0 } }

    func cancel() {}
    func setPriority(_ priority: LoadPriority) { told.withLock { $0.append(priority) } }
}
