internal import FoundationEssentials
internal import WebImageCore

/// One load that may begin with bytes from disk.
///
///     lookup ──► transfer ── 206: the stored bytes, then those that arrive ──► end
///                   │    └── 200: those that arrive ───────────────────────────┘
///                   └─ 416, or a 206 that does not fit ──► another transfer, of everything
final class ResumingTask: PausableTask {
    typealias Handler = @Sendable (LoaderEvent) -> Void

    private struct State {
        /// `nil` after the end.
        var handler: Handler?
        /// The lookup that waits or runs.
        var lookup: WorkItem?
        /// The stored bytes that the transfer was to continue, until its response shows whether it does.
        var beginning: PartialBeginning?
        /// Whether the response does not continue them. The end of the transfer is awaited.
        var isUseless = false
        /// The metrics of a transfer that may not be the last.
        var heldMetrics: LoaderMetrics?
        /// The length of a resumed body.
        var length: Int64?
        /// The number of bytes received or stored.
        var byteCount: Int64 = 0

        var isTooLong: Bool { byteCount > length ?? .max }

        /// Counts bytes; returns `nil` if they must not be delivered.
        mutating func accept(_ bytes: Data) -> Handler? {
            guard beginning == nil, !isTooLong else { return nil }
            byteCount += Int64(bytes.count)
            return isTooLong ? nil : handler
        }
    }

    private let request: LoaderRequest
    private let key: PartialBodyKey
    private let loader: ResumingLoader
    private let body: ResumableBody
    private let transfer: ReplaceableTask
    private let state: Lock<State>

    init(
        _ request: LoaderRequest, key: PartialBodyKey, loader: ResumingLoader, priority: LoadPriority,
        handler: @escaping Handler
    ) {
        self.request = request.withHistory()
        self.key = key
        self.loader = loader
        body = ResumableBody(key: key, store: loader.store)
        transfer = ReplaceableTask(priority: priority)
        state = Lock(State(handler: handler))
    }

    /// Looks for stored bytes, then loads the rest. A thread that may wait for the disk looks itself: usually nothing
    /// is stored.
    func start(_ priority: LoadPriority) {
        if WorkQueue.isCurrentThreadOfQueue, !loader.store.mayHave(key) { return load(continuing: nil) }
        state.withLock { state in
            state.lookup = PartialBodyStore.queue.submit(priority: priority) { [self] in
                load(continuing: transfer.isCancelled ? nil : body.look())
            }
        }
    }

    private func load(continuing beginning: PartialBeginning?) {
        state.withLock { ($0.lookup, $0.beginning) = (nil, beginning) }
        guard !transfer.isCancelled else { return end(.failure(.cancelled)) }
        var request = request
        if let beginning {
            request.headers = beginning.head.headersForRest(from: beginning.bytes.count, over: request.headers)
        }
        transfer.start { [request] priority in
            loader.base.load(request, priority: priority) { [self] in receive($0) }
        }
    }

    // MARK: LoaderTask

    func cancel() {
        transfer.cancel()
        // At once: another load of the same body need not wait for the end of this one.
        body.end(isComplete: false)
        state.withLock { $0.lookup }?.setPriority(.veryHigh)
    }

    func setPriority(_ priority: LoadPriority) {
        transfer.setPriority(priority)
        if !transfer.isCancelled { state.withLock { $0.lookup }?.setPriority(priority) }
    }

    func pause() { transfer.pause() }
    func resume() { transfer.resume() }

    // MARK: Events

    private func deliver(_ event: LoaderEvent) { state.withLock { $0.handler }?(event) }

    private func receive(_ event: LoaderEvent) {
        if case .bytes(let bytes) = event {
            guard let handler = state.withLock({ $0.accept(bytes) }) else { return transfer.cancelCurrent() }
            body.append(bytes)
            return handler(event)
        }
        let beginning = state.withLock { $0.beginning }
        switch event {
        case .response(let response): receive(response, continuing: beginning)
        case .refused(let answer) where beginning != nil && !isFinal(answer.statusCode): break
        case .report(let report):
            if case .metrics(let metrics) = report, beginning != nil {
                return state.withLock { $0.heldMetrics = metrics }
            }
            if case .retrying = report, beginning == nil {
                // Another body follows.
                state.withLock { ($0.length, $0.byteCount) = (nil, 0) }
                body.begin(nil)
            }
            deliver(event)
        case .finished(let result):
            let (isUseless, metrics) = state.withLock { ($0.isUseless, $0.heldMetrics.take()) }
            var isRefused = false
            if case .failure(.httpStatus(let code, _)) = result { isRefused = beginning != nil && !isFinal(code) }
            if isUseless || isRefused { return loadAll(after: metrics) }
            if let metrics { deliver(.report(.metrics(metrics))) }
            end(result)
        case .refused, .bytes: deliver(event)
        }
    }

    private func receive(_ response: LoaderResponse, continuing beginning: PartialBeginning?) {
        // If the whole is too long, the request is repeated without a range, and the loader refuses it.
        let limit = (loader.base as? ImageDownloader)?.configuration.maximumResponseByteCount ?? .max
        if let beginning, let whole = beginning.head.wholeResponse(continuedBy: response, from: beginning.bytes.count),
            let length = whole.expectedByteCount, length <= limit
        {
            let byteCount = Int64(beginning.bytes.count)
            state.withLock { ($0.beginning, $0.length, $0.byteCount) = (nil, length, byteCount) }
            body.continueBody(beginning, mayBeKept: !CacheControl(response.headers).has(.noStore))
            deliver(.response(whole))
            return deliver(.bytes(beginning.bytes))
        }
        if beginning == nil || response.statusCode == 200 {
            let isShort = response.expectedByteCount ?? .max < ResumableBody.shortestByteCount
            body.begin(isShort ? nil : PartialHead(response, key: key.digest))
        } else if !isFinal(response.statusCode) {
            state.withLock { $0.isUseless = true }
            return transfer.cancelCurrent()
        }
        state.withLock { $0.beginning = nil }
        deliver(.response(response))
    }

    /// Whether a response that is neither the whole body nor the rest answers the request.
    private func isFinal(_ statusCode: Int?) -> Bool {
        switch statusCode {
        case 404, 410:
            // The resource is gone.
            body.begin(nil)
            return true
        // Temporary or client-specific: the stored bytes may be valid next time.
        case 401, 407, 408, 425, 429, .some(500...), .some(300..<400): return true
        // Other responses say nothing about the request without a range.
        default: return false
        }
    }

    /// Called when a useless transfer has ended.
    private func loadAll(after metrics: LoaderMetrics?) {
        request.history?.addTransfer(metrics)
        transfer.end()
        body.begin(nil)
        state.withLock { $0.isUseless = false }
        // Not within the loader's own call.
        PartialBodyStore.queue.submit(priority: .high) { [self] in load(continuing: nil) }
    }

    private func end(_ result: Result<Void, WebImageError>) {
        let (length, byteCount, isTooLong) = state.withLock { ($0.length, $0.byteCount, $0.isTooLong) }
        var result = result
        if let length, byteCount != length {
            let reason = WebImageError.ResponseFailure.truncated(expected: length, received: byteCount)
            switch result {
            case .failure(.invalidResponse(.truncated, let url)):
                result = .failure(.invalidResponse(reason: reason, url: url))
            case .failure where !isTooLong: break
            case .success, .failure:
                result = .failure(.invalidResponse(reason: reason, url: request.url.separatedFromUserInfo.url))
            }
        }
        let handler = state.withLock { state in
            state.beginning = nil
            return state.handler.take()
        }
        transfer.end()
        // Before the end is delivered, so that a load started in response finds these bytes.
        switch result {
        case .success, .failure(.invalidResponse(.bodyTooLong, _)): body.end(isComplete: true)
        case .failure: body.end(isComplete: isTooLong)
        }
        handler?(.finished(result))
    }
}
