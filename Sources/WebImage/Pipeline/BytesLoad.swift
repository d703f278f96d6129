import FoundationEssentials
import WebImageCore
import WebImageLoading

/// One attempt of the bytes stage: turns a loader's events into news of the work, and its answer.
final class BytesLoad: AttemptReceiver {
    private let work: SharedWork<LoadedBytes>
    private let collector: BodyCollector
    private let budget: BodyBudget
    private let attempt: Int
    private let activity = LoaderActivity()
    private let now: @Sendable () -> Date
    private let requestTime: Date
    private let completion: @Sendable (LoaderAnswer) -> Void
    private let state: Lock<State>

    private struct State {
        var head: LoaderResponse?
        var isRefused = false
        var responseTime: Date?
        var metrics: LoaderMetrics?
        var progress: ProgressSteps
    }

    /// - Parameter completion: called once, on a thread of the loader's or of those that write bodies to files.
    init(
        _ work: SharedWork<LoadedBytes>, storage: BodyStorage, minimumProgressInterval: Double, budget: BodyBudget,
        attempt: Int = 1, now: @escaping @Sendable () -> Date, completion: @escaping @Sendable (LoaderAnswer) -> Void
    ) {
        self.attempt = attempt
        self.budget = budget
        self.work = work
        self.now = now
        self.completion = completion
        requestTime = now()
        collector = BodyCollector(storage)
        state = Lock(State(progress: ProgressSteps(minimumInterval: minimumProgressInterval)))
    }

    func begin() { work.report(activity) }

    /// Names the load.
    func attach(_ task: any LoaderTask) { collector.attach(task) }

    func receive(_ event: LoaderEvent) {
        if case .finished = event { activity.end() }
        switch event {
        case .response(let response):
            note(response)
            // No picture comes with it.
            if response.statusCode == 304 { return }
            collector.begin(response, isMemoryScarce: budget.isFull)
            report { $0.progress.begin(expected: response.expectedByteCount) }
        case .bytes(let bytes):
            collector.append(bytes)
            let byteCount = collector.byteCount
            report { $0.progress.advance(to: Int64(byteCount)) }
            work.report(PartialBody(collector: collector, byteCount: byteCount))
        case .refused(let response):
            note(response)
            state.withLock { $0.isRefused = true }
        case .metrics(let metrics):
            state.withLock { $0.metrics = metrics }
        case .finished(.success):
            collector.loadDidEnd()
            collector.end { [self] in end(with: $0) }
        case .finished(.failure(let error)):
            collector.loadDidEnd()
            // It was cancelled because the body could not be kept: that is the reason to tell.
            end(with: .failure(collector.failure ?? error))
        }
    }

    func abandon() {
        activity.end()
        collector.loadDidEnd()
    }

    private func note(_ response: LoaderResponse) {
        let responseTime = now()
        state.withLock { ($0.head, $0.responseTime) = (response, responseTime) }
    }

    private func report(_ change: (inout State) -> LoadProgress?) {
        guard var progress = state.withLock({ change(&$0) }) else { return }
        progress.attempt = attempt
        work.report(progress)
    }

    private func end(with body: Result<Data, WebImageError>) {
        let state = state.withLock { $0 }
        completion(
            LoaderAnswer(
                head: state.head, body: body, metrics: state.metrics, isRefused: state.isRefused,
                isInFile: collector.isInFile, requestTime: requestTime,
                responseTime: state.responseTime ?? now()))
    }
}
