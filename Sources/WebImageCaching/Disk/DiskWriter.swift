internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Everything that changes the disk. Blocking, and called by one thread at a time, the ``DiskCache``'s lane, but for
/// ``end()``.
final class DiskWriter: @unchecked Sendable {
    // `@unchecked`: everything mutable is touched on the lane only, or locked.
    private let configuration: DiskCache.Configuration
    private let directory: DiskDirectory
    private let readers: DiskReaders
    private let now: @Sendable () -> Int64
    private let lockPatience: LockPatience

    private var index: DiskIndex?
    private var indexIdentity: DiskDirectory.FileIdentity?
    private var sizeLimit: Int64 = .max
    /// After a failure nothing is tried until then, so that each load does not pay for it anew.
    private var retryTime: Int64 = .min
    private let isEnding = Lock(false)
    private var reported: Set<WebImageError.DiskCacheFailure> = []

    private static let second: Int64 = 1_000_000
    private static let retryInterval = 60 * second
    private static let trimInterval = 3_600 * second

    /// How long a change waits while another process holds the index: a minute in all, after which it is given up.
    struct LockPatience {
        var timeoutMilliseconds: Int32 = 10_000
        var attemptCount = 6
    }

    init(
        configuration: DiskCache.Configuration, directory: DiskDirectory, readers: DiskReaders,
        now: @escaping @Sendable () -> Int64, lockPatience: LockPatience = LockPatience()
    ) {
        self.configuration = configuration
        self.directory = directory
        self.readers = readers
        self.now = now
        self.lockPatience = lockPatience
    }

    // MARK: Opening

    /// Makes the next use try again at once, whatever failed before.
    func retry() { retryTime = .min }

    func openIfNeeded() { _ = withIndex { _ in } }

    /// From now on an index that is open can be written, but none is opened or made, no failure is reported, and nobody
    /// waits for another process: the cache is gone, and its directory may be too. Called on any thread.
    func end() { isEnding.withLock { $0 = true } }

    func close() {
        index = nil
        readers.closeAll()
    }

    /// Runs `body` with the open index; `nil`, after a report, when there is none or it fails.
    ///
    /// `body` runs again when another process held the index: what it did must have been undone, or bear repeating.
    private func withIndex<Result>(_ body: (DiskIndex) throws(DiskFault) -> Result) -> Result? {
        var remaining = lockPatience.attemptCount
        while true {
            do throws(DiskFault) {
                guard let index = try openIndex() else { return nil }
                return try body(index)
            } catch let fault {
                handle(fault)
                remaining -= 1
                guard fault.isLocked, remaining > 0, !isEnding.withLock({ $0 }) else { return nil }
            }
        }
    }

    /// `nil` soon after a failure, which was reported then.
    private func openIndex() throws(DiskFault) -> DiskIndex? {
        if let index {
            if directory.indexIdentity == indexIdentity { return index }
            // Deleted, or moved aside by another process.
            close()
        }
        guard now() >= retryTime, !isEnding.withLock({ $0 }) else { return nil }
        try directory.create()
        var aside: String?
        let opened = try directory.withExclusiveLock { () throws(DiskFault) in
            let opened: DiskIndex
            do throws(DiskFault) {
                opened = try DiskIndex(
                    path: directory.indexPath, busyTimeoutMilliseconds: lockPatience.timeoutMilliseconds)
            } catch let fault where fault.isCorruption || fault.isForeignSchema {
                aside = try directory.moveIndexAside()
                opened = try DiskIndex(
                    path: directory.indexPath, busyTimeoutMilliseconds: lockPatience.timeoutMilliseconds)
            }
            indexIdentity = directory.indexIdentity
            return opened
        }
        if let aside { report(.corruptIndex(movedTo: aside)) }
        try DiskDirectory.make(directory.valuesPath(generation: opened.generation))
        index = opened
        sizeLimit = max(0, configuration.sizeLimit ?? defaultSizeLimit(opened))
        let (now, trimmed) = (now(), opened.totals.trimmed)
        // A trim in the future is one from before the clock went back.
        if trimmed < now - Self.trimInterval || trimmed > now {
            try enforceLimits(opened)
            try sweep(opened)
        }
        return opened
    }

    /// 10 % of what the cache could have, 64 MiB … 1 GiB.
    private func defaultSizeLimit(_ index: DiskIndex) -> Int64 {
        let available = (directory.freeByteCount ?? 0) + index.totals.size
        return min(max(available / 10, 64 << 20), 1 << 30)
    }

    // MARK: Failing

    private func handle(_ fault: DiskFault) {
        switch fault {
        case _ where fault.isCorruption:
            let damaged = indexIdentity
            close()
            do throws(DiskFault) {
                let aside = try directory.withExclusiveLock { () throws(DiskFault) -> String? in
                    // Another process may have put a good one there already.
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
        default:
            close()
            retryTime = now() + Self.retryInterval
            report(fault.failure)
        }
    }

    private func report(_ failure: WebImageError.DiskCacheFailure) {
        guard !isEnding.withLock({ $0 }), reported.insert(failure).inserted else { return }
        configuration.onFailure(.diskCache(path: directory.path, reason: failure))
    }

    /// Called when a reader met a fault: a damaged index is replaced, unless that has happened since; another fault is
    /// reported.
    func examine(_ failure: DiskReaders.Failure) {
        openIfNeeded()
        guard index != nil, failure.identity == indexIdentity else { return }
        if failure.fault.isCorruption { handle(failure.fault) } else { report(failure.fault.failure) }
    }

    // MARK: Writing

    func write(_ batch: DiskStaging.Batch) {
        if batch.clearNumber != nil { removeAll() }
        guard !batch.changes.isEmpty || !batch.accesses.isEmpty else { return }
        let isOverfull = withIndex { index throws(DiskFault) in
            do throws(DiskFault) {
                try makeRoom(index, for: batch.changes.reduce(0) { $0 + Int64($1.byteCount) })
                try commit(batch, to: index)
            } catch let fault where fault.isFullDisk {
                report(fault.failure)
                // What the keys held before is out of date all the same.
                try commit(batch, to: index, stores: false)
            }
            return index.totals.size > sizeLimit
        }
        if isOverfull == true { enforceLimits() }
    }

    private func commit(
        _ batch: DiskStaging.Batch, to index: DiskIndex, stores: Bool = true
    ) throws(DiskFault) {
        let folder = directory.valuesPath(generation: index.generation)
        var written: [Int64] = []
        var obsolete: [String] = []
        do throws(DiskFault) {
            try index.transaction { () throws(DiskFault) in
                try settleAccesses(in: index, before: batch.firstTime)
                if batch.generation == index.generation {
                    for (id, time) in batch.accesses { try index.noteAccess(id: id, time: time) }
                }
                for pending in batch.changes {
                    if let old = try index.row(hash: pending.key.diskHash) {
                        try index.delete(old)
                        if old.isInFile { obsolete.append("\(folder)/\(DiskIndex.fileName(old.id))") }
                    }
                    guard stores, case .store(let data) = pending.change, Int64(data.count) <= sizeLimit else {
                        continue
                    }
                    let isInline =
                        data.count <= min(configuration.inlineThreshold, DiskCache.Configuration.largestInlineThreshold)
                    let id = try index.insert(
                        key: pending.key, size: data.count, time: pending.time, inlineData: isInline ? data : nil)
                    if !isInline {
                        try ValueFile.write(data, to: "\(folder)/\(DiskIndex.fileName(id))")
                        written.append(id)
                    }
                }
            }
        } catch let fault {
            removeFiles(written, withoutRowIn: index)
            throw fault
        }
        for path in obsolete { unlink(path) }
    }

    /// When the clock has gone back, entries from before that would stay the newest, and each trim would take what was
    /// stored since. They become as old as `time`, and so older than what comes now.
    private func settleAccesses(in index: DiskIndex, before time: Int64) throws(DiskFault) {
        let now = now()
        try index.moveAccesses(after: now + DiskStaging.clockTolerance, to: min(now, time - 1))
    }

    /// Deletes the files that a failed transaction wrote. In another transaction: the rollback gave the numbers back, and
    /// since then another process may have used them. What can't be deleted now is left to ``sweep(_:)``.
    private func removeFiles(_ numbers: [Int64], withoutRowIn index: DiskIndex) {
        guard !numbers.isEmpty else { return }
        let folder = directory.valuesPath(generation: index.generation)
        try? index.transaction { () throws(DiskFault) in
            for id in numbers {
                if try index.row(id: id)?.isInFile != true { unlink("\(folder)/\(DiskIndex.fileName(id))") }
            }
        }
    }

    /// Removes an entry whose bytes turned out to be damaged, unless its index has been replaced since.
    func removeDamaged(_ number: DiskReader.EntryNumber) {
        _ = withIndex { index throws(DiskFault) in
            guard number.generation == index.generation else { return }
            try delete(in: index) { () throws(DiskFault) in try index.row(id: number.id).map { [$0] } ?? [] }
        }
    }

    /// Deletes the rows that `choose` returns, all in one transaction, then their files; returns how many.
    @discardableResult
    private func delete(
        in index: DiskIndex, choose: () throws(DiskFault) -> [DiskIndex.Row]
    ) throws(DiskFault) -> Int {
        let rows = try index.transaction { () throws(DiskFault) in
            let rows = try choose()
            for row in rows { try index.delete(row) }
            return rows
        }
        let folder = directory.valuesPath(generation: index.generation)
        for row in rows where row.isInFile { unlink("\(folder)/\(DiskIndex.fileName(row.id))") }
        return rows.count
    }

    private func removeAll() {
        let needsSpace = withIndex { index throws(DiskFault) in
            do throws(DiskFault) {
                try index.transaction { () throws(DiskFault) in try index.deleteAll() }
                try sweep(index)
                try index.shrink()
                return false
            } catch let fault where fault.isFullDisk {
                return true
            }
        }
        // On a full disk SQLite has no room to write down that rows are gone. The next use makes a new index, with a
        // generation of its own, and sweeps the files of this one.
        if needsSpace == true { discardIndex() }
    }

    private func discardIndex() {
        let discarded = indexIdentity
        close()
        do throws(DiskFault) {
            try directory.withExclusiveLock { () throws(DiskFault) in
                if directory.indexIdentity == discarded { directory.removeIndex() }
            }
        } catch let fault {
            report(fault.failure)
        }
    }

    // MARK: Trimming

    /// What ``DiskCache/trim(toSize:)`` does.
    func trim(toSize size: Int64) {
        _ = withIndex { index throws(DiskFault) in
            try trim(index, toSize: size)
            try sweep(index)
            try index.shrink()
        }
    }

    func enforceLimits() {
        _ = withIndex { index throws(DiskFault) in try enforceLimits(index) }
    }

    /// Trims to the limits: below the size limit by a tenth, so that the next insertion does not trim again, and until
    /// the file system has its free space, with `byteCount` more.
    private func enforceLimits(_ index: DiskIndex, adding byteCount: Int64 = 0) throws(DiskFault) {
        try index.refreshTotals()
        let size = index.totals.size
        let missing = missingByteCount(adding: byteCount)
        // Not `size` where nothing is too much: another process may store more before the transaction begins.
        var target = size > sizeLimit ? sizeLimit / 10 * 9 : .max
        if missing > 0 { target = min(target, max(0, size - missing)) }
        try trim(index, toSize: target)
        if missing > 0 { try index.shrink() }
    }

    /// How far the file system is below the floor of its free space, with `byteCount` more.
    private func missingByteCount(adding byteCount: Int64) -> Int64 {
        guard let free = directory.freeByteCount else { return 0 }
        let floor = min(max(0, configuration.freeSpaceFloor), DiskDirectory.largestByteCount)
        return max(0, floor + byteCount - free)
    }

    /// The age limit in microseconds: one below 0 counts as 0, one that is no number as none.
    private var ageLimit: Int64 {
        let (limit, longest) = (configuration.ageLimit, 1e12)
        return Int64((limit.isNaN ? longest : min(max(limit, 0), longest)) * Double(Self.second))
    }

    /// Makes sure that `byteCount` more leave the file system its free space, at the cost of the oldest entries.
    private func makeRoom(_ index: DiskIndex, for byteCount: Int64) throws(DiskFault) {
        guard byteCount > 0, missingByteCount(adding: byteCount) > 0 else { return }
        try enforceLimits(index, adding: byteCount)
        if missingByteCount(adding: byteCount) > 0 { throw .system(errno: ENOSPC) }
    }

    /// Deletes what is expired, then, oldest access first, as much as it takes. As age counts from the last access, both
    /// are one walk.
    private func trim(_ index: DiskIndex, toSize target: Int64) throws(DiskFault) {
        let expiry = now() - ageLimit
        let stepCount = 64
        var deleted: Int
        repeat {
            deleted = try delete(in: index) { () throws(DiskFault) in
                try settleAccesses(in: index, before: .max)
                var excess = index.totals.size - target
                return Array(
                    try index.oldestRows(limit: stepCount).prefix { row in
                        defer { excess -= row.size }
                        return excess > 0 || row.accessed < expiry
                    })
            }
        } while deleted == stepCount
        try index.transaction { () throws(DiskFault) in index.noteTrim(time: now()) }
    }

    /// Deletes files that no row owns: a process died between the file and the commit, or between the commit and the
    /// deletion.
    private func sweep(_ index: DiskIndex) throws(DiskFault) {
        let current = DiskDirectory.valuesPrefix + index.generation
        for name in DiskDirectory.names(in: directory.path)
        where name.hasPrefix(DiskDirectory.valuesPrefix) && name != current {
            let folder = "\(directory.path)/\(name)"
            for file in DiskDirectory.names(in: folder) { unlink("\(folder)/\(file)") }
            rmdir(folder)
        }
        let folder = "\(directory.path)/\(current)"
        var names = DiskDirectory.names(in: folder)[...]
        while !names.isEmpty {
            let some = names.prefix(256)
            names = names.dropFirst(some.count)
            try index.transaction { () throws(DiskFault) in
                for name in some {
                    if let id = Int64(name, radix: 16), try index.row(id: id)?.isInFile == true { continue }
                    unlink("\(folder)/\(name)")
                }
            }
        }
    }

    // MARK: Looking

    func totals() -> DiskIndex.Totals? {
        withIndex { index throws(DiskFault) in
            try index.refreshTotals()
            return index.totals
        }
    }

    func entries(after id: Int64, limit: Int) -> [DiskCache.Entry] {
        withIndex { index throws(DiskFault) in try index.entries(after: id, limit: limit) } ?? []
    }
}
