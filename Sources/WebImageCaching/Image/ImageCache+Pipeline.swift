package import FoundationEssentials
package import WebImageCore

/// For a pipeline, which reads and decodes by itself, and joins loads at each step: what it puts into the caches keeps the
/// order of changes, as with queries and stores.
///
/// ```
///  watch(key) ─┐
///  readOriginal(of:) ─► bytes, watched from before the read ─► decode ─► promote(…): nothing changed? memory
///                                                           └► discard(…): damaged, and not replaced? off the disk
///  loader ─► decode ─► storeLoaded(…)
///  picture ─► process ─► keepVariant(…): nothing changed? memory
/// ```
extension ImageCache {
    /// Tells whether a key has changed since; for as long as it lives.
    package final class Watch: Sendable {
        fileprivate let passage: ChangeMonitor<ImageCacheKey>.Passage
        private let changes: ChangeMonitor<ImageCacheKey>

        fileprivate init(_ key: ImageCacheKey, _ changes: ChangeMonitor<ImageCacheKey>) {
            self.changes = changes
            passage = changes.begin(key)
        }

        deinit { _ = changes.end(passage) }

        fileprivate var hasChanged: Bool { changes.hasChanged(since: passage) }
    }

    /// What the disk has of an original.
    package struct StoredOriginal: Sendable {
        private let bytes: StoredBytes
        fileprivate let watch: Watch

        init(_ bytes: StoredBytes, _ watch: Watch) { (self.bytes, self.watch) = (bytes, watch) }

        /// The bytes as they are stored.
        package var data: Data { bytes.data }

        /// How long the disk keeps them, where it was told.
        package var expiration: CacheExpiration? { bytes.expires.map(CacheExpiration.date) }

        /// Gives the picture of these bytes what was stored beside them.
        package func describe(_ image: inout Image) { bytes.record.apply(to: &image) }
    }

    /// Begins to watch a key.
    package func watch(_ key: ImageCacheKey) -> Watch { Watch(key, changes) }

    /// Reads the original of `key` when its turn comes; `completion` is called on a thread of the disk pool.
    ///
    /// - Returns: the waiting work; when its `cancel()` returns `true`, `completion` is never called. `nil` without a disk,
    ///   where `completion` is never called either.
    package func readOriginal(
        of key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredOriginal?) -> Void
    ) -> WorkItem? {
        let watch = watch(key.original)
        return disk?.loadItem(key.original.description, priority: priority) { item in
            completion(item.map { StoredOriginal(StoredBytes($0), watch) })
        }
    }

    /// Puts a picture made of what the disk has into memory, unless there is one, or what was watched has changed.
    ///
    /// - Parameter watch: of `key`, from before the work on it began.
    package func promote(_ image: Image, for key: ImageCacheKey, from stored: StoredOriginal, since watch: Watch) {
        guard !watch.hasChanged, !stored.watch.hasChanged else { return }
        let (picture, key) = kept(image, for: key)
        let isInserted = memory.insert(picture, for: key, cost: picture.memoryCost, expiration: stored.expiration)
        if isInserted, watch.hasChanged || stored.watch.hasChanged { memory.remove(for: key) }
    }

    /// Removes what could not be decoded from the disk, unless somebody has stored something else meanwhile.
    package func discard(_ stored: StoredOriginal, because error: WebImageError) {
        var passage = stored.watch.passage
        let name = passage.key.description
        guard changes.changeDiskIfUnchanged(&passage, { disk?.remove(for: name) }) else { return }
        report(.damagedCacheEntry(key: name, reason: error.description))
    }

    /// Puts what was made of another picture into memory, unless what was watched has changed.
    ///
    /// - Parameters:
    ///   - expiration: that of what it was made of; `nil` for the disk cache's own.
    ///   - watches: of `key`, and of what the picture was made of, from before the work on it began.
    package func keepVariant(
        _ image: Image, for key: ImageCacheKey, expiration: CacheExpiration?, since watches: [Watch]
    ) {
        guard !watches.contains(where: \.hasChanged) else { return }
        let (picture, key) = kept(image, for: key)
        let expiration = expiration ?? disk?.configuration.expiration.unlessNever
        let isInserted = memory.insert(picture, for: key, cost: picture.memoryCost, expiration: expiration)
        if isInserted, watches.contains(where: \.hasChanged) { memory.remove(for: key) }
    }

    /// Keeps what a loader brought: the picture in memory, and its original's bytes, if there are any to store, on disk.
    ///
    /// - Parameter image: `nil` for one that nobody asked for: what memory had of the original is gone all the same.
    package func storeLoaded(_ image: Image?, original data: Data?, for key: ImageCacheKey) {
        let original = key.original
        if let data, key != original {
            var passage = changes.begin(original)
            changes.change(&passage) { disk?.store(data, for: original.description) }
            _ = changes.end(passage)
        }
        var passage = changes.begin(key)
        let storedHere = key == original ? data : nil
        changes.change(&passage, reachesDisk: storedHere != nil) {
            if let storedHere { disk?.store(storedHere, for: key.description) }
        }
        keep(image, for: key, DiskCache.Attributes())
        if changes.end(passage) { forget(key) }
    }
}
