public import FoundationEssentials
public import WebImageCaching
public import WebImageLoading

/// The response that an entry's bytes in a disk cache came with: its head, and HTTP's rules for its reuse.
///
/// ```swift
/// let key = manager.cacheKey(for: WebImageRequest(url)).original
/// if let entry = await cache.disk?.entry(for: key.description), let response = entry.response {
///     print(response.isFresh() ? "fresh until \(response.freshUntil)" : "revalidated before its next use")
/// }
/// ```
public struct CachedResponse: Sendable, Equatable {
    /// The property of a response that tells how long it is fresh (RFC 9111, 4.2.1).
    public enum LifetimeSource: Sendable, CaseIterable {
        /// The directive `max-age`.
        case maxAge
        /// The field `Expires`.
        case expires
        /// A tenth of the time since its last change, because the server declares no lifetime.
        case heuristic
        /// A redirect to it, which has a shorter lifetime than the response.
        case redirect
        /// Nothing: it is stale from the beginning.
        case none
    }

    private let stored: StoredResponse

    /// Its status, such as 200.
    public var statusCode: Int { stored.statusCode }
    /// Its fields, without those of the connection.
    public var headers: [HTTPHeader] { stored.headers }
    /// The URL after redirects; `nil` without redirects.
    public var finalURL: String? { stored.finalURL }
    /// The validator `ETag`, as the server has sent it; `nil` without one.
    public var entityTag: String? { stored.entityTag?.description }
    /// The validator `Last-Modified`; `nil` without one.
    public var lastModified: Date? { stored.lastModified }
    /// The names of request fields on which it depends, in lower case; `*` stands for anything.
    public var varyingFieldNames: [String] { stored.varyNames }
    /// Whether HTTP allows its reuse. Other responses are stored for cache policies that ignore the rules of HTTP.
    public var isReusable: Bool { stored.isReusable }
    /// Whether it may have changed on the server, so that it is revalidated before its next use, fresh or not.
    public var isInvalidated: Bool { stored.isInvalidated }

    /// The property of the response that tells how long it is fresh.
    public var lifetimeSource: LifetimeSource {
        switch freshness(at: stored.responseTime).source {
        case .maxAge: .maxAge
        case .expires: .expires
        case .heuristic: .heuristic
        case .redirect: .redirect
        case .none: .none
        }
    }

    /// When it becomes stale, or became so.
    public var freshUntil: Date { stored.responseTime - freshness(at: stored.responseTime).staleness }

    /// Returns whether it is fresh; not if the clock is now before the time of the response.
    public func isFresh(at date: Date = Date()) -> Bool { freshness(at: date).isFresh }

    private func freshness(at date: Date) -> Freshness { Freshness(of: stored, now: date) }

    /// `nil` for data that are not those of a response.
    fileprivate init?(metadata: Data) {
        guard let stored = ResponseMetadata(encoded: metadata)?.response else { return nil }
        self.stored = stored
    }
}

extension DiskCache.Entry {
    /// The response that the bytes came with; `nil` for bytes without one, and always in pages of ``DiskCache/entries(after:limit:)``.
    public var response: CachedResponse? { responseMetadata.flatMap { CachedResponse(metadata: $0) } }
}
