/// Where an image came from.
///
/// ```swift
/// let response = try await manager.response(for: WebImageRequest(url))
/// if response.origin == .remote { print("loaded from the server") }
/// ```
public enum ImageOrigin: Sendable, Hashable {
    /// From memory, within the call that requested it.
    case memoryCacheFast
    /// From memory.
    case memoryCache
    /// From the disk cache, newly decoded.
    case diskCache
    /// From a loader: a server, a file, or a custom source.
    case remote
}
