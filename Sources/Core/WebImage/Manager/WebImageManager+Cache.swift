public import FoundationEssentials
public import WebImageCaching
public import WebImageCore
import WebImageLoading

extension WebImageManager {
    /// Returns the tier that has a request's image, or the original it can be made from; `nil` if none has. This does
    /// not count as a use.
    public func tier(holding request: WebImageRequest) async -> CacheTier? {
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        if pipeline.isInMemory(context.request) { return .memory }
        let tiers: ImageCache.Tiers = context.queriesVariantOnDisk ? .disk : []
        if let tier = await pipeline.cache.base.tier(holding: context.key, in: tiers) { return tier }
        let key = context.key.original
        guard let tier = await pipeline.originals.base.tier(holding: key, in: .disk) else { return nil }
        let metadata: Data? = await withCheckedContinuation { continuation in
            pipeline.originals.readAttributes(of: key) {
                continuation.resume(returning: $0?.attributes.responseMetadata)
            }
        }
        return isError(metadata) ? nil : tier
    }

    /// Like ``tier(holding:)``, but blocks on the disk. Of custom caches only memory is looked up.
    @available(*, noasync, message: "It blocks on the disk; use tier(holding:)")
    func blockingTier(holding request: WebImageRequest) -> CacheTier? {
        guard let (pipeline, context) = place(of: prepared(request)) else { return nil }
        if pipeline.isInMemory(context.request) { return .memory }
        let tiers: ImageCache.Tiers = context.queriesVariantOnDisk ? .disk : []
        let (cache, originals) = (pipeline.cache.base as? ImageCache, pipeline.originals.base as? ImageCache)
        if let tier = cache?.blockingTier(holding: context.key, in: tiers) { return tier }
        guard let originals, let tier = originals.blockingTier(holding: context.key.original, in: .disk) else {
            return nil
        }
        let entry = originals.disk?.blockingEntry(for: context.key.original.description)
        return isError(entry?.responseMetadata) ? nil : tier
    }

    /// Whether a stored response is an error that a server allowed to be stored.
    private func isError(_ metadata: Data?) -> Bool { CachedResponse(encoded: metadata)?.isSuccess == false }

    /// Whether a request's image is in memory.
    func isInMemory(_ request: WebImageRequest) -> Bool {
        let request = prepared(request)
        return pipelines.pipeline(for: request).isInMemory(request)
    }

    /// Stores an image as a request's result, as if it had been loaded: an original in memory and on disk, a variant
    /// where ``WebImageRequest/cacheAccess`` says. On disk its bytes are stored, or the encoded image.
    ///
    /// A partial image, and one for a URL that no loader of this manager loads, is not stored.
    ///
    /// - Parameters:
    ///   - image: the result of a load.
    ///   - data: the bytes of this image, if there are any.
    ///   - request: the request that this image answers from now on.
    public func store(_ image: Image, data: Data? = nil, for request: WebImageRequest) {
        guard !image.isPartial, let (pipeline, context) = place(of: prepared(request)) else { return }
        guard context.request.needsWholeImage else {
            return pipeline.cache.store(image, data: data, for: context.key, in: context.cacheAccess.store)
        }
        // Everything that was made from other bytes is out of date.
        pipeline.supersedeAll(of: context.key.source)
        pipeline.noteVariant(image, context)
        let disk: ImageCache.Tiers = context.storesOnDisk ? .disk : []
        if pipeline.hasOneCache, context.key.variant == nil {
            return pipeline.cache.store(image, data: data, for: context.key, in: context.cacheAccess.store.union(disk))
        }
        // Under a key with a scale, memory holds the image with that scale; the bytes are the original's.
        var scaled = image
        if context.key.variant != nil { scaled.scale = context.request.resolvedScale }
        pipeline.cache.store(scaled, data: data, for: context.key, in: context.cacheAccess.store)
        pipeline.originals.store(image, data: data, for: context.key.original, in: disk)
    }
}

extension WebImageManager {
    /// Removes what the caches have of an image: its original, and the variant of this key. Other variants in memory are
    /// no longer used.
    public func removeImages(of key: ImageCacheKey) async {
        let pipeline = pipelines.standard
        pipeline.supersedeAll(of: key.source)
        await pipeline.cache.base.remove(for: key)
        if key.variant != nil || !pipeline.hasOneCache { await pipeline.originals.base.remove(for: key.original) }
    }
}

extension Pipeline {
    /// Whether memory has the image, or the animation that its first frame can be taken from.
    fileprivate func isInMemory(_ request: WebImageRequest) -> Bool {
        let key = request.cacheKey
        return cache.isInMemory(key)
            || request.options.contains(.firstFrameOnly) && cache.isInMemory(key.withAllFrames)
    }
}

/// The block list: URLs that are not loaded again for now.
///
/// It contains the URLs of requests with ``WebImageRequest/respectsBlockList`` that failed with a lasting error
/// (``Configuration/shouldBlock``). Each stays for ``Configuration/blockDuration``. The list has at most 10,000 URLs.
extension WebImageManager {
    /// The URLs on the block list.
    public var blockedURLs: Set<URL> { blockList.urls }

    /// Returns whether `url` is on the block list, for tests.
    func isBlocked(_ url: URL) -> Bool { blockList.code(for: url) != nil }

    /// Removes a URL from the block list, so that the next request loads it.
    public func unblock(_ url: URL) { blockList.remove(url) }

    /// Removes all URLs from the block list.
    public func unblockAll() { blockList.removeAll() }
}

extension WebImageManager {
    /// The current counters: totals since the manager was created, and the work in progress.
    public var counters: WebImageCounters {
        let pipeline = pipelines.standard
        var counters = pipeline.counters.current
        counters.cacheName = (pipeline.cache.base as? ImageCache)?.name
        counters.running = running.count
        counters.suspended = running.waitingCount
        for pipeline in pipelines.atWork {
            counters.imagesInProgress += pipeline.imageJobs.count
            counters.filesInProgress += pipeline.byteJobs.count
        }
        counters.decodingQueueDepth = pipeline.decodingQueue.waitingCount
        counters.undecodedByteCount = pipeline.undecoded.heldByteCount
        return counters
    }
}
