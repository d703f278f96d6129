public import FoundationEssentials
public import WebImageCore

/// Values of one type by key, in memory and on disk: what was used last is at hand at once, and survives the process.
///
/// ```swift
/// struct Profile: Codable { var name: String }
/// let profiles = Cache<Profile>(name: "profiles")
/// try await profiles.set(profile, for: "ada")
/// let profile = await profiles.value(for: "ada")
/// ```
///
/// Memory answers first; what only the disk has is put into memory as well. Values go to the disk through a
/// ``CacheArchiver``; a `Codable` type needs none. Every method may be called from any thread. Those whose names begin
/// with `cached`, and `isCached(_:)`, block on the disk: they are for programs without `async`, and never for the main
/// thread. Several caches, also in several processes, may use one directory; each has a memory of its own, which
/// does not hear of the others' changes.
public final class Cache<Value: Sendable>: Sendable {
    /// A value and what is kept beside it.
    public struct Content: Sendable {
        /// The value.
        public let value: Value
        /// What the caller wanted kept with it.
        public let extendedData: Data?
    }

    /// An answer.
    public struct Item: Sendable {
        /// The value.
        public let value: Value
        /// What was stored with it.
        public let extendedData: Data?
        /// Where it was.
        public let tier: CacheTier
    }

    /// What it is called: the last part of its directory's path.
    public let name: String
    /// Values at hand.
    public let memory: MemoryCache<String, Content>
    /// Their bytes.
    public let disk: DiskCache
    /// Turns the one into the other.
    public let archiver: CacheArchiver<Value>

    /// A value's share of the memory's cost limit, given the value and its length on disk.
    let cost: @Sendable (Value, _ byteCount: Int) -> Int
    let onFailure: @Sendable (WebImageError) -> Void
    let changes = ChangeMonitor<KeyText>()

    /// Pairs the caches.
    ///
    /// - Parameters:
    ///   - memory: by default it takes 64 MiB, by `cost`.
    ///   - cost: what a value counts for in `memory`, given the value and the length of its bytes on disk; by default that
    ///     length, since it is known for every type.
    ///   - onFailure: told what could not be read back, once for each time, on a thread of the library or of the caller; by
    ///     default it is `disk`'s.
    public init(
        disk: DiskCache, archiver: CacheArchiver<Value>,
        memory: MemoryCache<String, Content> = MemoryCache(costLimit: Cache.defaultMemoryCost),
        cost: @escaping @Sendable (_ value: Value, _ byteCount: Int) -> Int = { _, byteCount in byteCount },
        onFailure: (@Sendable (WebImageError) -> Void)? = nil
    ) {
        self.name = disk.configuration.directory.lastPathComponent
        self.memory = memory
        self.disk = disk
        self.archiver = archiver
        self.cost = cost
        self.onFailure = onFailure ?? disk.configuration.onFailure
    }

    /// Makes a cache in `directory`, with the defaults for the rest.
    public convenience init(directory: URL, archiver: CacheArchiver<Value>) {
        self.init(disk: DiskCache(configuration: DiskCache.Configuration(directory: directory)), archiver: archiver)
    }

    /// Makes a cache in the user's cache directory: `$XDG_CACHE_HOME/<program>/<name>`.
    ///
    /// - Parameter name: becomes the name of a directory; characters that can't be in one are written as in a URL. Caches
    ///   of different types need different names; "images" is ``ImageCache/shared``'s.
    public convenience init(name: String, archiver: CacheArchiver<Value>) {
        let home = DiskCache.Configuration.defaultDirectory().deletingLastPathComponent()
        self.init(directory: home.appending(path: Self.fileName(for: name)), archiver: archiver)
    }

    /// 64 MiB.
    public static var defaultMemoryCost: Int { 64 << 20 }

    /// A path component of its own for each name, without a way out of the directory.
    static func fileName(for name: String) -> String {
        var text = ""
        for (index, scalar) in name.unicodeScalars.enumerated() {
            switch scalar {
            case "/": text += "%2F"
            case "%": text += "%25"
            case "\0": text += "%00"
            case "." where index == 0: text += "%2E"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text.isEmpty ? "%" : text
    }
}

extension Cache where Value: Codable {
    /// Makes a cache in the user's cache directory that keeps values as ``CacheArchiver/codable``.
    public convenience init(name: String) { self.init(name: name, archiver: .codable) }

    /// Makes a cache in `directory` that keeps values as ``CacheArchiver/codable``.
    public convenience init(directory: URL) { self.init(directory: directory, archiver: .codable) }
}

extension Cache where Value == Data {
    /// Makes a cache in the user's cache directory that keeps bytes as they are.
    public convenience init(name: String) { self.init(name: name, archiver: .identity) }

    /// Makes a cache in `directory` that keeps bytes as they are.
    public convenience init(directory: URL) { self.init(directory: directory, archiver: .identity) }
}
