internal import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

/// The caches of a manager: decoded pictures in memory, bytes on disk.
///
/// ```
///  image(for:) ──► memory ──► disk ──► read-only files ──► decode ──► memory, if the query names it
///                   key        key's text                 CPU queue
///  store(…)    ──► memory ──► disk: the bytes as they came, else the picture encoded
/// ```
///
/// Originals and variants have keys of their own, in memory and on disk (``ImageCacheKey/description``). A variant goes to
/// the disk only when asked for: it can be made of its original again. Every call names the ``Tiers`` it is about, and
/// answers say where they come from. What can't be decoded is removed from the disk, reported once, and counts as
/// missing.
///
/// Every method may be called from any thread. `async` ones read and decode on threads of the library; those whose names
/// begin with `cached` block.
public final class ImageCache: ImageCaching {
    /// Decoded pictures; an entry costs its bytes.
    public let memory: MemoryCache<ImageCacheKey, Image>
    /// The bytes as they came; `nil` where nothing is to be kept on disk.
    public let disk: DiskCache?
    /// How this cache was set up.
    public let configuration: Configuration

    private let onFailure: @Sendable (WebImageError) -> Void
    let changes = ChangeMonitor<ImageCacheKey>()
    /// Where the pictures in memory came from, by ``ImageCacheKey/source``.
    package let provenances = ProvenanceTable()
    let queries = SharedQueries<Question, ImageCacheResult>()
    /// Bytes wait in memory for a thread that decodes: those of so many pictures that none of the threads has to wait.
    let turns = Turns(count: DecodingQueue.shared.threadCount + 2)
    /// Pictures to encode and bytes to decode that nobody waits for.
    let backlog: Backlog
    /// Read-only files that could not be decoded; each is reported once.
    let damagedFiles = Lock<Set<String>>([])

    /// The cache of ``DiskCache/Configuration``'s default directory, and ``defaultMemory()``.
    public static let shared = ImageCache()

    /// Pairs the caches.
    public convenience init(
        memory: MemoryCache<ImageCacheKey, Image> = ImageCache.defaultMemory(), disk: DiskCache? = DiskCache(),
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
        backlog = Backlog(byteLimit: backlogByteLimit)
        onFailure =
            configuration.onFailure ?? disk?.configuration.onFailure ?? DiskCache.Configuration().onFailure
    }

    /// A memory cache with the configuration for pictures (``MemoryCache/Configuration/images``): 20 % of the memory available
    /// to the process, at most 1 GiB; 12 hours without a use; what is still on the screen is found again.
    public static func defaultMemory() -> MemoryCache<ImageCacheKey, Image> { MemoryCache(configuration: .images) }

    /// The picture, if memory has it: at once, without a look at the disk.
    public func image(inMemoryFor key: ImageCacheKey) -> Image? {
        image(inMemoryFor: key, allowsAnimated: configuration.allowsAnimated)
    }

    /// As the other of that name, whatever the configuration says of animations: `false` gives the first frame of one.
    ///
    /// - Parameters:
    ///   - counting: what the memory's statistics learn of it, once for all the keys it looks for.
    ///   - isUsable: whether an image is an answer; one that is not counts as missing.
    package func image(
        inMemoryFor key: ImageCacheKey, allowsAnimated: Bool, counting: LookUpCount = .all,
        where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        if allowsAnimated { return currentImage(for: key, counting: counting, where: isUsable) }
        return currentImage(for: key, counting: counting.subtracting(.misses), where: isUsable)?.firstFrame
            ?? currentImage(for: key.firstFrame, counting: counting, where: isUsable)
    }

    /// What the memory's statistics learn of a look-up. A request may look several times, and counts once.
    package struct LookUpCount: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let hits = LookUpCount(rawValue: 1)
        package static let misses = LookUpCount(rawValue: 2)
        package static let all: LookUpCount = [.hits, .misses]
    }

    /// What memory has, unless newer bytes have come since from where it came from. Such an image goes, lest it keep the
    /// place from a newer one.
    func currentImage(
        for key: ImageCacheKey, counting: LookUpCount = .all, where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        memory.value(
            for: key, countsHit: counting.contains(.hits), countsMiss: counting.contains(.misses)
        ) { image in
            guard image.provenance?.isSuperseded == true else { return isUsable(image) }
            memory.remove(for: key)
            return false
        }
    }

    func report(_ error: WebImageError) { onFailure(error) }
}
