import FoundationEssentials
import WebImageCore
import WebImageLoading

/// One load of the bytes stage: turns a loader's events into news of the work.
final class BytesLoad: Sendable {
    private let work: SharedWork<LoadedBytes>
    private let collector: BodyCollector
    private let awaitsStorage: Bool
    private let budget: BodyBudget
    private let state: Lock<State>

    private struct State {
        var contentType: String?
        var metrics: LoaderMetrics?
        var progress: ProgressSteps
    }

    init(
        _ work: SharedWork<LoadedBytes>, storage: BodyStorage, minimumProgressInterval: Double, awaitsStorage: Bool,
        budget: BodyBudget
    ) {
        self.budget = budget
        self.work = work
        self.awaitsStorage = awaitsStorage
        collector = BodyCollector(storage)
        state = Lock(State(progress: ProgressSteps(minimumInterval: minimumProgressInterval)))
    }

    /// Names the load.
    func attach(_ task: any LoaderTask) { collector.attach(task) }

    func receive(_ event: LoaderEvent) {
        switch event {
        case .response(let response):
            collector.begin(response, isMemoryScarce: budget.isFull)
            report { state in
                state.contentType = response.headerValue("Content-Type")
                return state.progress.begin(expected: response.expectedByteCount)
            }
        case .bytes(let bytes):
            collector.append(bytes)
            let byteCount = collector.byteCount
            report { $0.progress.advance(to: Int64(byteCount)) }
            work.report(PartialBody(collector: collector, byteCount: byteCount))
        case .refused: break
        case .metrics(let metrics):
            state.withLock { $0.metrics = metrics }
        case .finished(.success):
            collector.loadDidEnd()
            collector.end { [self] in end(with: $0) }
        case .finished(.failure(let error)):
            collector.loadDidEnd()
            // It was cancelled because the body could not be kept: that is the reason to tell.
            work.finish(.failure(collector.failure ?? error))
        }
    }

    private func report(_ change: (inout State) -> LoadProgress?) {
        if let progress = state.withLock({ change(&$0) }) { work.report(progress) }
    }

    private func end(with body: Result<Data, WebImageError>) {
        let (contentType, metrics) = state.withLock { ($0.contentType, $0.metrics) }
        work.finish(
            body.map { data in
                // A body in a file takes no memory but what the system can take back.
                LoadedBytes(
                    data: data, origin: .remote, contentType: contentType, metrics: metrics,
                    awaitsStorage: awaitsStorage,
                    share: budget.hold(collector.isInFile ? 0 : data.count))
            })
    }
}
