internal import Glibc

extension DiskWriter {
    /// What has to go: entries until the rest fit, and those which are too old.
    struct TrimTarget {
        var size = Int64.max
        var count = Int64.max
        /// In microseconds.
        var age = Int64.max
        /// Whether the last entry may stay although it alone is too much for ``size``, as long as it is within the limits.
        var sparesLast = false
    }

    /// What ``DiskCache/trim(toSize:)`` and its like do: the age limit and expirations always apply.
    func trim(to target: TrimTarget) {
        _ = withIndex { index throws(DiskFault) in
            try removeExpired(index)
            try trim(index, to: target)
            try compact(index)
            try sweep(index)
            try index.shrink()
        }
    }

    func removeExpired() {
        _ = withIndex { index throws(DiskFault) in try removeExpired(index) }
    }

    func enforceLimits() {
        _ = withIndex { index throws(DiskFault) in try enforceLimits(index) }
    }

    func isOverfull(_ index: DiskIndex) -> Bool {
        index.totals.size > sizeLimit || index.totals.count > countLimit
    }

    /// In microseconds.
    var ageLimit: Int64 { Self.microseconds(ofAge: configuration.ageLimit) }

    /// Whether there are entries that have expired, are too old, or have a time to come.
    func hasAged(_ index: DiskIndex) throws(DiskFault) -> Bool {
        let now = now()
        guard let times = try index.times() else { return false }
        if times.oldest < now - ageLimit || times.newest > now + DiskStaging.clockTolerance { return true }
        return try !index.expiredRows(at: now, limit: 1).isEmpty
    }

    /// As ``hasAged(_:)``, of an index that is open already: none is made for this, in place of one that was deleted.
    var needsUpkeep: Bool {
        guard index != nil, directory.indexIdentity == indexIdentity else { return false }
        return withIndex { index throws(DiskFault) in try hasAged(index) } == true
    }

    private var countLimit: Int64 { configuration.countLimit.map { Int64(max(0, $0)) } ?? .max }

    /// Trims to the limits: below them by a tenth, so that the next insertion does not trim again, and until the file
    /// system has its free space, with `byteCount` more.
    func enforceLimits(_ index: DiskIndex, adding byteCount: Int64 = 0) throws(DiskFault) {
        try removeExpired(index)
        try index.refreshTotals()
        // No target where nothing is too much: another process may store more before the transaction begins.
        var target = TrimTarget()
        if index.totals.size > sizeLimit { target.size = Self.nineTenths(of: sizeLimit) }
        if index.totals.count > countLimit { target.count = Self.nineTenths(of: countLimit) }
        // It is what was just stored; without this a value of nearly the limit would push everything out, and then go.
        target.sparesLast = countLimit > 0
        try trim(index, to: target)
        try freeSpace(index, for: byteCount)
    }

    /// At least 1 of 1 or more: what was just stored may stay.
    private static func nineTenths(of limit: Int64) -> Int64 {
        max(min(limit, 1), limit / 10 * 9 + limit % 10 * 9 / 10)
    }

    /// Gives back to the file system what it is short of.
    ///
    /// Removed values leave gaps in segments, whose space is free only when a segment is emptied or compacted. So a
    /// round may free less than it removed, and is followed by another.
    private func freeSpace(_ index: DiskIndex, for byteCount: Int64) throws(DiskFault) {
        var missing = missingByteCount(adding: byteCount)
        var rounds = 0
        while missing > 0, index.totals.count > 0, rounds < 4 {
            try trim(index, to: TrimTarget(size: rounds < 3 ? max(0, index.totals.size - missing) : 0))
            try compact(index)
            try index.shrink()
            missing = missingByteCount(adding: byteCount)
            rounds += 1
        }
    }

    /// How far the file system is below the floor of its free space, with `byteCount` more.
    private func missingByteCount(adding byteCount: Int64) -> Int64 {
        guard let free = directory.freeByteCount else { return 0 }
        let floor = min(max(0, configuration.freeSpaceFloor), DiskDirectory.largestByteCount)
        return max(0, floor + byteCount - free)
    }

    /// Whether `byteCount` more would take from what the file system is to have left. Opens nothing.
    func isShortOfSpace(adding byteCount: Int) -> Bool {
        byteCount > 0 && missingByteCount(adding: Int64(byteCount)) > 0
    }

    /// Makes sure that `byteCount` more leave the file system its free space, at the cost of the first entries.
    func makeRoom(_ index: DiskIndex, for byteCount: Int64) throws(DiskFault) {
        try enforceLimits(index, adding: byteCount)
        if missingByteCount(adding: byteCount) > 0 { throw .system(errno: ENOSPC) }
    }

    /// In microseconds: an age below 0 counts as 0, one that is no number as none.
    static func microseconds(ofAge seconds: Double) -> Int64 {
        let longest = 1e12
        return Int64((seconds.isNaN ? longest : min(max(seconds, 0), longest)) * Double(second))
    }

    /// Deletes what is too old, then, in the cache's order, as much as it takes. As age counts by the same time, both
    /// are one walk.
    private func trim(_ index: DiskIndex, to target: TrimTarget) throws(DiskFault) {
        let now = now()
        let earliestTime = now - min(target.age, ageLimit)
        try evict(from: index) { limit throws(DiskFault) in
            try settleTimes(in: index, before: now)
            var (size, count) = (index.totals.size, index.totals.count)
            return try index.firstRows(limit: limit) { row, time in
                defer { (size, count) = (size - row.size, count - 1) }
                if target.sparesLast, count == 1, size <= sizeLimit { return time < earliestTime }
                return size > target.size || count > target.count || time < earliestTime
            }
        }
        try index.transaction { () throws(DiskFault) in index.totals.trimmed = now }
    }

    private func removeExpired(_ index: DiskIndex) throws(DiskFault) {
        let now = now()
        // Mostly there are none, and no transaction is needed to know.
        guard try !index.expiredRows(at: now, limit: 1).isEmpty else { return }
        try evict(from: index) { limit throws(DiskFault) in try index.expiredRows(at: now, limit: limit) }
    }

    /// Deletes what `choose` returns, step by step, until that is less than it may be.
    private func evict(
        from index: DiskIndex, choose: (_ limit: Int) throws(DiskFault) -> [DiskIndex.Row]
    ) throws(DiskFault) {
        var step = RemovalStep()
        while try step.run({ limit throws(DiskFault) in
            try change(index) { () throws(DiskFault) in
                let rows = try choose(limit)
                try index.delete(rows)
                index.totals.evictions += Int64(rows.count)
                return rows.count
            }
        }) {}
    }
}
