public import FoundationEssentials
public import WebImageCore

/// A cache of images: ``ImageCache``, several as one (``ImageCacheGroup``), or your own.
///
/// One's own may have more or fewer than two tiers: it maps those that it is asked about to what it has, and says which
/// its answer comes from. Every method may be called from any thread, several at once. An `async` one that waits for long
/// should give up when its task is cancelled; its answer is not awaited then.
public protocol ImageCaching: AnyObject, Sendable {
    /// The picture, if it is at hand: at once, without a look at a disk or a wait for anybody. Views ask this before they
    /// begin a load.
    func image(inMemoryFor key: ImageCacheKey) -> Image?

    /// The picture, decoded if need be; `nil` when none of the tiers has it.
    func image(
        for key: ImageCacheKey, in tiers: ImageCache.Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult?

    /// The bytes as they are stored, without decoding them; `nil` when none of the tiers has any.
    func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult?

    /// Stores a picture, its bytes, or both, and returns when it is done or can't be done.
    ///
    /// - Parameters:
    ///   - data: the bytes as they came, not to be changed.
    ///   - attributes: when it expires, and what to keep beside it.
    func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async

    /// Removes the picture, and no other variant of it.
    func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async

    /// Where the picture is; `nil` when none of the tiers has it.
    func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier?

    /// Removes everything.
    func clear(_ tiers: ImageCache.Tiers) async
}

extension ImageCaching {
    /// The picture, from wherever it is.
    public func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers = .all) async -> ImageCacheResult? {
        await image(for: key, in: tiers, options: ImageQueryOptions())
    }

    /// The bytes, from wherever they are.
    public func data(for key: ImageCacheKey) async -> ImageCacheResult? { await data(for: key, in: .all) }

    /// Stores a picture, its bytes, or both; by default where ``ImageCache/Tiers/standard(for:)`` says.
    public func store(
        _ image: Image?, data: Data? = nil, for key: ImageCacheKey, in tiers: ImageCache.Tiers? = nil,
        attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) async {
        await store(image, data: data, for: key, in: tiers ?? .standard(for: key), attributes: attributes)
    }

    /// Whether any of the tiers has the picture.
    public func contains(_ key: ImageCacheKey, in tiers: ImageCache.Tiers = .all) async -> Bool {
        await tier(holding: key, in: tiers) != nil
    }

    /// Removes the picture from wherever it is.
    public func remove(for key: ImageCacheKey) async { await remove(for: key, from: .all) }

    /// Removes everything.
    public func clear() async { await clear(.all) }
}
