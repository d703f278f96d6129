internal import FoundationEssentials
internal import Glibc

extension DiskWriter {
    /// What a batch leaves to be done.
    struct Aftermath: OptionSet {
        let rawValue: Int
        /// A limit is exceeded, of age too.
        static let overfull = Aftermath(rawValue: 1 << 0)
        /// Files of removed entries are still there.
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
                    // First, as they say what goes first.
                    try commit(DiskStaging.Batch(accesses: batch.accesses), to: index)
                    batch.accesses = DiskAccesses()
                    try makeRoom(index, for: Int64(byteCount))
                }
                try commit(batch, to: index)
            } catch let fault where fault.isFullDisk {
                report(fault.failure)
                // What the keys held before is out of date all the same.
                needsSpace = try withdraw(batch, from: index)
                if needsSpace { return [] }
            }
            var rest: Aftermath = []
            if isOverfull(index) { rest.insert(.overfull) }
            if try hasAged(index) { rest.insert(.overfull) }
            if try index.sparseSegment() != nil { rest.insert(.sparse) }
            return rest
        }
        // Nothing is better than what is out of date; and it makes room.
        if needsSpace { discardIndex() }
        return aftermath.union(rest ?? [])
    }

    private func isStorable(_ change: DiskStaging.Pending) -> Bool { change.valueByteCount <= sizeLimit }

    /// Changes the index and, once that is committed, deletes the files that lost their last entry by it.
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
        do throws(DiskFault) {
            try change(index) { () throws(DiskFault) in
                var appends = SegmentAppends()
                try settleTimes(in: index, before: batch.firstTime)
                index.totals.hits += batch.accesses.hits
                index.totals.misses += batch.accesses.misses
                if batch.accesses.generation == index.generation {
                    // Neighbours share pages.
                    for (id, access) in batch.accesses.byID.sorted(by: { $0.key < $1.key }) {
                        try index.noteAccess(id: id, access)
                    }
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

    /// When the clock has gone back, entries from before that would stay the newest, and each trim would take what was
    /// stored since. A time in the future counts as now: they become as old as `time`, and so older than what comes now, and
    /// those that were to live for some seconds live for no more than those.
    func settleTimes(in index: DiskIndex, before time: Int64) throws(DiskFault) {
        let now = now()
        try index.moveTimes(after: now + DiskStaging.clockTolerance, to: min(now, time - 1), now: now)
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
    ///
    /// - Parameter fileName: where bytes are that are not those that were stored; `nil` when there are none.
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

/// Values on their way into segments, collected so that each segment is written once.
struct SegmentAppends {
    private struct Run {
        let place: DiskIndex.SegmentPlace
        var values: [Data]
    }

    private var runs: [Run] = []

    /// - Parameter place: right behind the value added before, or at the beginning of another segment.
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
