internal import FoundationEssentials
internal import Synchronization
internal import WebImageCore

/// Passes the events of one load from the transport to the caller.
///
///     transport ──► DownloadState decides ──► handler
///                                        └──► BodyDecryption ──► handler     where there is a decryptor
final class Download: TransferReceiver {
    let id: TransferID
    private let state: Lock<DownloadState>
    private let scheduler: DownloadScheduler
    private let handler: @Sendable (LoaderEvent) -> Void
    private let handlerCall = Lock(HandlerCall())
    private let redirectHandler: (@Sendable (LoaderResponse, URL) -> URL?)?
    private let responseModifier: (@Sendable (LoaderResponse) -> LoaderResponse?)?
    private let decryption: BodyDecryption?
    private let isPaused = Atomic(false)
    private let isFinished = Atomic(false)
    private let isEnding = Atomic(false)

    init(
        id: TransferID, state: sending DownloadState, environment: DownloadEnvironment, scheduler: DownloadScheduler,
        handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.id = id
        self.state = Lock(state)
        self.scheduler = scheduler
        self.handler = handler
        responseModifier = environment.configuration.responseModifier
        redirectHandler = environment.configuration.redirectHandler
        decryption = environment.configuration.decryptor.map { decryptor in
            let decryption = BodyDecryption(decryptor, storage: environment.configuration.bodyStorage)
            decryption.attach(DownloadTask(id: id, scheduler: scheduler))
            return decryption
        }
    }

    /// A call of the authentication handler.
    private struct HandlerCall {
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    var hop: DownloadState.Hop { state.withLock { $0.hop } }

    /// The request of the current hop.
    var transferRequest: TransferRequest {
        state.withLock { state in
            var request = TransferRequest(url: state.hop.url.withCanonicalHost, headers: state.hop.headers.fields)
            request.limits = state.limits(after: state.record.activeDuration)
            request.headers.removeAll { $0.isNamed(RequestHeaders.proxyName) }
            request.access = state.hop.access
            (request.method, request.body) = (state.hop.method, state.hop.content)
            request.decodesContent = state.hop.headers.acceptsContentCoding
            request.needsProvenEnd = state.request.acceptsAnyAnswer
            return request
        }
    }

    /// Records that the load has a slot; returns whether it is the first.
    func begin() -> Bool { state.withLock { $0.record.begin() } }

    /// Tells the handler that the load has left the queue.
    func reportStart() { if !isFinished.load(ordering: .acquiring) { handler(.report(.started)) } }

    /// Records that the load waits for another slot.
    func wait() { state.withLock { $0.record.wait() } }

    /// Whether the load is about to end. It may be between two hops, where the transport does not know it.
    var isCancelled: Bool { isEnding.load(ordering: .relaxed) }

    /// Returns `true` to the first caller. Called under the scheduler's lock.
    func beginCancelling() -> Bool { !isEnding.exchange(true, ordering: .relaxed) }

    // MARK: Flow

    var takesBytes: Bool { !isPaused.load(ordering: .acquiring) || !state.withLock { $0.acceptsBody } }

    func setPaused(_ isPaused: Bool) { self.isPaused.store(isPaused, ordering: .releasing) }

    // MARK: From the transport

    func transferDidReceive(_ head: TransferHead) -> TransferDisposition {
        let early = state.withLock { state -> TransferDisposition? in
            state.record.head = head
            if state.refusesTransferCoding(of: head) { return .stop }
            return state.answersRefusal(head) ? .proceed : nil
        }
        if let early { return early }
        var modified: LoaderResponse?
        if let responseModifier, head.redirectLocation == nil {
            // Called outside the lock.
            modified = responseModifier(state.withLock { $0.response(to: head) })
            guard modified != nil else {
                state.withLock { $0.refuse(with: .invalidResponse(reason: .refused, url: $0.hop.url)) }
                return .proceed
            }
        }
        var decision = RedirectDecision.follow
        // Also called outside the lock.
        if let redirectHandler, let (response, target) = state.withLock({ $0.proposedRedirect(head) }) {
            let url = redirectHandler(response, target)
            if url != target { decision = url.map { .rewrite($0) } ?? .deny }
        }
        let (response, disposition) = state.withLock {
            $0.receive(head, modified: modified, redirectDecision: decision)
        }
        if let response { handler(.response(decryption?.begin(response) ?? response)) }
        return disposition
    }

    func transferDidReceive(_ bytes: Data) -> TransferDisposition {
        let (isWanted, disposition) = state.withLock { $0.receive(bytes) }
        if isWanted {
            if let decryption { decryption.append(bytes) } else { handler(.bytes(bytes)) }
        }
        return disposition
    }

    func transferDidEnd(_ end: TransferEnd, metrics: TransferMetrics?) {
        let (conclusion, url, origin) = state.withLock { state in
            let (url, origin) = (state.hop.url, state.hop.origin)
            if let metrics { state.record.end(state.hop, metrics) }
            let conclusion = state.conclude(end, wireByteCount: metrics?.bodyByteCount)
            if case .redirected(let next) = conclusion { state.begin(next) }
            if case .retried(let next) = conclusion { state.beginAgain(next) }
            return (conclusion, url, origin)
        }
        switch conclusion {
        case .challenged(let challenge, let refusal):
            callHandler(for: challenge, refusal: refusal)
        case .redirected(let next), .retried(let next):
            if !scheduler.continue(self, from: origin, to: next) { finish(.failure(.cancelled)) }
        case .finished(.success) where decryption?.isNeeded == true:
            decrypt(url)
        case .finished(let result):
            finish(decryption?.failure.map { .failure($0) } ?? result)
        }
    }

    /// Calls the authentication handler. The load has no slot until the handler returns.
    private func callHandler(for challenge: AuthenticationChallenge, refusal: WebImageError) {
        guard scheduler.setAside(self) else { return finish(.failure(.cancelled)) }
        let task = Task { [self] in
            let answer = await scheduler.answer(to: challenge)
            let conclusion = state.withLock { state in
                let conclusion = state.answer(answer, to: challenge, refusal: refusal)
                if case .retried(let next) = conclusion { state.beginAgain(next) }
                return conclusion
            }
            switch conclusion {
            case .finished(let result): scheduler.bringBack(self, result)
            default: scheduler.bringBack(self, nil)
            }
        }
        let isCancelled = handlerCall.withLock { call in
            call.task = task
            return call.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels the authentication handler. May be called before `callHandler` has stored its task.
    func cancelHandlerCall() {
        let task = handlerCall.withLock { call in
            call.isCancelled = true
            return call.task
        }
        task?.cancel()
    }

    private func decrypt(_ url: URL) {
        scheduler.releaseSlot(self)
        decryption?.decrypt(url: url) { [self] result in
            // On the thread of all other events, so that a cancel and the result do not race.
            scheduler.perform { [self] in
                guard !isFinished.load(ordering: .relaxed) else { return }
                switch result {
                case .success(let body):
                    if !body.isEmpty { handler(.bytes(body)) }
                    finish(body.isEmpty ? .failure(.invalidResponse(reason: .decryption, url: url)) : .success(()))
                case .failure(let error):
                    finish(.failure(error))
                }
            }
        }
    }

    /// Frees the slot, then reports the end. Only the first call has an effect.
    func finish(_ result: Result<Void, WebImageError>) {
        guard !isFinished.exchange(true, ordering: .relaxed) else { return }
        scheduler.remove(self)
        let (refused, metrics) = state.withLock { state in
            let metrics = state.record.metrics(
                redirectCount: state.redirects.count, decodedByteCount: state.wantedByteCount)
            return (state.refusedResponse, metrics)
        }
        if case .failure(.httpStatus) = result, let refused { handler(.refused(refused)) }
        handler(.report(.metrics(metrics)))
        handler(.finished(result))
    }
}

/// The task of a load.
final class DownloadTask: PausableTask {
    private let id: TransferID
    /// Loads keep it alive. A task that is kept after its load must not, or the network thread would not end.
    ///
    /// Only the initializer sets it. `weak let` needs Swift 6.3.
    nonisolated(unsafe) private weak var scheduler: DownloadScheduler?

    init(id: TransferID, scheduler: DownloadScheduler) {
        self.id = id
        self.scheduler = scheduler
    }

    func cancel() { scheduler?.cancel(id) }

    func setPriority(_ priority: LoadPriority) { scheduler?.setPriority(priority, of: id) }

    func pause() { scheduler?.setPaused(true, id) }

    func resume() { scheduler?.setPaused(false, id) }
}

/// Records the times and exchanges of one load for its ``LoaderMetrics``.
struct DownloadRecord {
    /// The head of the current exchange.
    var head: TransferHead?
    private let start: BootTime
    private var waitingSince: BootTime?
    private var hasBegun = false
    private var queueDuration = Duration.zero
    private var exchanges: [LoaderMetrics.Exchange] = []
    /// How long the exchanges took, without pauses.
    private(set) var activeDuration = Duration.zero

    /// Starts now, waiting for a slot.
    init() {
        start = .now
        waitingSince = start
    }

    mutating func wait() { waitingSince = .now }

    /// Ends the wait for a slot; returns whether it is the first slot.
    mutating func begin() -> Bool {
        if let waitingSince { queueDuration += .now - waitingSince }
        waitingSince = nil
        defer { hasBegun = true }
        return !hasBegun
    }

    mutating func end(_ hop: DownloadState.Hop, _ transfer: TransferMetrics) {
        var exchange = LoaderMetrics.Exchange(url: hop.url, statusCode: head?.statusCode, transfer)
        exchange.startDuration = max(.zero, .now - start - transfer.total)
        (exchange.sentFields, exchange.responseHeaders) = (hop.headers.fields, head?.fields ?? [])
        exchanges.append(exchange)
        head = nil
        activeDuration += transfer.active
    }

    func metrics(redirectCount: Int, decodedByteCount: Int64) -> LoaderMetrics {
        let now = BootTime.now
        var metrics = LoaderMetrics()
        metrics.exchanges = exchanges
        metrics.redirectCount = redirectCount
        metrics.queueDuration = queueDuration + (waitingSince.map { now - $0 } ?? .zero)
        metrics.totalDuration = now - start
        metrics.decodedByteCount = decodedByteCount
        metrics.activeDuration = activeDuration
        return metrics
    }
}

/// Collects a body for the decryptor, which needs it whole.
final class BodyDecryption: Sendable {
    private let decryptor: @Sendable (Data, LoaderResponse) -> Data?
    private let collector: BodyCollector
    private let response = Lock<LoaderResponse?>(nil)
    private static let queue = WorkQueue(label: "webimage-decrypt", threadCount: 2)

    init(_ decryptor: @escaping @Sendable (Data, LoaderResponse) -> Data?, storage: BodyStorage) {
        self.decryptor = decryptor
        collector = BodyCollector(storage)
    }

    /// Sets the load whose body is collected.
    func attach(_ task: any LoaderTask) { collector.attach(task) }

    /// Why the body could not be stored.
    var failure: WebImageError? { collector.failure }

    /// Whether there is a body to decrypt.
    var isNeeded: Bool { collector.byteCount > 0 }

    /// Takes the head; returns the one to report.
    func begin(_ response: LoaderResponse) -> LoaderResponse {
        self.response.withLock { $0 = response }
        collector.begin(response)
        var announced = response
        announced.expectedByteCount = nil
        return announced
    }

    func append(_ bytes: Data) { collector.append(bytes) }

    /// Calls the decryptor, then `completion` with its result, both on another thread.
    func decrypt(url: URL, completion: @escaping @Sendable (Result<Data, WebImageError>) -> Void) {
        collector.end { [self] result in
            Self.queue.submit { [self] in
                completion(
                    result.flatMap { body in
                        let response = response.withLock { $0 } ?? LoaderResponse(url: url)
                        return decryptor(body, response).map { .success($0) }
                            ?? .failure(.invalidResponse(reason: .decryption, url: url))
                    })
            }
        }
    }
}
