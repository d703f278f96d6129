/// Where an image came from.
public enum ImageOrigin: Sendable, Hashable {
    /// There is no image.
    case none
    /// From memory, within the call that requested it.
    case memoryCacheFast
    /// From memory.
    case memoryCache
    /// From the disk cache, newly decoded.
    case diskCache
    /// From a loader: a server, a file, or a custom source.
    case remote
}
