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
    @usableFromInline typealias Store = LRUStore<Key, Value>

    @usableFromInline let shards: MemoryShards<Key, Value>
    /// Leaves the highest bits of a hash, as many as number the shards; the shards' tables go by the lowest.
    @usableFromInline let shardShift: UInt32
    @usableFromInline let oldestStamps: OldestStamps
    @usableFromInline let totals: MemoryTotals
    @usableFromInline let clock: MemoryClock
    @usableFromInline let revival: ValueRevival<Value>?
    @usableFromInline let expiration: CacheExpiration
    @usableFromInline let valueRelease: ValueRelease
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
        let ageLimit = Int64(nanosecondsIn: configuration.ageLimit)
        shards = MemoryShards(count: shardCount) {
            LRUStore(ageLimit: ageLimit, expirationExtension: configuration.expirationExtension)
        }
        oldestStamps = OldestStamps(count: shardCount)
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
        let stores = shards.all.map { $0.takeStore() }
        valueRelease.release(consume stores)
    }

    /// The value, which becomes the most recently used; `nil` when there is none.
    @inlinable
    public func value(for key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        shard.lock()
        let position = shard.store.position(of: key, hash: hash)
        if position >= 0 {
            let now = clock.now()
            if shard.store.causeToGo(position, at: now) == nil {
                let value = shard.store.use(position, at: now)
                shard.store.hitCount &+= 1
                announceOldest(of: shard)
                shard.unlock()
                return value
            }
        } else if revival == nil {
            shard.store.missCount &+= 1
            shard.unlock()
            return nil
        }
        shard.unlock()
        return valueElsewhere(for: key, hash: hash, in: shard)
    }

    /// As ``value(for:)``, for a look-up that is one of several for one question.
    ///
    /// - Parameters:
    ///   - countsHit: whether the statistics learn of a value.
    ///   - countsMiss: whether they learn that there is none.
    ///   - isUsable: whether the value is an answer; one that is not counts as a miss. Called under no lock.
    package func value(
        for key: Key, countsHit: Bool, countsMiss: Bool, where isUsable: (Value) -> Bool
    ) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        var found: Value?
        var isRevived = false
        shard.lock()
        let position = shard.store.position(of: key, hash: hash)
        if position >= 0 {
            let now = clock.now()
            if shard.store.causeToGo(position, at: now) == nil {
                found = shard.store.use(position, at: now)
                if countsHit { shard.store.hitCount &+= 1 }
                announceOldest(of: shard)
            }
        } else if revival == nil {
            if countsMiss { shard.store.missCount &+= 1 }
            shard.unlock()
            return nil
        }
        shard.unlock()
        if found == nil {
            found = valueElsewhere(
                for: key, hash: hash, in: shard, countsHit: countsHit, countsMiss: countsMiss, isRevived: &isRevived)
        }
        guard let value = found else { return nil }
        if isUsable(value) { return value }
        shard.locked {
            if countsHit, isRevived { shard.store.weakHitCount &-= 1 }
            if countsHit, !isRevived { shard.store.hitCount &-= 1 }
            if countsMiss { shard.store.missCount &+= 1 }
        }
        return nil
    }

    /// Whether there is a value; asking does not count as a use.
    @inlinable
    public func contains(_ key: Key) -> Bool {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        let isPresent = shard.locked { shard.store.goodPosition(of: key, hash: hash, clock: clock) >= 0 }
        return isPresent || revival != nil && weakValue(for: key, in: shard) != nil
    }

    /// As ``value(for:)``, but asking does not count as a use.
    package func peek(_ key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        let value = shard.locked { () -> Value? in
            let position = shard.store.goodPosition(of: key, hash: hash, clock: clock)
            return position >= 0 ? shard.store.slots[Int(position)].value : nil
        }
        return value ?? (revival == nil ? nil : weakValue(for: key, in: shard)?.value)
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
        let hash = Store.hash(key)
        if revival != nil, revivedValue(for: key, hash: hash, countsHit: false, countsMiss: false) != nil {
            return false
        }
        return store(value, for: key, cost: max(0, cost), expiration: expiration, replaces: false)
    }

    /// Removes the value and returns it. It is not found again, even if it lives on elsewhere.
    @discardableResult
    @inlinable
    public func remove(for key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        var removed: Store.Slot?
        var isGood = false
        // Released after the lock, as is what it refers to.
        var forgotten: WeakTier<Key, Value>.Element?
        let change = update(shard) {
            let position = shard.store.position(of: key, hash: hash)
            if position >= 0 {
                isGood = shard.store.causeToGo(position, at: clock.now()) == nil
                removed = shard.store.remove(position)
            }
            if revival != nil { forgotten = shard.weakTier.remove(key) }
        }
        withExtendedLifetime(forgotten) {}
        finish(change)
        guard let slot = removed else { return nil }
        if isGood { return slot.value }
        removed = nil
        valueRelease.release(consume slot)
        return nil
    }

    /// Removes everything. No value is found again, even if it lives on elsewhere.
    public func removeAll() {
        var change: MemoryTotals.Change = []
        var old: [RetiredStore<Key, Value>] = []
        var oldWeakTiers: [WeakTier<Key, Value>] = []
        for shard in shards.all {
            change.formUnion(
                update(shard) {
                    old.append(shard.takeStore())
                    oldWeakTiers.append(shard.weakTier)
                    shard.weakTier = WeakTier(succeeding: shard.weakTier)
                })
        }
        finish(change)
        valueRelease.release(consume old)
    }
}

// MARK: - What the methods are made of

extension MemoryCache {
    /// Twice as many as processors, so that few threads meet, but 8 to 32: an eviction looks at all of them.
    private static var defaultShardCount: Int {
        let wanted = min(max(8, 2 * PlatformThread.processorCount), 32)
        return 1 << (Int.bitWidth - (wanted - 1).leadingZeroBitCount)
    }

    @inlinable
    func shard(for hash: UInt32) -> MemoryShard<Key, Value> { shards[Int(hash &>> shardShift)] }

    @inlinable
    @discardableResult
    func store(_ value: Value, for key: Key, cost: Int, expiration: CacheExpiration?, replaces: Bool) -> Bool {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        let deadline = deadline(of: expiration)
        let reference = revival?.makeReference(value)
        var (isStored, needsSweep) = (false, false)
        // Released after the lock.
        var replaced: Value?
        var removed: Store.Slot?
        var forgotten: WeakTier<Key, Value>.Element?
        let change = update(shard) {
            let position = shard.store.position(of: key, hash: hash)
            let now = clock.now()
            if !replaces, position >= 0 {
                guard let cause = shard.store.causeToGo(position, at: now) else {
                    _ = shard.store.use(position, at: now)
                    return
                }
                shard.store.evictionCounts[cause] &+= 1
            }
            if totals.admits(cost: cost) {
                isStored = true
                shard.store.insertionCount &+= 1
                if position >= 0 {
                    replaced = shard.store.replace(position, by: value, cost: cost, deadline: deadline, at: now)
                } else {
                    shard.store.insert(
                        Store.Slot(key: key, value: value, cost: cost, deadline: deadline, hash: hash), at: now)
                }
            } else if position >= 0 {
                removed = shard.store.remove(position)
            }
            if revival != nil {
                forgotten = shard.weakTier.set(reference, for: key, cost: cost, deadline: deadline)
                needsSweep = shard.weakTier.needsSweep
            }
        }
        withExtendedLifetime(forgotten) {}
        if !deadline.isNever, upkeep.isLate(for: deadline) { keepUp() }
        if change.contains(.isInExcess) { evict(downTo: totals.limits) }
        if needsSweep { sweepWeakTier(of: shard) }
        finish(change)
        if !valueRelease.isImmediate, replaced != nil || removed != nil {
            valueRelease.release((consume replaced, consume removed))
        }
        return isStored
    }

    @inlinable
    func deadline(of expiration: CacheExpiration?) -> SlotDeadline {
        let expiration = expiration ?? self.expiration
        if case .never = expiration { return .never }
        return SlotDeadline(expiration, clock: clock)
    }

    /// Runs `body` alone with the shard, and counts in what it changed.
    @inlinable
    @inline(__always)
    func update(_ shard: MemoryShard<Key, Value>, _ body: () -> Void) -> MemoryTotals.Change {
        var change: MemoryTotals.Change = []
        shard.lock()
        let (cost, count) = (shard.store.totalCost, shard.store.count)
        body()
        let (addedCost, addedCount) = (shard.store.totalCost &- cost, shard.store.count &- count)
        if addedCost != 0 || addedCount != 0 { change = totals.add(cost: addedCost, count: addedCount) }
        announceOldest(of: shard)
        shard.unlock()
        return change
    }

    /// To be called under the lock at the end of whatever changes a store.
    @inlinable
    @inline(__always)
    func announceOldest(of shard: MemoryShard<Key, Value>) {
        let stamp = shard.store.oldestStamp
        guard stamp != shard.store.announcedStamp else { return }
        shard.store.announcedStamp = stamp
        oldestStamps.announce(stamp, ofShard: shard.contents.pointee.index)
    }

    /// Evicts the least recently used entries of all shards one by one.
    @inlinable
    func evict(downTo goal: EvictionGoal) {
        var displaced: [Store.Slot] = []
        while let (index, stamp) = oldestStamps.first() {
            let shard = shards[index]
            shard.lock()
            let oldest = shard.store.oldest
            // Another thread may have used or removed that entry since.
            guard oldest >= 0, shard.store.oldestStamp == stamp else {
                shard.unlock()
                continue
            }
            let cost = shard.store.slots[Int(oldest)].cost
            guard let cause = totals.countOut(cost: cost, stamp: stamp, for: goal) else {
                shard.unlock()
                break
            }
            let slot = shard.store.evict(oldest, because: cause)
            if revival != nil { shard.weakTier.update(slot.key, deadline: slot.deadline) }
            announceOldest(of: shard)
            shard.unlock()
            if valueRelease.isImmediate { _ = consume slot } else { displaced.append(slot) }
        }
        if totals.isEmpty { keepUp() }
        if !displaced.isEmpty { valueRelease.release(consume displaced) }
    }

    /// What is left to do without a lock.
    @inlinable
    func finish(_ change: MemoryTotals.Change) {
        if !change.isDisjoint(with: [.isFilled, .isEmptied]) { keepUp() }
    }
}
