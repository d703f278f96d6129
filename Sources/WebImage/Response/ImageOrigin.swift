/// Where a picture came from.
public enum ImageOrigin: String, Sendable, Hashable, Codable, CaseIterable {
    /// From nowhere: there is no picture.
    case none
    /// From memory, within the call that asked for it.
    case memoryCacheFast
    /// From memory.
    case memoryCache
    /// From the disk cache, decoded just now.
    case diskCache
    /// From the loader: a server, a file, or a custom source.
    case remote
}
