import FoundationEssentials
import WebImageCore
import WebImageLoading

/// Turns the events of a loader into a body, progress and attempts, and calls the completion with the answer.
///
/// After `retrying` everything starts again, so that the bytes of a failed attempt are lost with it.
final class BodyReceiver: Sendable {
    private let job: Job<LoadedBytes, LoadNews>
    private let trace: TraceRecorder
    private let storage: BodyStorage
    private let pipeline: Pipeline
    private let history: LoadHistory?
    private let completion: @Sendable (LoaderAnswer) -> Void
    private let state: Lock<State>

    private struct State {
        var task: (any LoaderTask)?
        var hasEnded = false
        var collector: BodyCollector
        var activity: LoaderActivity?
        var attempts: [LoadAttempt]
        var attemptStart: Duration
        /// When the last attempt failed, until the next one starts.
        var failureTime: BootTime?
        var requestTime: Date
        var responseTime: Date?
        var head: LoaderResponse?
        var isRefused = false
        var metrics: LoaderMetrics?
        var judgments: [BodyJudgment] = []
        var progress: ProgressSteps

        mutating func endAttempt(at now: Duration, _ error: WebImageError?) {
            // An attempt that only waited has not started.
            if failureTime != nil { attemptStart = now }
            attempts[attempts.count - 1].duration = now - attemptStart
            attempts[attempts.count - 1].error = error
        }
    }

    /// - Parameter url: the request's URL without user information.
    init(
        _ pipeline: Pipeline, _ job: Job<LoadedBytes, LoadNews>, _ trace: TraceRecorder, _ url: URL,
        storage: BodyStorage, history: LoadHistory?, completion: @escaping @Sendable (LoaderAnswer) -> Void
    ) {
        self.pipeline = pipeline
        self.job = job
        self.trace = trace
        self.storage = storage
        self.history = history
        self.completion = completion
        state = Lock(
            State(
                collector: BodyCollector(storage), attempts: [LoadAttempt(number: 1, url: url)],
                attemptStart: pipeline.configuration.environment.clock.now, requestTime: pipeline.now,
                progress: ProgressSteps(minimumInterval: pipeline.configuration.minimumProgressInterval)))
    }

    /// Starts the load.
    func load(_ request: LoaderRequest, with loader: any ImageLoader, priority: LoadPriority) -> any LoaderTask {
        start()
        let task = loader.load(request, priority: priority) { [self] event in receive(event) }
        let collector = state.withLock { state in
            // It may have ended within the call. The task and this object hold each other until the end.
            if !state.hasEnded { state.task = task }
            return state.collector
        }
        collector.attach(task)
        return task
    }

    /// Notes that a loader is called.
    private func start() {
        let activity = LoaderActivity()
        let (now, date) = (pipeline.configuration.environment.clock.now, pipeline.now)
        state.withLock { ($0.activity, $0.attemptStart, $0.requestTime) = (activity, now, date) }
        job.report(.activity(activity))
    }

    private func receive(_ event: LoaderEvent) {
        switch event {
        case .report(let report): note(report)
        case .response(let response):
            var begin = note(response)
            if begin == nil {
                // A loader without a queue may not report the start of another attempt.
                noteStart()
                begin = note(response)
            }
            // A 304 has no body.
            guard let (collector, progress) = begin, response.statusCode != 304 else { return }
            collector.begin(response, isMemoryScarce: pipeline.undecoded.isFull)
            job.report(.progress(progress))
        case .bytes(let bytes):
            let collector = state.withLock { $0.collector }
            let byteCount = collector.append(bytes)
            let progress = state.withLock { state in
                var progress = state.progress.advance(to: Int64(byteCount))
                progress?.attempt = state.attempts.count
                return progress
            }
            if let progress { job.report(.progress(progress)) }
            job.report(.body(PartialBody(collector: collector, byteCount: byteCount)))
        case .refused(let response):
            let responseTime = pipeline.now
            state.withLock { ($0.head, $0.responseTime, $0.isRefused) = (response, responseTime, true) }
        case .finished(let result):
            end(result)
        }
    }

    private func note(_ report: LoaderReport) {
        switch report {
        case .queued: state.withLock { $0.activity }?.setActive(false)
        case .started: noteStart()
        case .retrying(let retry): startAgain(retry)
        case .waited(let duration): noteWait(duration)
        case .attemptFailed(let error): noteFailure(error)
        case .noted(let text): trace.note(.transfer, .noted(text))
        case .judged(let judgment): state.withLock { $0.judgments.append(judgment) }
        case .metrics(let metrics): state.withLock { $0.metrics = metrics }
        }
    }

    // MARK: Attempts

    /// A transfer has left its queue, or another attempt starts.
    private func noteStart() {
        let (failureTime, attempts, activity) = state.withLock { state in
            (state.failureTime.take(), state.attempts, state.activity)
        }
        guard let failureTime else {
            activity?.setActive(true)
            return
        }
        trace.note(.retry, since: failureTime, .triedAgain(attempts))
        start()
    }

    private func startAgain(_ retry: LoaderRetry) {
        let (now, date) = (pipeline.configuration.environment.clock.now, pipeline.now)
        let (collector, activity, attempts) = state.withLock { state in
            defer {
                state.collector = BodyCollector(storage)
                if let task = state.task { state.collector.attach(task) }
                (state.activity, state.head, state.metrics, state.responseTime) = (nil, nil, nil, nil)
                state.judgments = []
                (state.isRefused, state.requestTime, state.failureTime) = (false, date, .now)
                state.progress = ProgressSteps(minimumInterval: pipeline.configuration.minimumProgressInterval)
            }
            state.endAttempt(at: now, retry.error)
            state.attempts.append(
                LoadAttempt(number: state.attempts.count + 1, url: retry.url, wait: retry.wait))
            state.attemptStart = now
            return (state.collector, state.activity, state.attempts)
        }
        activity?.end()
        collector.loadDidEnd()
        job.report(.attempts(attempts))
        job.report(.progress(LoadProgress(received: 0, expected: nil, attempt: attempts.count)))
    }

    private func noteWait(_ duration: Duration) {
        state.withLock { $0.attempts[$0.attempts.count - 1].wait = .connectivity(duration) }
    }

    /// The last attempt failed; the end has the error of an earlier one.
    private func noteFailure(_ error: WebImageError) {
        let now = pipeline.configuration.environment.clock.now
        state.withLock { $0.endAttempt(at: now, error) }
    }

    // MARK: Responses

    /// Notes the head of a body; returns `nil` if the attempt is not known to have started.
    private func note(_ response: LoaderResponse) -> (BodyCollector, LoadProgress)? {
        let responseTime = pipeline.now
        return state.withLock { state in
            guard state.failureTime == nil else { return nil }
            (state.head, state.responseTime) = (response, responseTime)
            var progress = state.progress.begin(expected: response.expectedByteCount)
            progress.attempt = state.attempts.count
            return (state.collector, progress)
        }
    }

    private func end(_ result: Result<Void, WebImageError>) {
        let now = pipeline.configuration.environment.clock.now
        var error: WebImageError?
        if case .failure(let failure) = result { error = failure }
        let (collector, activity, attempts, task) = state.withLock { [error] state in
            state.hasEnded = true
            if state.attempts.last?.duration == nil { state.endAttempt(at: now, error) }
            return (state.collector, state.activity, state.attempts, state.task.take())
        }
        withExtendedLifetime(task) {}
        activity?.end()
        collector.loadDidEnd()
        job.report(.attempts(attempts))
        switch error {
        case nil: collector.end { [self] body in complete(body) }
        // If it was cancelled because the body could not be kept, that is the error.
        case let error?: complete(.failure(collector.failure ?? error))
        }
    }

    private func complete(_ body: Result<Data, WebImageError>) {
        let state = state.withLock { state in
            // Only those that use the bytes hold it.
            defer { state.judgments = [] }
            return state
        }
        history?.addTransfer(state.metrics)
        completion(
            LoaderAnswer(
                head: state.head, body: body, metrics: state.metrics, judgments: state.judgments,
                isRefused: state.isRefused,
                isInFile: state.collector.isInFile, requestTime: state.requestTime,
                responseTime: state.responseTime ?? pipeline.now,
                url: state.attempts[state.attempts.count - 1].url))
    }
}
