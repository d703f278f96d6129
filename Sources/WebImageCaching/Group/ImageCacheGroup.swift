public import FoundationEssentials
public import WebImageCore

/// Several caches of images as one; the last added has the highest priority.
///
/// ```swift
/// let group = ImageCacheGroup([shippedPictures, ImageCache.shared])   // asks the shared one first
/// group.policies.query = .concurrent
/// ```
///
/// Each kind of operation has its ``Policy``. Caches and policies may change at any time, from any thread; an operation
/// under way goes on as it began. A group without caches answers every look-up with a miss, and does nothing else.
///
/// A group is a cache itself, and may be part of another group, but not of itself.
public final class ImageCacheGroup: ImageCaching, ExpressibleByArrayLiteral {
    /// Which caches an operation reaches, and in which order.
    public enum Policy: Sendable, Hashable, CaseIterable {
        /// All, one after the other, highest priority first. A look-up ends at the first that has an answer.
        case serial
        /// All at once. Of a look-up the answer that comes first counts, and the other caches are cancelled.
        case concurrent
        /// The one of highest priority alone.
        case highestOnly
        /// The one of lowest priority alone.
        case lowestOnly
    }

    /// The policy of each kind of operation.
    public struct Policies: Sendable, Hashable {
        /// Looking up pictures and bytes: serial, so that priorities count.
        public var query = Policy.serial
        /// Storing: into the cache of highest priority alone, so that there is one copy.
        public var store = Policy.highestOnly
        /// Removing a picture: from all at once, so that none brings it back.
        public var remove = Policy.concurrent
        /// Asking who has a picture: serial, as for looking it up.
        public var contains = Policy.serial
        /// Removing everything: from all at once.
        public var clear = Policy.concurrent

        /// Makes the defaults.
        public init() {}
    }

    private struct State {
        var caches: [any ImageCaching]
        var policies: Policies
    }

    private let state: Lock<State>

    /// Makes a group of `caches`, those of higher priority last.
    public init(_ caches: [any ImageCaching] = [], policies: Policies = Policies()) {
        state = Lock(State(caches: caches, policies: policies))
    }

    /// Makes a group, those of higher priority last.
    public convenience init(arrayLiteral caches: any ImageCaching...) { self.init(caches) }

    /// The caches, those of higher priority last.
    public var caches: [any ImageCaching] {
        get { state.withLock { $0.caches } }
        set {
            // Let go outside the lock: the end of a client's cache runs its code.
            let former = state.withLock { state in
                defer { state.caches = newValue }
                return state.caches
            }
            withExtendedLifetime(former) {}
        }
    }

    /// What reaches which cache.
    public var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Adds a cache, whose priority is the highest from now on. One that is there already moves.
    public func add(_ cache: any ImageCaching) {
        state.withLock { state in
            state.caches.removeAll { $0 === cache }
            state.caches.append(cache)
        }
    }

    /// Removes a cache; does nothing if it is not there.
    public func remove(_ cache: any ImageCaching) { state.withLock { $0.caches.removeAll { $0 === cache } } }

    // MARK: Looking up

    /// The picture that the first cache has at hand, of those the query policy reaches.
    public func image(inMemoryFor key: ImageCacheKey) -> Image? {
        let (caches, _) = reached { $0.query }
        return caches.lazy.compactMap { $0.image(inMemoryFor: key) }.first
    }

    /// The picture, by the query policy.
    public func image(
        for key: ImageCacheKey, in tiers: ImageCache.Tiers, options: ImageQueryOptions
    ) async -> ImageCacheResult? {
        await firstAnswer(by: \.query) { await $0.image(for: key, in: tiers, options: options) }
    }

    /// The bytes, by the query policy.
    public func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        await firstAnswer(by: \.query) { await $0.data(for: key, in: tiers) }
    }

    /// Where the picture is, by the policy for `contains`.
    public func tier(holding key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> CacheTier? {
        await firstAnswer(by: \.contains) { await $0.tier(holding: key, in: tiers) }
    }

    // MARK: Changing

    /// Stores by the policy for storing.
    public func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {
        await forEach(by: \.store) {
            await $0.store(image, data: data, for: key, in: tiers, attributes: attributes)
        }
    }

    /// Removes by the policy for removing.
    public func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {
        await forEach(by: \.remove) { await $0.remove(for: key, from: tiers) }
    }

    /// Empties by the policy for clearing.
    public func clear(_ tiers: ImageCache.Tiers) async { await forEach(by: \.clear) { await $0.clear(tiers) } }

    // MARK: Policies at work

    /// The caches that an operation reaches, highest priority first, and whether at once.
    private func reached(by policy: (Policies) -> Policy) -> (caches: [any ImageCaching], atOnce: Bool) {
        let (caches, policy) = state.withLock { ($0.caches, policy($0.policies)) }
        return switch policy {
        case .serial: (caches.reversed(), false)
        case .concurrent: (caches.reversed(), true)
        case .highestOnly: (Array(caches.suffix(1)), false)
        case .lowestOnly: (Array(caches.prefix(1)), false)
        }
    }

    private func firstAnswer<Answer: Sendable>(
        by policy: (Policies) -> Policy, of ask: @escaping @Sendable (any ImageCaching) async -> Answer?
    ) async -> Answer? {
        let (caches, atOnce) = reached(by: policy)
        if atOnce, caches.count > 1 {
            return await FirstAnswer<Answer>.of(caches.map { cache in { await ask(cache) } })
        }
        for cache in caches where !Task.isCancelled {
            if let answer = await ask(cache) { return answer }
        }
        return nil
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
