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
            evictExcess()
        }
    }

    /// The most entries. A lower limit takes effect at once.
    public var countLimit: Int {
        get { totals.countLimit }
        set {
            totals.countLimit = newValue
            evictExcess()
        }
    }

    /// The most that one entry may cost. A lower limit takes effect at once, and then takes time in proportion to the
    /// number of entries.
    public var entryCostLimit: Int {
        get { totals.entryCostLimit }
        set {
            totals.entryCostLimit = newValue
            removeSlots { store, _ in store.removeAll(because: .cost) { $0.cost > newValue } }
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
            for shard in shards { shard.locked { shard.store.ageLimit = limit } }
            if limit != .max { trim(toAge: newValue, because: .age) }
            keepUp()
        }
    }

    /// Removes the least recently used entries until the rest cost no more than `cost`.
    public func trim(toCost cost: Int) {
        trim { _ in self.totalCost > max(0, cost) ? .trim : nil }
    }

    /// Removes the least recently used entries until no more than `count` are left.
    public func trim(toCount count: Int) {
        trim { _ in self.count > max(0, count) ? .trim : nil }
    }

    /// Removes the entries that have not been used for `age` seconds.
    public func trim(toAge age: Double) { trim(toAge: age, because: .trim) }

    /// Removes the entries that have expired or have not been used for ``ageLimit``.
    public func removeExpired() {
        let now = clock.now()
        removeSlots { store, keys in
            let expired = store.removeExpired(at: now)
            keys += expired.map(\.key)
            return expired
        }
        let limit = ageLimit
        if limit != .infinity { trim(toAge: limit, because: .age) }
    }

    private func trim(toAge age: Double, because cause: EvictionCause) {
        let (now, limit) = (clock.now(), Int64(nanosecondsIn: age))
        trim { stamp in now &- stamp >= limit ? cause : nil }
    }

    private func evictExcess() { trim { _ in self.totals.excess } }

    func trim(while cause: (_ stamp: Int64) -> EvictionCause?) {
        var displaced = Displaced()
        evict(into: &displaced, while: cause)
        finish([], &displaced)
    }

    /// Takes what `body` removes from each shard, and forgets the keys it names in the weak tier as well.
    private func removeSlots(
        _ body: (inout LRUStore<Key, Value>, _ forgottenKeys: inout [Key]) -> [LRUStore<Key, Value>.Slot]
    ) {
        var displaced = Displaced()
        var change: MemoryTotals.Change = []
        for shard in shards {
            let step = update(shard) {
                var forgottenKeys: [Key] = []
                for slot in body(&shard.store, &forgottenKeys) { displaced.append(slot) }
                if revival != nil { for key in forgottenKeys { shard.weakTier.entries[key] = nil } }
            }
            change.formUnion(step)
        }
        finish(change, &displaced)
    }
}
