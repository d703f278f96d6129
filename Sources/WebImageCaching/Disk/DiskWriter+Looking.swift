internal import FoundationEssentials
internal import Glibc

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
        for suffix in ["", "-wal"] {
            var status = stat()
            if lstat(directory.indexPath + suffix, &status) == 0 { result.indexByteCount += Int64(status.st_size) }
        }
        return result
    }
}

extension DiskIndex {
    /// - Parameters:
    ///   - earliest: the time by `order` before which an entry is too old.
    ///   - now: when those that have expired have done so.
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

    /// Each of these looks at one end of a tree, or at the few rows of the segments.
    fileprivate func statistics() throws(DiskFault) -> DiskCache.Statistics {
        var result = DiskCache.Statistics()
        result.count = Int(totals.count)
        result.byteCount = totals.size
        result.hits = Int(totals.hits)
        result.misses = Int(totals.misses)
        result.evictions = Int(totals.evictions)
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
