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
/// Each kind of operation has its ``Policy``. Caches may be added and removed at any time, from any thread; an
/// operation in progress continues with those that it started with. A group without caches finds nothing and stores
/// nothing.
///
/// A group is a cache itself. It can be part of another group, but not of itself, and can be the cache of a manager.
package final class ImageCacheGroup: ImageCaching, ExpressibleByArrayLiteral {
    package typealias Policy = CacheGroupPolicy

    /// The policy of each kind of operation.
    package struct Policies: Sendable, Hashable {
        package var query = Policy.serial
        package var store = Policy.highestOnly
        package var remove = Policy.concurrent
        package var contains = Policy.serial
        package var clear = Policy.concurrent

        package init() {}
    }

    private struct State {
        var caches: [any ImageCaching]
        var policies: Policies
    }

    private let state: Lock<State>

    /// Creates a group of `caches`, lowest priority first.
    ///
    /// - Parameters:
    ///   - query: the policy for looking up images and bytes.
    ///   - store: the policy for storing; by default only into the cache of highest priority, so that there is one
    ///     copy.
    ///   - remove: the policy for removing an image; by default from all caches.
    ///   - contains: the policy for finding the tier that has an image.
    ///   - clear: the policy for removing everything; by default from all caches.
    package init(
        _ caches: [any ImageCaching] = [], query: Policy = .serial, store: Policy = .highestOnly,
        remove: Policy = .concurrent, contains: Policy = .serial, clear: Policy = .concurrent
    ) {
        var policies = Policies()
        policies.query = query
        policies.store = store
        policies.remove = remove
        policies.contains = contains
        policies.clear = clear
        state = Lock(State(caches: caches, policies: policies))
    }

    /// Creates a group of caches, lowest priority first.
    package convenience init(arrayLiteral caches: any ImageCaching...) { self.init(caches) }

    /// The caches, lowest priority first.
    package var caches: [any ImageCaching] {
        get { state.withLock { $0.caches } }
        set {
            // Released outside the lock, since deallocating a custom cache runs its code.
            let former = state.withLock { state in
                defer { state.caches = newValue }
                return state.caches
            }
            withExtendedLifetime(former) {}
        }
    }

    /// The policy of each kind of operation.
    package var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Adds a cache with the highest priority. A cache that is already in the group is moved.
    package func add(_ cache: any ImageCaching) {
        state.withLock { state in
            state.caches.removeAll { $0 === cache }
            state.caches.append(cache)
        }
    }

    /// Removes a cache; does nothing if it is not in the group.
    package func remove(_ cache: any ImageCaching) { state.withLock { $0.caches.removeAll { $0 === cache } } }

    // MARK: Looking up

    /// Returns the image from the memory of the first cache that has it, by the query policy.
    package func image(inMemoryFor key: ImageCacheKey) -> Image? {
        let (caches, _) = reached { $0.query }
        return caches.lazy.compactMap { $0.image(inMemoryFor: key) }.first
    }

    package func image(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await image(for: key, in: tiers, options: ImageQueryOptions())
    }

    /// Returns the image, by the query policy.
    package func image(
        for key: ImageCacheKey, in tiers: ImageCache.Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult? {
        await firstResult(by: \.query) { await $0.image(for: key, in: tiers, options: options) }
    }

    /// Returns the stored bytes, by the query policy.
    package func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await firstResult(by: \.query) { await $0.data(for: key, in: tiers) }
    }

    /// Returns the tier that has the image, by the policy for `contains`.
    package func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier? {
        await firstResult(by: \.contains) { await $0.tier(holding: key, in: tiers) }
    }

    // MARK: Changing

    /// Stores by the policy for storing.
    package func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        await forEach(by: \.store) {
            await $0.store(image, data: data, for: key, in: tiers, attributes: attributes)
        }
    }

    /// Replaces the attributes of the bytes, in every cache that has them.
    package func update(_ attributes: DiskCache.Attributes, of data: Data, for key: ImageCacheKey) async {
        for cache in caches { await cache.update(attributes, of: data, for: key) }
    }

    /// Removes by the policy for removing.
    package func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        await forEach(by: \.remove) { await $0.remove(for: key, from: tiers) }
    }

    /// Removes everything, by the policy for clearing.
    package func clear(_ tiers: ImageCache.Tiers) async { await forEach(by: \.clear) { await $0.clear(tiers) } }

    // MARK: Policies at work

    /// Returns the caches that an operation uses, highest priority first, and whether it uses them concurrently.
    private func reached(by policy: (Policies) -> Policy) -> (caches: [any ImageCaching], atOnce: Bool) {
        let (caches, policy) = state.withLock { ($0.caches, policy($0.policies)) }
        return switch policy {
        case .serial: (caches.reversed(), false)
        case .concurrent: (caches.reversed(), true)
        case .highestOnly: (Array(caches.suffix(1)), false)
        case .lowestOnly: (Array(caches.prefix(1)), false)
        }
    }

    private func firstResult<Found: Sendable>(
        by policy: (Policies) -> Policy, of lookUp: @escaping @Sendable (any ImageCaching) async -> Found?
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
        by policy: (Policies) -> Policy, _ change: @escaping @Sendable (any ImageCaching) async -> Void
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
