internal import FoundationEssentials
internal import WebImageCore

extension ImageCache {
    /// Bytes that the disk cache or a read-only file has, and what is known about them.
    struct StoredBytes: Sendable {
        let data: Data
        let record: ImageRecord
        var responseMetadata: Data?
        var expires: Date?
        /// When they were stored; long ago for a read-only file.
        var created = Date.distantPast
        /// The read-only file; `nil` for the disk cache.
        var path: String?

        init(_ item: DiskCache.Item) {
            data = item.data
            record = ImageRecord(item.entry.extendedData)
            responseMetadata = item.entry.responseMetadata
            expires = item.entry.expires
            created = item.entry.created
        }

        init(_ data: Data, path: String) {
            self.data = data
            self.path = path
            record = ImageRecord(nil as Data?)
        }

        var result: ImageCacheResult {
            ImageCacheResult(
                data: data, tier: path == nil ? .disk : .bundled, extendedData: record.extendedData,
                responseMetadata: responseMetadata)
        }
    }

    func storedBytes(for key: ImageCacheKey) async -> StoredBytes? {
        if let item = await disk?.item(for: key.description) { return StoredBytes(item) }
        guard !configuration.bundled.isEmpty else { return nil }
        return await withCheckedContinuation { continuation in
            BundledImages.queue.submit { continuation.resume(returning: self.bundledBytes(for: key)) }
        }
    }

    func storedBytesBlocking(for key: ImageCacheKey) -> StoredBytes? {
        disk?.cachedItem(for: key.description).map(StoredBytes.init) ?? bundledBytes(for: key)
    }

    private func bundledBytes(for key: ImageCacheKey) -> StoredBytes? {
        for images in configuration.bundled {
            guard let path = images.path(key), let data = BundledImages.read(path) else { continue }
            return StoredBytes(data, path: path)
        }
        return nil
    }

    /// Blocks.
    func bundledPath(for key: ImageCacheKey) -> String? {
        configuration.bundled.lazy.compactMap { $0.path(key) }.first(where: BundledImages.isFile)
    }
}
