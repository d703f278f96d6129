internal import FoundationEssentials
internal import WebImageCore

/// One load's events, from the transport to the caller.
final class Download: TransferReceiver {
    let id: TransferID
    private let state: Lock<DownloadState>
    private let scheduler: DownloadScheduler
    private let handler: @Sendable (LoaderEvent) -> Void
    private let question = Lock<Task<Void, Never>?>(nil)

    init(
        id: TransferID, state: DownloadState, scheduler: DownloadScheduler,
        handler: @escaping @Sendable (LoaderEvent) -> Void
    ) {
        self.id = id
        self.state = Lock(state)
        self.scheduler = scheduler
        self.handler = handler
    }

    var hop: DownloadState.Hop { state.withLock { $0.hop } }

    func transferDidReceive(_ head: TransferHead) -> TransferDisposition {
        let (response, disposition) = state.withLock { $0.receive(head) }
        if let response { handler(.response(response)) }
        return disposition
    }

    func transferDidReceive(_ bytes: Data) -> TransferDisposition {
        let (isWanted, disposition) = state.withLock { $0.receive(bytes) }
        if isWanted { handler(.bytes(bytes)) }
        return disposition
    }

    func transferDidEnd(_ end: TransferEnd) {
        let (conclusion, origin) = state.withLock { state in
            let origin = state.hop.origin
            let conclusion = state.conclude(end)
            if case .redirected(let next) = conclusion { state.begin(next) }
            if case .retried(let next) = conclusion { state.beginAgain(next) }
            return (conclusion, origin)
        }
        switch conclusion {
        case .challenged(let challenge, let refusal):
            ask(challenge, refusal: refusal)
        case .redirected(let next), .retried(let next):
            if !scheduler.continue(self, from: origin, to: next) { finish(.failure(.cancelled)) }
        case .finished(let result):
            finish(result)
        }
    }

    /// Leaves the network thread and the slot to others until there is an answer.
    private func ask(_ challenge: AuthenticationChallenge, refusal: WebImageError) {
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
        question.withLock { $0 = task }
    }

    /// Nobody waits for an answer any more.
    func cancelQuestion() { question.withLock { $0 }?.cancel() }

    /// Gives its slot to the next load, then reports the end.
    func finish(_ result: Result<Void, WebImageError>) {
        scheduler.remove(self)
        handler(.finished(result))
    }
}

/// What the caller of a load holds.
final class DownloadTask: LoaderTask {
    private let id: TransferID
    /// Loads under way keep it alive; a task kept after its load must not, or the network thread would stay.
    private weak let scheduler: DownloadScheduler?

    init(id: TransferID, scheduler: DownloadScheduler) {
        self.id = id
        self.scheduler = scheduler
    }

    func cancel() { scheduler?.cancel(id) }

    func setPriority(_ priority: LoadPriority) { scheduler?.setPriority(priority, of: id) }
}
