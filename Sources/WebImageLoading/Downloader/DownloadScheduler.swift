internal import WebImageCore

/// Hands loads from the queue to the transport and gives their slots back.
///
/// Loads under way keep it alive, not the downloader alone.
final class DownloadScheduler: Sendable {
    private struct State {
        var queue: DownloadQueue
        var downloads: [TransferID: Download] = [:]
        /// Loads that are about to end; a running one may be between two hops, where the transport does not know it.
        var cancelled: Set<TransferID> = []
        var lastID: UInt64 = 0
    }

    private let configuration: ImageDownloader.Configuration
    private let surroundings: DownloadSurroundings
    private let transport: any HTTPTransport
    /// Commands to the transport are posted under the lock, so that they arrive in the order of decisions: a cancel
    /// never overtakes the start it is meant for.
    private let state: Lock<State>

    init(
        _ configuration: ImageDownloader.Configuration, transport: any HTTPTransport, credentials: CredentialStorage
    ) {
        self.configuration = configuration
        surroundings = DownloadSurroundings(configuration, credentials: credentials)
        self.transport = transport
        let queue = DownloadQueue(
            limitPerHost: configuration.maximumConnectionsPerHost, limit: configuration.maximumConnections)
        state = Lock(State(queue: queue))
    }

    var loadCounts: (running: Int, waiting: Int) {
        state.withLock { ($0.queue.runningCount, $0.queue.waitingCount) }
    }

    func submit(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> DownloadTask {
        let id = state.withLock { state in
            state.lastID += 1
            return TransferID(rawValue: state.lastID)
        }
        do throws(WebImageError) {
            let download = Download(
                id: id, state: try DownloadState(request, configuration: configuration, surroundings: surroundings),
                scheduler: self, handler: handler)
            let origin = download.hop.origin
            state.withLock { state in
                state.downloads[id] = download
                state.queue.enqueue(id, origin: origin, priority: priority)
                startWaiting(&state)
            }
        } catch {
            transport.perform { handler(.finished(.failure(error))) }
        }
        return DownloadTask(id: id, scheduler: self)
    }

    func cancel(_ id: TransferID) {
        state.withLock { state in
            guard let download = state.downloads[id], state.cancelled.insert(id).inserted else { return }
            if state.queue.isRunning(id) {
                transport.cancel(id)
            } else {
                state.queue.remove(id)
                download.cancelQuestion()
                transport.perform { download.finish(.failure(.cancelled)) }
            }
        }
    }

    func setPriority(_ priority: LoadPriority, of id: TransferID) {
        state.withLock { state in
            state.queue.setPriority(priority, of: id)
            startWaiting(&state)
        }
    }

    /// A redirect: stays in its slot on the same origin, else waits for one of the next. `false` when the load was
    /// cancelled between its hops.
    func `continue`(_ download: Download, from origin: HTTPOrigin, to hop: DownloadState.Hop) -> Bool {
        state.withLock { state in
            guard !state.cancelled.contains(download.id) else { return false }
            if hop.origin == origin {
                start(download, hop)
            } else {
                state.queue.move(download.id, to: hop.origin)
                startWaiting(&state)
            }
            return true
        }
    }

    /// Takes a load's slot away while its challenge waits for an answer. `false` when it was cancelled.
    func setAside(_ download: Download) -> Bool {
        state.withLock { state in
            guard !state.cancelled.contains(download.id) else { return false }
            state.queue.setAside(download.id)
            startWaiting(&state)
            return true
        }
    }

    func answer(to challenge: AuthenticationChallenge) async -> AuthenticationChallenge.Answer {
        await configuration.authenticationHandler?(challenge) ?? .decline
    }

    /// Lets a load that was set aside wait for a slot again, or ends it with `result`.
    func bringBack(_ download: Download, _ result: Result<Void, WebImageError>?) {
        state.withLock { state in
            // A cancel has ended it, or is about to.
            guard state.downloads[download.id] != nil, !state.cancelled.contains(download.id) else { return }
            if let result {
                // No longer to be cancelled: it ends once.
                state.cancelled.insert(download.id)
                transport.perform { download.finish(result) }
            } else {
                state.queue.bringBack(download.id)
                startWaiting(&state)
            }
        }
    }

    /// Gives the slot of a load that has ended to the next.
    func remove(_ download: Download) {
        state.withLock { state in
            state.downloads[download.id] = nil
            state.cancelled.remove(download.id)
            state.queue.remove(download.id)
            startWaiting(&state)
        }
    }

    private func startWaiting(_ state: inout State) {
        while let id = state.queue.startNext() {
            guard let download = state.downloads[id] else { continue }
            start(download, download.hop)
        }
    }

    private func start(_ download: Download, _ hop: DownloadState.Hop) {
        var request = TransferRequest(url: hop.url, headers: hop.headers.fields)
        request.headers.removeAll { $0.name.lowercased() == RequestHeaders.proxyName }
        request.access = hop.access
        transport.start(request, id: download.id, receiver: download)
    }
}
