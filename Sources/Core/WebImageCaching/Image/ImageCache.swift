internal import Dispatch
public import FoundationEssentials
public import WebImageCoding
public import WebImageCore
public import WebImageIsolation

/// Decoded images in memory, and their bytes on disk.
///
/// ```
///  image(for:) ──► memory ──► disk ──► read-only files ──► decode ──► memory, if the query names it
///  store(…)    ──► memory ──► disk: the original bytes, else the encoded image
/// ```
///
/// Originals and variants have different keys, in memory and on disk (``ImageCacheKey/description``). A variant is
/// stored on disk only on request, because it can be made from its original. Every call specifies its ``Tiers``, and
/// results say which tier they are from. Bytes that cannot be decoded are removed from disk, reported once, and count
/// as missing.
///
/// Methods may be called from any thread. `async` ones read and decode on threads of the library; those whose names
/// begin with `blocking` read and decode on the calling thread.
///
/// ```swift
/// let key = ImageCacheKey(source: "drawing/1")
/// await cache.store(image, for: key)
/// print(await cache.image(for: key)?.tier as Any)
/// ```
public final class ImageCache: ImageCaching {
    /// Decoded images; the cost of an entry is its bytes.
    public let memory: MemoryCache<ImageCacheKey, Image>
    /// The original bytes; `nil` if nothing is stored on disk.
    public let disk: DiskCache?
    /// Variants as pixels on disk; `nil` without ``disk``, or if the limit is 0.
    let pixels: PixelCache?
    /// The configuration, which is constant.
    let configuration: Configuration

    private let onFailure: @Sendable (WebImageError) -> Void
    let changes = ChangeMonitor<ImageCacheKey>()
    /// The origin of the images in memory, by ``ImageCacheKey/source``.
    let provenances = ProvenanceTable()
    /// Concurrent queries of the same image.
    let queries = JobTable<Query, ImageCacheResult?, NoNews>()
    /// Bytes that queries have read but not decoded yet.
    let undecoded = ByteBudget(byteLimit: 64 << 20)
    /// Images to encode and bytes to decode, in calls that return immediately.
    let backlog: ByteBudget
    /// The work of calls of `store` on decoding threads.
    let encodings = DispatchGroup()
    /// Read-only files that could not be decoded; each is reported once.
    let damagedFiles = Lock<Set<String>>([])

    /// The cache in ``DiskCache/Configuration``'s default directory, with the memory limits of
    /// ``MemoryCache/Configuration/images``.
    public static let shared = ImageCache()

    /// Combines a memory cache and a disk cache.
    public convenience init(
        memory: MemoryCache<ImageCacheKey, Image> = MemoryCache(configuration: .images), disk: DiskCache? = DiskCache(),
        configuration: Configuration = Configuration()
    ) {
        self.init(memory: memory, disk: disk, configuration: configuration, backlogByteLimit: 64 << 20)
    }

    init(
        memory: MemoryCache<ImageCacheKey, Image>, disk: DiskCache?, configuration: Configuration,
        backlogByteLimit: Int
    ) {
        self.memory = memory
        self.disk = disk
        self.configuration = configuration
        backlog = ByteBudget(byteLimit: backlogByteLimit)
        pixels = disk.flatMap {
            PixelCache(
                originals: $0, byteLimit: configuration.pixelByteLimit, ageLimit: configuration.pixelAgeLimit)
        }
        onFailure =
            configuration.onFailure ?? disk?.configuration.onFailure ?? DiskCache.Configuration().onFailure
    }

    /// The configuration of an image cache. Memory and disk have their own configurations.
    ///
    /// ```swift
    /// var configuration = ImageCache.Configuration()
    /// configuration.pixelByteLimit = 200 << 20
    /// let cache = ImageCache(memory: MemoryCache(costLimit: 100 << 20), disk: DiskCache(), configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// Decodes bytes from disk, and encodes images without bytes.
        var codecs: CodecRegistry
        /// The limits for decoding.
        var decodingLimits: DecodingLimits
        /// Whether queries decode; `false` overrides the argument of a query.
        public var decodesForDisplay = true
        /// Whether queries may return animations, and memory holds them; `false` overrides
        /// the argument of a query.
        public var allowsAnimated = true
        /// Read-only files that are searched, in order, for images that are not on disk.
        var bundled: [BundledImages] = []
        /// Returns the path of a read-only file for images that are not on disk, such as those that a program contains;
        /// `nil`, the default, or a file that does not exist, is a miss. It is called on a thread of the library or of
        /// a blocking caller. The files are never written, moved or counted.
        public var bundledPath: (@Sendable (_ key: ImageCacheKey) -> String?)? {
            get { bundled.first?.path }
            set { bundled = newValue.map { [BundledImages(path: $0)] } ?? [] }
        }
        /// Returns the bytes to store on disk for an image, its original bytes (if any) and its key; `nil` stores
        /// those bytes, or else the encoded image. Runs on a decoding thread, only for images; bytes stored without an
        /// image are never changed. `nil` by default.
        public var serializer: (@Sendable (_ image: Image, _ data: Data?, _ key: ImageCacheKey) -> Data?)?
        /// The quality of lossy formats for images without bytes, 0 to 1. The default of 0.9 is high because the image
        /// may be encoded again later.
        public var encodingQuality = 0.9
        /// The maximum size, in bytes, of thumbnails and processed images that are stored as pixels in the directory
        /// `pixels` of the disk cache's; 0 for none. The least recently used are removed first.
        ///
        /// A manager stores the thumbnails of views when they are first made, and other images when they are made
        /// again (``WebImageRequest/keepsPixels``), and reads them without decoding. They are valid as long as the
        /// original's bytes are stored unchanged. `nil`, the default, is the disk cache's limit, at most 1 GiB.
        /// ``ImageCache/pixelByteLimit`` changes it later.
        public var pixelByteLimit: Int64?
        /// How long after its last use such an image is kept; `nil`, the default, is the disk cache's limit.
        public var pixelAgeLimit: Duration?
        /// The name of the cache, which the counters of managers repeat, and the traces of loads for a tier without a name of its own. `nil`
        /// by default.
        public var name: String?
        /// Called with the errors of bytes that could not be decoded and images that could not be encoded, on a thread
        /// of the library or of the caller; the disk cache's handler by default.
        var onFailure: (@Sendable (WebImageError) -> Void)?

        /// Creates the default configuration.
        public init(codecs: CodecRegistry = .shared, decodingLimits: DecodingLimits = .default) {
            self.codecs = codecs
            self.decodingLimits = decodingLimits
        }
    }

    /// The maximum size, in bytes, of the images that are stored as pixels; `nil` for none. A lower limit takes effect soon, on a thread of the
    /// library. Has no effect on a cache that began without pixels.
    ///
    /// ``Configuration/pixelByteLimit`` is the limit at the beginning.
    public var pixelByteLimit: Int64? {
        get { pixels?.sizeLimit }
        set { pixels?.sizeLimit = newValue }
    }

    /// The name of the cache (``Configuration/name``).
    public var name: String? { configuration.name }

    /// The tiers of a cache that a call is about.
    ///
    /// ```swift
    /// await ImageCache.shared.remove(for: WebImageRequest(url), from: .memory)
    /// await ImageCache.shared.clear(.disk)
    /// ```
    public struct Tiers: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Decoded images.
        public static let memory = Tiers(rawValue: 1)
        /// Bytes on disk, and read-only files (``Configuration/bundledPath``).
        public static let disk = Tiers(rawValue: 2)
        /// Both, memory first.
        public static let all: Tiers = [.memory, .disk]

        /// The default tiers of an image: all for an original, memory for a variant.
        static func standard(for key: ImageCacheKey) -> Tiers { key.variant == nil ? .all : .memory }
    }

    func report(_ error: WebImageError) { onFailure(error) }
}

// MARK: Memory

extension ImageCache {
    /// Returns the image if it is in memory, without I/O.
    public func image(inMemoryFor key: ImageCacheKey) -> Image? {
        image(inMemoryFor: key, allowsAnimated: configuration.allowsAnimated)
    }

    /// Returns the image if it is in memory; `allowsAnimated: false` returns the first frame of an animation.
    ///
    /// - Parameters:
    ///   - counting: what the statistics count, once for all keys.
    ///   - isUsable: whether an image can be returned; otherwise it counts as missing.
    func image(
        inMemoryFor key: ImageCacheKey, allowsAnimated: Bool, counting: LookUpCount = .all,
        where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        if allowsAnimated { return currentImage(for: key, counting: counting, where: isUsable) }
        return currentImage(for: key, counting: LookUpCount(hits: counting.hits, misses: false), where: isUsable)?
            .firstFrame
            ?? currentImage(for: key.firstFrame, counting: counting, where: isUsable)
    }

    /// Returns the image in memory unless newer bytes have arrived since. A superseded image is removed, so that it
    /// does not prevent a newer one from being stored.
    func currentImage(
        for key: ImageCacheKey, counting: LookUpCount = .all, where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        memory.value(
            for: key, countsHit: counting.hits, countsMiss: counting.misses
        ) { image in
            guard image.isSuperseded else { return isUsable(image) }
            memory.remove(for: key)
            return false
        }
    }

    /// Returns whether memory has the image. This does not count as a use.
    public func isInMemory(_ key: ImageCacheKey) -> Bool {
        hasCurrentImage(for: key) || !configuration.allowsAnimated && hasCurrentImage(for: key.firstFrame)
    }

    private func hasCurrentImage(for key: ImageCacheKey) -> Bool {
        memory.peek(key).map { !$0.isSuperseded } ?? false
    }

    /// Watches a key for changes.
    func watch(_ key: ImageCacheKey) -> Watch { Watch(key, changes) }

    /// See ``PipelineCache/insert(_:for:expiration:isStored:unlessChangedSince:)``.
    func insert(
        _ image: Image, for key: ImageCacheKey, expiration: CacheExpiration?, isStored: Bool,
        unlessChangedSince watches: [Watch]
    ) {
        guard !watches.contains(where: \.hasChanged) else { return }
        let (image, key) = kept(image, for: key)
        let expiration = expiration ?? (isStored ? nil : disk?.configuration.expiration.unlessNever)
        let isInserted = memory.insert(image, for: key, cost: image.memoryCost, expiration: expiration)
        if isInserted, watches.contains(where: \.hasChanged) { memory.remove(for: key) }
    }

    /// Puts an image into memory, or removes the one there.
    func keep(_ image: Image?, for key: ImageCacheKey, _ attributes: DiskCache.Attributes) {
        memory.remove(for: key.firstFrame)
        guard let image else {
            memory.remove(for: key)
            return
        }
        let expiration = attributes.expiration ?? disk?.configuration.expiration.unlessNever
        let (kept, keptKey) = kept(image, for: key)
        if keptKey != key { memory.remove(for: key) }
        memory.set(kept, for: keptKey, cost: kept.memoryCost, expiration: expiration)
    }

    /// Returns the form of an image that memory holds, and its key.
    func kept(_ image: Image, for key: ImageCacheKey) -> (Image, ImageCacheKey) {
        image.isAnimated && !configuration.allowsAnimated ? (image.firstFrame, key.firstFrame) : (image, key)
    }

    func forget(_ key: ImageCacheKey) {
        memory.remove(for: key)
        memory.remove(for: key.firstFrame)
    }
}

extension Image {
    /// Whether there are frames after the first, decoded or in the file.
    var isAnimated: Bool { frameCount > 1 || animation != nil }

    /// The first frame as a still image, which shares the pixels.
    var firstFrame: Image {
        guard isAnimated else { return self }
        var still = self
        still.frameCount = 1
        still.data = nil
        still.animation = nil
        return still
    }

    /// The bytes that the image was decoded from, unless it shows only a part of them.
    var originalData: Data? { isThumbnail || isTransformed ? nil : data }
}

/// The parts of a look-up that the statistics of the memory cache count. A request with several look-ups counts
/// once.
package struct LookUpCount: Sendable {
    let hits, misses: Bool

    package init(hits: Bool, misses: Bool) { (self.hits, self.misses) = (hits, misses) }

    package static var all: LookUpCount { LookUpCount(hits: true, misses: true) }
    package static var none: LookUpCount { LookUpCount(hits: false, misses: false) }
}
