internal import WebImageCore

/// Values in memory, the least recently used of which go first when a limit is reached.
///
/// Every method may be called from any thread and takes constant time (an eviction: for each entry that goes). Values
/// are released outside the lock, on the thread whose call displaced them.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: `store` is touched in the closures given to `locked` only.
    @usableFromInline var store: LRUStore<Key, Value>
    /// Guards `store`. Its own value is unused, but has a size: ThreadSanitizer takes accesses to one without for races.
    private let lock = Lock(0)

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - costLimit: the most that all entries may cost together, in the unit of the caller's choice (bytes, for
    ///     images). Values above `Int.max / 2` count as that.
    ///   - countLimit: the most entries.
    public init(costLimit: Int, countLimit: Int = .max) {
        store = LRUStore(costLimit: Self.clampedCost(costLimit), countLimit: max(0, countLimit))
    }

    /// The value, which becomes the most recently used; `nil` when there is none.
    @inlinable
    public func value(for key: Key) -> Value? {
        let hash = LRUStore<Key, Value>.hash(key)
        var value: Value?
        locked { value = store.use(key, hash: hash) }
        return value
    }

    /// Whether there is a value; asking does not count as a use.
    @inlinable
    public func contains(_ key: Key) -> Bool {
        let hash = LRUStore<Key, Value>.hash(key)
        var isPresent = false
        locked { isPresent = store.contains(key, hash: hash) }
        return isPresent
    }

    /// Stores the value as the most recently used, in place of any older one, and evicts others as the limits require.
    ///
    /// A value that costs more than ``costLimit`` by itself is not kept; what the key held before goes all the same.
    ///
    /// - Parameter cost: its share of ``costLimit``; a negative one counts as 0.
    @inlinable
    public func set(_ value: Value, for key: Key, cost: Int = 0) {
        let hash = LRUStore<Key, Value>.hash(key)
        var displaced = LRUStore<Key, Value>.Displaced()
        locked { store.set(value, for: key, hash: hash, cost: max(0, cost), displaced: &displaced) }
        withExtendedLifetime(displaced) {}
    }

    /// Stores the value unless the key has one already; `true` if it was stored.
    ///
    /// Either way the key's value is the most recently used afterwards. Costs and limits count as for
    /// ``set(_:for:cost:)``.
    @discardableResult
    @inlinable
    public func insert(_ value: Value, for key: Key, cost: Int = 0) -> Bool {
        let hash = LRUStore<Key, Value>.hash(key)
        var displaced = LRUStore<Key, Value>.Displaced()
        var isInserted = false
        locked {
            guard store.use(key, hash: hash) == nil else { return }
            store.set(value, for: key, hash: hash, cost: max(0, cost), displaced: &displaced)
            isInserted = store.contains(key, hash: hash)
        }
        withExtendedLifetime(displaced) {}
        return isInserted
    }

    /// Removes the value and returns it.
    @discardableResult
    @inlinable
    public func remove(for key: Key) -> Value? {
        let hash = LRUStore<Key, Value>.hash(key)
        var removed: LRUStore<Key, Value>.Slot?
        locked { removed = store.remove(key, hash: hash) }
        return removed?.value
    }

    /// Removes everything.
    public func removeAll() {
        var old: LRUStore<Key, Value>?
        locked {
            old = store
            store = LRUStore(costLimit: store.costLimit, countLimit: store.countLimit)
        }
        withExtendedLifetime(old) {}
    }

    /// Removes the least recently used entries until the rest cost no more than `cost`.
    public func trim(toCost cost: Int) { trim(toCost: cost, toCount: .max) }

    /// Removes the least recently used entries until no more than `count` are left.
    public func trim(toCount count: Int) { trim(toCost: .max, toCount: count) }

    private func trim(toCost cost: Int, toCount count: Int) {
        var displaced = LRUStore<Key, Value>.Displaced()
        locked { store.evict(toCost: max(0, cost), toCount: max(0, count), displaced: &displaced) }
        withExtendedLifetime(displaced) {}
    }

    /// Runs `body` alone.
    ///
    /// It is not generic, and the lock is not inlined, so that callers in other modules get specialised code for
    /// everything that depends on `Key` and `Value` without seeing the lock.
    @usableFromInline
    func locked(_ body: () -> Void) { lock.withLock { _ in body() } }

    /// Half of the range, so that the total and one more entry never overflow.
    private static func clampedCost(_ cost: Int) -> Int { min(max(0, cost), .max / 2) }
}

extension MemoryCache {
    /// How many entries there are.
    public var count: Int {
        var count = 0
        locked { count = store.slots.count }
        return count
    }

    /// What all entries cost together.
    public var totalCost: Int {
        var cost = 0
        locked { cost = store.totalCost }
        return cost
    }

    /// The most that all entries may cost together. A lower limit takes effect at once.
    public var costLimit: Int {
        get {
            var limit = 0
            locked { limit = store.costLimit }
            return limit
        }
        set {
            locked { store.costLimit = Self.clampedCost(newValue) }
            trim(toCost: newValue)
        }
    }

    /// The most entries. A lower limit takes effect at once.
    public var countLimit: Int {
        get {
            var limit = 0
            locked { limit = store.countLimit }
            return limit
        }
        set {
            locked { store.countLimit = max(0, newValue) }
            trim(toCount: newValue)
        }
    }
}
