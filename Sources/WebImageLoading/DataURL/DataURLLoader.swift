public import FoundationEssentials
public import WebImageCore

/// Loads `data:` URLs (RFC 2397), which carry their bytes in themselves, on a thread of its own.
///
/// It reads them as browsers do (WHATWG Fetch Standard, "data: URLs"): percent-encoded or base64, the latter with white
/// space and without padding if need be.
public final class DataURLLoader: ImageLoader {
    /// The most bytes a URL may decode to; more fail with ``WebImageError/responseTooLarge(byteCount:limit:url:)``.
    public let maximumByteCount: Int64

    private static let queue = WorkQueue(label: "webimage-data", threadCount: 1)

    /// Makes a loader.
    ///
    /// - Parameter maximumByteCount: as the downloader has it, 200 MiB.
    public init(maximumByteCount: Int64 = 200 << 20) { self.maximumByteCount = maximumByteCount }

    /// Whether the scheme is `data`.
    public func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "data" }

    /// `false`: who has the URL has the bytes.
    public func isCacheable(_ url: URL) -> Bool { false }

    /// Starts to decode; see ``ImageLoader/load(_:priority:handler:)``. The response has the URL's media type as its
    /// `Content-Type`.
    ///
    /// It reports ``WebImageError/invalidDataURL(_:)`` for one that is malformed, ``WebImageError/emptyBody(url:)``, and
    /// ``WebImageError/responseTooLarge(byteCount:limit:url:)``.
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
        let content = try DataURL(url)
        if let refusal = request.refusalToChange(content.urlForErrors) { throw refusal }
        let body = try content.body(limit: limit)
        try cancellation.check()
        handler(
            .response(
                LoaderResponse(
                    url: url, headers: [HTTPField(name: "Content-Type", value: content.mediaType)],
                    expectedByteCount: Int64(body.count))))
        guard request.method == .get else { return }
        guard !body.isEmpty || request.acceptsAnyAnswer else { throw .emptyBody(url: content.urlForErrors) }
        if !body.isEmpty { handler(.bytes(body)) }
    }
}
