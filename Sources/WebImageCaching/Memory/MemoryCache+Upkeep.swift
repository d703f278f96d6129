internal import WebImageCore

extension MemoryCache {
    /// To be called when the program's last window is hidden: removes all values if
    /// ``Configuration/removesAllInBackground`` is set. Those that are still alive elsewhere are found again.
    public func didEnterBackground() {
        if removesAllInBackground { removeCached(because: .background) }
    }

    /// What the cache has done. It is put together shard by shard: with other threads at work, the numbers need not be of
    /// one moment.
    public var statistics: MemoryCacheStatistics {
        var sum = MemoryCacheStatistics()
        for shard in shards.all {
            sum.add(shard.locked { shard.store.statistics })
        }
        return sum
    }

    /// Counts from 0 again; entries stay.
    public func resetStatistics() {
        for shard in shards.all { shard.locked { shard.store.statistics = MemoryCacheStatistics() } }
    }

    /// Sees to it that memory pressure is heard of, and old entries are swept out, while there are entries.
    @usableFromInline
    func keepUp() { upkeep.update(for: self) }
}

extension MemoryCache: MaintainedCache {
    var isEmpty: Bool { totals.isEmpty }

    /// When the next entry is to go, in nanoseconds on the cache's clock; `.max` if none is by time.
    var nextSweep: Int64 {
        var due = Int64.max
        for shard in shards.all {
            shard.locked {
                let (deadline, ageLimit) = (shard.store.earliestDeadline, shard.store.ageLimit)
                if deadline < .max / 1_000 { due = min(due, deadline * 1_000) }
                guard ageLimit != .max, shard.store.oldestStamp != .max else { return }
                let (end, overflows) = shard.store.oldestStamp.addingReportingOverflow(ageLimit)
                if !overflows { due = min(due, end) }
            }
        }
        return due
    }

    func sweep() {
        removeExpired()
        upkeep.rest()
        keepUp()
    }

    func respond(to level: MemoryPressureLevel) {
        switch level {
        case .warning:
            let (cost, count) = (totals.cost, totals.count)
            // Where nothing costs anything, half of the entries.
            evict(
                downTo: cost > 0
                    ? EvictionGoal(cost: cost / 2, cause: .memoryPressure)
                    : EvictionGoal(count: count / 2, cause: .memoryPressure))
        case .critical: removeCached(because: .memoryPressure)
        }
    }

    /// Removes what there is now: what others store meanwhile stays, or this might never end.
    private func removeCached(because cause: EvictionCause) {
        evict(downTo: EvictionGoal(stamp: clock.now(), cause: cause))
    }
}
