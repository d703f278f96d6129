internal import FoundationEssentials
internal import WebImageCore

/// A cache of values in memory. The least recently used values are evicted when a limit is reached.
///
/// Methods may be called from any thread and take constant time, plus the time for each evicted entry. The entries are
/// divided among shards, so that threads rarely wait for each other. All shards share one order of use:
///
/// ```
///            ┌ shard 0: lock, entries in order of use ─ stamp of the oldest ┐
///  hash ───▶ │ shard 1: …                                                   ├─▶ the smallest one is evicted next
///            └ shard 7: …                                                   ┘
/// ```
///
/// Limits hold whenever no call of ``set(_:for:cost:expiration:)`` is in progress. Entries that have expired, or have not been used for ``ageLimit``, are never returned; a thread of the
/// library removes them. Values are released outside the locks, by ``Configuration/releaseHandler`` if there is one.
///
/// ```swift
/// let icons = MemoryCache<String, Image>(costLimit: 16 << 20)
/// icons.set(image, for: "folder", cost: image.pixels.size.width * image.pixels.size.height * 4)
/// print(icons.value(for: "folder")?.pixels.size.width ?? 0)
/// ```
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Store = LRUStore<Key, Value>

    @usableFromInline let shards: MemoryShards<Key, Value>
    /// Shifts a hash so that its highest bits remain, which select the shard; the shards' tables use the lowest bits.
    @usableFromInline let shardShift: UInt32
    @usableFromInline let totals: MemoryTotals
    @usableFromInline let clock: MemoryClock
    private let configuredRevival: ValueRevival<Value>?
    @usableFromInline let expiration: CacheExpiration
    @usableFromInline let valueRelease: ValueRelease
    let removesAllInBackground: Bool
    @usableFromInline let upkeep: MemoryUpkeep

    /// Creates an empty cache.
    public convenience init(configuration: Configuration) {
        self.init(configuration: configuration, clock: .system, maintenance: .shared)
    }

    /// Creates an empty cache with these limits and the defaults of ``Configuration`` otherwise.
    ///
    /// - Parameters:
    ///   - costLimit: the maximum total cost of all entries, in a unit of the caller's choice (bytes, for images).
    ///     Clamped to `Int.max / 2`.
    ///   - countLimit: the maximum number of entries.
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
        shardShift = UInt32(UInt32.bitWidth - shardCount.trailingZeroBitCount)
        totals = MemoryTotals(
            costLimit: configuration.costLimit, countLimit: configuration.countLimit,
            entryCostLimit: configuration.entryCostLimit, shardCount: shardCount)
        self.clock = clock
        configuredRevival = configuration.revival
        expiration = configuration.expiration
        valueRelease = configuration.valueRelease
        removesAllInBackground = configuration.removesAllInBackground
        upkeep = MemoryUpkeep(maintenance: maintenance, pressureSource: configuration.pressureSource, clock: clock)
    }

    deinit {
        upkeep.stop(ObjectIdentifier(self))
        let stores = shards.all.map { $0.takeStore() }
        valueRelease.release(consume stores)
    }

    /// Twice the number of processors, so that threads rarely compete, but 8 to 32, since an eviction checks all
    /// shards.
    private static var defaultShardCount: Int {
        let wanted = min(max(8, 2 * PlatformThread.processorCount), 32)
        return 1 << (Int.bitWidth - (wanted - 1).leadingZeroBitCount)
    }

    // MARK: Looking up

    /// Returns the value and makes it the most recently used; `nil` if there is none.
    @inlinable
    public func value(for key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        // The clock waits for all data that is being read, so it is read first.
        let now = clock.now()
        shard.lock()
        let position = shard.store.position(of: key, hash: hash)
        if position >= 0, shard.store.isValid(position, at: now) {
            let value = shard.store.use(position, at: now)
            shard.store.hitCount &+= 1
            announceOldest(of: shard)
            shard.unlock()
            return value
        }
        if position < 0 { shard.store.missCount &+= 1 }
        shard.unlock()
        return position < 0 ? nil : revivedValue(for: key, hash: hash, countsHit: true, countsMiss: true).value
    }

    /// Like ``value(for:)``, for one of several look-ups that belong to one query.
    ///
    /// - Parameters:
    ///   - countsHit: whether the statistics count a hit.
    ///   - countsMiss: whether they count a miss.
    ///   - isUsable: whether the value can be returned; if not, the look-up is a miss. Called without a lock.
    @inlinable
    package func value(
        for key: Key, countsHit: Bool, countsMiss: Bool, where isUsable: (Value) -> Bool
    ) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        var found: Value?
        var isRevived = false
        let now = clock.now()
        shard.lock()
        let position = shard.store.position(of: key, hash: hash)
        guard position >= 0 else {
            if countsMiss { shard.store.missCount &+= 1 }
            shard.unlock()
            return nil
        }
        if shard.store.isValid(position, at: now) {
            found = shard.store.use(position, at: now)
            if countsHit { shard.store.hitCount &+= 1 }
            announceOldest(of: shard)
        }
        shard.unlock()
        if found == nil {
            (found, isRevived) = revivedValue(for: key, hash: hash, countsHit: countsHit, countsMiss: countsMiss)
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

    /// Whether there is a value. Does not count as a use.
    @inlinable
    public func contains(_ key: Key) -> Bool { peek(key) != nil }

    /// Like ``value(for:)``, but does not count as a use.
    @inlinable
    package func peek(_ key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        return shard.locked {
            let position = shard.store.position(of: key, hash: hash)
            guard position >= 0 else { return nil }
            let now = clock.now()
            if shard.store.isValid(position, at: now) { return shard.store.slot(position).pointee.value }
            return shard.store.revivableValue(position, at: now, revival: revival)
        }
    }

    /// Returns when an entry expires; `nil` if it never does, or if there is none. Does not count as a use.
    public func expiration(for key: Key) -> CacheExpiration? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        let now = clock.now()
        let deadline = shard.locked {
            let position = shard.store.position(of: key, hash: hash)
            guard position >= 0, shard.store.isValid(position, at: now) else { return SlotDeadline.never }
            return shard.store.slot(position).pointee.deadline
        }
        guard !deadline.isNever else { return nil }
        let remaining = deadline.time - clock.now() / 1_000
        return .date(Date(timeIntervalSince1970: Double(clock.date() + remaining) / 1_000_000))
    }

    /// Finishes a look-up without a valid entry. Evicts an entry that is too old or has expired, and returns the value
    /// if it is alive elsewhere. It is then cached again, if the limits allow.
    @inlinable
    @inline(never)
    func revivedValue(for key: Key, hash: UInt32, countsHit: Bool, countsMiss: Bool) -> (value: Value?, isRevived: Bool)
    {
        let shard = shard(for: hash)
        var value: Value?
        var isRevived = false
        // Released after unlocking.
        var displaced: [Store.Displaced] = []
        var deadline = SlotDeadline.never
        let change = update(shard) {
            let now = clock.now()
            var position = shard.store.position(of: key, hash: hash)
            if position >= 0, shard.store.slot(position).pointee.value != nil {
                if let cause = shard.store.evictionCause(position, at: now) {
                    displaced.append(shard.store.evict(position, because: cause, revival: revival))
                    // If only the cache had a reference to the value, it is not alive elsewhere.
                    if displaced[0].key != nil { position = -1 }
                } else {
                    // Another thread has stored it since.
                    value = shard.store.use(position, at: now)
                    if countsHit { shard.store.hitCount &+= 1 }
                }
            }
            if value == nil, position >= 0 {
                value = shard.store.revivableValue(position, at: now, revival: revival)
                isRevived = value != nil
                if let found = value {
                    if countsHit { shard.store.weakHitCount &+= 1 }
                    let slot = shard.store.slot(position)
                    deadline = slot.pointee.deadline
                    if totals.admits(cost: slot.pointee.cost) {
                        _ = shard.store.replace(
                            position, by: found, cost: slot.pointee.cost, deadline: deadline, at: now)
                    }
                } else {
                    displaced.append(shard.store.remove(position))
                }
            }
            if value == nil, countsMiss { shard.store.missCount &+= 1 }
        }
        finish(change, deadline: deadline)
        if !displaced.isEmpty { valueRelease.release(consume displaced) }
        return (value, isRevived)
    }

    // MARK: Changing

    /// Stores the value as the most recently used, replacing any older one, and evicts others as the limits require.
    ///
    /// A value that costs more than ``costLimit`` is not stored; the key's older value is removed in any case.
    ///
    /// - Parameters:
    ///   - value: the value to store.
    ///   - key: the key under which look-ups find it.
    ///   - cost: counts towards ``costLimit``; a negative cost counts as 0.
    ///   - expiration: when the value expires; never by default.
    @inlinable
    public func set(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) {
        store(value, for: key, hash: Store.hash(key), cost: max(0, cost), expiration: expiration, replaces: true)
    }

    /// Stores the value unless the key has one already.
    ///
    /// Either way the key's value is the most recently used afterwards. Costs, limits and expiration count as for
    /// ``set(_:for:cost:expiration:)``.
    ///
    /// - Returns: `true` if the value was stored.
    @discardableResult
    @inlinable
    package func insert(_ value: Value, for key: Key, cost: Int = 0, expiration: CacheExpiration? = nil) -> Bool {
        let hash = Store.hash(key)
        if revival != nil {
            let shard = shard(for: hash)
            let isEvicted = shard.locked {
                let position = shard.store.position(of: key, hash: hash)
                return position >= 0 && !shard.store.isValid(position, at: clock.now())
            }
            if isEvicted, revivedValue(for: key, hash: hash, countsHit: false, countsMiss: false).value != nil {
                return false
            }
        }
        return store(value, for: key, hash: hash, cost: max(0, cost), expiration: expiration, replaces: false)
    }

    /// Removes the value and returns it. It is not found again, even if it is alive elsewhere.
    @discardableResult
    @inlinable
    public func remove(for key: Key) -> Value? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        var removed: Store.Displaced?
        var isValid = false
        let change = update(shard) {
            let position = shard.store.position(of: key, hash: hash)
            guard position >= 0 else { return }
            isValid = shard.store.isValid(position, at: clock.now())
            removed = shard.store.remove(position)
        }
        finish(change)
        guard let displaced = removed else { return nil }
        if isValid { return displaced.value }
        removed = nil
        valueRelease.release(consume displaced)
        return nil
    }

    /// Removes everything. No value is found again, even if it is alive elsewhere.
    public func removeAll() {
        var change: MemoryTotals.Change = []
        var old: [RetiredStore<Key, Value>] = []
        for shard in shards.all { change.formUnion(update(shard) { old.append(shard.takeStore()) }) }
        finish(change)
        valueRelease.release(consume old)
    }

    // MARK: Statistics

    /// The statistics. They are collected shard by shard, so the numbers may be from different moments if other threads
    /// use the cache.
    public var statistics: MemoryCacheStatistics {
        var sum = MemoryCacheStatistics()
        for shard in shards.all { sum.add(shard.locked { shard.store.statistics }) }
        return sum
    }

    /// Resets all counts to 0; entries stay.
    public func resetStatistics() {
        for shard in shards.all { shard.locked { shard.store.statistics = MemoryCacheStatistics() } }
    }
}

// MARK: - Steps of the methods

extension MemoryCache {
    @usableFromInline var revival: ValueRevival<Value>? {
        guard let configuredRevival, configuredRevival.isUseful else { return nil }
        return configuredRevival
    }

    @inlinable
    func shard(for hash: UInt32) -> MemoryShard<Key, Value> { shards[Int(hash &>> shardShift)] }

    @inlinable
    @discardableResult
    func store(
        _ value: Value, for key: Key, hash: UInt32, cost: Int, expiration: CacheExpiration?, replaces: Bool
    ) -> Bool {
        let shard = shard(for: hash)
        let deadline = deadline(of: expiration)
        var isStored = false
        // Released after unlocking.
        var replaced: Value?
        var removed: Store.Displaced?
        var swept: [Store.Displaced] = []
        let now = clock.now()
        let change = update(shard) {
            let position = shard.store.position(of: key, hash: hash)
            if !replaces, position >= 0, shard.store.slot(position).pointee.value != nil {
                guard let cause = shard.store.evictionCause(position, at: now) else {
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
                    shard.store.insert(value, for: key, hash: hash, cost: cost, deadline: deadline, at: now)
                }
                return
            }
            if position >= 0 { removed = shard.store.remove(position) }
            var copy = value
            if let reference = revival?.makeReference(&copy) {
                shard.store.insert(reference, for: key, hash: hash, cost: cost, deadline: deadline)
                swept = shard.store.sweepReferencesIfNeeded()
            }
        }
        finish(change, deadline: deadline)
        if !valueRelease.isImmediate, replaced != nil || removed != nil || !swept.isEmpty {
            valueRelease.release((consume replaced, consume removed, consume swept))
        }
        return isStored
    }

    @inlinable
    func deadline(of expiration: CacheExpiration?) -> SlotDeadline {
        let expiration = expiration ?? self.expiration
        if case .never = expiration { return .never }
        return SlotDeadline(expiration, clock: clock)
    }

    /// Runs `body` with the shard's lock held, and adds what it changed to the totals.
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

    /// Must be called under the lock after each change of a store.
    @inlinable
    @inline(__always)
    func announceOldest(of shard: MemoryShard<Key, Value>) {
        let stamp = shard.store.oldestStamp
        guard stamp != shard.store.announcedStamp else { return }
        shard.store.announcedStamp = stamp
        totals.announce(oldestStamp: stamp, ofShard: shard.contents.pointee.index)
    }

    /// Does what a change requires without a lock.
    ///
    /// - Parameter deadline: of the entry that was stored.
    @inlinable
    func finish(_ change: MemoryTotals.Change, deadline: SlotDeadline = .never) {
        if !deadline.isNever, upkeep.isLate(for: deadline) { keepUp() }
        if change.contains(.isInExcess) { evict(downTo: totals.limits) }
        if !change.isDisjoint(with: [.isFilled, .isEmptied]) { keepUp() }
    }

    /// Evicts the least recently used entries of all shards one by one.
    ///
    /// - Parameters:
    ///   - entryLimit: the maximum number of them.
    ///   - newestStamp: entries used later stay.
    /// - Returns: whether the goal may require more.
    @inlinable
    @discardableResult
    func evict(downTo goal: EvictionGoal, entryLimit: Int = .max, usedUntil newestStamp: Int64 = .max) -> Bool {
        var displaced: [Store.Displaced] = []
        var remainingCount = entryLimit
        while remainingCount > 0, let (index, stamp) = totals.oldestShard(), stamp <= newestStamp {
            let shard = shards[index]
            shard.lock()
            let oldest = shard.store.oldest
            // Another thread may have used or removed that entry since.
            guard oldest >= 0, shard.store.oldestStamp == stamp else {
                shard.unlock()
                continue
            }
            let cost = shard.store.slot(oldest).pointee.cost
            guard let cause = totals.countOut(cost: cost, stamp: stamp, for: goal) else {
                shard.unlock()
                break
            }
            let evicted = shard.store.evict(oldest, because: cause, revival: revival)
            let swept = shard.store.sweepReferencesIfNeeded()
            announceOldest(of: shard)
            shard.unlock()
            remainingCount &-= 1
            if valueRelease.isImmediate { _ = consume evicted } else { displaced.append(evicted) }
            if !swept.isEmpty { displaced += swept }
        }
        if totals.isEmpty { keepUp() }
        if !displaced.isEmpty { valueRelease.release(consume displaced) }
        return remainingCount == 0
    }

    /// Schedules what the cache needs while it has entries: memory pressure reports and the next sweep.
    @usableFromInline
    func keepUp() { upkeep.update(for: self) }
}
