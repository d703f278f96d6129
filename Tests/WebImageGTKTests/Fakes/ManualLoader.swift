import FoundationEssentials
import WebImage

/// A loader that answers when the test says so, in the order it likes.
final class ManualLoader: ImageLoader {
    private let started = Lock<[ManualLoad]>([])
    private let isCacheable: Bool

    init(isCacheable: Bool = false) { self.isCacheable = isCacheable }

    func canLoad(_ url: URL) -> Bool { url.scheme == "manual" }

    func isCacheable(_ url: URL) -> Bool { isCacheable }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let load = ManualLoad(url: request.url, priority: priority, handler: handler)
        started.withLock { $0.append(load) }
        return load
    }

    /// Every load so far, in the order they began.
    var loads: [ManualLoad] { started.withLock { $0 } }

    func lastLoad(of url: URL) -> ManualLoad? { loads.last { $0.url == url } }
}

final class ManualLoad: LoaderTask {
    let url: URL
    private let handler: @Sendable (LoaderEvent) -> Void
    private let state: Lock<(isEnded: Bool, isCancelled: Bool, priority: LoadPriority)>

    init(url: URL, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void) {
        self.url = url
        self.handler = handler
        state = Lock((isEnded: false, isCancelled: false, priority: priority))
    }

    var isEnded: Bool { state.withLock { $0.isEnded } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var priority: LoadPriority { state.withLock { $0.priority } }

    func begin(expectedByteCount: Int64) {
        handler(.response(LoaderResponse(url: url, expectedByteCount: expectedByteCount)))
    }

    func send(_ data: Data) { handler(.bytes(data)) }

    func end(_ result: Result<Void, WebImageError> = .success(())) {
        let isFirst = state.withLock { state in
            defer { state.isEnded = true }
            return !state.isEnded
        }
        if isFirst { handler(.finished(result)) }
    }

    func answer(_ swatch: Swatch) {
        guard !isCancelled else { return }
        begin(expectedByteCount: Int64(swatch.data.count))
        send(swatch.data)
        end()
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        end(.failure(.cancelled))
    }

    func setPriority(_ priority: LoadPriority) { state.withLock { $0.priority = priority } }
}
