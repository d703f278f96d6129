extension MemoryCache {
    /// How many entries there are, expired ones that have not been removed yet among them.
    public var count: Int { totals.count }

    /// What all entries cost together.
    public var totalCost: Int { totals.cost }

    /// The most that all entries may cost together. A lower limit takes effect at once.
    public var costLimit: Int {
        get { totals.costLimit }
        set {
            totals.costLimit = newValue
            evict(downTo: totals.limits)
        }
    }

    /// The most entries. A lower limit takes effect at once.
    public var countLimit: Int {
        get { totals.countLimit }
        set {
            totals.countLimit = newValue
            evict(downTo: totals.limits)
        }
    }

    /// The most that one entry may cost. A lower limit takes effect at once, and then takes time in proportion to the
    /// number of entries.
    public var entryCostLimit: Int {
        get { totals.entryCostLimit }
        set {
            totals.entryCostLimit = newValue
            let limit = totals.entryCostLimit
            removeSlots(forgetsThem: false) { store in store.evictAll(because: .cost) { $0.cost > limit } }
        }
    }

    /// How long an entry is kept without being used, in seconds; infinite for ever. A lower limit takes effect at once.
    public var ageLimit: Double {
        get {
            var limit = Int64.max
            shards[0].locked { limit = shards[0].store.ageLimit }
            return limit == .max ? .infinity : Double(limit) / 1e9
        }
        set {
            let limit = Int64(nanosecondsIn: newValue)
            for shard in shards.all { shard.locked { shard.store.ageLimit = limit } }
            trim(toAge: newValue, because: .age)
            keepUp()
        }
    }

    /// Removes the least recently used entries until the rest cost no more than `cost`.
    public func trim(toCost cost: Int) { evict(downTo: EvictionGoal(cost: max(0, cost), cause: .trim)) }

    /// Removes the least recently used entries until no more than `count` are left.
    public func trim(toCount count: Int) { evict(downTo: EvictionGoal(count: max(0, count), cause: .trim)) }

    /// Removes the entries that have not been used for `age` seconds.
    public func trim(toAge age: Double) { trim(toAge: age, because: .trim) }

    /// Removes the entries that have expired or have not been used for ``ageLimit``.
    public func removeExpired() {
        let now = clock.now()
        removeSlots(forgetsThem: true) { store in store.evictExpired(at: now) }
        trim(toAge: ageLimit, because: .age)
    }

    private func trim(toAge age: Double, because cause: EvictionCause) {
        let limit = Int64(nanosecondsIn: age)
        if limit != .max { evict(downTo: EvictionGoal(stamp: clock.now() &- limit, cause: cause)) }
    }

    /// Takes what `body` removes from each shard.
    ///
    /// - Parameter forgetsThem: whether values that live on elsewhere are not to be found again.
    private func removeSlots(forgetsThem: Bool, _ body: (inout Store) -> [Store.Slot]) {
        var removed: [[Store.Slot]] = []
        var forgotten: [WeakTier<Key, Value>.Element?] = []
        var change: MemoryTotals.Change = []
        for shard in shards.all {
            let step = update(shard) {
                let slots = body(&shard.store)
                if forgetsThem, revival != nil { forgotten += slots.map { shard.weakTier.remove($0.key) } }
                removed.append(slots)
            }
            change.formUnion(step)
        }
        withExtendedLifetime(forgotten) {}
        finish(change)
        if removed.contains(where: { !$0.isEmpty }) { valueRelease.release(consume removed) }
    }
}
