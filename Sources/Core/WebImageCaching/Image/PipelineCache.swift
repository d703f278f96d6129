internal import Dispatch
package import FoundationEssentials
internal import Synchronization
package import WebImageCore

/// The interface of a cache for a pipeline, which reads and decodes by itself: ``ImageCacheAdapter`` of an ``ImageCache``, and
/// ``CacheAdapter`` of any other ``ImageCaching``.
///
/// ```
///  watch(key) ─┐
///  read(key) ──┴► bytes, watched from before the read ─► decode ─► insert(…): nothing changed? memory
///                                                      └► discard(…): damaged, and not replaced? removed from disk
///  loader ─► decode ─► storeLoaded(…)
/// ```
package protocol PipelineCache: AnyObject, Sendable {
    /// The cache itself.
    var base: any ImageCaching { get }
    /// The origin of the images in memory.
    var provenances: ProvenanceTable { get }
    /// Whether memory holds animations.
    var holdsAnimations: Bool { get }
    /// Whether bytes are stored.
    var hasDisk: Bool { get }

    func image(
        inMemoryFor key: ImageCacheKey, allowsAnimated: Bool, counting: LookUpCount, where: (Image) -> Bool
    ) -> Image?
    func isInMemory(_ key: ImageCacheKey) -> Bool
    /// When the image in memory expires.
    func expirationInMemory(for key: ImageCacheKey) -> CacheExpiration?
    /// Puts an image into memory, unless one is there or a watched key has changed.
    ///
    /// - Parameter isStored: whether the image comes from disk: without an expiration of its own it then has memory's,
    ///   else the disk's.
    func insert(
        _ image: Image, for key: ImageCacheKey, expiration: CacheExpiration?, isStored: Bool,
        unlessChangedSince watches: [Watch])

    /// Watches the key for changes.
    func watch(_ key: ImageCacheKey) -> Watch
    /// Reads the bytes for `key`, and then those of the alternates that `alternates` returns.
    ///
    /// - Parameter completion: receives the latest response first. Called in this call, or on a thread where it may
    ///   block on this cache.
    func read(
        _ key: ImageCacheKey, priority: LoadPriority, alternates: @escaping @Sendable (StoredImage) -> [Int],
        completion: @escaping @Sendable ([StoredImage]) -> Void
    ) -> (any LoaderTask)?
    /// Like ``read(_:priority:alternates:completion:)``, but blocks; empty for caches that cannot.
    func blockingRead(_ key: ImageCacheKey, alternates: (StoredImage) -> [Int]) -> [StoredImage]
    /// Looks up what is stored with the bytes for `key`, and when they were stored.
    func readAttributes(of key: ImageCacheKey, completion: @escaping @Sendable (ImageCacheResult?) -> Void)

    /// Replaces the response metadata of stored bytes, unless they have changed.
    func update(_ stored: StoredImage, responseMetadata: Data)
    /// Removes bytes that cannot be decoded, unless they have changed, and reports them once.
    func discard(_ stored: StoredImage, because error: WebImageError)
    /// Stores the result of a load: `image` replaces the one in memory, and `change` the bytes on disk for the
    /// original.
    ///
    /// - Parameters:
    ///   - image: `nil` removes the image from memory.
    ///   - change: `nil` leaves the disk unchanged.
    func storeLoaded(_ image: Image?, original change: StoredChange?, for key: ImageCacheKey)
    /// Stores an image for the program, like ``ImageCache/store(_:data:for:in:attributes:)``.
    func store(_ image: Image, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers)
    /// Changes the stored bytes of the original.
    func apply(_ change: StoredChange, for key: ImageCacheKey)
    /// Stores an image that was made from an original on disk.
    func storeVariant(
        _ image: Image, data: Data?, for key: ImageCacheKey, expiration: CacheExpiration?, responseMetadata: Data?,
        completion: @escaping @Sendable () -> Void)

    /// Whether there may be variants as pixels on disk.
    var mayHavePixels: Bool { get }
    /// Reads a variant from the pixels on disk, which are those of the original's current bytes.
    ///
    /// - Parameter completion: called on a thread where it may block on this cache.
    func readPixels(
        of key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredPixels?) -> Void
    ) -> (any LoaderTask)?
    /// Like ``readPixels(of:priority:completion:)``, but blocks.
    func blockingPixels(of key: ImageCacheKey) -> StoredPixels?
    /// Stores a variant as pixels, in the background.
    ///
    /// - Parameter mark: the original's bytes, from which it was made.
    func storePixels(_ image: Image, madeFrom mark: BytesMark, for key: ImageCacheKey)
    /// Calls `completion` when everything stored before is on disk.
    func whenWritten(_ completion: @escaping @Sendable () -> Void)
}

extension PipelineCache {
    package func read(
        _ key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredImage?) -> Void
    ) -> (any LoaderTask)? {
        read(key, priority: priority, alternates: { _ in [] }, completion: { completion($0.first) })
    }
}

/// By default, there are no pixels.
extension PipelineCache {
    package var mayHavePixels: Bool { false }
    package func readPixels(
        of key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredPixels?) -> Void
    ) -> (any LoaderTask)? {
        completion(nil)
        return nil
    }
    package func blockingPixels(of key: ImageCacheKey) -> StoredPixels? { nil }
    package func storePixels(_ image: Image, madeFrom mark: BytesMark, for key: ImageCacheKey) {}
}

/// A variant that was stored as pixels, and what is known about its original.
package struct StoredPixels: Sendable {
    package let image: Image
    package let original: DiskCache.Entry
    /// Of the variant, and of the original.
    package let watches: [Watch]

    /// Identifies the original's bytes.
    package var originalMark: BytesMark? { original.mark }
    package var expiration: CacheExpiration? { original.expires.map { .date($0) } }
}

/// Detects changes of a key during the watch's lifetime.
package final class Watch: Sendable {
    let passage: ChangeMonitor<ImageCacheKey>.Passage
    private let changes: ChangeMonitor<ImageCacheKey>

    init(_ key: ImageCacheKey, _ changes: ChangeMonitor<ImageCacheKey>) {
        self.changes = changes
        passage = changes.begin(key)
    }

    deinit { _ = changes.end(passage) }

    var hasChanged: Bool { changes.hasChanged(since: passage) }
}

/// Stored bytes, and their properties.
package struct StoredImage: Sendable {
    /// The key of the original, of a variant, or of an alternate.
    let key: ImageCacheKey
    package let watch: Watch
    package private(set) var data: Data
    private let attributes: DiskCache.Attributes
    package let created: Date
    /// Identifies the bytes, if that is known.
    package let mark: BytesMark?
    /// The value that was read from the response metadata, for all copies.
    private let reading = Reading()

    private final class Reading: Sendable {
        let value = AtomicLazyReference<Value>()

        final class Value: Sendable {
            let content: (any Sendable)?
            init(_ content: (any Sendable)?) { self.content = content }
        }
    }

    init(_ result: ImageCacheResult, data: Data, for key: ImageCacheKey, _ watch: Watch) {
        (self.key, self.watch, self.data, attributes) = (key, watch, data, result.attributes)
        (created, mark) = (result.created ?? .distantPast, nil)
    }

    init(_ item: DiskCache.Item, for key: ImageCacheKey, _ watch: Watch) {
        (self.key, self.watch, data, attributes) = (key, watch, item.data, item.entry.attributes)
        (created, mark) = (item.entry.created, item.entry.mark)
    }

    /// The same without the bytes, for what is only to be known about.
    package var withoutBytes: StoredImage {
        var stored = self
        stored.data = Data()
        return stored
    }

    /// Returns what `read` makes of the response metadata, always with the same type. It is kept for all copies.
    package func metadata<Value: Sendable>(_ read: (Data) -> Value?) -> Value? {
        guard let metadata = attributes.responseMetadata else { return nil }
        if let known = reading.value.load() { return known.content as? Value }
        let value = read(metadata)
        _ = reading.value.storeIfNil(Reading.Value(value))
        return value
    }

    package var expiration: CacheExpiration? { attributes.expiration }

    /// The slot of an alternate; `nil` for others.
    package var slot: Int? { (0..<ImageCacheKey.alternateLimit).first { key.original.alternate($0) == key } }

    /// Adds the properties to a decoded image that its bytes do not contain.
    package func describe(_ image: inout Image) { ImageRecord(attributes.extendedData).apply(to: &image) }

    /// Returns the attributes with the metadata of another response.
    func attributes(responseMetadata: Data) -> DiskCache.Attributes {
        DiskCache.Attributes(
            expiration: expiration ?? .never, extendedData: attributes.extendedData, responseMetadata: responseMetadata)
    }
}

/// A change of the bytes stored for an original.
package enum StoredChange: Sendable {
    /// Replaces the bytes.
    case store(Data, responseMetadata: Data?)
    /// Removes the bytes, and other responses that `Vary` distinguishes.
    case remove(withAlternates: Bool)
    /// Stores the bytes beside other responses.
    ///
    /// - Parameters:
    ///   - alternates: returns the slots that the latest response lists.
    ///   - place: decides from all that is stored.
    case storeBesideOthers(
        alternates: @Sendable (StoredImage) -> [Int], place: @Sendable ([StoredImage]) -> Placement)

    /// Where to store a response that differs by `Vary`.
    package struct Placement: Sendable {
        /// The new latest response.
        var data: Data
        var responseMetadata: Data?
        /// The previous latest response, which moves to a slot.
        var displaced: (stored: StoredImage, responseMetadata: Data, slot: Int)?
        /// The slots of outdated responses.
        var removedSlots: [Int]

        package init(
            data: Data, responseMetadata: Data?,
            displaced: (stored: StoredImage, responseMetadata: Data, slot: Int)? = nil, removedSlots: [Int] = []
        ) {
            (self.data, self.responseMetadata) = (data, responseMetadata)
            (self.displaced, self.removedSlots) = (displaced, removedSlots)
        }
    }
}
