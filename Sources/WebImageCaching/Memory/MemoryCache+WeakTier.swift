extension MemoryCache {
    /// What a look-up does that found no good entry: removes one that has gone by time, and looks among the values that live
    /// on elsewhere.
    @usableFromInline
    func valueElsewhere(for key: Key, hash: UInt32, in shard: MemoryShard<Key, Value>) -> Value? {
        var isRevived = false
        return valueElsewhere(
            for: key, hash: hash, in: shard, countsHit: true, countsMiss: true, isRevived: &isRevived)
    }

    /// - Parameter isRevived: set where the value is one that lives on elsewhere, which counts as a weak hit.
    func valueElsewhere(
        for key: Key, hash: UInt32, in shard: MemoryShard<Key, Value>, countsHit: Bool, countsMiss: Bool,
        isRevived: inout Bool
    ) -> Value? {
        var value: Value?
        var gone: Store.Slot?
        let change = update(shard) {
            let position = shard.store.position(of: key, hash: hash)
            if position >= 0 {
                let now = clock.now()
                if let cause = shard.store.causeToGo(position, at: now) {
                    gone = shard.store.evict(position, because: cause)
                    if revival != nil { shard.weakTier.update(key, deadline: gone?.deadline ?? .never) }
                } else {
                    // Another thread stored it since.
                    value = shard.store.use(position, at: now)
                    if countsHit { shard.store.hitCount &+= 1 }
                }
            }
            if value == nil, revival == nil, countsMiss { shard.store.missCount &+= 1 }
        }
        finish(change)
        if gone != nil { valueRelease.release(consume gone) }
        if value == nil, revival != nil {
            value = revivedValue(for: key, hash: hash, countsHit: countsHit, countsMiss: countsMiss)
            isRevived = value != nil
        }
        return value
    }

    /// The value, if somebody else kept it alive; it is the cache's again then, if its limits allow.
    ///
    /// - Parameters:
    ///   - countsHit: whether the statistics learn of a value.
    ///   - countsMiss: whether they learn that there is none.
    @usableFromInline
    func revivedValue(for key: Key, hash: UInt32, countsHit: Bool, countsMiss: Bool) -> Value? {
        let shard = shard(for: hash)
        guard let (value, entry) = weakValue(for: key, in: shard) else {
            if countsMiss { shard.locked { shard.store.missCount &+= 1 } }
            return nil
        }
        var found = value
        let change = update(shard) {
            if countsHit { shard.store.weakHitCount &+= 1 }
            let now = clock.now()
            let position = shard.store.position(of: key, hash: hash)
            if position >= 0 {
                // Another thread was faster, or the value was there all the time. One that has just gone by time is as good.
                found = shard.store.use(position, at: now)
            } else if shard.weakTier.entries[ExactKey(key)]?.serial == entry.serial, totals.admits(cost: entry.cost) {
                shard.store.insert(
                    Store.Slot(key: key, value: value, cost: entry.cost, deadline: entry.deadline, hash: hash), at: now)
            }
        }
        // It may have been the last reference, if another value was found.
        withExtendedLifetime(value) {}
        if !entry.deadline.isNever, upkeep.isLate(for: entry.deadline) { keepUp() }
        if change.contains(.isInExcess) { evict(downTo: totals.limits) }
        finish(change)
        return found
    }

    /// The value, if it is alive, and what is known about it. The closure that looks is a client's: no lock is held.
    @usableFromInline
    func weakValue(for key: Key, in shard: MemoryShard<Key, Value>) -> (
        value: Value, entry: WeakTier<Key, Value>.Entry
    )? {
        let now = clock.now()
        guard let entry = shard.locked({ shard.weakTier.entries[ExactKey(key)] }) else { return nil }
        if !entry.deadline.isPassed(at: now), let value = entry.reference() { return (value, entry) }
        let removed = shard.locked { shard.weakTier.remove(key, serial: entry.serial) }
        withExtendedLifetime(removed) {}
        return nil
    }

    /// Forgets the dead. Values that die while they are looked at are released like all others.
    @usableFromInline
    func sweepWeakTier(of shard: MemoryShard<Key, Value>) {
        guard let entries = shard.locked({ shard.weakTier.beginSweep() }) else { return }
        var dead: [(key: Key, serial: Int)] = []
        var living: [Value] = []
        for (key, entry) in entries {
            if let value = entry.reference() { living.append(value) } else { dead.append((key.key, entry.serial)) }
        }
        let removed = shard.locked { shard.weakTier.endSweep(dead: dead) }
        withExtendedLifetime(removed) {}
        if !living.isEmpty { valueRelease.release(consume living) }
    }
}
