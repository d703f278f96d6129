internal import WebImageCore

/// Passes loads from the queue to the transport, and frees their slots.
///
///     submit ──► preparing ──► queue ──► transport ──► finishing ──► gone
///                request hooks            hop by hop    decryptor
///
/// The downloader and all loads keep it alive.
final class DownloadScheduler: Sendable {
    private struct State {
        let queue: DownloadQueue
        /// `nil` for no limit.
        var bucket: TokenBucket?
        /// Whether ``startWaiting(_:)`` is due once there is a token.
        var isAwaitingToken = false
        /// The loads whose request has not passed the request modifier.
        var preparing: [TransferID: Preparation] = [:]
        var downloads: [TransferID: Download] = [:]
        /// The number of running loads as reported to the ``NetworkActivity``.
        var activeCount = 0
        var lastID: UInt64 = 0
    }

    private struct Preparation {
        var priority: LoadPriority
        var isPaused = false
    }

    private let environment: DownloadEnvironment
    private let transport: any HTTPTransport
    /// Measures the rate limit.
    private let clock: any Clock<Duration>
    /// The time since this object was made.
    private let now: @Sendable () -> Duration
    /// Commands to the transport are posted under the lock, so that they arrive in the order of decisions: a cancel
    /// never overtakes its start.
    private let state: Lock<State>

    init(
        _ environment: DownloadEnvironment, transport: any HTTPTransport, clock: any Clock<Duration>
    ) {
        self.environment = environment
        self.transport = transport
        self.clock = clock
        now = NetworkActivity.stopwatch(clock)
        let configuration = environment.configuration
        let queue = DownloadQueue(
            limitPerHost: configuration.maximumConnectionsPerHost, limit: configuration.maximumConnections,
            isLastInFirstOut: configuration.isLastInFirstOut)
        let bucket = configuration.maximumTransfersPerSecond.map {
            TokenBucket(transfersPerSecond: $0, burst: configuration.transferBurst, now: .zero)
        }
        state = Lock(State(queue: queue, bucket: bucket))
    }

    var loadCounts: (running: Int, waiting: Int) {
        state.withLock { ($0.queue.runningCount, $0.queue.waitingCount + $0.preparing.count) }
    }

    var isSuspended: Bool {
        get { state.withLock { $0.queue.isSuspended } }
        set {
            state.withLock { state in
                state.queue.isSuspended = newValue
                startWaiting(&state)
            }
        }
    }

    func submit(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> DownloadTask {
        handler(.report(.queued))
        let id = state.withLock { state in
            state.lastID += 1
            state.preparing[TransferID(rawValue: state.lastID)] = Preparation(priority: priority)
            return TransferID(rawValue: state.lastID)
        }
        let record = DownloadRecord()
        if !transport.prepare() {
            state.withLock { _ = $0.preparing.removeValue(forKey: id) }
            // There is no other thread than the caller's.
            handler(.finished(.failure(.outOfResources(reason: .thread, url: request.url.separatedFromUserInfo.url))))
        } else if environment.configuration.requestModifier != nil {
            transport.perform { [self] in admit(id, request, record, handler) }
        } else {
            admit(id, request, record, handler)
        }
        return DownloadTask(id: id, scheduler: self)
    }

    /// Passes the request to the modifier, then queues it.
    private func admit(
        _ id: TransferID, _ request: LoaderRequest, _ record: DownloadRecord,
        _ handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        do throws(WebImageError) {
            let downloadState = try DownloadState(
                environment.configuration.prepared(request), environment: environment, record: record)
            let origin = downloadState.hop.origin
            let download = Download(
                id: id, state: downloadState, environment: environment, scheduler: self, handler: handler)
            let isAdmitted = state.withLock { state in
                guard let preparation = state.preparing.removeValue(forKey: id) else { return false }
                download.setPaused(preparation.isPaused)
                state.downloads[id] = download
                state.queue.enqueue(id, origin: origin, priority: preparation.priority)
                startWaiting(&state)
                return true
            }
            if !isAdmitted { throw .cancelled }
        } catch {
            // A load that was cancelled meanwhile ends as cancelled, whatever the modifier returns.
            let isWanted = state.withLock { $0.preparing.removeValue(forKey: id) != nil }
            transport.perform { handler(.finished(.failure(isWanted ? error : .cancelled))) }
        }
    }

    func cancel(_ id: TransferID) { state.withLock { cancel(id, &$0) } }

    func cancelAll() {
        state.withLock { state in
            for id in Array(state.preparing.keys) + Array(state.downloads.keys) { cancel(id, &state) }
        }
    }

    private func cancel(_ id: TransferID, _ state: inout State) {
        // `admit` finds it gone and reports the end.
        guard state.preparing.removeValue(forKey: id) == nil else { return }
        guard let download = state.downloads[id], download.beginCancelling() else { return }
        if state.queue.isRunning(id) {
            transport.cancel(id)
        } else {
            state.queue.remove(id)
            transport.perform {
                download.cancelHandlerCall()
                download.finish(.failure(.cancelled))
            }
        }
    }

    func setPriority(_ priority: LoadPriority, of id: TransferID) {
        state.withLock { state in
            state.preparing[id]?.priority = priority
            state.queue.setPriority(priority, of: id)
            startWaiting(&state)
        }
    }

    /// Pauses or resumes the bytes of a load.
    func setPaused(_ isPaused: Bool, _ id: TransferID) {
        state.withLock { state in
            state.preparing[id]?.isPaused = isPaused
            state.downloads[id]?.setPaused(isPaused)
            // The transport checks before each piece of the body, but not again after a no.
            if !isPaused, state.queue.isRunning(id) { transport.resume(id) }
        }
    }

    /// Continues with the next hop, in the same slot for the same origin, else in a new one. Returns `false` when the
    /// load was cancelled between its hops.
    func `continue`(_ download: Download, from origin: HTTPOrigin, to hop: DownloadState.Hop) -> Bool {
        state.withLock { state in
            guard !download.isCancelled else { return false }
            if hop.origin == origin {
                start(download)
            } else {
                download.wait()
                state.queue.move(download.id, to: hop.origin)
                startWaiting(&state)
            }
            return true
        }
    }

    /// Frees a load's slot while the authentication handler runs. Returns `false` when the load was cancelled.
    func setAside(_ download: Download) -> Bool {
        state.withLock { state in
            guard !download.isCancelled else { return false }
            state.queue.setAside(download.id)
            startWaiting(&state)
            return true
        }
    }

    func answer(to challenge: AuthenticationChallenge) async -> AuthenticationAnswer {
        do throws(CancellationError) {
            return try await environment.configuration.authenticationHandler?(challenge).map { .credential($0) }
                ?? .decline
        } catch {
            return .cancel
        }
    }

    /// Queues a load that was set aside again, or ends it with `result`.
    func bringBack(_ download: Download, _ result: Result<Void, WebImageError>?) {
        state.withLock { state in
            // A cancelled load has ended, or is about to.
            guard state.downloads[download.id] != nil, !download.isCancelled else { return }
            if let result {
                // It ends once: a cancel must do nothing from here on.
                _ = download.beginCancelling()
                transport.perform { download.finish(result) }
            } else {
                download.wait()
                state.queue.bringBack(download.id)
                startWaiting(&state)
            }
        }
    }

    /// Frees the slot of a load that has finished its transfers.
    func releaseSlot(_ download: Download) {
        state.withLock { state in
            state.queue.remove(download.id)
            startWaiting(&state)
        }
    }

    /// Removes a load that has ended.
    func remove(_ download: Download) {
        state.withLock { state in
            state.downloads[download.id] = nil
            state.queue.remove(download.id)
            startWaiting(&state)
        }
    }

    /// Runs `body` on the thread that calls the handlers.
    func perform(_ body: @escaping @Sendable () -> Void) { transport.perform(body) }

    private func startWaiting(_ state: inout State) {
        let queue = state.queue
        var bucket = state.bucket
        var needsToken = false
        while let id = queue.startNext(admitsNew: { [now] in
            guard bucket != nil else { return true }
            let isAdmitted = bucket?.take(at: now()) ?? true
            if !isAdmitted { needsToken = true }
            return isAdmitted
        }) {
            guard let download = state.downloads[id] else { continue }
            start(download)
        }
        state.bucket = bucket
        environment.configuration.networkActivity?.change(by: queue.runningCount - state.activeCount)
        state.activeCount = queue.runningCount
        guard needsToken, let wait = bucket?.wait, !state.isAwaitingToken else { return }
        state.isAwaitingToken = true
        // The loads that wait keep the scheduler alive.
        Task { [weak self, clock] in
            try? await clock.sleep(for: wait)
            self?.state.withLock { state in
                state.isAwaitingToken = false
                self?.startWaiting(&state)
            }
        }
    }

    private func start(_ download: Download) {
        if download.begin() { transport.perform { download.reportStart() } }
        transport.start(download.transferRequest, id: download.id, receiver: download)
    }
}
