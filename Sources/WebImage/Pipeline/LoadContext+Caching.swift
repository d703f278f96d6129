import WebImageCaching
import WebImageCore
import WebImageProcessing

/// Which caches have a part in a load.
extension LoadContext {
    /// The tiers for the picture as it is asked for.
    var cacheAccess: CacheAccess {
        // Nearly every request.
        if request.hasStandardDetails, request.processors.isEmpty,
            request.options.isDisjoint(with: [.ignoreDecoding, .avoidForcedDecode])
        {
            return .memory
        }
        var access = request.hasStandardDetails ? .memory : request.details.cacheAccess
        // Of the original, the disk keeps the bytes; a stand-in is kept nowhere.
        if access != .memory, request.options.contains(.ignoreDiskCache) || request.wantsWholePicture {
            access.formIntersection(.memory)
        }
        if request.options.contains(.memoryOnly) { access.store.formIntersection(.memory) }
        if request.options.contains(.avoidForcedDecode) { access.store.remove(.memory) }
        if isForPart || request.options.contains(.ignoreDecoding) { access = .none }
        if !keepsProcessed { access.store = [] }
        return access
    }

    /// Whether memory may answer.
    var queriesMemory: Bool {
        request.cachePolicy != .reload && !isForPart && !request.options.contains(.ignoreDecoding)
            && (request.hasStandardDetails || request.details.cacheAccess.query.contains(.memory))
    }

    /// Whether memory is to have the picture.
    var storesInMemory: Bool { cacheAccess.store.contains(.memory) }

    /// Whether what is stored will do, however old it is.
    var takesAnyAge: Bool { [.cacheFirst, .cacheOnly].contains(request.cachePolicy) }

    /// Whether the disk may have the very variant.
    var queriesVariantOnDisk: Bool { cacheAccess.query.contains(.disk) && takesAnyAge }

    /// Whether the disk is to have the very variant.
    var storesVariantOnDisk: Bool { cacheAccess.store.contains(.disk) }

    /// Whether the original goes to the disk: what lies there anyway gets no copy.
    var usesDiskCache: Bool {
        isCacheable && request.options.isDisjoint(with: [.ignoreDiskCache, .memoryOnly])
            && (request.hasStandardDetails || request.details.originalCacheAccess.store.contains(.disk))
    }

    /// Whether the disk may have the original.
    var queriesDiskCache: Bool {
        isCacheable && !request.options.contains(.ignoreDiskCache)
            && (request.hasStandardDetails || request.details.originalCacheAccess.query.contains(.disk))
    }

    private var isCacheable: Bool { !isForPart && loader.isCacheable(request.url) }

    /// Whether the processors' result can be told from others: one closure is like the next unless it has a name.
    private var keepsProcessed: Bool {
        request.processors.isEmpty
            || !ProcessorChain(request.processors).processors.contains {
                ($0 as? ImageProcessors.Transform)?.isAnonymous == true
            }
    }
}

extension CacheAccess {
    fileprivate mutating func formIntersection(_ tiers: ImageCache.Tiers) {
        query.formIntersection(tiers)
        store.formIntersection(tiers)
    }
}
