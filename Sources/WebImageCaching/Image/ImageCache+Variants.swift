package import FoundationEssentials
package import WebImageCore

/// Variants on disk, for a pipeline whose request asks for them.
extension ImageCache {
    /// Reads the variant of `key` as ``readOriginal(of:priority:completion:)`` reads originals.
    package func readVariant(
        of key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredOriginal?) -> Void
    ) -> WorkItem? {
        let watch = watch(key)
        return disk?.loadItem(key.description, priority: priority) { item in
            completion(item.map { StoredOriginal(StoredBytes($0), watch, name: key.description) })
        }
    }

    /// Stores a variant on the disk alone; a picture without bytes is encoded.
    ///
    /// - Parameters:
    ///   - data: the bytes to store; `nil` leaves them to the cache.
    ///   - expiration: that of what it was made of; `nil` for the disk cache's own.
    ///   - responseMetadata: of the answer that brought what it was made of.
    ///   - completion: called once it is on disk, or could not be stored.
    package func storeVariant(
        _ image: Image, data: Data?, for key: ImageCacheKey, expiration: CacheExpiration?,
        responseMetadata: Data?, completion: @escaping @Sendable () -> Void
    ) {
        var attributes = DiskCache.Attributes()
        attributes.expiration = expiration
        attributes.responseMetadata = responseMetadata
        put(NewContent(image, data, attributes), for: key, in: .disk, isAwaited: true, completion: completion)
    }

    /// Calls `completion` once everything stored or removed so far is on disk: on a thread of the disk pool, or at once
    /// without a disk.
    package func whenWritten(_ completion: @escaping @Sendable () -> Void) {
        guard let disk else { return completion() }
        disk.submit { _ in completion() }
    }
}
