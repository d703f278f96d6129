public import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

/// A cache for values of one type, in memory and on disk.
///
/// ```swift
/// struct Profile: Codable { var name: String }
/// let profiles = Cache<Profile>(name: "profiles")
/// try await profiles.set(Profile(name: "Ada"), for: "ada")
/// let profile = await profiles.value(for: "ada")
/// ```
///
/// Look-ups try memory first; a value found only on disk is put into memory as well. A ``CacheArchiver`` converts
/// values to data; `Codable` types need none.
///
/// Methods may be called from any thread. Those whose names begin with `blocking`, such as ``blockingValue(for:)``, block on the disk. They
/// are for programs without `async`, and must not be called on the main thread. Several caches, also in several processes, may
/// use one directory. Each has its own memory cache, which does not see changes of the others.
public final class Cache<Value: Sendable>: Sendable {
    /// A cached value with its extended data.
    public struct Item: Sendable {
        /// The value.
        public let value: Value
        /// Data that was stored with the value.
        public let extendedData: Data?
        /// The tier in which it was found; always memory in ``Cache/memory``.
        public let tier: CacheTier
    }

    /// The name of the cache: the last component of its directory's path.
    public let name: String
    /// The values in memory.
    public let memory: MemoryCache<String, Item>
    /// The archived values on disk.
    public let disk: DiskCache
    /// Converts values to data and back.
    let archiver: CacheArchiver<Value>

    /// Returns the cost of a value in memory, given the value and its length on disk.
    let cost: @Sendable (Value, _ byteCount: Int) -> Int
    let onFailure: @Sendable (WebImageError) -> Void
    let changes = ChangeMonitor<KeyText>()

    /// Creates a cache of a memory cache and a disk cache.
    ///
    /// - Parameters:
    ///   - memory: by default limited to 64 MiB by `cost`.
    ///   - cost: returns the cost of a value in `memory`, given the value and the length of its data; that length by
    ///     default.
    ///   - onFailure: called when stored data cannot be read, on a thread of the library or of the caller; `disk`'s
    ///     handler by default.
    public init(
        disk: DiskCache, archiver: CacheArchiver<Value>,
        memory: MemoryCache<String, Item> = MemoryCache(costLimit: 64 << 20),
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

    /// Creates a cache in `directory` with the default configuration. Its ``name`` is also that of ``memory`` and ``disk``, in their
    /// statistics.
    public convenience init(directory: URL, archiver: CacheArchiver<Value>) {
        var storage = DiskCache.Configuration(directory: directory)
        storage.name = directory.lastPathComponent
        var memory = MemoryCache<String, Item>.Configuration(costLimit: 64 << 20)
        memory.name = storage.name
        self.init(
            disk: DiskCache(configuration: storage), archiver: archiver, memory: MemoryCache(configuration: memory))
    }

    /// Creates a cache in the user's cache directory: `$XDG_CACHE_HOME/<program>/<name>`.
    ///
    /// - Parameter name: the name of the directory; characters that are not allowed in it are percent-encoded. Caches
    ///   of different types need different names; "images" is used by ``ImageCache/shared``.
    public convenience init(name: String, archiver: CacheArchiver<Value>) {
        let home = DiskCache.Configuration.defaultDirectory().deletingLastPathComponent()
        self.init(directory: home.appending(path: Self.fileName(for: name)), archiver: archiver)
    }

    /// Returns a distinct path component for each name, which cannot leave the directory.
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
    /// Creates a cache in the user's cache directory with ``CacheArchiver/codable``.
    public convenience init(name: String) { self.init(name: name, archiver: .codable) }

}

extension Cache where Value == Data {
    /// Creates a cache of data in the user's cache directory.
    public convenience init(name: String) { self.init(name: name, archiver: .identity) }

}

/// The tier in which a cached value was found.
public enum CacheTier: Sendable, Hashable {
    /// The memory cache, without access to the disk.
    case memory
    /// The disk cache.
    case disk
    /// A read-only file of the program, for images only; see ``ImageCache/Configuration/bundledPath``.
    case bundled
}

/// Converts the values of a ``Cache`` to data and back. The closures are called on any thread, also concurrently.
///
/// ```swift
/// let texts = CacheArchiver<String>(
///     archive: { Data($0.utf8) }, unarchive: { String(data: $0, encoding: .utf8) })
/// let cache = Cache(name: "texts", archiver: texts)
/// ```
public struct CacheArchiver<Value: Sendable>: Sendable {
    /// Converts a value to data. Its errors become ``WebImageError/DiskCacheFailure/archiving(key:message:)``.
    var archive: @Sendable (Value) throws -> Data
    /// Converts data to a value. If it throws or returns `nil`, the data is removed, and the look-up is a miss.
    var unarchive: @Sendable (Data) throws -> Value?

    /// Creates an archiver.
    public init(
        archive: @escaping @Sendable (Value) throws -> Data, unarchive: @escaping @Sendable (Data) throws -> Value?
    ) {
        self.archive = archive
        self.unarchive = unarchive
    }
}

extension CacheArchiver where Value == Data {
    /// Stores data unchanged.
    public static var identity: Self { Self(archive: { $0 }, unarchive: { $0 }) }
}

extension CacheArchiver where Value: Codable {
    /// Stores values as JSON. Also supports top-level numbers and strings, infinities, NaN, and `nil`.
    ///
    /// Binary property lists would be smaller for values with data. But their decoder crashes on some damaged files,
    /// they turn the text "$null" into `nil`, and they do not support a scalar at the top level.
    public static var codable: Self {
        Self(
            archive: { value in
                let encoder = JSONEncoder()
                encoder.nonConformingFloatEncodingStrategy = .convertToString(
                    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
                return try encoder.encode(value)
            },
            unarchive: { data in
                let decoder = JSONDecoder()
                decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
                return try decoder.decode(Value.self, from: data)
            })
    }
}

extension Cache {
    /// Returns the value; `nil` if there is none. A hit in memory needs no other thread.
    public func value(for key: String) async -> Value? { await item(for: key)?.value }

    /// Returns the value, its extended data, and its tier; `nil` if there is none.
    public func item(for key: String) async -> Item? {
        if let item = itemInMemory(for: key) { return item }
        let passage = changes.begin(KeyText(key))
        guard let stored = await disk.item(for: key) else {
            _ = changes.end(passage)
            return nil
        }
        return await DecodingQueue.run { self.promote(stored, passage) }
    }

    /// Whether there is a value. Does not count as a use.
    public func contains(_ key: String) async -> Bool {
        if memory.contains(key) { return true }
        return await disk.contains(key)
    }

    /// Like ``value(for:)``, but blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use value(for:)")
    public func blockingValue(for key: String) -> Value? { blockingItem(for: key)?.value }

    /// Like ``item(for:)``, but blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use item(for:)")
    func blockingItem(for key: String) -> Item? {
        if let item = itemInMemory(for: key) { return item }
        let passage = changes.begin(KeyText(key))
        guard let stored = disk.blockingItem(for: key) else {
            _ = changes.end(passage)
            return nil
        }
        return promote(stored, passage)
    }

    /// Like ``contains(_:)``, but blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use contains(_:)")
    public func blockingContains(_ key: String) -> Bool { memory.contains(key) || disk.blockingContains(key) }

    private func itemInMemory(for key: String) -> Item? {
        memory.value(for: key)
    }

    /// Puts a value from the disk into memory, and ends the passage.
    private func promote(_ stored: DiskCache.Item, _ passage: ChangeMonitor<KeyText>.Passage) -> Item? {
        let value: Value
        do {
            guard let unarchived = try archiver.unarchive(stored.data) else {
                remove(unreadable: "it holds no such value", passage)
                return nil
            }
            value = unarchived
        } catch {
            remove(unreadable: "\(error)", passage)
            return nil
        }
        let content = Item(value: value, extendedData: stored.entry.extendedData, tier: .memory)
        var isInserted = false
        if !changes.hasChanged(since: passage) {
            isInserted = memory.insert(
                content, for: passage.key.text, cost: cost(value, stored.data.count),
                expiration: stored.entry.expires.map(CacheExpiration.date))
        }
        if changes.end(passage), isInserted { memory.remove(for: passage.key.text) }
        return Item(value: value, extendedData: content.extendedData, tier: .disk)
    }

    /// Does not remove values stored meanwhile. If several look-ups found the same data, one reports it.
    private func remove(unreadable reason: String, _ passage: ChangeMonitor<KeyText>.Passage) {
        var passage = passage
        let key = passage.key.text
        let isRemoved = changes.changeDiskIfUnchanged(&passage) { disk.remove(for: key) }
        _ = changes.end(passage)
        guard isRemoved else { return }
        onFailure(
            .diskCache(path: disk.configuration.directory.path, reason: .unarchiving(key: key, message: reason)))
    }
}

extension Cache {
    /// Stores the value in memory and on disk; `nil` removes it. Returns when the value is archived. It is written
    /// later, but look-ups find it from now on.
    ///
    /// The archiver runs on the calling thread. If it throws, the key has no value afterwards.
    ///
    /// - Parameter attributes: the expiration, by default that of `disk`'s configuration, and extended data.
    /// - Throws: ``WebImageError/diskCache(path:reason:)`` with
    ///   ``WebImageError/DiskCacheFailure/archiving(key:message:)``.
    public func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) throws(WebImageError) {
        try set(value, for: key, attributes: attributes, completion: nil)
    }

    /// Like the method above, but the archiver runs on another thread. Returns when the value is on disk, or could not
    /// be written (which `disk` reports).
    ///
    /// - Throws: ``WebImageError/diskCache(path:reason:)`` with
    ///   ``WebImageError/DiskCacheFailure/archiving(key:message:)``.
    public func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) async throws(WebImageError) {
        let result: Result<Void, WebImageError> = await withCheckedContinuation { continuation in
            DecodingQueue.shared.submit {
                do throws(WebImageError) {
                    try self.set(value, for: key, attributes: attributes) {
                        continuation.resume(returning: .success(()))
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        try result.get()
    }

    /// Removes the value. Returns immediately; look-ups find nothing from now on.
    public func remove(for key: String) { remove(for: key, completion: nil) }

    /// Removes the value. Returns when it is removed from the disk, or could not be.
    public func remove(for key: String) async {
        await withCheckedContinuation { continuation in remove(for: key) { continuation.resume() } }
    }

    /// Removes everything. Calls `progress` on a thread of the library with the number of entries removed from the disk
    /// and the total.
    public func removeAll(progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)? = nil) async {
        forgetAll()
        await disk.removeAll(progress: progress)
        // Again, for values that look-ups had read before the disk was empty.
        forgetAll()
    }

    /// Like ``removeAll(progress:)``, but blocks on the disk. Never returns if called by `progress` or by a completion of ``disk``.
    @available(*, noasync, message: "It blocks on the disk; use removeAll(progress:)")
    public func blockingRemoveAll(progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)? = nil) {
        forgetAll()
        disk.blockingRemoveAll(progress: progress)
        forgetAll()
    }

    /// Removes expired entries, and then the least recently used ones until memory and disk have at most `count` each,
    /// the values on disk have at most `size` bytes, and all were used within `age`. By default, nothing is limited.
    ///
    /// `size` does not limit memory; for that, use `memory.trim(toCost:)`.
    public func trim(toSize size: Int64 = .max, toCount count: Int = .max, toAge age: Duration? = nil) async {
        memory.trim(toCount: count, toAge: age)
        await disk.trim(toSize: size, toCount: count, toAge: age)
    }

    /// Like ``trim(toSize:toCount:toAge:)``, but blocks on the disk. Never returns if called by a completion of ``disk``.
    @available(*, noasync, message: "It blocks on the disk; use trim(toSize:toCount:toAge:)")
    public func blockingTrim(toSize size: Int64 = .max, toCount count: Int = .max, toAge age: Duration? = nil) {
        memory.trim(toCount: count, toAge: age)
        disk.blockingTrim(toSize: size, toCount: count, toAge: age)
    }

    /// Removes expired entries. Look-ups never return them.
    public func removeExpired() async {
        memory.removeExpired()
        await disk.removeExpired()
    }

    // MARK: Both forms

    /// `completion` is called when both memory and disk are updated, unless this method throws.
    private func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes, completion: (@Sendable () -> Void)?
    ) throws(WebImageError) {
        guard let value else { return remove(for: key, completion: completion) }
        let data: Data
        do {
            data = try archiver.archive(value)
        } catch {
            remove(for: key, completion: nil)
            throw .diskCache(path: disk.configuration.directory.path, reason: .archiving(key: key, message: "\(error)"))
        }
        let content = Item(value: value, extendedData: attributes.extendedData, tier: .memory)
        let cost = cost(value, data.count)
        var passage = changes.begin(KeyText(key))
        changes.change(&passage) { disk.store(data, for: key, attributes: attributes) }
        memory.set(
            content, for: key, cost: cost,
            expiration: attributes.expiration ?? disk.configuration.expiration.unlessNever)
        // Two concurrent stores may have reached the disk in one order and memory in the other.
        if changes.end(passage) { memory.remove(for: key) }
        if let completion { disk.submitCompletion(completion) }
    }

    private func remove(for key: String, completion: (@Sendable () -> Void)?) {
        var passage = changes.begin(KeyText(key))
        changes.change(&passage) { disk.remove(for: key) }
        memory.remove(for: key)
        _ = changes.end(passage)
        if let completion { disk.submitCompletion(completion) }
    }

    private func forgetAll() {
        changes.changeAll()
        memory.removeAll()
    }
}
