public import WebImageCaching

/// Which tiers of a cache a request looks in, and which it fills.
public struct CacheAccess: Sendable, Hashable {
    /// Where it looks.
    public var query: ImageCache.Tiers
    /// Where it stores.
    public var store: ImageCache.Tiers

    /// Looks in `query` and stores in `store`.
    public init(query: ImageCache.Tiers, store: ImageCache.Tiers) {
        self.query = query
        self.store = store
    }

    /// Both are `tiers`.
    public init(_ tiers: ImageCache.Tiers) { self.init(query: tiers, store: tiers) }

    /// Memory.
    public static let memory = CacheAccess(.memory)
    /// Disk.
    public static let disk = CacheAccess(.disk)
    /// Memory and disk.
    public static let all = CacheAccess(.all)
    /// Nowhere.
    public static let none = CacheAccess([])
}
