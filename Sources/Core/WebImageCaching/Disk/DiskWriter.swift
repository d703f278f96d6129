internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Makes all changes on disk. Blocking, and called by one thread at a time on the ``DiskCache``'s serial queue, except
/// for ``end()``.
final class DiskWriter: @unchecked Sendable {
    // `@unchecked`: mutable state is accessed on the serial queue only, or locked.
    let configuration: DiskCache.Configuration
    let limits: LockBox<DiskLimits>
    let directory: DiskDirectory
    let readers: DiskReaders
    let now: @Sendable () -> Int64
    private let lockPatience: LockPatience

    private(set) var index: DiskIndex?
    private(set) var indexIdentity: DiskDirectory.FileIdentity?
    private var logIdentity: DiskDirectory.FileIdentity?
    /// The size limit where none is set, from the free space at the opening.
    private var standardSizeLimit: Int64 = .max
    /// Set between the removal of everything and the deletion of its files.
    var cleared: Cleared?
    /// After a failure nothing is tried until this time, so that the failure does not slow down each load.
    private var retryTime: Int64 = .min
    private let isEnding = Lock(false)
    private var reported: Set<WebImageError.DiskCacheFailure> = []

    static let second: Int64 = 1_000_000
    private static let retryInterval = 60 * second
    private static let trimInterval = 3_600 * second

    /// How long a change waits while another process holds the index: a minute in total, after which it is abandoned.
    struct LockPatience {
        var timeoutMilliseconds: Int32 = 10_000
        var attemptCount = 6
    }

    init(
        configuration: DiskCache.Configuration, limits: LockBox<DiskLimits>, directory: DiskDirectory,
        readers: DiskReaders, now: @escaping @Sendable () -> Int64, lockPatience: LockPatience = LockPatience()
    ) {
        self.configuration = configuration
        self.limits = limits
        self.directory = directory
        self.readers = readers
        self.now = now
        self.lockPatience = lockPatience
    }

    // MARK: Opening

    /// Makes the next use try again immediately, regardless of earlier failures.
    func retry() { retryTime = .min }

    func openIfNeeded() { _ = withIndex { _ in } }

    /// Called on any thread when the cache is being released and its directory may be deleted. From now on an open
    /// index can be written, but none is opened or created, no failure is reported, and other processes are not waited
    /// for.
    func end() { isEnding.withLock { $0 = true } }

    /// Whether the index was deleted while it was open.
    var isIndexGone: Bool { index != nil && directory.indexIdentity != indexIdentity }

    /// Whether the index is open, and was not deleted.
    var hasCurrentIndex: Bool { index != nil && !isIndexGone }

    func close() {
        readers.closeAll()
        // The name of its log now belongs to another index.
        if let index, directory.indexIdentity != indexIdentity { index.leaveLog() }
        index = nil
    }

    /// Runs `body` with the open index; reports a failure and returns `nil` if there is none or `body` fails.
    ///
    /// `body` runs again after another process held the index, or a segment was too short. Its effects must have been
    /// undone by then, or be repeatable.
    func withIndex<Result>(_ body: (DiskIndex) throws(DiskFault) -> Result) -> Result? {
        var remaining = lockPatience.attemptCount
        while true {
            do throws(DiskFault) {
                guard let index = try openIndex() else { return nil }
                return try body(index)
            } catch let fault {
                handle(fault)
                remaining -= 1
                guard fault.isWorthRepeating, remaining > 0, !isEnding.withLock({ $0 }) else { return nil }
            }
        }
    }

    /// Returns the index if it is open. Closes it and returns `nil` if its files are no longer in the directory.
    private func currentIndex() -> DiskIndex? {
        guard let index else { return nil }
        if directory.indexIdentity != indexIdentity {
            // The file was deleted, or moved aside by another process.
            close()
            return nil
        }
        if directory.logIdentity != logIdentity {
            // The log was deleted with the directory, and another one created: readers would find the index empty.
            discardIndex()
            return nil
        }
        return index
    }

    /// `nil` shortly after a failure, which was reported then.
    private func openIndex() throws(DiskFault) -> DiskIndex? {
        if let index = currentIndex() { return index }
        guard now() >= retryTime, !isEnding.withLock({ $0 }) else { return nil }
        try directory.create()
        try directory.checkOwner()
        directory.restrict()
        var aside: String?
        let opened = try directory.withExclusiveLock { () throws(DiskFault) in
            try directory.checkIndexFiles()
            let opened: DiskIndex
            do throws(DiskFault) {
                opened = try makeIndex()
            } catch .olderIndex {
                directory.removeIndex()
                opened = try makeIndex()
            } catch let fault where fault.isCorruption || fault.isForeignSchema {
                aside = try directory.moveIndexAside()
                opened = try makeIndex()
            }
            indexIdentity = directory.indexIdentity
            // While the index is open, other processes have no reason to replace its log.
            logIdentity = directory.logIdentity
            return opened
        }
        if let aside { report(.corruptIndex(movedTo: aside)) }
        try directory.makeValues(generation: opened.generation)
        index = opened
        standardSizeLimit = defaultSizeLimit(opened)
        opened.sizeLimit = sizeLimit
        let (now, trimmed) = (now(), opened.totals.trimmed)
        // A trim in the future is from before the clock was set back.
        if trimmed < now - Self.trimInterval || trimmed > now {
            try enforceLimits(opened)
            try sweep(opened)
        }
        return opened
    }

    private func makeIndex() throws(DiskFault) -> DiskIndex {
        try DiskIndex(
            path: directory.indexPath, order: configuration.evictionOrder,
            busyTimeoutMilliseconds: lockPatience.timeoutMilliseconds)
    }

    /// In bytes.
    var sizeLimit: Int64 { limits.withLock { $0.size }.map { max(0, $0) } ?? standardSizeLimit }

    /// 10 % of the size that the cache could have, from 64 MiB to 1 GiB.
    private func defaultSizeLimit(_ index: DiskIndex) -> Int64 {
        Self.defaultSizeLimit(available: (directory.freeByteCount ?? 0) + index.totals.size)
    }

    static func defaultSizeLimit(available: Int64) -> Int64 { min(max(available / 10, 64 << 20), 1 << 30) }

    // MARK: Failing

    private func handle(_ fault: DiskFault) {
        switch fault {
        case _ where fault.isCorruption:
            let damaged = indexIdentity
            close()
            do throws(DiskFault) {
                let aside = try directory.withExclusiveLock { () throws(DiskFault) -> String? in
                    // Another process may already have created a valid index.
                    guard directory.indexIdentity == damaged else { return nil }
                    return try directory.moveIndexAside()
                }
                if let aside { report(.corruptIndex(movedTo: aside)) }
            } catch let fault {
                retryTime = now() + Self.retryInterval
                report(fault.failure)
            }
        case _ where fault.isPassing:
            report(fault.failure)
        case .missingSegment:
            leaveSegment()
        case .obstacle(let path):
            clearAway(path)
        default:
            close()
            retryTime = now() + Self.retryInterval
            report(fault.failure)
        }
    }

    private func leaveSegment() {
        do throws(DiskFault) {
            try index?.transaction { index?.leaveSegment() }
        } catch {
            close()
        }
    }

    /// Moves something that is not a regular file aside, without deleting it.
    func clearAway(_ path: String) {
        do throws(DiskFault) {
            // Another process may have moved it already.
            guard directory.isObstructed(path) else { return }
            report(.obstructed(movedTo: try directory.moveAside(path)))
            leaveSegment()
        } catch let fault {
            close()
            retryTime = now() + Self.retryInterval
            report(fault.failure)
        }
    }

    func report(_ failure: WebImageError.DiskCacheFailure) {
        var cause = failure
        // If one value is damaged, others usually are, too: one report is enough.
        if case .corruptValue = failure { cause = .corruptValue(path: "") }
        guard !isEnding.withLock({ $0 }), reported.insert(cause).inserted else { return }
        configuration.onFailure(.diskCache(path: directory.path, reason: failure))
    }

    /// Called when a reader had a fault: a damaged index is replaced, unless this has happened already. Other faults
    /// are reported.
    func examine(_ failure: DiskReaders.Failure) {
        openIfNeeded()
        if case .obstacle = failure.fault { return handle(failure.fault) }
        guard index != nil, failure.identity == indexIdentity else { return }
        if failure.fault.isCorruption { handle(failure.fault) } else { report(failure.fault.failure) }
    }
}

extension DiskWriter {
    /// The work that remains after a batch.
    struct Aftermath: OptionSet {
        let rawValue: Int
        /// A limit is exceeded, possibly that of age.
        static let overfull = Aftermath(rawValue: 1 << 0)
        /// Files of removed entries still exist.
        static let cleared = Aftermath(rawValue: 1 << 1)
        /// A segment holds more dead bytes than live ones.
        static let sparse = Aftermath(rawValue: 1 << 2)
    }

    func write(_ batch: DiskStaging.Batch) -> Aftermath {
        var aftermath: Aftermath = []
        if batch.clearNumber != nil, removeAll(progress: batch.clearProgress) { aftermath.insert(.cleared) }
        var batch = batch
        guard !batch.changes.isEmpty || !batch.accesses.isEmpty else { return aftermath }
        var needsSpace = false
        let rest = withIndex { index throws(DiskFault) -> Aftermath in
            do throws(DiskFault) {
                let byteCount = batch.changes.reduce(0) { $0 + (isStorable($1) ? $1.valueByteCount : 0) }
                if isShortOfSpace(adding: byteCount) {
                    // First, since accesses determine which entries are removed first.
                    try commit(DiskStaging.Batch(accesses: batch.accesses), to: index)
                    batch.accesses = DiskAccesses()
                    try makeRoom(index, for: Int64(byteCount))
                }
                try commit(batch, to: index)
            } catch let fault where fault.isFullDisk {
                report(fault.failure)
                // The old values of these keys are out of date in any case.
                needsSpace = try withdraw(batch, from: index)
                if needsSpace { return [] }
            }
            var rest: Aftermath = []
            if try isOverfull(index) { rest.insert(.overfull) }
            if try hasAged(index) { rest.insert(.overfull) }
            if try index.sparseSegment() != nil { rest.insert(.sparse) }
            return rest
        }
        // No value is better than an outdated one; this also frees space.
        if needsSpace { discardIndex() }
        return aftermath.union(rest ?? [])
    }

    private func isStorable(_ change: DiskStaging.Pending) -> Bool { change.valueByteCount <= sizeLimit }

    /// Changes the index and, after the commit, deletes the files that have lost their last entry.
    func change<Result>(_ index: DiskIndex, _ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        let result = try index.transaction(body)
        let folder = directory.valuesPath(generation: index.generation)
        for name in index.abandoned { unlink("\(folder)/\(name)") }
        if !index.abandoned.isEmpty { readers.closeDeletedSegments() }
        return result
    }

    func commit(
        _ batch: DiskStaging.Batch, to index: DiskIndex, stores: Bool = true
    ) throws(DiskFault) {
        var written: [Int64] = []
        index.sizeLimit = sizeLimit
        do throws(DiskFault) {
            try change(index) { () throws(DiskFault) in
                var appends = SegmentAppends()
                try settleTimes(in: index, before: batch.firstTime)
                index.totals.hits += batch.accesses.hits
                index.totals.misses += batch.accesses.misses
                if batch.accesses.generation == index.generation {
                    // Neighbours share pages.
                    for (id, access) in batch.accesses.byID { try index.noteAccess(id: id, access) }
                }
                for pending in batch.changes {
                    try make(pending, in: index, stores: stores, appends: &appends, files: &written)
                }
                for (key, access) in batch.accesses.byKey { try index.noteAccess(key: key.text, access) }
                try appends.write(to: directory.valuesPath(generation: index.generation))
            }
        } catch let fault {
            removeFiles(written, withoutRowIn: index)
            throw fault
        }
    }

    private func make(
        _ pending: DiskStaging.Pending, in index: DiskIndex, stores: Bool, appends: inout SegmentAppends,
        files: inout [Int64]
    ) throws(DiskFault) {
        let (old, isOfKey) = try index.row(for: pending.key)
        switch pending.change {
        case .remove:
            if let old, isOfKey { try index.delete(old) }
        case .update(let attachments, let mark):
            if let old, isOfKey, mark == nil || mark == old.mark {
                try index.update(old, to: attachments, time: pending.times.modified)
            }
        case .store(let data, let attachments):
            if let old { try index.delete(old) }
            let size = Int64(data.count)
            guard stores, isStorable(pending) else { return }
            let entry = DiskIndex.NewEntry(
                key: pending.key, size: size, checksum: Checksum.of(data), times: pending.times,
                attachments: attachments)
            if size <= min(Int64(max(0, configuration.fileThreshold)), SegmentFile.largestValue) {
                let place = try index.reserve(size)
                _ = try index.insert(entry, at: place)
                appends.add(data, at: place)
            } else {
                let id = try index.insert(entry, at: nil)
                let folder = directory.valuesPath(generation: index.generation)
                try ValueFile.write(data, to: "\(folder)/\(DiskIndex.fileName(id))")
                files.append(id)
            }
        }
    }

    /// After the clock was set back, entries with future times would remain the newest, and each trim would remove
    /// newly stored ones. Future times count as now: the entries become as old as `time`, and so older than later ones.
    /// Those with a limited lifetime live no longer than that.
    func settleTimes(in index: DiskIndex, before time: Int64) throws(DiskFault) {
        let now = now()
        try index.moveTimes(after: now + DiskStaging.clockTolerance, to: min(now, time - 1), now: now)
    }

    /// Deletes the files that a failed transaction wrote, in another transaction. The rollback has freed their numbers,
    /// which another process may have used since. Files that cannot be deleted now are left to ``sweep(_:)``.
    private func removeFiles(_ numbers: [Int64], withoutRowIn index: DiskIndex) {
        guard !numbers.isEmpty else { return }
        let folder = directory.valuesPath(generation: index.generation)
        try? index.transaction { () throws(DiskFault) in
            for id in numbers {
                if try index.row(id: id)?.isInFile != true { unlink("\(folder)/\(DiskIndex.fileName(id))") }
            }
        }
    }

    /// Removes an entry whose bytes are damaged, unless its index has been replaced since.
    ///
    /// - Parameter fileName: the file whose bytes differ from those that were stored; `nil` if there are no bytes.
    func removeDamaged(_ number: DiskReader.EntryNumber, fileName: String? = nil) {
        if let fileName { report(.corruptValue(path: fileName)) }
        _ = withIndex { index throws(DiskFault) in
            guard number.generation == index.generation, let row = try index.row(id: number.id) else { return }
            clearAway("\(directory.valuesPath(generation: index.generation))/\(row.fileName)")
            try change(index) { () throws(DiskFault) in
                if let row = try index.row(id: number.id) { try index.delete(row) }
            }
        }
    }
}

/// Values to be written to segments, collected so that each segment is written once.
struct SegmentAppends {
    private struct Run {
        let place: DiskIndex.SegmentPlace
        var values: [Data]
    }

    private var runs: [Run] = []

    /// - Parameter place: directly after the previous value, or at the beginning of another segment.
    mutating func add(_ data: Data, at place: DiskIndex.SegmentPlace) {
        if let last = runs.last, last.place.segment == place.segment {
            runs[runs.count - 1].values.append(data)
        } else {
            runs.append(Run(place: place, values: [data]))
        }
    }

    func write(to folder: String) throws(DiskFault) {
        for run in runs {
            let path = "\(folder)/\(SegmentFile.name(run.place.segment))"
            try SegmentFile.write(run.values, to: path, at: run.place.offset)
        }
    }
}

extension DiskWriter {
    /// Removes the old values of a batch's keys when the new ones do not fit; returns whether there was no space even
    /// for that.
    ///
    /// Otherwise outdated values would be found again after a store or removal.
    func withdraw(_ batch: DiskStaging.Batch, from index: DiskIndex) throws(DiskFault) -> Bool {
        var isOutOfDate = false
        for pending in batch.changes where !isOutOfDate { isOutOfDate = try index.row(for: pending.key).0 != nil }
        guard isOutOfDate else { return false }
        do throws(DiskFault) {
            try commit(batch, to: index, stores: false)
            return false
        } catch let fault where fault.isFullDisk {
            // After it is copied into the database, the log is empty and has space for this.
            guard (try? index.emptyLog()) != nil, (try? commit(batch, to: index, stores: false)) != nil else {
                return true
            }
            return false
        }
    }
}

extension DiskWriter {
    func totals() -> DiskIndex.Totals? {
        withIndex { index throws(DiskFault) in
            try index.refreshTotals()
            return index.totals
        }
    }

    func entries(after id: Int64, limit: Int) -> [DiskCache.Entry] {
        let now = now()
        let (order, earliest) = (configuration.evictionOrder, now - ageLimit)
        return withIndex { index throws(DiskFault) in
            try index.entries(after: id, limit: limit, order: order, earliest: earliest, now: now)
        } ?? []
    }

    func statistics() -> DiskCache.Statistics {
        let statistics = withIndex { index throws(DiskFault) in
            try index.refreshTotals()
            return try index.statistics()
        }
        var result = statistics ?? DiskCache.Statistics()
        result.name = configuration.name
        for suffix in ["", "-wal"] {
            var status = stat()
            if lstat(directory.indexPath + suffix, &status) == 0 { result.indexByteCount += Int64(status.st_size) }
        }
        return result
    }
}

extension DiskIndex {
    /// - Parameters:
    ///   - earliest: entries with an earlier time by `order` are too old.
    ///   - now: the time for expirations.
    fileprivate func entries(
        after id: Int64, limit: Int, order: DiskCache.EvictionOrder, earliest: Int64, now: Int64
    ) throws(DiskFault) -> [DiskCache.Entry] {
        var entries: [DiskCache.Entry] = []
        let page = try connection.prepare(
            """
            SELECT \(Row.columns), key, created, modified, accessed FROM entry
            WHERE id > ? AND +\(order.column) >= ? AND ifnull(expires > ?, 1) ORDER BY id LIMIT ?
            """)
        try page.run(id, earliest, now, Int64(limit)) { statement in
            let (row, next) = (Row(statement), Row.columnCount)
            entries.append(
                DiskCache.Entry(
                    key: statement.text(next), row: row, deadline: row.deadline, created: statement.integer(next + 1),
                    modified: statement.integer(next + 2), accessed: statement.integer(next + 3)))
        }
        return entries
    }

    /// Each query reads one end of a tree, or the few rows of the segments.
    fileprivate func statistics() throws(DiskFault) -> DiskCache.Statistics {
        var result = DiskCache.Statistics()
        result.count = Int(totals.count)
        result.byteCount = totals.size
        result.hitCount = Int(totals.hits)
        result.missCount = Int(totals.misses)
        result.evictionCount = Int(totals.evictions)
        var liveCount: Int64 = 0
        try connection.prepare("SELECT count(*), sum(size), sum(live_size), sum(live_count) FROM segment").run { row in
            result.segments.count = Int(row.integer(0))
            result.segments.byteCount = DiskDirectory.possibleByteCount(row.integer(1))
            result.segments.liveByteCount = DiskDirectory.possibleByteCount(row.integer(2))
            liveCount = max(0, row.integer(3))
        }
        result.files.count = Int(max(0, totals.count - liveCount))
        result.files.byteCount = max(0, totals.size - result.segments.liveByteCount)
        guard totals.count > 0 else { return result }
        result.oldestAccess = try connection.integer("SELECT min(accessed) FROM entry").map(Date.init(microseconds:))
        result.newestAccess = try connection.integer("SELECT max(accessed) FROM entry").map(Date.init(microseconds:))
        result.oldestCreation = try connection.integer("SELECT created FROM entry ORDER BY id LIMIT 1")
            .map(Date.init(microseconds:))
        result.newestCreation = try connection.integer("SELECT created FROM entry ORDER BY id DESC LIMIT 1")
            .map(Date.init(microseconds:))
        return result
    }
}
