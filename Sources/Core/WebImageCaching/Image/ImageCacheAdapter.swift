internal import Dispatch
package import FoundationEssentials
package import WebImageCore

/// The two tiers of an ``ImageCache`` for a pipeline.
package final class ImageCacheAdapter: PipelineCache {
    private let cache: ImageCache
    private var disk: DiskCache? { cache.disk }
    private var pixels: PixelCache? { cache.pixels }
    private var changes: ChangeMonitor<ImageCacheKey> { cache.changes }

    init(_ cache: ImageCache) { self.cache = cache }

    package var base: any ImageCaching { cache }
    package var provenances: ProvenanceTable { cache.provenances }
    package var holdsAnimations: Bool { cache.configuration.allowsAnimated }
    package var hasDisk: Bool { disk != nil }

    package func image(
        inMemoryFor key: ImageCacheKey, allowsAnimated: Bool, counting: LookUpCount, where isUsable: (Image) -> Bool
    ) -> Image? {
        cache.image(inMemoryFor: key, allowsAnimated: allowsAnimated, counting: counting, where: isUsable)
    }

    package func isInMemory(_ key: ImageCacheKey) -> Bool { cache.isInMemory(key) }

    package func store(_ image: Image, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers) {
        cache.store(image, data: data, for: key, in: tiers, attributes: DiskCache.Attributes())
    }

    package func expirationInMemory(for key: ImageCacheKey) -> CacheExpiration? { cache.memory.expiration(for: key) }

    package func insert(
        _ image: Image, for key: ImageCacheKey, expiration: CacheExpiration?, isStored: Bool,
        unlessChangedSince watches: [Watch]
    ) {
        cache.insert(image, for: key, expiration: expiration, isStored: isStored, unlessChangedSince: watches)
    }

    package func watch(_ key: ImageCacheKey) -> Watch { cache.watch(key) }

    package func read(
        _ key: ImageCacheKey, priority: LoadPriority, alternates: @escaping @Sendable (StoredImage) -> [Int],
        completion: @escaping @Sendable ([StoredImage]) -> Void
    ) -> (any LoaderTask)? {
        guard let disk else {
            completion([])
            return nil
        }
        let watch = watch(key)
        let item = disk.loadItem(key.description, priority: priority) { [self] item in
            completion(stored(item, for: key, watch, alternates))
        }
        return QueuedTask(item)
    }

    package func blockingRead(_ key: ImageCacheKey, alternates: (StoredImage) -> [Int]) -> [StoredImage] {
        let watch = watch(key)
        return stored(disk?.blockingItem(for: key.description), for: key, watch, alternates)
    }

    /// Blocks while it reads alternates.
    private func stored(
        _ item: DiskCache.Item?, for key: ImageCacheKey, _ watch: Watch, _ alternates: (StoredImage) -> [Int]
    ) -> [StoredImage] {
        guard let item else { return [] }
        let latest = StoredImage(item, for: key, watch)
        return [latest]
            + alternates(latest).compactMap { slot in
                let other = key.alternate(slot)
                return disk?.blockingItem(for: other.description).map { StoredImage($0, for: other, watch) }
            }
    }

    package func readAttributes(of key: ImageCacheKey, completion: @escaping @Sendable (ImageCacheResult?) -> Void) {
        guard let disk else { return completion(nil) }
        disk.loadEntry(key.description) { entry in
            completion(entry.map { ImageCacheResult(tier: .disk, attributes: $0.attributes, created: $0.created) })
        }
    }

    package func update(_ stored: StoredImage, responseMetadata: Data) {
        let attributes = stored.attributes(responseMetadata: responseMetadata)
        let mark = BytesMark(stored.data)
        changes.ifUnchangedOnDisk(since: stored.watch.passage) {
            disk?.update(attributes, of: mark, for: stored.key.description)
        }
    }

    package func discard(_ stored: StoredImage, because error: WebImageError) {
        var passage = stored.watch.passage
        let name = stored.key.description
        guard changes.changeDiskIfUnchanged(&passage, { disk?.remove(for: name) }) else { return }
        cache.report(
            .diskCache(
                path: disk?.configuration.directory.path ?? "",
                reason: .unarchiving(key: name, message: error.description)))
    }

    package func storeLoaded(_ image: Image?, original change: StoredChange?, for key: ImageCacheKey) {
        if let change, key != key.original { apply(change, for: key) }
        let changeHere = key == key.original ? change.map { prepare($0, for: key) } : nil
        // One passage for both tiers, since two concurrent loads may reach them in different orders.
        var passage = changes.begin(key)
        changes.change(&passage, reachesDisk: changeHere != nil) { if let disk { changeHere?(disk) } }
        cache.keep(image, for: key, DiskCache.Attributes())
        if changes.end(passage) { cache.forget(key) }
    }

    package func apply(_ change: StoredChange, for key: ImageCacheKey) {
        let change = prepare(change, for: key.original)
        var passage = changes.begin(key.original)
        changes.change(&passage) { if let disk { change(disk) } }
        _ = changes.end(passage)
    }

    /// Blocks to read other responses if necessary. The returned closure only stages changes, and can be called under a
    /// lock.
    private func prepare(_ change: StoredChange, for key: ImageCacheKey) -> (DiskCache) -> Void {
        switch change {
        case .store(let data, let metadata):
            return { disk in
                let attributes = DiskCache.Attributes(responseMetadata: metadata)
                disk.store(data, for: key.description, attributes: attributes)
            }
        case .remove(let withAlternates):
            let keys = (withAlternates ? key.alternates : []) + [key]
            return { disk in for key in keys { disk.remove(for: key.description) } }
        case .storeBesideOthers(let alternates, let place):
            let placement = place(blockingRead(key, alternates: alternates))
            return { disk in
                for slot in placement.removedSlots { disk.remove(for: key.alternate(slot).description) }
                if let (stored, metadata, slot) = placement.displaced {
                    disk.store(
                        stored.data, for: key.alternate(slot).description,
                        attributes: stored.attributes(responseMetadata: metadata))
                }
                disk.store(
                    placement.data, for: key.description,
                    attributes: DiskCache.Attributes(responseMetadata: placement.responseMetadata))
            }
        }
    }

    package func storeVariant(
        _ image: Image, data: Data?, for key: ImageCacheKey, expiration: CacheExpiration?,
        responseMetadata: Data?, completion: @escaping @Sendable () -> Void
    ) {
        let attributes = DiskCache.Attributes(expiration: expiration, responseMetadata: responseMetadata)
        cache.put(
            ImageCache.NewContent(image, data, attributes), for: key, in: .disk, isAwaited: true, completion: completion
        )
    }

    package var mayHavePixels: Bool { pixels?.mayHaveImages ?? false }

    package func readPixels(
        of key: ImageCacheKey, priority: LoadPriority, completion: @escaping @Sendable (StoredPixels?) -> Void
    ) -> (any LoaderTask)? {
        guard let pixels else {
            completion(nil)
            return nil
        }
        let watches = [watch(key), watch(key.original)]
        let item = pixels.load(key.description, madeFrom: key.original.description, priority: priority) {
            completion($0.map { StoredPixels(image: $0.image, original: $0.entry, watches: watches) })
        }
        return QueuedTask(item)
    }

    package func blockingPixels(of key: ImageCacheKey) -> StoredPixels? {
        let watches = [watch(key), watch(key.original)]
        let found = pixels?.find(key.description, madeFrom: key.original.description)
        return found.map { StoredPixels(image: $0.image, original: $0.entry, watches: watches) }
    }

    package func storePixels(_ image: Image, madeFrom mark: BytesMark, for key: ImageCacheKey) {
        pixels?.store(image, madeFrom: mark, for: key.description)
    }

    package func whenWritten(_ completion: @escaping @Sendable () -> Void) {
        if let disk { disk.submitCompletion(completion) } else { completion() }
    }
}

extension ImageCache {
    /// Returns when all pixels stored before are on disk.
    public func flushPixels() async {
        await withCheckedContinuation { continuation in
            if let pixels { pixels.whenWritten { continuation.resume() } } else { continuation.resume() }
        }
    }

    /// Like ``flushPixels()``, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use flushPixels()")
    public func blockingFlushPixels() {
        let end = DispatchSemaphore(value: 0)
        pixels?.whenWritten { end.signal() }
        if pixels != nil { end.wait() }
    }

    /// Returns statistics of the variants that are stored as pixels on disk; `nil` if none are.
    public func pixelStatistics() async -> DiskCache.Statistics? { await pixels?.statistics() }

    /// Returns the entry of a variant that is stored as pixels on disk; `nil` if there is none. This does not count as a use.
    public func pixelEntry(for key: ImageCacheKey) async -> DiskCache.Entry? {
        await pixels?.entry(for: key.description)
    }
}
