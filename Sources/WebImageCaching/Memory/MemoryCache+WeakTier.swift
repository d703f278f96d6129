extension MemoryCache {
    /// The value, if somebody else kept it alive; it is the cache's again then, if its limits allow.
    ///
    /// - Parameter countsLookup: whether the statistics learn of it.
    @inlinable
    func revivedValue(for key: Key, hash: UInt32, countsLookup: Bool) -> Value? {
        let shard = shard(for: hash)
        guard let (value, entry) = weakValue(for: key, in: shard) else {
            if countsLookup { shard.locked { shard.store.statistics.missCount &+= 1 } }
            return nil
        }
        var found = value
        var displaced = Displaced()
        let change = update(shard) {
            if countsLookup { shard.store.statistics.weakHitCount &+= 1 }
            if let present = shard.store.use(key, hash: hash, clock: clock, displaced: &displaced) {
                // Another thread was faster, or the value was there all the time.
                found = present
            } else if shard.weakTier.entries[key]?.serial == entry.serial, totals.admits(cost: entry.cost) {
                shard.store.insert(
                    .init(key: key, value: value, cost: entry.cost, deadline: entry.deadline, hash: hash),
                    now: clock.now())
                shard.store.earliestDeadline = min(shard.store.earliestDeadline, entry.deadline.time)
            }
        }
        if !entry.deadline.isNever, upkeep.isLate(for: entry.deadline) { keepUp() }
        if change.contains(.isInExcess) { evict(into: &displaced) { _ in totals.excess } }
        finish(change, &displaced)
        return found
    }

    /// The value, if it is alive, and what is known about it. The closure that looks is a client's: no lock is held.
    @inlinable
    func weakValue(for key: Key, in shard: MemoryShard<Key, Value>) -> (
        value: Value, entry: WeakTier<Key, Value>.Entry
    )? {
        var entry: WeakTier<Key, Value>.Entry?
        shard.locked { entry = shard.weakTier.entry(for: key, at: clock.now()) }
        guard let entry else { return nil }
        if let value = entry.reference() { return (value, entry) }
        shard.locked { shard.weakTier.remove(key, serial: entry.serial) }
        return nil
    }

    /// Forgets the dead. Values that die while they are looked at are released like all others.
    @inlinable
    func sweepWeakTier(of shard: MemoryShard<Key, Value>, displaced: inout Displaced) {
        var entries: [Key: WeakTier<Key, Value>.Entry]?
        shard.locked { entries = shard.weakTier.beginSweep() }
        guard let entries else { return }
        var dead: [(key: Key, serial: Int)] = []
        for (key, entry) in entries {
            if let value = entry.reference() { displaced.append(value) } else { dead.append((key, entry.serial)) }
        }
        shard.locked { shard.weakTier.endSweep(dead: dead) }
    }
}
