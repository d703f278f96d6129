internal import WebImageCore

/// Values in memory, the least recently used of which go first when a limit is reached.
///
/// Every method may be called from any thread and takes constant time (an eviction: for each entry that goes). The entries
/// are divided among shards, so that threads seldom wait for each other; yet there is one order of use for all of them:
///
/// ```
///            ┌ shard 0: lock, entries in order of use ─ stamp of the oldest ┐
///  hash ───▶ │ shard 1: …                                                   ├─▶ the smallest one is evicted next
///            └ shard 7: …                                                   ┘
/// ```
///
/// Limits hold whenever no call of ``set(_:for:cost:expiration:)`` or ``insert(_:for:cost:expiration:)`` is under way.
/// What has expired, or has not been used for ``ageLimit``, is never handed out, and is removed by a thread that the
/// library runs while there is something to wait for. Values are released outside the locks, where ``ValueRelease``
/// says.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Displaced = LRUStore<Key, Value>.Displaced

    @usableFromInline let shards: ContiguousArray<MemoryShard<Key, Value>>
    /// Leaves the highest bits of a hash, as many as number the shards; the shards' tables go by the lowest.
    @usableFromInline let shardShift: UInt32
    @usableFromInline let totals: MemoryTotals
    @usableFromInline let clock: MemoryClock
    @usableFromInline let revival: ValueRevival<Value>?
    @usableFromInline let expiration: CacheExpiration
    let valueRelease: ValueRelease
    let removesAllInBackground: Bool
    @usableFromInline let upkeep: MemoryUpkeep

    /// Makes an empty cache.
    public convenience init(configuration: Configuration) {
        self.init(configuration: configuration, clock: .system, maintenance: .shared)
    }

    /// Makes an empty cache with the defaults of ``Configuration`` otherwise.
    ///
    /// - Parameters:
    ///   - costLimit: the most that all entries may cost together, in the unit of the caller's choice (bytes, for
    ///     images). Values above `Int.max / 2` count as that.
    ///   - countLimit: the most entries.
    public convenience init(costLimit: Int, countLimit: Int = .max) {
        self.init(configuration: Configuration(costLimit: costLimit, countLimit: countLimit))
    }

    init(configuration: Configuration, clock: MemoryClock, maintenance: CacheMaintenance, shardCount: Int? = nil) {
        let shardCount = shardCount ?? Self.defaultShardCount
        precondition(shardCount > 1 && shardCount & (shardCount - 1) == 0, "\(shardCount) is no power of two above 1")
        let store = LRUStore<Key, Value>(
            ageLimit: Int64(nanosecondsIn: configuration.ageLimit),
            expirationExtension: configuration.expirationExtension)
        shards = ContiguousArray((0..<shardCount).map { _ in MemoryShard(store: store) })
        shardShift = UInt32(UInt32.bitWidth - shardCount.trailingZeroBitCount)
        totals = MemoryTotals(
            costLimit: configuration.costLimit, countLimit: configuration.countLimit,
            entryCostLimit: configuration.entryCostLimit)
        self.clock = clock
        revival = configuration.revival
        expiration = configuration.expiration
        valueRelease = configuration.valueRelease
        removesAllInBackground = configuration.removesAllInBackground
        upkeep = MemoryUpkeep(maintenance: maintenance, pressureSource: configuration.pressureSource, clock: clock)
    }

    deinit {
        upkeep.end(ObjectIdentifier(self))
        var stores = shards.map(\.store)
        for shard in shards { shard.store = LRUStore() }
        valueRelease.release(&stores, leaving: [])
    }

    /// The value, which becomes the most recently used; `nil` when there is none.
    @inlinable
    public func value(for key: Key) -> Value? {
        let hash = LRUStore<Key, Value>.hash(key)
        let shard = shard(for: hash)
        var value: Value?
        var displaced = Displaced()
        let change = update(shard) {
            value = shard.store.use(key, hash: hash, clock: clock, displaced: &displaced)
            if value != nil {
                shard.store.statistics.hitCount &+= 1
            } else if revival == nil {
                shard.store.statistics.missCount &+= 1
            }
        }
        finish(change, &displaced)
        return value == nil && revival != nil ? revivedValue(for: key, hash: hash, countsLookup: true) : value
    }

    /// Whether there is a value; asking does not count as a use.
    @inlinable
    public func contains(_ key: Key) -> Bool {
        let hash = LRUStore<Key, Value>.hash(key)
        let shard = shard(for: hash)
        var isPresent = false
        shard.locked { isPresent = shard.store.contains(key, hash: hash, clock: clock) }
        return isPresent || revival != nil && weakValue(for: key, in: shard) != nil
    }

    /// Stores the value as the most recently used, in place of any older one, and evicts others as the limits require.
    ///
    /// A value that costs more than ``costLimit`` or ``entryCostLimit`` by itself is not kept; what the key held before
    /// goes all the same.
    ///
    /// - Parameters:
    ///   - cost: its share of ``costLimit``; a negative one counts as 0.
    ///   - expiration: until when it is good; ``Configuration/expiration`` by default.
    @inlinable
    public func set(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) {
        store(value, for: key, cost: max(0, cost), expiration: expiration, replaces: true)
    }

    /// Stores the value unless the key has one already; `true` if it was stored.
    ///
    /// Either way the key's value is the most recently used afterwards. Costs, limits and expiration count as for
    /// ``set(_:for:cost:expiration:)``.
    @discardableResult
    @inlinable
    public func insert(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) -> Bool {
        let hash = LRUStore<Key, Value>.hash(key)
        if revival != nil, revivedValue(for: key, hash: hash, countsLookup: false) != nil { return false }
        return store(value, for: key, cost: max(0, cost), expiration: expiration, replaces: false)
    }

    /// Removes the value and returns it. It is not found again, even if it lives on elsewhere.
    @discardableResult
    @inlinable
    public func remove(for key: Key) -> Value? {
        let hash = LRUStore<Key, Value>.hash(key)
        let shard = shard(for: hash)
        var removed: LRUStore<Key, Value>.Slot?
        var isGood = false
        let change = update(shard) {
            isGood = shard.store.contains(key, hash: hash, clock: clock)
            removed = shard.store.remove(key, hash: hash)
            if revival != nil { shard.weakTier.entries[key] = nil }
        }
        var displaced = Displaced()
        if !isGood, let slot = removed {
            displaced.append(slot)
            removed = nil
        }
        finish(change, &displaced)
        return removed?.value
    }

    /// Removes everything. No value is found again, even if it lives on elsewhere.
    public func removeAll() {
        var change: MemoryTotals.Change = []
        var old: [LRUStore<Key, Value>] = []
        var oldWeakTiers: [WeakTier<Key, Value>] = []
        for shard in shards {
            change.formUnion(
                update(shard) {
                    old.append(shard.store)
                    shard.store = LRUStore(succeeding: shard.store)
                    oldWeakTiers.append(shard.weakTier)
                    shard.weakTier = WeakTier(succeeding: shard.weakTier)
                })
        }
        finish(change)
        valueRelease.release(&old, leaving: [])
    }
}

// MARK: - What the methods are made of

extension MemoryCache {
    /// Twice as many as processors, so that few threads meet, but 8 to 32: an eviction looks at all of them.
    private static var defaultShardCount: Int {
        let wanted = min(max(8, 2 * MemoryBudget.processorCount), 32)
        return 1 << (Int.bitWidth - (wanted - 1).leadingZeroBitCount)
    }

    @inlinable
    func shard(for hash: UInt32) -> MemoryShard<Key, Value> { shards[Int(hash &>> shardShift)] }

    @inlinable
    @discardableResult
    func store(_ value: Value, for key: Key, cost: Int, expiration: CacheExpiration?, replaces: Bool) -> Bool {
        let hash = LRUStore<Key, Value>.hash(key)
        let shard = shard(for: hash)
        let expiration = expiration ?? self.expiration
        let deadline = expiration == .never ? SlotDeadline.never : SlotDeadline(expiration, clock: clock)
        let reference = revival?.makeReference(value)
        var displaced = Displaced()
        var isStored = false
        var needsSweep = false
        let change = update(shard) {
            if !replaces, shard.store.use(key, hash: hash, clock: clock, displaced: &displaced) != nil { return }
            if totals.admits(cost: cost) {
                shard.store.set(
                    value, for: key, hash: hash, cost: cost, deadline: deadline, now: clock.now(),
                    displaced: &displaced)
                isStored = true
            } else if let slot = shard.store.remove(key, hash: hash) {
                displaced.append(slot)
            }
            if revival != nil {
                shard.weakTier.set(reference, for: key, cost: cost, deadline: deadline)
                needsSweep = shard.weakTier.entries.count >= shard.weakTier.sweepCount
            }
        }
        if !deadline.isNever, upkeep.isLate(for: deadline) { keepUp() }
        if change.contains(.isInExcess) { evict(into: &displaced) { _ in totals.excess } }
        if needsSweep { sweepWeakTier(of: shard, displaced: &displaced) }
        finish(change, &displaced)
        return isStored
    }

    /// Runs `body` alone with the shard, and counts in what it changed.
    @inlinable
    func update(_ shard: MemoryShard<Key, Value>, _ body: () -> Void) -> MemoryTotals.Change {
        var change: MemoryTotals.Change = []
        shard.locked {
            let (cost, count) = (shard.store.totalCost, shard.store.slots.count)
            body()
            let (addedCost, addedCount) = (shard.store.totalCost &- cost, shard.store.slots.count &- count)
            if addedCost != 0 || addedCount != 0 { change = totals.add(cost: addedCost, count: addedCount) }
            shard.announceOldest()
        }
        return change
    }

    /// Evicts the least recently used entries of all shards one by one, as long as there is a cause.
    ///
    /// - Parameter cause: is given the stamp of the entry that would be next.
    @inlinable
    func evict(into displaced: inout Displaced, while cause: (_ stamp: Int64) -> EvictionCause?) {
        var change: MemoryTotals.Change = []
        while let (shard, stamp) = shardWithOldest() {
            var isDone = false
            let step = update(shard) {
                // Another thread may have used or removed that entry since.
                guard shard.store.oldestStamp == stamp else { return }
                guard let cause = cause(stamp), let slot = shard.store.removeOldest(because: cause) else {
                    isDone = true
                    return
                }
                if revival != nil { shard.weakTier.update(slot.key, deadline: slot.deadline) }
                displaced.append(slot)
            }
            change.formUnion(step)
            if isDone { break }
        }
        finish(change)
    }

    @inlinable
    func shardWithOldest() -> (MemoryShard<Key, Value>, stamp: Int64)? {
        var index = 0
        var oldest = Int64.max
        for candidate in shards.indices where shards[candidate].oldestStamp < oldest {
            (index, oldest) = (candidate, shards[candidate].oldestStamp)
        }
        return oldest == .max ? nil : (shards[index], oldest)
    }

    /// What is left to do without a lock.
    @inlinable
    func finish(_ change: MemoryTotals.Change, _ displaced: inout Displaced) {
        finish(change)
        if !displaced.isEmpty { release(&displaced) }
    }

    @inlinable
    func finish(_ change: MemoryTotals.Change) {
        if !change.isDisjoint(with: [.isFilled, .isEmptied]) { keepUp() }
    }

    @usableFromInline
    func release(_ displaced: inout Displaced) { valueRelease.release(&displaced, leaving: Displaced()) }
}
