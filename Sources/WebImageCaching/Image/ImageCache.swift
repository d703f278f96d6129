public import WebImageCore

/// The caches of a manager: decoded pictures in memory, original bytes on disk.
///
/// The disk holds originals under ``ImageCacheKey/source`` (``ImageCacheKey/original``'s text), as they came; memory
/// holds originals and variants under their whole keys.
public final class ImageCache: Sendable {
    /// Decoded pictures; an entry costs its bytes.
    public let memory: MemoryCache<ImageCacheKey, Image>
    /// The bytes as they came; `nil` where nothing is to be kept on disk.
    public let disk: DiskCache?

    /// The cache of ``DiskCache/Configuration``'s default directory, and 20 % of the memory (at most 1 GiB).
    public static let shared = ImageCache()

    /// Pairs the caches.
    public init(
        memory: MemoryCache<ImageCacheKey, Image> = MemoryCache(costLimit: MemoryBudget.defaultImageCost()),
        disk: DiskCache? = DiskCache()
    ) {
        self.memory = memory
        self.disk = disk
    }

    /// The picture, if memory has it: at once, without a look at the disk.
    public func image(inMemoryFor key: ImageCacheKey) -> Image? { memory.value(for: key) }

    /// Keeps the picture in memory, at the cost of its bytes.
    public func store(_ image: Image, for key: ImageCacheKey) {
        memory.set(image, for: key, cost: image.memoryCost)
    }

    /// Removes the picture from memory, and from the disk the original that it was made of, as the disk holds nothing
    /// else of it; other variants stay in memory.
    public func remove(for key: ImageCacheKey) async {
        memory.remove(for: key)
        guard let disk else { return }
        await withCheckedContinuation { continuation in
            disk.remove(for: key.source) { continuation.resume() }
        }
    }

    /// Empties memory, then the disk.
    public func removeAll() async {
        memory.removeAll()
        await disk?.removeAll()
    }
}
