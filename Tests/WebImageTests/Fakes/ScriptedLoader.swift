import FoundationEssentials
import WebImage
@testable import WebImageLoading

/// A loader that answers when the test says so, for orders of events that a real server does not produce on demand.
final class ScriptedLoader: ImageLoader {
    /// The loads as the pipeline starts them.
    let loads: AsyncStream<ScriptedLoad>
    private let isCacheable: Bool
    private let started: AsyncStream<ScriptedLoad>.Continuation
    private let count = LockBox(0)
    private let headerCount = LockBox(0)

    init(isCacheable: Bool = true) {
        self.isCacheable = isCacheable
        (loads, started) = AsyncStream.makeStream()
    }

    var loadCount: Int { count.withLock { $0 } }
    /// How often the fields that it would send were needed.
    var headerRequestCount: Int { headerCount.withLock { $0 } }

    func requestHeaders(for request: LoaderRequest) -> [HTTPHeader] {
        headerCount.withLock { $0 += 1 }
        return request.headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    func canLoad(_ url: URL) -> Bool { url.scheme == "scripted" }

    func isCacheable(_ url: URL) -> Bool { isCacheable }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let load = ScriptedLoad(request: request, priority: priority, handler: handler)
        count.withLock { $0 += 1 }
        started.yield(load)
        return load
    }
}

/// One load of a ``ScriptedLoader``.
final class ScriptedLoad: PausableTask {
    let request: LoaderRequest
    /// Yields once the load is cancelled.
    let cancellations: AsyncStream<Void>
    /// Yields each priority the load is moved to.
    let priorityChanges: AsyncStream<LoadPriority>
    private let cancelled: AsyncStream<Void>.Continuation
    private let priorityChanged: AsyncStream<LoadPriority>.Continuation
    private let ended = LockBox(false)
    private let paused = LockBox(false)
    /// The request that it was started with.
    let initialPriority: LoadPriority
    private let handler: @Sendable (LoaderEvent) -> Void

    init(request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void) {
        self.request = request
        self.handler = handler
        initialPriority = priority
        (cancellations, cancelled) = AsyncStream.makeStream()
        (priorityChanges, priorityChanged) = AsyncStream.makeStream()
    }

    var isEnded: Bool { ended.withLock { $0 } }
    var isPaused: Bool { paused.withLock { $0 } }

    /// Sends `data` as a whole answer, in `pieceCount` pieces.
    func answer(_ data: Data, contentType: String = "image/png", pieceCount: Int = 1) {
        begin(expectedByteCount: Int64(data.count), contentType: contentType)
        let length = max(1, (data.count + pieceCount - 1) / pieceCount)
        for start in stride(from: 0, to: data.count, by: length) {
            send(Data(data[data.startIndex + start..<min(data.startIndex + start + length, data.endIndex)]))
        }
        end(.success(()))
    }

    /// Sends `picture` with these fields, a line each.
    func answer(_ picture: SolidPicture, _ headers: String) throws {
        try answer(picture.png(), status: 200, headers)
    }

    /// Sends a whole answer with these fields, a line each.
    func answer(_ data: Data, status: Int, _ headers: String = "") {
        handler(.response(response(status, headers, expectedByteCount: Int64(data.count))))
        if !data.isEmpty { send(data) }
        end(.success(()))
    }

    /// Sends `data` as a loader does that knows no statuses.
    func answerWithoutHead(_ data: Data) {
        handler(.response(LoaderResponse(url: request.url)))
        send(data)
        end(.success(()))
    }

    /// Says that what the request's conditions name is still good.
    func confirm(_ headers: String = "") {
        handler(.response(response(304, headers)))
        end(.success(()))
    }

    /// Refuses, as the downloader does with statuses that bring no image.
    func refuse(_ status: Int, _ headers: String = "") {
        handler(.refused(response(status, headers)))
        end(.failure(.httpStatus(code: status, url: request.url)))
    }

    /// The redirects that the next head has behind it.
    ///
    /// - Parameter target: where the head comes from then; `nil` for where it would have come from without.
    func redirect(_ status: Int, _ headers: String = "", to target: URL? = nil) {
        if let target { finalURL.withLock { $0 = target } }
        redirects.withLock {
            $0.append(LoaderResponse.Redirection(url: request.url, statusCode: status, headers: Self.fields(headers)))
        }
    }

    private let redirects = LockBox<[LoaderResponse.Redirection]>([])
    private let finalURL = LockBox<URL?>(nil)

    private func response(_ status: Int, _ headers: String, expectedByteCount: Int64? = nil) -> LoaderResponse {
        var response = LoaderResponse(
            url: finalURL.withLock { $0 } ?? request.url, statusCode: status, headers: Self.fields(headers),
            expectedByteCount: expectedByteCount)
        response.redirects = redirects.withLock { $0 }
        return response
    }

    private static func fields(_ text: String) -> [HTTPHeader] {
        text.split(separator: "\n").map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return HTTPHeader(name: String(parts[0]), value: String(parts[1]).trimmingHTTPSpace)
        }
    }

    func begin(expectedByteCount: Int64?, contentType: String = "image/png", statusCode: Int = 200) {
        handler(
            .response(
                LoaderResponse(
                    url: request.url, statusCode: statusCode,
                    headers: [HTTPHeader(name: "Content-Type", value: contentType)],
                    expectedByteCount: expectedByteCount)))
    }

    /// Refuses to answer, for the status.
    func refuse(_ statusCode: Int, headers: [HTTPHeader]) {
        handler(.refused(LoaderResponse(url: request.url, statusCode: statusCode, headers: headers)))
        end(.failure(.httpStatus(code: statusCode, url: request.url)))
    }

    func send(_ data: Data) { handler(.bytes(data)) }

    func report(_ metrics: LoaderMetrics) { handler(.report(.metrics(metrics))) }

    /// Asks what decoding the bytes shows.
    func ask(_ judgment: BodyJudgment) { handler(.report(.judged(by: judgment))) }

    func end(_ result: Result<Void, WebImageError>) {
        let isFirst = ended.withLock { isEnded in
            defer { isEnded = true }
            return !isEnded
        }
        if isFirst { handler(.finished(result)) }
    }

    func cancel() {
        end(.failure(.cancelled))
        cancelled.yield()
    }

    func setPriority(_ priority: LoadPriority) { priorityChanged.yield(priority) }
    func pause() { paused.withLock { $0 = true } }
    func resume() { paused.withLock { $0 = false } }
}
