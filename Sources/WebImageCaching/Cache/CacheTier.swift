/// Which part of a cache an answer came from.
public enum CacheTier: String, Sendable, Hashable, Codable {
    /// The memory cache: no disk was touched.
    case memory
    /// The disk cache.
    case disk
    /// A read-only file that came with the program; see ``BundledImages``. Caches of images alone have such.
    case bundled
}
