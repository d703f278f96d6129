internal import FoundationEssentials
package import WebImageCore

/// Has an asynchronous closure change each request before another loader sends it.
///
/// ```
///  load ─► prepare ─► transfer ── 401 ──► prepare, with the response ─┬─ another request ─► transfer ─► finished
///             │ throws   └─ else ──► finished                         └─ the same ────────────────────► finished
///             └────────► finished
/// ```
package final class PreparingLoader: LoaderDecorator {
    package typealias Prepare =
        @Sendable (_ request: LoaderRequest, _ refusal: LoaderResponse?) async throws -> LoaderRequest

    package let base: any ImageLoader
    private let prepare: Prepare

    package init(_ base: any ImageLoader, prepare: @escaping Prepare) {
        self.base = base
        self.prepare = prepare
    }

    package func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        guard !["file", "data"].contains(request.url.scheme?.lowercased()) else {
            return base.load(request, priority: priority, handler: handler)
        }
        let task = PreparingTask(request, base, prepare, priority, handler)
        task.start()
        return task
    }
}

private final class PreparingTask: PausableTask {
    /// A transfer that has ended with 401.
    struct Refusal {
        let error: WebImageError
        let response: LoaderResponse
        let metrics: LoaderMetrics?
    }

    private struct State {
        var sent: LoaderRequest?
        var refused: LoaderResponse?
        var metrics: LoaderMetrics?
        var refusal: Refusal?
    }

    private let request: LoaderRequest
    private let loader: any ImageLoader
    private let prepare: PreparingLoader.Prepare
    private let handler: @Sendable (LoaderEvent) -> Void
    /// The closure's task, then the transfer.
    private let step: ReplaceableTask
    private let state = Lock(State())

    init(
        _ request: LoaderRequest, _ loader: any ImageLoader, _ prepare: @escaping PreparingLoader.Prepare,
        _ priority: LoadPriority, _ handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.request = request
        self.loader = loader
        self.prepare = prepare
        self.handler = handler
        step = ReplaceableTask(priority: priority)
    }

    func cancel() { step.cancel() }
    func setPriority(_ priority: LoadPriority) { step.setPriority(priority) }
    func pause() { step.pause() }
    func resume() { step.resume() }

    /// - Parameter refusal: why it is prepared again.
    func start(after refusal: Refusal? = nil) {
        step.start { _ in
            Preparation(
                task: Task { [self] in
                    let start = BootTime.now
                    let result: Result<LoaderRequest, WebImageError>
                    do {
                        result = .success(try await prepare(request, refusal?.response))
                    } catch {
                        result = .failure(Self.failure(error))
                    }
                    step.end()
                    guard !step.isCancelled else { return finish(.failure(.cancelled)) }
                    handler(.report(.noted("willLoad took \(Int((BootTime.now - start) / .milliseconds(1))) ms")))
                    send(result, after: refusal)
                })
        }
    }

    private func send(_ result: Result<LoaderRequest, WebImageError>, after refusal: Refusal?) {
        switch result {
        case .failure(let error): finish(.failure(error))
        case .success(var prepared):
            prepared.history = request.history
            if let refusal, prepared == state.withLock({ $0.sent }) {
                return finish(.failure(refusal.error), refusal.response, refusal.metrics)
            }
            if let refusal { request.history?.addTransfer(refusal.metrics) }
            state.withLock { $0 = State(sent: prepared, refusal: refusal) }
            step.start { priority in
                loader.load(prepared, priority: priority) { [self] in receive($0) }
            }
        }
    }

    private func receive(_ event: LoaderEvent) {
        switch event {
        case .response, .bytes: handler(event)
        case .report:
            guard let metrics = event.metrics else { return handler(event) }
            state.withLock { $0.metrics = metrics }
        case .refused(let response): state.withLock { $0.refused = response }
        case .finished(let result):
            step.end()
            let state = state.withLock { $0 }
            if case .failure(let error) = result, case .httpStatus(401, _) = error, let response = state.refused,
                state.refusal == nil, !step.isCancelled
            {
                return start(after: Refusal(error: error, response: response, metrics: state.metrics))
            }
            finish(result, state.refused, state.metrics)
        }
    }

    private func finish(
        _ result: Result<Void, WebImageError>, _ refused: LoaderResponse? = nil, _ metrics: LoaderMetrics? = nil
    ) {
        if case .failure(.httpStatus) = result, let refused { handler(.refused(refused)) }
        if let metrics { handler(.report(.metrics(metrics))) }
        handler(.finished(result))
    }

    private static func failure(_ error: any Error) -> WebImageError {
        switch error {
        case let error as WebImageError: error
        case is CancellationError: .cancelled
        default: .custom(id: "willLoad", message: String(describing: error))
        }
    }

    /// The task of the closure. It keeps the priority it started with.
    private struct Preparation: LoaderTask {
        let task: Task<Void, Never>
        func cancel() { task.cancel() }
    }
}
