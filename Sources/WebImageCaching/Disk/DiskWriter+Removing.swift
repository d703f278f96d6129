internal import Glibc

extension DiskWriter {
    /// Removes all entries, in one transaction that reads none of them; whether files are left for ``sweepCleared()``.
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
        // On a full disk SQLite has no room to write down that rows are gone. The next use makes a new index, with a
        // generation of its own, and sweeps the files of this one.
        if needsSpace == true { discardIndex() }
        return needsSpace == false
    }

    /// What a removal of everything left behind: files with smaller numbers than these, which no row will ever have.
    struct Cleared {
        let generation: Int64
        let nextID: Int64
        let nextSegment: Int64
    }

    /// Deletes the files of entries that ``removeAll()`` removed; without a transaction, so that nobody waits for it.
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

    /// Removes all entries, and tells those who want to know how it goes; whether files are left for ``sweepCleared()``.
    func removeAll(progress: [DiskStaging.ClearProgress]) -> Bool {
        // Where one step fails, there may be room for the whole, or the index goes.
        progress.isEmpty || !removeInSteps { removed, total in progress.forEach { $0(removed, total) } }
            ? removeAll() : false
    }

    /// Removes what there is now, the oldest first; whether all of it is gone.
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

    /// Removes the index, and with it all entries: the next use makes a new one, and sweeps the files of this one.
    func discardIndex() {
        let discarded = indexIdentity
        do throws(DiskFault) {
            try directory.withExclusiveLock { () throws(DiskFault) in
                if directory.indexIdentity == discarded { directory.removeIndex() }
            }
        } catch let fault {
            report(fault.failure)
        }
        close()
    }

    /// Deletes files that no row owns, and what lies beyond the ends of segments: a process died between the file and the
    /// commit, or between the commit and the deletion. In a transaction, so that nobody is just writing there.
    func sweep(_ index: DiskIndex) throws(DiskFault) {
        let current = directory.valuesPath(generation: index.generation)
        let names = DiskDirectory.names(in: directory.path)
        // Where the index has been replaced, another generation is the good one.
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
