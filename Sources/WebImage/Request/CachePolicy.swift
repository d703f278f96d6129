/// Which of cache and network may answer a request.
public enum CachePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// What is stored is good: memory, then disk, then the loader. The default, as in every image library: a picture's
    /// URL is expected to change with its content.
    case cacheFirst
    /// Straight to the loader; the answer replaces what is stored.
    case reload
    /// Memory and disk only; a miss is ``WebImageError/notInCache(key:)``.
    case cacheOnly
}
