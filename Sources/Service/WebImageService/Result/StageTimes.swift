internal import WebImageCore

/// The times of the stages of one result. A stage may have several parts, such as the waits for a place and for a thread.
final class StageTimes: Sendable {
    private let times = Lock<[ImageService.Stage: Duration]>([:])

    func add(_ stage: ImageService.Stage, since start: ContinuousClock.Instant) {
        times.withLock { $0[stage, default: .zero] += start.duration(to: .now) }
    }

    func measure<Value, Failure>(
        _ stage: ImageService.Stage, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let start = ContinuousClock.now
        defer { add(stage, since: start) }
        return try body()
    }

    /// Calls `body` for each stage that has begun, in their order.
    func forEach(_ body: (_ stage: ImageService.Stage, _ time: Duration) -> Void) {
        let times = times.withLock { $0 }
        for stage in ImageService.Stage.allCases { if let time = times[stage] { body(stage, time) } }
    }
}
