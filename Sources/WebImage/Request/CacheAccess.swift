public import WebImageCaching

/// The cache tiers that a request reads and writes.
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
