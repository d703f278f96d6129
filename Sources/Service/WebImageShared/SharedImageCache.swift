public import FoundationEssentials
public import WebImageCaching
public import WebImageCore
internal import WebImageLoading

/// A cache in an S3 store for a fleet of servers. Each image is loaded from its origin by one machine, for all.
///
/// ```swift
/// let shared = SharedImageCache(
///     SharedImageCache.Configuration(location: try S3Location("s3://images/cache?endpoint=https://store.internal")))
/// var configuration = WebImageManager.Configuration()
/// configuration.share(shared)
/// let manager = WebImageManager(configuration: configuration)
/// ```
///
///     memory ─► disk ─► shared ─► origin
///                         │         │
///                         └◄ write ◄┘   behind the load
///
/// Originals are stored with their HTTP metadata, by RFC 9111's rules for shared caches under every policy: `s-maxage`,
/// `private`, `no-store`, `Vary`, revalidation. Requests with credentials, cookies or any header field that is not known to be
/// harmless, redirected responses, responses that set cookies, and bodies that do not decode are not shared. As an ``WebImage/ImageCaching``, it also stores a program's own bytes, such as processed
/// images.
///
/// The store never fails a load. Look-ups have a ``Budget``, and writes wait in a queue of limited length. After failures in a
/// row, a circuit breaker stops requests for a while. Damaged objects, and those of other programs or versions, are misses.
public final class SharedImageCache: Sendable {
    /// The time limits of a look-up. A store that exceeds them counts as a miss.
    ///
    /// ```swift
    /// var configuration = SharedImageCache.Configuration(location: try S3Location("s3://images/cache"))
    /// configuration.budget.firstByte = .milliseconds(500)
    /// let cache = SharedImageCache(configuration)
    /// ```
    public struct Budget: Sendable, Hashable {
        /// The time to connect; 100 ms by default.
        public var connect: Duration = .milliseconds(100)
        /// The time without any byte; 200 ms by default.
        public var firstByte: Duration = .milliseconds(200)
        /// The minimum transfer rate in bytes per second; 5 MiB by default.
        public var bytesPerSecond = 5 << 20

        /// Creates the default budget.
        public init() {}
    }

    /// The configuration of a shared cache.
    public struct Configuration: Sendable {
        /// The place in the store.
        public var location: S3Location
        /// The account's keys; by default those of the environment. `nil` sends requests without a signature.
        public var credential: S3Credential?
        /// The secret that proves that an object is from one of the fleet's machines; by default that of the environment.
        /// `nil` trusts every program that can write to the bucket.
        ///
        /// With a secret, objects without it, or with another one, are misses and are replaced.
        public var secret: SharedSecret? = .environment
        /// The time limits of a look-up.
        public var budget = Budget()
        /// The longest body to store and read, in bytes; 32 MiB by default.
        public var objectByteLimit = 32 << 20
        /// The limit on bytes that wait to be written; 64 MiB by default. The oldest writes are dropped first.
        public var pendingByteLimit = 64 << 20
        /// A PEM file with the authorities that sign the store's certificate; by default the file that `AWS_CA_BUNDLE` names,
        /// or the system's.
        public var authoritiesPath = ProcessInfo.processInfo.environment["AWS_CA_BUNDLE"]
        /// Whether one machine loads an image while others wait for it; `true` by default. It needs a store with conditional
        /// writes.
        public var usesLeases = true

        /// Creates a configuration.
        public init(location: S3Location, credential: S3Credential? = .environment) {
            (self.location, self.credential) = (location, credential)
        }
    }

    /// Totals since the cache was created, and its current state.
    public struct Counters: Sendable, Hashable {
        /// Look-ups that found a response, and those that found none.
        public var hits = 0, misses = 0
        /// Look-ups and writes that failed, or took too long.
        public var failures = 0
        /// Objects that were damaged, or of another program or version.
        public var invalidObjects = 0
        /// Objects written, and writes that were dropped.
        public var writes = 0, droppedWrites = 0
        /// Loads that waited for another machine and got its result, and those that waited too long and contacted the
        /// server.
        public var sharedLoads = 0, abandonedWaits = 0
        /// How often the circuit breaker stopped requests to the store.
        public var interruptions = 0
        /// Whether requests are stopped now.
        public var isInterrupted = false
    }

    /// The configuration.
    public let configuration: Configuration
    let store: SharedStore

    /// Creates a cache. It sends no request before the first look-up.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        store = SharedStore(configuration)
    }

    /// The counters.
    public var counters: Counters { store.counters }

    /// Waits until all writes have ended. Those that the circuit breaker holds back are dropped.
    public func flush() async { await store.flush() }
}

/// The values that a program stores, such as variants. Loads store responses separately, with their HTTP metadata.
extension SharedImageCache: ImageCaching {
    /// Returns the bytes that were stored for the key. The cache has no memory tier.
    public func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        guard tiers.contains(.disk), case .found(let object, _) = await store.read(Self.name(of: key)),
            object.kind == .value, !object.isExpired(at: Date())
        else { return nil }
        return Self.result(of: object)
    }

    static func result(of object: SharedObject) -> ImageCacheResult {
        let expiration: CacheExpiration? = object.texts.expires.map { .date(Date(timeIntervalSince1970: $0)) }
        return ImageCacheResult(
            data: object.content, tier: .disk,
            attributes: DiskCache.Attributes(
                expiration: expiration, extendedData: object.texts.extendedData, responseMetadata: object.texts.record))
    }

    /// Stores the bytes after the call. An image without bytes is not stored.
    public func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        guard tiers.contains(.disk), let data = data ?? image?.data, data.count <= configuration.objectByteLimit else {
            return
        }
        let name = Self.name(of: key)
        var object = SharedObject(.value, name: name, record: attributes.responseMetadata, content: data)
        object.texts.extendedData = attributes.extendedData
        switch attributes.expiration {
        case .after(let duration): object.texts.expires = Date().timeIntervalSince1970 + duration / .seconds(1)
        case .date(let date): object.texts.expires = date.timeIntervalSince1970
        case .never, nil: break
        }
        store.write(object)
    }

    /// Removes the bytes that were stored for the key.
    public func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        if tiers.contains(.disk) { await store.remove(Self.name(of: key)) }
    }

    /// Does nothing, because other machines use the store. A lifecycle rule of the bucket removes old objects.
    public func clear(_ tiers: ImageCache.Tiers) async {}

    static func name(of key: ImageCacheKey) -> String { "value:" + key.description }
}
