package import FoundationEssentials
package import WebImageCaching
package import WebImageCore

/// A custom cache: what an app would write, and not more.
package final class DictionaryCache: ImageCaching {
    private struct Entry {
        var image: Image?
        var data: Data?
        var attributes = DiskCache.Attributes()
    }

    private let entries = LockBox<[ImageCacheKey: Entry]>([:])

    package init() {}

    package func image(inMemoryFor key: ImageCacheKey) -> Image? { entries.withLock { $0[key]?.image } }

    package func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        entries.withLock { $0[key] }.flatMap { entry in
            entry.data.map { ImageCacheResult(data: $0, tier: .disk, attributes: entry.attributes) }
        }
    }

    package func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        entries.withLock { entries in
            if tiers.contains(.memory) { entries[key, default: Entry()].image = image }
            guard tiers.contains(.disk) else { return }
            entries[key, default: Entry()].data = data
            entries[key]?.attributes = attributes
        }
    }

    package func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        entries.withLock { entries in
            if tiers.contains(.memory) { entries[key]?.image = nil }
            if tiers.contains(.disk) { entries[key]?.data = nil }
        }
    }

    package func clear(_ tiers: ImageCache.Tiers) async { entries.withLock { $0 = [:] } }
}

extension DictionaryCache {
    /// Forgets the decoded images, as a new process would.
    package func removeImages() { entries.withLock { for key in $0.keys { $0[key]?.image = nil } } }

    /// The keys with bytes.
    package var storedKeys: Set<String> {
        entries.withLock { Set($0.filter { $0.value.data != nil }.map(\.key.description)) }
    }
}
