import Foundation
import WebImage

/// A custom cache that stores each original as a file with a readable name, in a folder that other programs can use.
///
/// What a server said about an image is in a second file, so that images can be revalidated (`CachePolicy.http`).
final class FolderCache: ImageCaching {
    private let folder: URL
    private let memory = MemoryCache<ImageCacheKey, Image>(costLimit: 64 << 20)
    // File access may block, which tasks of Swift's concurrency must not do.
    private let queue = DispatchQueue(label: "folder-cache")

    init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func image(inMemoryFor key: ImageCacheKey) -> Image? { memory.value(for: key) }

    func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        guard tiers.contains(.disk) else { return nil }
        let (file, record) = files(for: key)
        return await onQueue {
            guard let data = try? Data(contentsOf: file) else { return nil }
            let attributes = DiskCache.Attributes(responseMetadata: try? Data(contentsOf: record))
            return ImageCacheResult(data: data, tier: .disk, attributes: attributes)
        }
    }

    func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        if tiers.contains(.memory), let image { memory.set(image, for: key, cost: image.memoryCost) }
        guard tiers.contains(.disk), let data else { return }
        let (file, record) = files(for: key)
        await onQueue {
            // The image is written last, so that it never appears with the record of an older image.
            try? FileManager.default.removeItem(at: file)
            try? FileManager.default.removeItem(at: record)
            try? attributes.responseMetadata?.write(to: record, options: .atomic)
            try? data.write(to: file, options: .atomic)
        }
    }

    func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        if tiers.contains(.memory) { memory.remove(for: key) }
        guard tiers.contains(.disk) else { return }
        let (file, record) = files(for: key)
        await onQueue {
            try? FileManager.default.removeItem(at: file)
            try? FileManager.default.removeItem(at: record)
        }
    }

    func clear(_ tiers: ImageCache.Tiers) async {
        if tiers.contains(.memory) { memory.removeAll() }
        guard tiers.contains(.disk) else { return }
        await onQueue { [folder] in
            let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            for file in files ?? [] { try? FileManager.default.removeItem(at: file) }
        }
    }

    /// Returns the file of an image and the file of its record. Keys that are too long for a file name are not stored.
    private func files(for key: ImageCacheKey) -> (image: URL, record: URL) {
        let name = key.description.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "-"
        return (folder.appendingPathComponent(name), folder.appendingPathComponent(name + ".record"))
    }

    private func onQueue<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }
}
