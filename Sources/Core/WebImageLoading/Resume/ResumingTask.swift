internal import FoundationEssentials
internal import WebImageCore

/// One load that may begin with bytes from disk.
///
///     looking ──► loading ────────────────────────────► ended
///                   │   ▲ nothing waits any more          ▲
///                   │ 206                                 │
///                   ├──► replaying: stored bytes first,   │ an end among
///                   │    the loader is paused ────────────┤ what waits
///                   │ 416, or a 206 that does not fit     │
///                   └──► restarting: its end is awaited ──┘ cancelled
///                              └──► loading, without a range
///
/// Events are delivered by one thread at a time: the loader's, or, while replaying, one of the store's.
final class ResumingTask: PausableTask {
    typealias Handler = @Sendable (LoaderEvent) -> Void

    enum Phase { case looking, loading, replaying, restarting, ended }

    struct State {
        var phase = Phase.looking
        /// `nil` after the end.
        var handler: Handler?
        var priority: LoadPriority
        var isPaused = false
        var isCancelled = false
        /// The lookup that waits or runs.
        var look: WorkItem?
        /// The stored body, unless another load holds it.
        var body: ResumableBody?
        /// The bytes that the loader was to continue; `nil` if everything was requested.
        var found: ResumableBody.Found?
        var valve = DeferredTask()
        /// The metrics of a transfer that may not be the last.
        var heldMetrics: LoaderMetrics?
        var hasResponse = false
        /// The length of a resumed body, and the number of bytes delivered.
        var totalByteCount: Int64?
        var byteCount: Int64 = 0
        /// Why the load fails, regardless of how the loader ends. No more bytes are delivered then.
        var failure: WebImageError?
        /// Events that arrived while stored bytes were delivered.
        var waiting: [LoaderEvent] = []
        var nextRecord = 0
        /// Whether a thread delivers stored bytes, or is about to.
        var isReplaying = false

        /// Whether the loader's bytes have to wait.
        var isClosed: Bool { isPaused || phase == .replaying }

        /// Returns the handler for an event that goes straight to it, as most do: of a body from its beginning.
        mutating func claimPassing(_ event: LoaderEvent) -> Handler? {
            guard phase == .loading, found == nil, totalByteCount == nil, failure == nil else { return nil }
            switch event {
            case .bytes(let bytes): byteCount += Int64(bytes.count)
            case .report(let report): if case .retrying = report.content { return nil }
            case .response, .refused, .finished: return nil
            }
            return handler
        }
    }

    private let request: LoaderRequest
    private let key: PartialBodyKey
    private let loader: any ImageLoader
    private let store: PartialBodyStore
    let state: Lock<State>

    init(
        _ request: LoaderRequest, key: PartialBodyKey, loader: any ImageLoader, store: PartialBodyStore,
        priority: LoadPriority, handler: @escaping Handler
    ) {
        self.request = request.withHistory()
        self.key = key
        self.loader = loader
        self.store = store
        state = Lock(State(handler: handler, priority: priority))
    }

    /// Looks up the stored bytes, then loads the rest.
    func start() {
        switch store.claim(key, whenFree: { [self] in start() }) {
        case .held:
            let body = ResumableBody(key: key, store: store)
            let looksHere = WorkQueue.isCurrentThreadOfQueue
            state.withLock { state in
                state.body = body
                guard !looksHere else { return }
                state.look = PartialBodyStore.lookQueue.submit(priority: state.priority) { [self] in look(for: body) }
            }
            if looksHere { look(for: body) }
        case .busy: load(continuing: nil)
        case .waiting: break
        }
    }

    /// Waits for the disk. Usually nothing is stored; loads then start in order.
    private func look(for body: ResumableBody) {
        guard !isCancelled, store.mayHave(key) else { return load(continuing: nil) }
        body.look { [self] in load(continuing: $0) }
    }

    /// The URL in errors.
    var failureURL: URL { request.url.separatedFromUserInfo.url }

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Starts the wrapped loader.
    private func load(continuing found: ResumableBody.Found?) {
        let start = state.withLock { state -> (DeferredTask, LoadPriority, isClosed: Bool)? in
            state.look = nil
            guard !state.isCancelled else { return nil }
            state.phase = .loading
            state.found = found
            state.valve = DeferredTask()
            return (state.valve, state.priority, state.isClosed)
        }
        guard let (valve, priority, isClosed) = start else { return end(.failure(.cancelled)) }
        var request = request
        if let found {
            request.headers = found.contents.head.headersForRest(from: found.byteCount, over: request.headers)
        }
        valve.attach(loader.load(request, priority: priority) { [self] in receive($0) }, priority: priority)
        // What closes it from now on adjusts it.
        if isClosed { adjustValve() }
    }

    /// Opens or closes the valve until it matches the state, which another thread may change meanwhile.
    func adjustValve() {
        while true {
            let (valve, isClosed) = state.withLock { ($0.valve, $0.isClosed) }
            valve.setPaused(isClosed)
            if state.withLock({ $0.valve === valve && $0.isClosed == isClosed }) { return }
        }
    }

    // MARK: LoaderTask

    func cancel() {
        let (body, valve, look, resumes) = state.withLock { state in
            state.isCancelled = true
            if state.phase == .replaying { state.failure = .cancelled }
            return (state.body, state.valve, state.look, claimReplay(&state))
        }
        // The bytes received so far are stored, and another load of the same body need not wait for the end of this
        // one.
        body?.end(.interrupted)
        look?.setPriority(.veryHigh)
        valve.cancel()
        if resumes { submitReplay() }
    }

    func setPriority(_ priority: LoadPriority) {
        let (valve, look) = state.withLock { state in
            state.priority = priority
            return (state.valve, state.isCancelled ? nil : state.look)
        }
        look?.setPriority(priority)
        valve.setPriority(priority)
    }

    func pause() {
        state.withLock { $0.isPaused = true }
        adjustValve()
    }

    func resume() {
        let resumes = state.withLock { state in
            state.isPaused = false
            return claimReplay(&state)
        }
        adjustValve()
        if resumes { submitReplay() }
    }

    // MARK: From the loader

    /// The state when an event arrives. Not a tuple, in which a closure would take an allocation.
    private struct Receipt {
        let phase: Phase
        let found: ResumableBody.Found?
        let hasResponse: Bool
        let body: ResumableBody?
        /// For an event that goes straight to it.
        let handler: Handler?
    }

    private func receive(_ event: LoaderEvent) {
        let receipt = state.withLock { state in
            if state.phase == .replaying { state.waiting.append(event) }
            return Receipt(
                phase: state.phase, found: state.found, hasResponse: state.hasResponse, body: state.body,
                handler: state.claimPassing(event))
        }
        // Bytes are stored as they arrive, also while older ones are delivered.
        if case .bytes(let bytes) = event { receipt.body?.append(bytes) }
        if let handler = receipt.handler { return handler(event) }
        let (found, hasResponse) = (receipt.found, receipt.hasResponse)
        switch (receipt.phase, event) {
        case (.replaying, _), (.ended, _), (.looking, _): break
        case (.restarting, .finished): restart()
        case (.restarting, _): request.history?.addTransfer(event.metrics)
        case (.loading, .response(let response)): receive(response, continuing: found)
        case (.loading, .refused(let answer)) where found != nil && !hasResponse:
            // The event that follows decides; a request that is repeated was not refused.
            if let found, judge(statusCode: answer.statusCode, of: found) == .final { deliver(event) }
        case (.loading, .report) where found != nil && !hasResponse:
            guard let metrics = event.metrics else { return deliver(event) }
            state.withLock { $0.heldMetrics = metrics }
        case (.loading, .finished(let result)) where found != nil && !hasResponse:
            let metrics = state.withLock { $0.heldMetrics.take() }
            if case .failure(.httpStatus(let code, _)) = result, let found,
                judge(statusCode: code, of: found) == .useless
            {
                request.history?.addTransfer(metrics)
                return restart()
            }
            if let metrics { deliver(.report(.metrics(metrics))) }
            deliver(event)
        case (.loading, _): deliver(event)
        }
    }

    private func receive(_ response: LoaderResponse, continuing found: ResumableBody.Found?) {
        guard let found, response.statusCode != 200 else {
            // The whole body, whether requested or not.
            let body = state.withLock { state in
                state.found = nil
                state.hasResponse = true
                return state.body
            }
            let isShort = response.expectedByteCount ?? .max < ResumableBody.shortestByteCount
            body?.begin(isShort ? nil : PartialHead(response, key: key.digest))
            return deliver(.response(response))
        }
        // If the whole is too long, the request is repeated without a range, and the loader refuses it.
        let limit = (loader as? any ResumableLoader)?.maximumResponseByteCount ?? .max
        if let whole = found.contents.head.wholeResponse(continuedBy: response, from: found.byteCount),
            whole.expectedByteCount ?? 0 <= limit
        {
            let body = state.withLock { state in
                state.hasResponse = true
                state.totalByteCount = whole.expectedByteCount
                state.phase = .replaying
                // Replay must not start before the response was delivered.
                state.isReplaying = true
                return state.body
            }
            body?.continueBody(found, mayBeKept: PartialHead.mayBeKept(response))
            adjustValve()
            deliver(.response(whole))
            return submitReplay()
        }
        guard judge(statusCode: response.statusCode, of: found) == .useless else {
            state.withLock { state in
                state.found = nil
                state.hasResponse = true
            }
            return deliver(.response(response))
        }
        let valve = state.withLock { state in
            state.phase = .restarting
            return state.valve
        }
        valve.cancel()
    }

    private enum Verdict { case final, useless }

    /// Decides about a response that is neither the whole body nor the rest, and about the stored bytes.
    private func judge(statusCode: Int?, of found: ResumableBody.Found) -> Verdict {
        switch statusCode {
        // The resource is gone.
        case 404, 410:
            state.withLock { $0.body }?.begin(nil)
            return .final
        // Temporary or client-specific: the stored bytes may be valid next time.
        case 401, 407, 408, 425, 429, .some(500...), .some(300..<400): return .final
        // Other responses say nothing about the request without a range.
        default: return .useless
        }
    }

    /// Called when the loader has finished a useless response.
    private func restart() {
        let body = state.withLock { state in
            state.phase = .restarting
            state.found = nil
            state.valve.end()
            return state.body
        }
        body?.begin(nil)
        // Not within the loader's own call.
        PartialBodyStore.lookQueue.submit(priority: .high) { [self] in load(continuing: nil) }
    }

    // MARK: Upwards

    /// Delivers an event; called by one thread at a time.
    func deliver(_ event: LoaderEvent) {
        switch event {
        case .bytes(let bytes):
            guard let handler = count(bytes) else { return }
            handler(event)
        case .finished(let result):
            conclude(result)
        case .report(let report):
            if case .retrying = report.content { startAgain() }
            state.withLock { $0.handler }?(event)
        case .response, .refused:
            state.withLock { $0.handler }?(event)
        }
    }

    /// What follows is another body; what is stored of this one stays.
    private func startAgain() {
        let body = state.withLock { state in
            (state.found, state.totalByteCount, state.hasResponse) = (nil, nil, false)
            (state.byteCount, state.nextRecord) = (0, 0)
            return state.body
        }
        body?.begin(nil)
    }

    /// Counts bytes; returns `nil` if they must not be delivered.
    private func count(_ bytes: Data) -> Handler? {
        let (handler, valve) = state.withLock { state -> (Handler?, DeferredTask?) in
            guard state.failure == nil else { return (nil, nil) }
            state.byteCount += Int64(bytes.count)
            guard let total = state.totalByteCount, state.byteCount > total else { return (state.handler, nil) }
            state.failure = .invalidResponse(
                reason: .truncated(expected: total, received: state.byteCount), url: failureURL)
            return (nil, state.valve)
        }
        valve?.cancel()
        return handler
    }

    private func conclude(_ result: Result<Void, WebImageError>) {
        let (failure, total, byteCount) = state.withLock { ($0.failure, $0.totalByteCount, $0.byteCount) }
        if let failure { return end(.failure(failure)) }
        guard let total else { return end(result) }
        switch result {
        case .failure(.invalidResponse(.truncated(_, _), let url)):
            end(.failure(.invalidResponse(reason: .truncated(expected: total, received: byteCount), url: url)))
        case .success where byteCount != total:
            end(.failure(.invalidResponse(reason: .truncated(expected: total, received: byteCount), url: failureURL)))
        default: end(result)
        }
    }

    private func end(_ result: Result<Void, WebImageError>) {
        let (handler, body, valve, isUseless) = state.withLock { state in
            defer {
                state.phase = .ended
                (state.handler, state.body, state.found) = (nil, nil, nil)
                state.waiting = []
            }
            let isTooLong = state.totalByteCount.map { state.byteCount > $0 } ?? false
            return (state.handler, state.body, state.valve, isTooLong)
        }
        valve.end()
        // Before the end is delivered, so that a load started in response waits for these bytes.
        switch result {
        case .success, .failure(.invalidResponse(.bodyTooLong, _)): body?.end(.complete)
        case .failure: body?.end(isUseless ? .complete : .interrupted)
        }
        handler?(.finished(result))
    }
}

/// Delivers stored bytes, on a thread of the store.
extension ResumingTask {
    /// Returns `true` to the caller that has to start a thread: stored bytes wait, and no thread delivers them. Called
    /// under the lock.
    func claimReplay(_ state: inout State) -> Bool {
        guard state.phase == .replaying, !state.isReplaying, !state.isPaused || state.failure != nil else {
            return false
        }
        state.isReplaying = true
        return true
    }

    func submitReplay() {
        let priority = state.withLock { $0.priority }
        PartialBodyStore.queue.submit(priority: priority) { [self] in replay() }
    }

    private enum Piece {
        case stored(ResumableBody.Found, PartialFile.Record, byteCount: Int)
        case event(LoaderEvent)
        /// The loader's events are delivered directly from now on.
        case none
        /// The thread is released until the task is resumed.
        case later
    }

    private func replay() {
        while true {
            switch nextPiece() {
            case .stored(let found, let record, let byteCount):
                if let bytes = found.file.bytes(of: record, atMost: byteCount) {
                    deliver(.bytes(bytes))
                } else {
                    dropStoredBytes()
                }
            case .event(let event): deliver(event)
            case .none: return adjustValve()
            case .later: return
            }
        }
    }

    private func nextPiece() -> Piece {
        state.withLock { state in
            guard state.phase == .replaying else { return .later }
            if state.isPaused, state.failure == nil {
                state.isReplaying = false
                return .later
            }
            if state.failure == nil, let found = state.found, state.byteCount < found.byteCount,
                state.nextRecord < found.contents.records.count
            {
                let record = found.contents.records[state.nextRecord]
                state.nextRecord += 1
                let byteCount = min(Int64(record.byteCount), found.byteCount - state.byteCount)
                return .stored(found, record, byteCount: Int(byteCount))
            }
            guard state.waiting.isEmpty else { return .event(state.waiting.removeFirst()) }
            state.phase = .loading
            state.isReplaying = false
            return .none
        }
    }

    /// The bytes on disk have changed since they were verified.
    private func dropStoredBytes() {
        let (body, valve) = state.withLock { state in
            state.failure = .invalidResponse(
                reason: .truncated(expected: state.totalByteCount, received: state.byteCount), url: failureURL)
            return (state.body, state.valve)
        }
        body?.end(.complete)
        valve.cancel()
    }
}
