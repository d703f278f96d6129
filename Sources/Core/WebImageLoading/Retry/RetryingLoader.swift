internal import FoundationEssentials
package import WebImageCore

/// Repeats failed loads of another loader as a ``RetryStrategy`` decides. Loads that failed without a network are
/// repeated once a network is available.
///
/// ```
///  load ─► attempt ── succeeds ─────────────────────────────────────► finished
///             ▲  │ fails
///             │  ├─ no network, and the load waits for one ─► retrying, wait (monitor) ─┐
///             │  ├─ the strategy returns a delay ───────────► retrying, wait (clock) ───┤
///             │  └─ else ─────────────────────────────────────────────────────────────────► finished
///             └──────────────────────────────────────────────────────────────────────────┘
/// ```
package final class RetryingLoader: LoaderDecorator {
    package let base: any ImageLoader
    private let strategy: any RetryStrategy
    private let waitsForConnectivity: Bool
    private let environment: LoadEnvironment

    package init(
        _ base: any ImageLoader, strategy: any RetryStrategy, waitsForConnectivity: Bool = false,
        environment: LoadEnvironment = LoadEnvironment()
    ) {
        self.base = base
        self.strategy = strategy
        self.waitsForConnectivity = waitsForConnectivity
        self.environment = environment
    }

    package func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let task = RetryingTask(
            request.withHistory(), base, strategy,
            waitsForConnectivity: waitsForConnectivity && request.method.isIdempotent,
            environment, priority, handler)
        task.startAttempt()
        return task
    }
}

private final class RetryingTask: PausableTask {
    private struct State {
        var hasStarted = false
        /// The number of attempts that failed although a network was available, which the strategy counts.
        var failureCount = 0
        /// Cancels the events that would end the wait; `nil` while no attempt waits.
        var wait: (number: Int, cancels: [@Sendable () -> Void])?
        var waitCount = 0
        /// Sent right before the end, once it is known that this attempt is the last.
        var refused: LoaderResponse?
        var metrics: LoaderMetrics?
        /// The request accepts the response, but its status is retried: its body is skipped.
        var isSkipped = false
        var isCancelled = false
        var hasEnded = false
    }

    private enum NextStep {
        case wait(Duration, LoaderRetry)
        case waitForConnectivity(atMost: Duration, LoaderRetry)
        case end(WebImageError)
    }

    private let request: LoaderRequest
    private let loader: any ImageLoader
    private let strategy: any RetryStrategy
    private let waitsForConnectivity: Bool
    private let environment: LoadEnvironment
    private let handler: @Sendable (LoaderEvent) -> Void
    private let attempt: ReplaceableTask
    private let state = Lock(State())

    init(
        _ request: LoaderRequest, _ loader: any ImageLoader, _ strategy: any RetryStrategy,
        waitsForConnectivity: Bool, _ environment: LoadEnvironment, _ priority: LoadPriority,
        _ handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.request = request
        self.loader = loader
        self.strategy = strategy
        self.waitsForConnectivity = waitsForConnectivity
        self.environment = environment
        self.handler = handler
        attempt = ReplaceableTask(priority: priority)
        _ = elapsed
    }

    private var history: LoadHistory { request.history ?? LoadHistory() }
    private var elapsed: Duration { history.elapsed(at: environment.clock.now) }
    private var displayURL: URL { request.url.separatedFromUserInfo.url }

    // MARK: LoaderTask

    func cancel() {
        let waits = state.withLock { state in
            state.isCancelled = true
            return state.wait.take()?.cancels
        }
        attempt.cancel()
        guard let waits else { return }
        for cancel in waits { cancel() }
        end(.cancelled)
    }

    func setPriority(_ priority: LoadPriority) { attempt.setPriority(priority) }
    func pause() { attempt.pause() }
    func resume() { attempt.resume() }

    // MARK: Attempts

    func startAttempt() {
        let (isCancelled, isFirst) = state.withLock { state in
            defer { state.hasStarted = true }
            return (state.isCancelled, !state.hasStarted)
        }
        if isCancelled { return end(.cancelled) }
        if !isFirst { handler(.report(.started)) }
        attempt.start { priority in loader.load(request, priority: priority) { [self] in receive($0) } }
    }

    private func receive(_ event: LoaderEvent) {
        switch event {
        case .report:
            guard let metrics = event.metrics else { return handler(event) }
            state.withLock { $0.metrics = metrics }
        case .response(let response): if !skips(response) { handler(event) }
        case .bytes: if !state.withLock({ $0.isSkipped }) { handler(event) }
        case .refused(let response): state.withLock { $0.refused = response }
        case .finished(let result):
            attempt.end()
            let (skipped, isSkipped) = state.withLock { ($0.refused, $0.isSkipped) }
            switch result {
            case .failure(.cancelled): end(.cancelled)
            case _ where isSkipped:
                let status = skipped.flatMap { response in
                    response.statusCode.map { WebImageError.httpStatus(code: $0, url: response.url) }
                }
                take(nextStep(after: status ?? .cancelled))
            case .failure(let error): take(nextStep(after: error))
            case .success: end(nil)
            }
        }
    }

    /// Whether the status of a response is retried although the request accepts any.
    private func skips(_ response: LoaderResponse) -> Bool {
        guard request.acceptsAnyAnswer, let status = response.statusCode else { return false }
        let failure = failure(.httpStatus(code: status, url: response.url), response, random: 1)
        guard strategy.delay(after: failure) != nil else { return false }
        state.withLock { ($0.isSkipped, $0.refused) = (true, response) }
        return true
    }

    /// - Parameter random: 1 for the longest wait: a response is skipped only if any wait fits into the time limit.
    private func failure(
        _ error: WebImageError, _ response: LoaderResponse?, random: Double? = nil
    ) -> RetryFailure {
        let (date, random, elapsed) = (environment.date(), random ?? environment.random(), elapsed)
        return RetryFailure(
            attemptCount: state.withLock { $0.failureCount } + 1, error: error,
            isIdempotent: request.method.isIdempotent,
            retryAfter: response.flatMap { RetryAfter.delay(of: $0, now: date) }, elapsed: elapsed, random: random)
    }

    private func nextStep(after error: WebImageError) -> NextStep {
        let (isCancelled, refused) = state.withLock { ($0.isCancelled, $0.refused) }
        if isCancelled { return .end(error) }
        let isOffline =
            waitsForConnectivity && error.mayBeOffline && !request.url.isOnThisMachine
            && !environment.connectivity.isConnected
        let waits = history.connectivityWaits
        let rest = environment.connectivityTimeLimit - waits.duration
        if isOffline, rest > .zero, waits.count < Self.connectivityWaitLimit {
            history.addConnectivityWait()
            return .waitForConnectivity(
                atMost: rest, LoaderRetry(error: error, url: displayURL, wait: .connectivity(nil)))
        }
        let failure = failure(error, refused)
        state.withLock { $0.failureCount += 1 }
        guard let delay = strategy.delay(after: failure) else { return .end(error) }
        let wait: LoadAttempt.Wait = failure.retryAfter == nil ? .backoff(delay) : .retryAfter(delay)
        return .wait(delay, LoaderRetry(error: error, url: displayURL, wait: wait))
    }

    /// A network that is lost again and again is treated as missing.
    private static let connectivityWaitLimit = 16

    private func take(_ step: NextStep) {
        switch step {
        case .end(let error): end(error)
        case .wait(let delay, let retry):
            announce(retry)
            wait { [environment] resume in
                let call = environment.clock.schedule(at: environment.clock.now + delay) { resume(true) }
                return [call.cancel]
            } completion: { [self] _ in
                startAttempt()
            }
        case .waitForConnectivity(let limit, let retry):
            announce(retry)
            let start = environment.clock.now
            wait { [environment] resume in
                let network = environment.connectivity.whenConnected { resume(true) }
                let call = environment.clock.schedule(at: start + limit) { resume(false) }
                return [network.cancel, call.cancel]
            } completion: { [self] isConnected in
                let duration = environment.clock.now - start
                history.addConnectivityWait(duration)
                handler(.report(.waited(duration)))
                if isConnected { return startAttempt() }
                end(.timedOut(reason: .offline, after: history.connectivityWaits.duration, url: displayURL))
            }
        }
    }

    private func announce(_ retry: LoaderRetry) {
        let metrics = state.withLock { state in
            defer { (state.metrics, state.refused, state.isSkipped) = (nil, nil, false) }
            return state.metrics
        }
        history.addTransfer(metrics)
        handler(.report(.retrying(retry)))
    }

    /// Waits until the first of the calls to `resume`, unless the load is cancelled before.
    ///
    /// - Parameters:
    ///   - start: starts the wait, and returns what cancels it. It may call `resume` itself.
    ///   - completion: receives the argument of `resume`.
    private func wait(
        _ start: (_ resume: @escaping @Sendable (Bool) -> Void) -> [@Sendable () -> Void],
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        let number = state.withLock { state -> Int? in
            guard !state.isCancelled else { return nil }
            state.waitCount += 1
            state.wait = (state.waitCount, [])
            return state.waitCount
        }
        guard let number else { return end(.cancelled) }
        let cancels = start { [self] argument in
            let wait = state.withLock { $0.wait?.number == number ? $0.wait.take() : nil }
            guard let wait else { return }
            for cancel in wait.cancels { cancel() }
            completion(argument)
        }
        let isWaiting = state.withLock { state in
            // It may have resumed already, also on another thread, and another wait have started.
            guard state.wait?.number == number else { return false }
            state.wait = (number, cancels)
            return true
        }
        if !isWaiting { for cancel in cancels { cancel() } }
    }

    /// - Parameter error: `nil` for success.
    private func end(_ error: WebImageError?) {
        let last = state.withLock { state -> (LoaderResponse?, LoaderMetrics?)? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return (state.refused, state.metrics)
        }
        guard let (refused, metrics) = last else { return }
        if case .httpStatus? = error, let refused { handler(.refused(refused)) }
        if let metrics { handler(.report(.metrics(metrics))) }
        handler(.finished(error.map { .failure($0) } ?? .success(())))
    }
}
