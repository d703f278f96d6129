internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Loads only what may be an image, although the manager is asked for data of any kind: other statuses than 2xx are errors, and a cache
/// that machines share takes part, which stores what is then decoded.
struct ImagesOnlyLoader: ImageLoader, HeaderReporting {
    let base: any ImageLoader

    func canLoad(_ url: URL) -> Bool { base.canLoad(url) }
    func isCacheable(_ url: URL) -> Bool { base.isCacheable(url) }
    func requestHeaders(for request: LoaderRequest) -> [HTTPField] { base.headersSent(for: request) }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        var request = request
        request.acceptsAnyAnswer = false
        return base.load(request, priority: priority, handler: handler)
    }
}
