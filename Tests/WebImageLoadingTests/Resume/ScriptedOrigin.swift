import Dispatch
import FoundationEssentials
import WebImageCore
import WebImageLoading

/// A loader that answers when the test says so.
final class ScriptedOrigin: ImageLoader {
    /// The loads as they are asked for.
    private let started: AsyncStream<ScriptedTransfer>
    private let start: AsyncStream<ScriptedTransfer>.Continuation
    private let transfers = LockBox<[ScriptedTransfer]>([])
    /// Called for each load at once, inside its call, instead of a test that waits for it.
    private let script: (@Sendable (ScriptedTransfer) -> Void)?

    init(script: (@Sendable (ScriptedTransfer) -> Void)? = nil) {
        self.script = script
        (started, start) = AsyncStream.makeStream()
    }

    /// The headers of all requests so far.
    var requests: [LoaderRequest] { transfers.withLock { $0.map(\.request) } }

    func canLoad(_ url: URL) -> Bool { true }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let transfer = ScriptedTransfer(request: request, priority: priority, handler: handler)
        transfers.withLock { $0.append(transfer) }
        if let script { script(transfer) } else { start.yield(transfer) }
        return transfer
    }

    /// The next load that no test has seen yet.
    func next() async throws -> ScriptedTransfer {
        for await transfer in started { return transfer }
        throw WebImageError.cancelled
    }
}

/// One load of a ``ScriptedOrigin``. Its events come from a queue of its own, one at a time; once paused it sends no
/// bytes until it is resumed.
final class ScriptedTransfer: PausableTask {
    let request: LoaderRequest
    private let handler: @Sendable (LoaderEvent) -> Void
    private let queue = DispatchQueue(label: "scripted")
    private let state: LockBox<State>
    private let calls = AsyncStream.makeStream(of: Call.self)

    enum Call: Equatable { case pause, resume, cancel, priority(LoadPriority) }

    private struct State {
        var priority: LoadPriority
        var isPaused = false
        var hasEnded = false
        var held: [LoaderEvent] = []
    }

    init(request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void) {
        self.request = request
        self.handler = handler
        state = LockBox(State(priority: priority))
    }

    var range: String? { request.headers["Range"] }
    /// Where the range begins that is asked for.
    var offset: Int? { range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } }
    var ifRange: String? { request.headers["If-Range"] }
    var priority: LoadPriority { state.withLock { $0.priority } }
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Waits for the next call of its owner's.
    func call() async throws -> Call {
        for await call in calls.stream { return call }
        throw WebImageError.cancelled
    }

    // MARK: What the server does

    func respond(
        _ statusCode: Int? = 200, _ headers: [String: String] = [:], byteCount: Int64? = nil, at url: URL? = nil
    ) {
        let fields = headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
        send(
            .response(
                LoaderResponse(
                    url: url ?? request.url, statusCode: statusCode, headers: fields, expectedByteCount: byteCount)))
    }

    func send(_ bytes: Data) { send(.bytes(bytes)) }

    func report(_ metrics: LoaderMetrics) { send(.report(.metrics(metrics))) }

    func finish(_ result: Result<Void, WebImageError> = .success(())) { send(.finished(result)) }

    /// The connection breaks.
    func cut() { finish(.failure(.transport(code: 56, message: "reset", url: request.url))) }

    private func send(_ event: LoaderEvent) {
        // Queued under the lock, so that nothing overtakes what was held.
        state.withLock { state in
            if state.isPaused { state.held.append(event) } else { queue.async { [self] in report(event) } }
        }
    }

    private func report(_ event: LoaderEvent) {
        let passes = state.withLock { state in
            guard !state.hasEnded else { return false }
            if case .finished = event { state.hasEnded = true }
            return true
        }
        if passes { handler(event) }
    }

    // MARK: LoaderTask

    func cancel() {
        calls.continuation.yield(.cancel)
        queue.async { [self] in report(.finished(.failure(.cancelled))) }
    }

    func setPriority(_ priority: LoadPriority) {
        state.withLock { $0.priority = priority }
        calls.continuation.yield(.priority(priority))
    }

    func pause() {
        state.withLock { $0.isPaused = true }
        calls.continuation.yield(.pause)
    }

    func resume() {
        state.withLock { state in
            state.isPaused = false
            for event in state.held { queue.async { [self] in report(event) } }
            state.held = []
        }
        calls.continuation.yield(.resume)
    }
}
