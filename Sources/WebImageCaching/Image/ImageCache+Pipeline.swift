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
        /// What the disk finds it by: the original's key, or that of another answer for it.
        fileprivate let name: String

        init(_ bytes: StoredBytes, _ watch: Watch, name: String) {
            (self.bytes, self.watch, self.name) = (bytes, watch, name)
        }

        /// What an HTTP policy has noted of the answer that brought them.
        package var responseMetadata: Data? { bytes.responseMetadata }

        fileprivate var attributes: DiskCache.Attributes {
            DiskCache.Attributes(
                expiration: expiration ?? .never, extendedData: bytes.record.data, responseMetadata: responseMetadata)
        }

        /// When they were stored.
        package var created: Date { bytes.created }

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
            completion(item.map { StoredOriginal(StoredBytes($0), watch, name: key.original.description) })
        }
    }

    /// As ``readOriginal(of:priority:completion:)``, on this thread, which blocks on the disk.
    package func cachedOriginal(of key: ImageCacheKey) -> StoredOriginal? {
        let watch = watch(key.original)
        let name = key.original.description
        return disk?.cachedItem(for: name).map { StoredOriginal(StoredBytes($0), watch, name: name) }
    }

    /// Another answer for the original that was read, which the disk has under `name`; blocks on the disk.
    package func readOriginal(named name: String, beside stored: StoredOriginal) -> StoredOriginal? {
        disk?.cachedItem(for: name).map { StoredOriginal(StoredBytes($0), stored.watch, name: name) }
    }

    /// Puts other metadata beside an original's bytes, unless those were replaced or removed since they were read, be it by
    /// another process.
    package func update(_ stored: StoredOriginal, responseMetadata: Data) {
        var attributes = stored.attributes
        attributes.responseMetadata = responseMetadata
        let mark = BytesMark(stored.data)
        changes.ifUnchangedOnDisk(since: stored.watch.passage) {
            disk?.update(attributes, of: mark, for: stored.name)
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
        let name = stored.name
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

    /// What a loader's answer makes of the disk's copy of the original.
    package struct OriginalChange: Sendable {
        /// The new bytes with what lies beside them; `nil` to remove what is there.
        package var content: (data: Data, responseMetadata: Data?)?
        /// What is to be kept under another name.
        package var displaced: (data: Data, attributes: DiskCache.Attributes, name: String)?
        /// Other names of which nothing is to be kept.
        package var removed: [String]

        package init(
            _ content: (data: Data, responseMetadata: Data?)?,
            displaced: (data: Data, attributes: DiskCache.Attributes, name: String)? = nil, removed: [String] = []
        ) {
            self.content = content
            self.displaced = displaced
            self.removed = removed
        }

        fileprivate func make(on disk: DiskCache, for key: ImageCacheKey) {
            for name in removed { disk.remove(for: name) }
            if let displaced { disk.store(displaced.data, for: displaced.name, attributes: displaced.attributes) }
            if let content {
                let attributes = DiskCache.Attributes(responseMetadata: content.responseMetadata)
                disk.store(content.data, for: key.description, attributes: attributes)
            } else {
                disk.remove(for: key.description)
            }
        }
    }

    /// Keeps what a loader brought: the picture in memory, and what it makes of the original on disk, if anything.
    ///
    /// - Parameter image: `nil` for one that nobody asked for: what memory had under the key is gone all the same.
    package func storeLoaded(_ image: Image?, original change: OriginalChange?, for key: ImageCacheKey) {
        if let change, key != key.original { apply(change, for: key) }
        var passage = changes.begin(key)
        let changeHere = key == key.original ? change : nil
        changes.change(&passage, reachesDisk: changeHere != nil) {
            if let changeHere, let disk { changeHere.make(on: disk, for: key) }
        }
        keep(image, for: key, DiskCache.Attributes())
        if changes.end(passage) { forget(key) }
    }

    /// Changes the original of `key` on disk. Pictures in memory stay: what made them out of date marks them.
    package func apply(_ change: OriginalChange, for key: ImageCacheKey) {
        var passage = changes.begin(key.original)
        changes.change(&passage) { if let disk { change.make(on: disk, for: key.original) } }
        _ = changes.end(passage)
    }
}
