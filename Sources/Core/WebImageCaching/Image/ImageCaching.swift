public import FoundationEssentials
internal import WebImageCoding
public import WebImageCore
internal import WebImageIsolation

/// A cache of images: ``ImageCache``, several as one (``ImageCache/group(of:query:store:remove:contains:clear:)``), or
/// a custom one.
///
/// ```swift
/// final class NoCache: ImageCaching {
///     func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? { nil }
///     func store(
///         _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers, attributes: DiskCache.Attributes
///     ) async {}
///     func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {}
///     func clear(_ tiers: ImageCache.Tiers) async {}
/// }
/// ```
///
/// A custom cache may have more or fewer than two tiers. It maps ``ImageCache/Tiers`` to its own tiers, and its results
/// say which tier they are from. ``data(for:in:)``, ``store(_:data:for:in:attributes:)``, ``remove(for:from:)`` and
/// ``clear(_:)`` are required; the other methods have default implementations that use these.
///
/// A manager can use any cache. It keeps HTTP's record of a response (validators, freshness, Vary) in
/// ``DiskCache/Attributes/responseMetadata``: a cache that stores and returns it takes part in revalidation, one that
/// ignores it serves its bytes as they are. The manager serializes its own calls for one ``ImageCacheKey/source``. A
/// program that changes the cache directly while a manager loads the same source may find its change replaced by the
/// load's result.
///
/// Methods may be called from any thread, also concurrently. A slow `async` method should return when its task is
/// cancelled; its result is then ignored.
public protocol ImageCaching: AnyObject, Sendable {
    /// Returns the image if it is in memory, immediately and without I/O. Views call this before they start a load.
    ///
    /// The default returns `nil`.
    func image(inMemoryFor key: ImageCacheKey) -> Image?

    /// Returns the image, decoded if necessary; `nil` if none of the tiers has it.
    ///
    /// The default decodes the bytes with the shared codecs, and does not store the image.
    func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult?

    /// Returns the stored bytes without decoding them; `nil` if none of the tiers has any.
    func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult?

    /// Stores an image, its bytes, or both. Returns when this is done or has failed.
    ///
    /// - Parameters:
    ///   - data: the original bytes, which must not be changed.
    ///   - attributes: the expiration, and data to be stored with the bytes.
    func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async

    /// Replaces the attributes of the bytes, after a server confirmed that the bytes have not changed (304).
    ///
    /// The default stores the bytes again.
    ///
    /// - Parameters:
    ///   - data: the confirmed bytes. If other bytes are stored now, nothing changes.
    func update(_ attributes: DiskCache.Attributes, of data: Data, for key: ImageCacheKey) async

    /// Removes the image and none of its other variants.
    func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async

    /// Returns the tier that has the image; `nil` if there is none. This does not count as a use.
    ///
    /// The default looks the bytes up.
    func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier?

    /// Removes everything.
    func clear(_ tiers: ImageCache.Tiers) async
}

extension ImageCaching {
    /// Returns `nil`.
    public func image(inMemoryFor key: ImageCacheKey) -> Image? { nil }

    /// Decodes the stored bytes with the shared codecs.
    public func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        if tiers.contains(.memory), let image = image(inMemoryFor: key) {
            return ImageCacheResult(image: image, tier: .memory)
        }
        guard var result = await data(for: key, in: tiers), let data = result.data else { return nil }
        let options = DecodingOptions(allowsDamage: false)
        let decoded = await DecodingQueue.run { try? CodecRegistry.shared.decode(data, options: options) }
        guard var image = decoded else { return nil }
        ImageRecord(result.attributes.extendedData).apply(to: &image)
        result.image = image
        return result
    }

    /// Stores the bytes again, with the new attributes.
    public func update(_ attributes: DiskCache.Attributes, of data: Data, for key: ImageCacheKey) async {
        guard await self.data(for: key, in: .disk)?.data == data else { return }
        await store(nil, data: data, for: key, in: .disk, attributes: attributes)
    }

    /// Looks the image up in memory, then its bytes.
    public func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier? {
        if tiers.contains(.memory), image(inMemoryFor: key) != nil { return .memory }
        return await data(for: key, in: tiers)?.tier
    }
}

extension ImageCaching {
    /// Returns the image from any tier.
    public func image(for key: ImageCacheKey) async -> ImageCacheResult? { await image(for: key, in: .all) }

    /// Like ``image(for:in:)``, with options. Custom caches know none, so they apply to the result.
    func image(
        for key: ImageCacheKey, in tiers: ImageCache.Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult? {
        switch self {
        case let cache as ImageCache: return await cache.image(for: key, in: tiers, options: options)
        case let group as ImageCacheGroup: return await group.image(for: key, in: tiers, options: options)
        default: break
        }
        guard options.decodesForDisplay || tiers.contains(.memory) && image(inMemoryFor: key) != nil else {
            guard var result = await data(for: key, in: tiers), let data = result.data,
                let info = try? CodecRegistry.shared.info(of: data)
            else { return nil }
            result.info = info
            return result
        }
        var result = await image(for: key, in: tiers)
        let image = result?.image
        if !options.allowsAnimated { result?.image = image?.firstFrame }
        return result
    }

    /// Returns the bytes from any tier.
    public func data(for key: ImageCacheKey) async -> ImageCacheResult? { await data(for: key, in: .all) }

    /// Stores an image, its bytes, or both, by default in memory and on disk, or only in memory for a variant. Returns when this is done or
    /// has failed. An `async` function that calls `store` of an ``ImageCache`` calls this one, and so waits.
    public func store(
        _ image: Image?, data: Data? = nil, for key: ImageCacheKey, in tiers: ImageCache.Tiers? = nil,
        attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) async {
        await store(image, data: data, for: key, in: tiers ?? .standard(for: key), attributes: attributes)
    }

    /// Whether any of the tiers has the image.
    public func contains(_ key: ImageCacheKey, in tiers: ImageCache.Tiers = .all) async -> Bool {
        await tier(holding: key, in: tiers) != nil
    }

    /// Removes the image from all tiers.
    public func remove(for key: ImageCacheKey) async { await remove(for: key, from: .all) }

    /// Removes everything.
    public func clear() async { await clear(.all) }
}

/// The result of a look-up in a cache of images.
///
/// ```swift
/// if let result = await ImageCache.shared.image(for: ImageCacheKey(source: "drawing/1")), let image = result.image {
///     print(result.tier, image.pixels.size)
/// }
/// ```
public struct ImageCacheResult: Sendable {
    /// The image; `nil` if only bytes were requested.
    public var image: Image?
    /// The properties in the file's header; only if the query did not decode.
    public var info: ImageInfo?
    /// The stored bytes. For a hit in memory, only the bytes that the image has kept, usually none.
    public var data: Data?
    /// The tier in which the image was found.
    public var tier: CacheTier
    /// The attributes stored with the bytes.
    public var attributes: DiskCache.Attributes
    /// When the bytes were stored, if known.
    public var created: Date?

    /// Creates a result.
    public init(
        image: Image? = nil, info: ImageInfo? = nil, data: Data? = nil, tier: CacheTier,
        attributes: DiskCache.Attributes = DiskCache.Attributes(), created: Date? = nil
    ) {
        self.image = image
        self.info = info
        self.data = data
        self.tier = tier
        self.attributes = attributes
        self.created = created
    }
}

/// Options of a look-up in a cache of images.
struct ImageQueryOptions: Sendable, Hashable {
    /// Whether bytes from disk are decoded; `true` by default. If `false`, the result has the bytes and their header,
    /// and memory is not changed. A hit in memory includes the image in any case.
    var decodesForDisplay: Bool
    /// Whether the image may be animated; `true` by default. If not, it is the first frame, without data.
    var allowsAnimated: Bool
    /// The priority of reading and decoding. Joined queries use the highest.
    var priority: LoadPriority

    /// Creates options.
    init(decodesForDisplay: Bool = true, allowsAnimated: Bool = true, priority: LoadPriority = .normal) {
        self.decodesForDisplay = decodesForDisplay
        self.allowsAnimated = allowsAnimated
        self.priority = priority
    }
}
