internal import FoundationEssentials
internal import Glibc

extension DiskWriter {
    /// The goal of a removal: limits for the remaining entries, and their maximum age.
    struct TrimTarget {
        var size = Int64.max
        var count = Int64.max
        /// In microseconds.
        var age = Int64.max
        /// Whether the last entry may stay although it alone exceeds ``size``, if it is within the limits.
        var sparesLast = false
    }

    /// Implements `trim` of ``DiskCache``. The age limit and expirations always apply.
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

    func isOverfull(_ index: DiskIndex) throws(DiskFault) -> Bool {
        if index.totals.size > sizeLimit || index.totals.count > countLimit { return true }
        return try excessByteCount(index) > 0
    }

    /// From this limit on the index, and what removed values have left in segments, count too. Less holds nothing else.
    private static let smallestFileLimit: Int64 = 2 << 20

    /// How many bytes the files take beyond the limit.
    private func excessByteCount(_ index: DiskIndex) throws(DiskFault) -> Int64 {
        let limit = sizeLimit
        guard limit >= Self.smallestFileLimit, limit < DiskDirectory.largestByteCount else { return 0 }
        // A file takes whole blocks.
        let blocks = limit / 32
        return try max(0, index.totals.size + index.deadByteCount() + directory.indexByteCount + blocks - limit)
    }

    /// Frees the space that the files take beyond the limit: gaps first, then values, in the cache's order.
    private func removeExcess(_ index: DiskIndex) throws(DiskFault) {
        guard try excessByteCount(index) > 0 else { return }
        for _ in 0..<4 {
            try compact(index)
            try index.shrink()
            let excess = try excessByteCount(index)
            guard excess > 0, index.totals.count > 0 else { return }
            let size = max(0, index.totals.size - excess - sizeLimit / 10)
            try trim(index, to: TrimTarget(size: size, sparesLast: true))
        }
    }

    /// In microseconds.
    var ageLimit: Int64 { limits.withLock { $0.ageMicroseconds } }

    /// Whether there are entries that have expired, are too old, or have a time in the future.
    func hasAged(_ index: DiskIndex) throws(DiskFault) -> Bool {
        let now = now()
        guard let times = try index.times() else { return false }
        if times.oldest < now - ageLimit || times.newest > now + DiskStaging.clockTolerance { return true }
        return try !index.expiredRows(at: now, limit: 1).isEmpty
    }

    /// Like ``hasAged(_:)``, but only for an index that is open: none is created in place of a deleted one.
    var needsUpkeep: Bool {
        guard hasCurrentIndex else { return false }
        return withIndex { index throws(DiskFault) in try hasAged(index) } == true
    }

    private var countLimit: Int64 { limits.withLock { $0.count }.map { Int64(max(0, $0)) } ?? .max }

    /// Removes entries until the cache is a tenth below its limits, so that the next store does not trim again, and
    /// until the file system has its minimum free space after `byteCount` more bytes.
    func enforceLimits(_ index: DiskIndex, adding byteCount: Int64 = 0) throws(DiskFault) {
        try removeExpired(index)
        try index.refreshTotals()
        // No target unless a limit is exceeded, since another process may store more before the transaction begins.
        var target = TrimTarget()
        if index.totals.size > sizeLimit { target.size = Self.nineTenths(of: sizeLimit) }
        if index.totals.count > countLimit { target.count = Self.nineTenths(of: countLimit) }
        // The last entry was just stored. Otherwise a value close to the limit would displace everything and then be
        // removed itself.
        target.sparesLast = countLimit > 0
        try trim(index, to: target)
        try removeExcess(index)
        try freeSpace(index, for: byteCount)
    }

    /// Returns at least 1 for limits of 1 or more, so that a value just stored can stay.
    private static func nineTenths(of limit: Int64) -> Int64 {
        max(min(limit, 1), limit / 10 * 9 + limit % 10 * 9 / 10)
    }

    /// Frees the space that the file system is short of.
    ///
    /// Removed values leave gaps in segments, whose space is only freed when a segment becomes empty or is compacted. A
    /// round may therefore free less than it removed, and is followed by another.
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

    /// How many bytes the free space would be below its minimum after `byteCount` more bytes.
    private func missingByteCount(adding byteCount: Int64) -> Int64 {
        guard let free = directory.freeByteCount else { return 0 }
        let floor = min(max(0, limits.withLock { $0.freeSpaceFloor }), DiskDirectory.largestByteCount)
        return max(0, floor + byteCount - free)
    }

    /// Whether `byteCount` more bytes would reduce the free space below its minimum. Opens nothing.
    func isShortOfSpace(adding byteCount: Int) -> Bool {
        byteCount > 0 && missingByteCount(adding: Int64(byteCount)) > 0
    }

    /// Ensures the minimum free space after `byteCount` more bytes, by removing the first entries.
    func makeRoom(_ index: DiskIndex, for byteCount: Int64) throws(DiskFault) {
        try enforceLimits(index, adding: byteCount)
        if missingByteCount(adding: byteCount) > 0 { throw .system(errno: ENOSPC) }
    }

    /// Deletes entries that are too old, then, in the cache's order, as many as necessary. Both use the same time, so
    /// one pass is enough.
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
        // Usually there are none, and this needs no transaction.
        guard try !index.expiredRows(at: now, limit: 1).isEmpty else { return }
        try evict(from: index) { limit throws(DiskFault) in try index.expiredRows(at: now, limit: limit) }
    }

    /// Deletes the rows that `choose` returns, in steps, until it returns fewer than the limit.
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

extension DiskWriter {
    /// Removes all entries in one transaction, without reading them; returns whether files are left for
    /// ``sweepCleared()``.
    func removeAll() -> Bool {
        let needsSpace = withIndex { index throws(DiskFault) in
            do throws(DiskFault) {
                try change(index) { () throws(DiskFault) in try index.deleteAll() }
                cleared = Cleared(
                    generation: index.generation, nextID: index.totals.nextID, nextSegment: index.totals.nextSegment)
                return false
            } catch let fault where fault.isFullDisk {
                return true
            }
        }
        // On a full disk, SQLite cannot even record that rows are deleted.
        if needsSpace == true { discardIndex() }
        return needsSpace == false
    }

    /// The files left by a removal of everything: those with smaller numbers, which no row will ever use again.
    struct Cleared {
        let generation: Int64
        let nextID: Int64
        let nextSegment: Int64
    }

    /// Deletes the files of entries that ``removeAll()`` removed, without a transaction, so that other processes need
    /// not wait.
    func sweepCleared() {
        guard let bound = cleared else { return }
        cleared = nil
        let folder = directory.valuesPath(generation: bound.generation)
        for name in DiskDirectory.names(in: folder, followsLinks: false) {
            let isObsolete =
                if let number = SegmentFile.number(name) {
                    number < bound.nextSegment
                } else if let id = Int64(name, radix: 16) {
                    id < bound.nextID
                } else {
                    false
                }
            if isObsolete { unlink("\(folder)/\(name)") }
        }
        readers.closeDeletedSegments()
        _ = withIndex { index throws(DiskFault) in try index.shrink() }
    }

    /// Removes all entries and reports the progress; returns whether files are left for ``sweepCleared()``.
    func removeAll(progress: [DiskStaging.ClearProgress]) -> Bool {
        // If a step fails, removing everything at once may succeed, or the index is deleted.
        progress.isEmpty || !removeInSteps { removed, total in progress.forEach { $0(removed, total) } }
            ? removeAll() : false
    }

    /// Removes the current entries, oldest first; returns whether all were removed.
    private func removeInSteps(progress: (_ removed: Int, _ total: Int) -> Void) -> Bool {
        guard let totals = totals() else { return false }
        let total = Int(totals.count)
        var removed = 0
        progress(0, total)
        let isDone = withIndex { index throws(DiskFault) in
            var step = RemovalStep()
            while try step.run({ limit throws(DiskFault) in
                let count = try change(index) { () throws(DiskFault) in
                    let rows = try index.rows(before: totals.nextID, limit: limit)
                    try index.delete(rows)
                    return rows.count
                }
                removed += count
                if count > 0 { progress(min(removed, total), total) }
                return count
            }) {}
            try index.shrink()
            return true
        }
        return isDone == true
    }

    /// Deletes the index, and with it all entries. The next use creates a new one.
    ///
    /// Their files are deleted now, since a new index may have no space otherwise.
    func discardIndex() {
        let (discarded, values) = (indexIdentity, index.map { directory.valuesPath(generation: $0.generation) })
        var isDiscarded = false
        do throws(DiskFault) {
            isDiscarded = try directory.withExclusiveLock { () throws(DiskFault) in
                guard directory.indexIdentity == discarded else { return false }
                directory.removeIndex()
                return true
            }
        } catch let fault {
            report(fault.failure)
        }
        close()
        // The generation belongs to the deleted index alone.
        if isDiscarded, let values { DiskDirectory.removeValues(values) }
    }

    /// Deletes files without a row and data after the ends of segments, left by a process that died between writing a
    /// file and the commit, or between the commit and the deletion. Runs in a transaction, so that no process writes
    /// there meanwhile.
    func sweep(_ index: DiskIndex) throws(DiskFault) {
        let current = directory.valuesPath(generation: index.generation)
        let names = DiskDirectory.names(in: directory.path)
        // If the index was replaced, another generation is current.
        guard directory.indexIdentity == indexIdentity else { return }
        for name in names where name.hasPrefix(DiskDirectory.valuesPrefix) {
            let folder = "\(directory.path)/\(name)"
            guard folder != current else { continue }
            DiskDirectory.removeValues(folder)
        }
        var rest = DiskDirectory.names(in: current, followsLinks: false)[...]
        while !rest.isEmpty {
            let some = rest.prefix(256)
            rest = rest.dropFirst(some.count)
            try index.transaction { () throws(DiskFault) in
                for name in some {
                    if let number = SegmentFile.number(name), let end = try index.end(ofSegment: number) {
                        SegmentFile.cut("\(current)/\(name)", at: end)
                    } else if try !isValueFile(name, in: index) {
                        unlink("\(current)/\(name)")
                    }
                }
            }
        }
    }

    private func isValueFile(_ name: String, in index: DiskIndex) throws(DiskFault) -> Bool {
        guard let id = Int64(name, radix: 16) else { return false }
        return try index.row(id: id)?.isInFile == true
    }
}

/// A segment that is less than half live is emptied: its live values move to the end of the growing segment.
///
/// ```
///  segment 3 │ a │ dead │ dead │ b │ dead │   ──►   segment 9 │ … │ a │ b │   segment 3 is deleted
/// ```
///
/// The limit of the cache counts what is left of dead values. Values move in short transactions, so
/// that other writes need not wait. A process that dies in between leaves a segment with fewer live bytes.
extension DiskWriter {
    private static let stepCount = 128
    private static let stepByteCount: Int64 = 1 << 20

    /// Moves some values; returns whether there are more.
    func compactStep() -> Bool {
        withIndex { index throws(DiskFault) in try compactStep(index) } ?? false
    }

    func compact(_ index: DiskIndex) throws(DiskFault) {
        while try compactStep(index) {}
    }

    private func compactStep(_ index: DiskIndex) throws(DiskFault) -> Bool {
        guard try index.sparseSegment() != nil else { return false }
        do throws(DiskFault) {
            var damaged: String?
            let movesMore = try change(index) { () throws(DiskFault) in try moveValues(in: index, damaged: &damaged) }
            if let damaged { report(.corruptValue(path: damaged)) }
            return movesMore
        } catch let fault where fault.isFullDisk {
            // There is no space to move them to; compaction is what frees space.
            return try change(index) { () throws(DiskFault) in
                guard let segment = try index.sparseSegment() else { return false }
                let rows = try index.rows(inSegment: segment, limit: Self.stepCount)
                for row in rows { try index.delete(row) }
                index.totals.evictions += Int64(rows.count)
                return !rows.isEmpty
            }
        }
    }

    /// - Parameter damaged: set to the file whose bytes differ from those that were stored.
    private func moveValues(in index: DiskIndex, damaged: inout String?) throws(DiskFault) -> Bool {
        guard let segment = try index.sparseSegment() else { return false }
        let rows = try index.rows(inSegment: segment, limit: Self.stepCount)
        if rows.isEmpty { try index.drop(segment: segment) }
        let folder = directory.valuesPath(generation: index.generation)
        var descriptors = SegmentDescriptors()
        var appends = SegmentAppends()
        var byteCount: Int64 = 0
        for row in rows where byteCount < Self.stepByteCount {
            // Other processes cannot read it either.
            let data = try descriptors.read(row, in: folder)
            guard let data, Checksum.of(data) == row.checksum else {
                if data != nil { damaged = "\(folder)/\(row.fileName)" }
                try index.delete(row)
                continue
            }
            let place = try index.reserve(row.size)
            try index.move(row, to: place)
            appends.add(data, at: place)
            byteCount += row.size
        }
        try appends.write(to: folder)
        return true
    }
}

/// The number of entries per transaction: as many as half a second allows, within bounds.
///
/// Changes of other processes wait for a transaction, so it must be short; reads do not wait. But entries to be removed
/// are scattered over the index, on different pages. The more entries are removed at once, the more of them share a
/// page, and the less often each page is written: see Decisions.md.
struct RemovalStep {
    private static let counts = 512...4_096
    private static let time = Duration.milliseconds(500)

    private(set) var count = 1_024

    /// Calls `body` with the maximum number of entries to remove.
    ///
    /// - Parameter body: returns the number of entries that it removed.
    /// - Returns: whether there may be more.
    mutating func run(_ body: (_ limit: Int) throws(DiskFault) -> Int) throws(DiskFault) -> Bool {
        let (limit, start) = (count, ContinuousClock.now)
        let removed = try body(limit)
        let elapsed = ContinuousClock.now - start
        if elapsed < Self.time / 2 { count = min(count * 2, Self.counts.upperBound) }
        if elapsed > Self.time { count = max(count / 2, Self.counts.lowerBound) }
        return removed >= limit
    }
}
