package import FoundationEssentials
package import WebImageCore

/// Loads from the first of several URLs that succeeds.
///
/// If all fail, the error is that of the request's own URL.
package final class AlternativesLoader: LoaderDecorator {
    package let base: any ImageLoader
    private let alternatives: [URL]
    private let strategy: any RetryStrategy
    private let environment: LoadEnvironment
    private let alternativeLoader: @Sendable (URL) -> any ImageLoader

    /// - Parameters:
    ///   - strategy: a ``RetryPolicy`` limits the time in which alternatives start.
    ///   - alternativeLoader: returns the loader of an alternative.
    package init(
        _ base: any ImageLoader, alternatives: [URL], strategy: any RetryStrategy,
        environment: LoadEnvironment = LoadEnvironment(),
        alternativeLoader: @escaping @Sendable (URL) -> any ImageLoader
    ) {
        self.base = base
        self.alternatives = alternatives
        self.strategy = strategy
        self.environment = environment
        self.alternativeLoader = alternativeLoader
    }

    package func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        guard request.method.isIdempotent, !alternatives.isEmpty else {
            return base.load(request, priority: priority, handler: handler)
        }
        let request = request.withHistory()
        let sources =
            [AlternativesTask.Source(request: request, loader: base)]
            + alternatives.map { .init(request: request.alternative($0), loader: alternativeLoader($0)) }
        let task = AlternativesTask(
            sources, timeLimit: (strategy as? RetryPolicy)?.timeLimit, environment.clock, priority, handler)
        task.startNext()
        return task
    }
}

private final class AlternativesTask: PausableTask {
    struct Source: Sendable {
        let request: LoaderRequest
        let loader: any ImageLoader
    }

    private struct Failure {
        let error: WebImageError
        let refused: LoaderResponse?
        let metrics: LoaderMetrics?
    }

    private struct State {
        var index = -1
        var refused: LoaderResponse?
        var metrics: LoaderMetrics?
        /// The failure of the request's own URL.
        var ownFailure: Failure?
    }

    private let sources: [Source]
    private let timeLimit: Duration?
    private let clock: any TimerClock
    private let handler: @Sendable (LoaderEvent) -> Void
    private let task: ReplaceableTask
    private let state = Lock(State())

    init(
        _ sources: [Source], timeLimit: Duration?, _ clock: any TimerClock, _ priority: LoadPriority,
        _ handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.sources = sources
        self.timeLimit = timeLimit
        self.clock = clock
        self.handler = handler
        task = ReplaceableTask(priority: priority)
        _ = elapsed
    }

    private var history: LoadHistory? { sources[0].request.history }
    private var elapsed: Duration { history?.elapsed(at: clock.now) ?? .zero }

    func cancel() { task.cancel() }
    func setPriority(_ priority: LoadPriority) { task.setPriority(priority) }
    func pause() { task.pause() }
    func resume() { task.resume() }

    func startNext() {
        let index = state.withLock { state in
            state.index += 1
            return state.index
        }
        if index > 0 { handler(.report(.started)) }
        let source = sources[index]
        task.start { priority in source.loader.load(source.request, priority: priority) { [self] in receive($0) } }
    }

    private func receive(_ event: LoaderEvent) {
        switch event {
        case .response, .bytes: handler(event)
        case .report:
            guard let metrics = event.metrics else { return handler(event) }
            state.withLock { $0.metrics = metrics }
        case .refused(let response): state.withLock { $0.refused = response }
        case .finished(.success):
            task.end()
            if let metrics = state.withLock({ $0.metrics }) { handler(.report(.metrics(metrics))) }
            handler(event)
        case .finished(.failure(let error)):
            task.end()
            takeNext(after: error)
        }
    }

    private func takeNext(after error: WebImageError) {
        let isInTime = timeLimit.map { elapsed < $0 } ?? true
        let mayGoOn = !task.isCancelled && error != .cancelled && error.concernsURL
        let (failure, next) = state.withLock { state in
            let failure = Failure(error: error, refused: state.refused, metrics: state.metrics)
            (state.refused, state.metrics) = (nil, nil)
            if state.index == 0 { state.ownFailure = failure }
            guard mayGoOn else { return (failure, Int?.none) }
            guard isInTime, state.index + 1 < sources.count else { return (state.ownFailure ?? failure, nil) }
            return (failure, state.index + 1)
        }
        guard let next else {
            if failure.error != error { handler(.report(.attemptFailed(error))) }
            return end(failure, afterAlternatives: state.withLock { $0.index } > 0)
        }
        history?.addTransfer(failure.metrics)
        let url = sources[next].request.url.separatedFromUserInfo.url
        handler(.report(.retrying(LoaderRetry(error: error, url: url))))
        startNext()
    }

    private func end(_ failure: Failure, afterAlternatives: Bool) {
        if case .httpStatus = failure.error, let refused = failure.refused { handler(.refused(refused)) }
        var metrics = failure.metrics
        // The transfer of the request's own URL counts already.
        if afterAlternatives { metrics?.activeDuration = .zero }
        if let metrics { handler(.report(.metrics(metrics))) }
        handler(.finished(.failure(failure.error)))
    }
}
