public import FoundationEssentials
public import WebImageCore

/// Resumes interrupted transfers of another loader. The bytes received before a network failure, a cancellation or the
/// end of the process are stored in a ``PartialBodyStore``, and only the rest is requested.
///
/// ```swift
/// let store = PartialBodyStore(configuration: .init(directory: directory))
/// let loader = ResumingLoader(ImageDownloader.shared, store: store)
/// ```
///
/// Callers receive one complete response: status 200, the whole length, the stored bytes and then the new ones. The
/// request has `Range` and `If-Range` fields (RFC 9110, 13.1.5 and 14.2):
///
/// | response | effect |
/// |---|---|
/// | 206 with the rest of the same bytes | the transfer is resumed |
/// | 200 | the body has changed, or the server does not support ranges: the transfer starts anew |
/// | 206 with other bytes, 416, or an error | the stored bytes are deleted, and the request is repeated without a range |
///
/// Bodies of GET requests with status 200 and a strong validator are stored. Exceptions are content-coded bodies,
/// servers that do not accept ranges, and `no-store` on either side. Some requests are passed to the other loader
/// unchanged: those with a range or conditions, with cookies or stored credentials, and with a scheme other than http
/// or https.
public final class ResumingLoader: ImageLoader {
    /// The wrapped loader.
    public let loader: any ImageLoader
    /// The store of partial bodies.
    public let store: PartialBodyStore

    /// Creates a loader that wraps another one.
    ///
    /// - Parameter loader: preferably a ``ResumableLoader``. Any other loader must not add anything to requests that
    ///   makes responses differ between users.
    public init(_ loader: any ImageLoader, store: PartialBodyStore) {
        self.loader = loader
        self.store = store
    }

    /// Asks the wrapped loader.
    public func canLoad(_ url: URL) -> Bool { loader.canLoad(url) }

    /// Asks the wrapped loader.
    public func isCacheable(_ url: URL) -> Bool { loader.isCacheable(url) }

    /// Asks the wrapped loader.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] { loader.requestHeaders(for: request) }

    /// Starts a load; see ``ImageLoader/load(_:priority:handler:)``. Stored bytes are delivered on one of the store's
    /// two threads, so the handler must not block.
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

    /// ``ResumableLoader/resumptionScope(of:)`` excludes loaders whose hooks change bodies, or that ask for
    /// credentials.
    private func scope(of request: LoaderRequest) -> String? {
        guard let resumable = loader as? any ResumableLoader else { return String(reflecting: type(of: loader)) }
        return resumable.resumptionScope(of: request)
    }
}
