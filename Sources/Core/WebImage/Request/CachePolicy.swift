public import WebImageCaching

/// Which of memory, disk and server may answer a request.
///
/// ```swift
/// let image = try await manager.image(for: WebImageRequest(url, cachePolicy: .http))
/// ```
///
/// | | memory | disk | server |
/// |---|---|---|---|
/// | ``cacheFirst`` | any age | any age | if nothing is cached |
/// | ``http`` | while fresh | while fresh | if nothing fresh is cached; revalidates stale responses |
/// | ``refresh`` | as a preview | as a preview | always; revalidates cached responses |
/// | ``reload`` | no | no | always |
/// | ``cacheOnly`` | any age | any age | never |
/// | ``offline`` | unless forbidden | unless forbidden | never |
///
/// No policy uses a stored response to a request with other values in the fields that its `Vary` names. Responses are
/// stored for requests with any policy, unless the server forbids it (`no-store`). Those are stored in memory only, and
/// only under ``cacheFirst``.
///
/// Loaders without HTTP report no lifetimes or validators. Under ``http`` and ``refresh``, their bytes are loaded each
/// time. Under ``offline``, files on this machine's disk are available.
public enum CachePolicy: Sendable, Hashable, CaseIterable {
    /// Uses the cached copy regardless of age: memory, then disk, then the loader. The default, as in every image
    /// library, because an image's URL is expected to change with its content.
    case cacheFirst
    /// Follows the rules of HTTP for a private cache (RFC 9111, RFC 5861). Fresh responses are served from the cache.
    /// Stale ones are revalidated, which costs a round trip but no transfer if they are still current.
    ///
    /// With `stale-while-revalidate` the stored image is a preview meanwhile. With `stale-if-error` it is the result if
    /// the server fails. Cacheable errors, such as 404 with `max-age`, are served while fresh.
    case http
    /// Shows the stored image as a preview and revalidates it. The result is the same image
    /// (``WebImageResponse/isUnchanged``) or a new one. Without a response from the server the load fails, unless
    /// `stale-if-error` allows the stored image as the result. Fresh `immutable` responses are not revalidated.
    case refresh
    /// Loads from the server and bypasses every cache, also those between here and the server. The response replaces
    /// the stored one.
    case reload
    /// Uses memory and disk only, regardless of age. A miss fails with ``WebImageError/notInCache(key:)``.
    case cacheOnly
    /// Like ``http`` without a server. Stored responses are used however stale, unless the server forbids exactly that
    /// (`must-revalidate`, `no-cache`). Then, or if nothing is stored, the load fails with
    /// ``WebImageError/notInCache(key:)``.
    case offline
}

/// The cache tiers that a request reads and writes.
///
/// ```swift
/// var request = WebImageRequest(url)
/// request.originalCacheAccess = .none  // nothing on disk
/// request.cacheAccess = CacheAccess(query: .all, store: .memory)
/// ```
public struct CacheAccess: Sendable, Hashable {
    /// The tiers to read.
    public var query: ImageCache.Tiers
    /// The tiers to write.
    public var store: ImageCache.Tiers

    /// Creates an access that reads `query` and writes `store`.
    public init(query: ImageCache.Tiers, store: ImageCache.Tiers) {
        self.query = query
        self.store = store
    }

    private init(_ tiers: ImageCache.Tiers) { self.init(query: tiers, store: tiers) }

    /// Memory only.
    public static let memory = CacheAccess(.memory)
    /// Disk only.
    public static let disk = CacheAccess(.disk)
    /// Memory and disk.
    public static let all = CacheAccess(.all)
    /// Neither memory nor disk.
    public static let none = CacheAccess([])
}
