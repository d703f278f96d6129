public import FoundationEssentials
public import WebImageCaching
public import WebImageCore
import WebImageLoading

extension WebImageManager {
    /// Where a request's picture is, or the original it can be made of: in memory, or on disk; `nil` where no cache has either.
    /// Asking does not count as a use.
    public func tier(holding request: WebImageRequest) async -> CacheTier? {
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        if pipeline.cache.isInMemory(context.request) { return .memory }
        let tiers: ImageCache.Tiers = context.queriesVariantOnDisk ? .disk : []
        if let tier = await pipeline.cache.tier(holding: context.key, in: tiers) { return tier }
        guard let tier = await pipeline.originals.tier(holding: context.key.original, in: .disk) else { return nil }
        let entry = await pipeline.originals.disk?.entry(for: context.key.original.description)
        return entry.isAnError ? nil : tier
    }

    /// As ``tier(holding:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use tier(holding:)")
    public func cachedTier(holding request: WebImageRequest) -> CacheTier? {
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        if pipeline.cache.isInMemory(context.request) { return .memory }
        let tiers: ImageCache.Tiers = context.queriesVariantOnDisk ? .disk : []
        if let tier = pipeline.cache.cachedTier(holding: context.key, in: tiers) { return tier }
        guard let tier = pipeline.originals.cachedTier(holding: context.key.original, in: .disk) else { return nil }
        let entry = pipeline.originals.disk?.cachedEntry(for: context.key.original.description)
        return entry.isAnError ? nil : tier
    }

    /// Whether memory has a request's picture; without touching the disk.
    public func isInMemory(_ request: WebImageRequest) -> Bool {
        let request = prepared(request)
        return pipelines.pipeline(for: request).cache.isInMemory(request)
    }

    /// Stores a picture for a URL, as if it had been loaded whole: in memory, and on disk its bytes, or it encoded.
    public func store(_ image: Image, data: Data? = nil, for url: URL) {
        store(image, data: data, for: WebImageRequest(url))
    }

    /// Stores a picture as a request's result: one for the original in memory and on disk, a variant where
    /// ``WebImageRequest/cacheAccess`` says.
    ///
    /// A partial picture, and one for a URL that no loader of this manager handles, is not stored.
    ///
    /// - Parameter data: the bytes of this very picture, if there are any.
    public func store(_ image: Image, data: Data? = nil, for request: WebImageRequest) {
        guard !image.isPartial, let (pipeline, context) = place(of: prepared(request)) else { return }
        guard context.request.wantsWholePicture else {
            return pipeline.cache.store(image, data: data, for: context.key, in: context.cacheAccess.store)
        }
        // All that was made of other bytes is out of date.
        pipeline.supersedeAll(of: context.key.source)
        pipeline.noteVariant(image, context)
        let disk: ImageCache.Tiers = context.usesDiskCache ? .disk : []
        if pipeline.originals === pipeline.cache, context.key.variant == nil {
            return pipeline.cache.store(image, data: data, for: context.key, in: context.cacheAccess.store.union(disk))
        }
        // Under a key with a scale, memory has it with that scale; the bytes are the original's.
        var picture = image
        if context.key.variant != nil { picture.scale = context.request.resolvedScale }
        pipeline.cache.store(picture, data: data, for: context.key, in: context.cacheAccess.store)
        pipeline.originals.store(image, data: data, for: context.key.original, in: disk)
    }
}

extension ImageCache {
    /// Whether memory has the picture, or for a first frame the animation that it can be taken of.
    fileprivate func isInMemory(_ request: WebImageRequest) -> Bool {
        let key = request.cacheKey
        return isInMemory(key) || request.options.contains(.firstFrameOnly) && isInMemory(key.withAllFrames)
    }
}

extension DiskCache.Entry? {
    /// Whether it is an error that a server let be kept.
    fileprivate var isAnError: Bool {
        let response = self?.responseMetadata.flatMap(ResponseMetadata.init(encoded:))?.response
        return response?.isSuccess == false
    }
}

/// The URLs that are not tried again for now: those of requests with ``WebImageOptions/ignoreFailedURL`` that failed for good
/// (``WebImageError/isLasting``), for ``Configuration/blockDuration``, 10,000 at the most.
extension WebImageManager {
    /// All of them.
    public var blockedURLs: Set<URL> { blockList.urls }

    /// Whether `url` is one of them.
    public func isBlocked(_ url: URL) -> Bool { blockList.code(for: url) != nil }

    /// Takes one off the list.
    public func unblock(_ url: URL) { blockList.remove(url) }

    /// Takes all off the list.
    public func unblockAll() { blockList.removeAll() }
}

extension WebImageManager {
    /// What has happened since the manager was made, and what is under way.
    public var counters: WebImageCounters {
        let pipeline = pipelines.standard
        var counters = pipeline.counters.current
        counters.running = running.count
        counters.suspended = running.waitingCount
        for pipeline in pipelines.atWork {
            counters.picturesUnderWay += pipeline.pictures.count
            counters.filesUnderWay += pipeline.bytes.count
        }
        counters.decodingQueueDepth = pipeline.decodingQueue.waitingCount
        counters.undecodedByteCount = pipeline.undecoded.heldByteCount
        return counters
    }
}
