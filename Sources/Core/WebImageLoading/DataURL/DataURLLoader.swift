public import FoundationEssentials
public import WebImageCore

/// Loads `data:` URLs (RFC 2397), which contain their bytes, on its own thread.
///
/// They are read as browsers do: percent-encoded or base64. Base64 may contain white space and lack its padding.
public final class DataURLLoader: ImageLoader {
    /// The largest decoded length, in bytes; longer ones fail with
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    public let maximumByteCount: Int64

    private static let queue = WorkQueue(label: "webimage-data", threadCount: 1)

    /// Creates a loader.
    ///
    /// - Parameter maximumByteCount: 200 MiB by default.
    public init(maximumByteCount: Int64 = 200 << 20) { self.maximumByteCount = maximumByteCount }

    /// Whether the scheme is `data`.
    public func canLoad(_ url: URL) -> Bool { url.hasScheme("data") }

    /// `false`: the URL has the bytes.
    public func isCacheable(_ url: URL) -> Bool { false }

    /// Starts to decode; see ``ImageLoader/load(_:priority:handler:)``. The response has the URL's media type, in normal
    /// form, as its `Content-Type`.
    ///
    /// It reports ``WebImageError/invalidURL(_:reason:)`` for one that is malformed,
    /// ``WebImageError/ResponseFailure/emptyBody``, and
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let cancellation = Cancellation()
        let limit = maximumByteCount
        let item = Self.queue.submit(priority: priority) {
            let result = Result { () throws(WebImageError) in
                try cancellation.check()
                try Self.decode(request, limit: limit, cancellation: cancellation, handler: handler)
            }
            handler(.finished(result))
        }
        return WorkTask(item: item, cancellation: cancellation)
    }

    private static func decode(
        _ request: LoaderRequest, limit: Int64, cancellation: Cancellation, handler: (LoaderEvent) -> Void
    ) throws(WebImageError) {
        let url = request.url
        let urlForErrors = DataURL.shortened(url)
        if let refusal = request.refusalToChange(urlForErrors) { throw refusal }
        let content = try DataURL(url, limit: limit)
        try cancellation.check()
        handler(
            .response(
                LoaderResponse(
                    url: url, headers: [HTTPHeader(name: "Content-Type", value: content.mediaType.description)],
                    expectedByteCount: Int64(content.body.count))))
        guard request.method == .get else { return }
        guard !content.body.isEmpty || request.acceptsAnyAnswer else {
            throw .invalidResponse(reason: .emptyBody, url: urlForErrors)
        }
        if !content.body.isEmpty { handler(.bytes(content.body)) }
    }
}

/// A load that consists of one work item.
final class WorkTask: LoaderTask {
    private let item: WorkItem
    private let cancellation: Cancellation

    init(item: WorkItem, cancellation: Cancellation) {
        self.item = item
        self.cancellation = cancellation
    }

    /// The work stays queued, ahead of other work, to report its end on the loader's thread as usual.
    func cancel() {
        cancellation.cancel()
        item.setPriority(.veryHigh)
    }

    func setPriority(_ priority: LoadPriority) {
        if !cancellation.isCancelled { item.setPriority(priority) }
    }
}
