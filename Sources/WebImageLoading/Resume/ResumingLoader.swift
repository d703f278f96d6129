public import FoundationEssentials
public import WebImageCore

/// Continues interrupted transfers of another loader: what came before a cut, a cancel or the end of the process is kept in
/// a ``PartialBodyStore``, and only the rest is asked for.
///
/// ```swift
/// let store = PartialBodyStore(configuration: .init(directory: directory))
/// let loader = ResumingLoader(ImageDownloader.shared, store: store)
/// ```
///
/// Its user sees one whole answer: status 200, the length of the whole, the stored bytes and then the new ones. Behind that
/// is a request with `Range` and `If-Range` (RFC 9110, 13.1.5 and 14.2):
///
/// | the server answers | then |
/// |---|---|
/// | 206 with the rest of the same bytes | they go on |
/// | 200 | the body has changed, or the server knows no ranges: it begins anew |
/// | 206 with other bytes, 416, or a refusal | the stored bytes go, and it loads once more without a range |
///
/// Kept are bodies of GET requests with status 200 and a strong validator, unless they are content-coded, their server
/// refuses ranges, or either side says `no-store`. Requests that ask for ranges or under conditions themselves, that use
/// cookies or stored credentials, and all that are not http or https, go to the other loader as they are.
public final class ResumingLoader: ImageLoader {
    /// Who does the loading.
    public let loader: any ImageLoader
    /// Where bodies are kept.
    public let store: PartialBodyStore

    /// Makes a loader from another one.
    ///
    /// - Parameter loader: best a ``ResumableLoader``. Of any other it is supposed that it adds nothing to requests that
    ///   changes answers from one user to the next.
    public init(_ loader: any ImageLoader, store: PartialBodyStore) {
        self.loader = loader
        self.store = store
    }

    /// As the other loader has it.
    public func canLoad(_ url: URL) -> Bool { loader.canLoad(url) }

    /// As the other loader has it.
    public func isCacheable(_ url: URL) -> Bool { loader.isCacheable(url) }

    /// As the other loader has it.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] { loader.requestHeaders(for: request) }

    /// Starts to load; see ``ImageLoader/load(_:priority:handler:)``. Stored bytes come on a thread of the store's, and hold
    /// up those of two other bodies at most.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        guard let key = scope(of: request).flatMap({ request.partialBodyKey(scope: $0) }) else {
            return loader.load(request, priority: priority, handler: handler)
        }
        let task = ResumingTask(
            request, key: key, loader: loader, store: store, priority: priority, handler: handler)
        task.start()
        return task
    }

    /// Those whose hooks change bodies, or that ask for credentials, say so here.
    private func scope(of request: LoaderRequest) -> String? {
        guard let resumable = loader as? any ResumableLoader else { return String(reflecting: type(of: loader)) }
        return resumable.resumptionScope(of: request)
    }
}
