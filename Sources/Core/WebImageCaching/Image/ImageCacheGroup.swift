package import FoundationEssentials
package import WebImageCore

extension ImageCache {
    /// Returns a cache that combines several caches, lowest priority first.
    ///
    /// ```swift
    /// let shared = ImageCache(disk: DiskCache(configuration: .init(directory: folder)))
    /// let cache = ImageCache.group(of: [shared, ImageCache.shared], query: .concurrent)
    /// ```
    ///
    /// A group can be part of another group, and the cache of a manager or a request. To change the caches of a running
    /// program, give its next requests another group. A group without caches finds nothing and stores nothing.
    ///
    /// - Parameters:
    ///   - query: the policy for looking up images and bytes.
    ///   - store: the policy for storing; by default only into the cache of highest priority, so that there is one
    ///     copy.
    ///   - remove: the policy for removing an image; by default from all caches.
    ///   - contains: the policy for finding the tier that has an image.
    ///   - clear: the policy for removing everything; by default from all caches.
    public static func group(
        of caches: [any ImageCaching], query: CacheGroupPolicy = .serial, store: CacheGroupPolicy = .highestOnly,
        remove: CacheGroupPolicy = .concurrent, contains: CacheGroupPolicy = .serial,
        clear: CacheGroupPolicy = .concurrent
    ) -> any ImageCaching {
        ImageCacheGroup(caches, query: query, store: store, remove: remove, contains: contains, clear: clear)
    }
}

/// The caches of a group that an operation uses, and their order; see
/// ``ImageCache/group(of:query:store:remove:contains:clear:)``.
///
/// ```swift
/// let bundled = ImageCache(disk: nil)
/// let caches = ImageCache.group(of: [ImageCache.shared, bundled], query: .serial, store: .lowestOnly)
/// ```
public enum CacheGroupPolicy: Sendable, Hashable, CaseIterable {
    /// All caches in turn, highest priority first. A look-up ends at the first hit.
    case serial
    /// All caches at the same time. A look-up returns the first hit and cancels the others.
    case concurrent
    /// Only the cache of highest priority.
    case highestOnly
    /// Only the cache of lowest priority.
    case lowestOnly
}

/// Combines several image caches; the last one has the highest priority.
///
/// Each kind of operation has its policy. A group without caches finds nothing and stores nothing. It is a cache itself:
/// it can be part of another group, and the cache of a manager.
package final class ImageCacheGroup: ImageCaching {
    /// Lowest priority first.
    package let caches: [any ImageCaching]
    private let query: CacheGroupPolicy
    private let store: CacheGroupPolicy
    private let remove: CacheGroupPolicy
    private let contains: CacheGroupPolicy
    private let clear: CacheGroupPolicy

    /// See ``ImageCache/group(of:query:store:remove:contains:clear:)``.
    init(
        _ caches: [any ImageCaching], query: CacheGroupPolicy = .serial, store: CacheGroupPolicy = .highestOnly,
        remove: CacheGroupPolicy = .concurrent, contains: CacheGroupPolicy = .serial,
        clear: CacheGroupPolicy = .concurrent
    ) {
        self.caches = caches
        (self.query, self.store, self.remove) = (query, store, remove)
        (self.contains, self.clear) = (contains, clear)
    }

    // MARK: Looking up

    /// Returns the image from the memory of the first cache that has it, by the query policy.
    package func image(inMemoryFor key: ImageCacheKey) -> Image? {
        let (caches, _) = reached(by: query)
        return caches.lazy.compactMap { $0.image(inMemoryFor: key) }.first
    }

    package func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await image(for: key, in: tiers, options: ImageQueryOptions())
    }

    /// Returns the image, by the query policy.
    func image(
        for key: ImageCacheKey, in tiers: ImageCache.Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult? {
        await firstResult(by: query) { await $0.image(for: key, in: tiers, options: options) }
    }

    /// Returns the stored bytes, by the query policy.
    package func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await firstResult(by: query) { await $0.data(for: key, in: tiers) }
    }

    /// Returns the tier that has the image, by the policy for `contains`.
    package func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier? {
        await firstResult(by: contains) { await $0.tier(holding: key, in: tiers) }
    }

    // MARK: Changing

    /// Stores by the policy for storing.
    package func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        await forEach(by: store) {
            await $0.store(image, data: data, for: key, in: tiers, attributes: attributes)
        }
    }

    /// Replaces the attributes of the bytes, in every cache that has them.
    package func update(_ attributes: DiskCache.Attributes, of data: Data, for key: ImageCacheKey) async {
        for cache in caches { await cache.update(attributes, of: data, for: key) }
    }

    /// Removes by the policy for removing.
    package func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        await forEach(by: remove) { await $0.remove(for: key, from: tiers) }
    }

    /// Removes everything, by the policy for clearing.
    package func clear(_ tiers: ImageCache.Tiers) async { await forEach(by: clear) { await $0.clear(tiers) } }

    // MARK: Policies at work

    /// Returns the caches that an operation uses, highest priority first, and whether it uses them concurrently.
    private func reached(by policy: CacheGroupPolicy) -> (caches: [any ImageCaching], atOnce: Bool) {
        switch policy {
        case .serial: (caches.reversed(), false)
        case .concurrent: (caches.reversed(), true)
        case .highestOnly: (Array(caches.suffix(1)), false)
        case .lowestOnly: (Array(caches.prefix(1)), false)
        }
    }

    private func firstResult<Found: Sendable>(
        by policy: CacheGroupPolicy, of lookUp: @escaping @Sendable (any ImageCaching) async -> Found?
    ) async -> Found? {
        let (caches, atOnce) = reached(by: policy)
        guard atOnce, caches.count > 1 else {
            for cache in caches where !Task.isCancelled {
                if let result = await lookUp(cache) { return result }
            }
            return nil
        }
        let job = Job<Found?, NoNews>()
        let first = await job.result { job in
            let waiting = LockBox(caches.count)
            // Cancelled at the end, when the other results no longer matter.
            job.runBeside { _ in
                CacheLookUps(
                    tasks: caches.map { cache in
                        Task {
                            let result = await lookUp(cache)
                            let isLast = waiting.withLock { count in
                                count -= 1
                                return count == 0
                            }
                            if result != nil || isLast { job.finish(.success(result)) }
                        }
                    })
            }
        }
        return (try? first.get()).flatMap { $0 }
    }

    private func forEach(
        by policy: CacheGroupPolicy, _ change: @escaping @Sendable (any ImageCaching) async -> Void
    ) async {
        let (caches, atOnce) = reached(by: policy)
        guard atOnce else {
            for cache in caches { await change(cache) }
            return
        }
        await withTaskGroup { group in
            for cache in caches { group.addTask { await change(cache) } }
        }
    }
}

/// Concurrent look-ups in several caches.
private struct CacheLookUps: LoaderTask {
    let tasks: [Task<Void, Never>]

    func cancel() { for task in tasks { task.cancel() } }
}
