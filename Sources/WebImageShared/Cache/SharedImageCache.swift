public import FoundationEssentials
public import WebImageCaching
public import WebImageCore
internal import WebImageLoading

/// A cache in an S3 store, which a fleet of servers shares: what one machine has loaded, the others need not load.
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
/// `private`, `no-store`, `Vary`, revalidation. Requests with credentials or cookies neither use nor fill it, and neither do
/// redirected responses and those that set cookies. As an ``WebImage/ImageCaching`` it also stores what a program gives
/// it, such as processed images.
///
/// It never makes a load worse: look-ups have a ``Budget``, writes are dropped first, and a store that fails is left alone for
/// a while. Anything damaged, foreign or of another version is a miss.
public final class SharedImageCache: Sendable {
    /// What a look-up may cost; a slower store counts as a miss.
    public struct Budget: Sendable, Hashable {
        /// The time to connect; 100 ms by default.
        public var connect: Duration = .milliseconds(100)
        /// The time without any byte; 200 ms by default.
        public var firstByte: Duration = .milliseconds(200)
        /// The least bytes a second; 5 MiB by default.
        public var bytesPerSecond = 5 << 20

        /// Creates the default budget.
        public init() {}
    }

    /// The configuration of a shared cache.
    public struct Configuration: Sendable {
        /// Where it is.
        public var location: S3Location
        /// The account's keys; by default those of the environment. `nil` sends requests without a signature.
        public var credential: S3Credential?
        /// What a look-up may cost.
        public var budget = Budget()
        /// The longest body that is stored and read, in bytes; 32 MiB by default.
        public var objectByteLimit = 32 << 20
        /// The most bytes that wait to be written; 64 MiB by default. The oldest are dropped.
        public var pendingByteLimit = 64 << 20
        /// A PEM file with the authorities that the store's certificate is checked against; by default that of
        /// `AWS_CA_BUNDLE`, else the system's.
        public var authoritiesPath = ProcessInfo.processInfo.environment["AWS_CA_BUNDLE"]
        /// Whether one machine loads what others wait for, where the store has conditional writes; `true` by default.
        public var usesLeases = true

        /// Creates a configuration.
        public init(location: S3Location, credential: S3Credential? = .environment) {
            (self.location, self.credential) = (location, credential)
        }
    }

    /// Totals since the cache was created, and the present state.
    public struct Counters: Sendable, Hashable {
        /// Look-ups that found a response, and those that found none.
        public var hits = 0, misses = 0
        /// Look-ups and writes that failed, or took too long.
        public var failures = 0
        /// Objects that were damaged, foreign or of another version.
        public var invalidObjects = 0
        /// Objects written, and writes that were dropped.
        public var writes = 0, droppedWrites = 0
        /// Loads that waited for another machine, and got its result.
        public var sharedLoads = 0
        /// How often the store was left alone.
        public var interruptions = 0
        /// Whether it is left alone now.
        public var isInterrupted = false
    }

    /// The configuration.
    public let configuration: Configuration
    let store: SharedStore

    /// Creates a cache; nothing is sent before the first look-up.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        store = SharedStore(configuration)
    }

    /// The counters.
    public var counters: Counters { store.counters }

    /// Returns when all writes so far have ended or were dropped.
    public func flush() async { await store.flush() }
}

/// What a program stores: variants, or originals of its own. Not responses, which loads store with their HTTP metadata.
extension SharedImageCache: ImageCaching {
    /// Returns what was stored for the key; it has no memory of its own.
    public func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        guard tiers.contains(.disk), case .found(let object, _) = await store.read(Self.name(of: key)),
            object.kind == .value, !object.isExpired(at: Date())
        else { return nil }
        let expiration: CacheExpiration? = object.texts.expires.map { .date(Date(timeIntervalSince1970: $0)) }
        return ImageCacheResult(
            data: object.content, tier: .disk,
            attributes: DiskCache.Attributes(
                expiration: expiration, extendedData: object.texts.extendedData, responseMetadata: object.texts.record))
    }

    /// Stores the bytes behind the call. An image without bytes is not stored.
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
        case .seconds(let seconds): object.texts.expires = Date().timeIntervalSince1970 + seconds
        case .date(let date): object.texts.expires = date.timeIntervalSince1970
        case .never, nil: break
        }
        store.write(object)
    }

    /// Removes what was stored for the key.
    public func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        if tiers.contains(.disk) { await store.remove(Self.name(of: key)) }
    }

    /// Does nothing: other machines use it. A lifecycle rule of the bucket empties it.
    public func clear(_ tiers: ImageCache.Tiers) async {}

    static func name(of key: ImageCacheKey) -> String { "value:" + key.description }
}
