import FoundationEssentials
import WebImageGTK

/// Delivers three fifths of a file and never ends, to show a load in progress. URLs that begin with `half:known` report the length,
/// others do not.
struct HalfLoader: ImageLoader {
    func canLoad(_ url: URL) -> Bool { url.scheme == "half" }

    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let length: Int64? = request.url.absoluteString.hasPrefix("half:known") ? 100 : nil
        handler(.response(LoaderResponse(url: request.url, expectedByteCount: length)))
        handler(.bytes(Data(count: 60)))
        return HalfLoad(handler: handler)
    }

    private final class HalfLoad: LoaderTask {
        private let handler: @Sendable (LoaderEvent) -> Void

        init(handler: @escaping @Sendable (LoaderEvent) -> Void) { self.handler = handler }

        func cancel() { handler(.finished(.failure(.cancelled))) }
        func setPriority(_ priority: LoadPriority) {}
    }
}
