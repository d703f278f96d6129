internal import FoundationEssentials

/// All of this runs inside a transaction.
extension DiskIndex {
    /// What is needed to find an entry's bytes, or to delete it.
    struct Row: Sendable, Hashable {
        let id: Int64
        /// In bytes.
        let size: Int64
        /// 0 for a value in a file of its own.
        let segment: Int64
        let offset: Int64
        let checksum: UInt32
        let isAttached: Bool
        /// `max` for never.
        let expires: Int64
        let lifetime: Int64?

        static let columns = "id, size, segment, offset, checksum, attached, expires, lifetime"
        /// The first column behind these.
        static let columnCount: Int32 = 8

        init(_ statement: SQLiteStatement) {
            id = statement.integer(0)
            size = DiskDirectory.possibleByteCount(statement.integer(1))
            segment = statement.integer(2)
            offset = statement.integer(3)
            checksum = UInt32(truncatingIfNeeded: statement.integer(4))
            isAttached = statement.integer(5) != 0
            expires = statement.optionalInteger(6) ?? .max
            lifetime = expires == .max ? nil : statement.optionalInteger(7)
        }

        /// What its bytes are known by.
        var mark: BytesMark { BytesMark(byteCount: size, checksum: checksum) }
        var isInFile: Bool { segment == 0 }
        var deadline: ExpirationDeadline { ExpirationDeadline(time: expires, lifetime: lifetime) }
        /// The file that holds the bytes, in the generation's folder.
        var fileName: String { isInFile ? DiskIndex.fileName(id) : SegmentFile.name(segment) }
    }

    /// The name of a file that holds the value of one entry.
    static func fileName(_ id: Int64) -> String { String(id, radix: 16) }

    /// The row that has the key's hash, and whether it has the key too.
    func row(for key: String) throws(DiskFault) -> (row: Row?, isOfKey: Bool) {
        var found: (Row?, Bool) = (nil, false)
        try statements.find.run(key.diskHash) { found = (Row($0), $0.text(Row.columnCount, equals: key)) }
        return found
    }

    func row(id: Int64) throws(DiskFault) -> Row? {
        var row: Row?
        try statements.findByID.run(id) { row = Row($0) }
        return row
    }

    /// The entries that go next, as long as `isIncluded` says so of each and the time that puts it there.
    func firstRows(limit: Int, while isIncluded: (_ row: Row, _ time: Int64) -> Bool) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statements.findFirst.visitRows(
            Int64(limit),
            while: { statement in
                let row = Row(statement)
                guard isIncluded(row, statement.integer(Row.columnCount)) else { return false }
                rows.append(row)
                return true
            })
        return rows
    }

    func expiredRows(at time: Int64, limit: Int) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statements.findExpired.run(time, Int64(limit)) { rows.append(Row($0)) }
        return rows
    }

    func rows(inSegment segment: Int64, limit: Int) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statements.findInSegment.run(segment, Int64(limit)) { rows.append(Row($0)) }
        return rows
    }

    /// Those with numbers smaller than `end`, the oldest first.
    func rows(before end: Int64, limit: Int) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statements.findBefore.run(end, Int64(limit)) { rows.append(Row($0)) }
        return rows
    }

    /// What is known about a value before it has a row.
    struct NewEntry {
        let key: String
        let size: Int64
        let checksum: UInt32
        let times: DiskCache.Entry.Times
        let attachments: DiskAttachments
    }

    /// Adds an entry, whose hash must be free, and returns its number.
    ///
    /// - Parameter place: where its bytes go in a segment; `nil` for a file of its own.
    func insert(_ entry: NewEntry, at place: SegmentPlace?) throws(DiskFault) -> Int64 {
        let id = totals.nextID
        let (deadline, attachments) = (entry.attachments.deadline, entry.attachments)
        try statements.insert.run(
            id, entry.key.diskHash, entry.size, place?.segment ?? 0, place?.offset ?? 0, Int64(entry.checksum),
            entry.times.created, entry.times.modified, entry.times.accessed, deadline.storedTime, deadline.lifetime,
            attachments.isEmpty ? 0 as Int64 : 1,
            entry.key)
        if !attachments.isEmpty {
            try statements.insertAttachment.run(id, attachments.extendedData, attachments.responseMetadata)
        }
        if let place { segmentChanges[place.segment, default: SegmentChange()].add(1, entry.size) }
        totals.nextID += 1
        totals.count += 1
        totals.size += entry.size
        return id
    }

    /// Deletes an entry. Its bytes go when the transaction is committed, or, in a segment, with their last neighbour.
    func delete(_ row: Row) throws(DiskFault) {
        try statements.delete.run(row.id)
        if row.isAttached { try statements.deleteAttachment.run(row.id) }
        if row.isInFile {
            abandon(row.fileName)
        } else {
            segmentChanges[row.segment, default: SegmentChange()].add(-1, -row.size)
        }
        totals.count -= 1
        totals.size -= row.size
    }

    /// Deletes entries in the order of their numbers, as neighbours share pages.
    func delete(_ rows: [Row]) throws(DiskFault) {
        for row in rows.sorted(by: { $0.id < $1.id }) { try delete(row) }
    }

    /// Deletes all rows without reading them. The files are left to a sweep.
    func deleteAll() throws(DiskFault) {
        try connection.execute("DELETE FROM entry; DELETE FROM attachment; DELETE FROM segment")
        totals.count = 0
        totals.size = 0
        totals.segment = 0
        segmentChanges = [:]
    }

    /// Replaces what is kept beside the bytes.
    func update(_ row: Row, to attachments: DiskAttachments, time: Int64) throws(DiskFault) {
        try statements.update.run(
            row.id, time, attachments.deadline.storedTime, attachments.deadline.lifetime,
            attachments.isEmpty ? 0 as Int64 : 1)
        if !attachments.isEmpty {
            try statements.insertAttachment.run(row.id, attachments.extendedData, attachments.responseMetadata)
        } else if row.isAttached {
            try statements.deleteAttachment.run(row.id)
        }
    }

    func noteAccess(id: Int64, _ access: DiskAccesses.Access) throws(DiskFault) {
        try statements.noteAccess.run(id, access.time, access.expires)
    }

    func noteAccess(key: String, _ access: DiskAccesses.Access) throws(DiskFault) {
        try statements.noteAccessByHash.run(key.diskHash, access.time, access.expires)
    }

    /// Moves times later than `limit` together, so that their order stays, until the last of them is `time`. None of the
    /// entries' other times is later than `now` then, and no lifetime begins later.
    func moveTimes(after limit: Int64, to time: Int64, now: Int64) throws(DiskFault) {
        guard let newest = try times()?.newest, newest > limit else { return }
        try statements.shiftTimes.run(limit, time - newest, now)
    }

    /// The first and last of the times by which entries go; `nil` where there are none.
    func times() throws(DiskFault) -> (oldest: Int64, newest: Int64)? {
        var times: (Int64, Int64)?
        try statements.times.run { row in
            times = row.optionalInteger(0).map { ($0, row.integer(1)) }
        }
        return times
    }
}

extension ExpirationDeadline {
    /// As an index keeps it: `nil` for never.
    fileprivate var storedTime: Int64? { time == .max ? nil : time }
}

extension String {
    /// What rows are found by: 64-bit FNV-1a, the same in every process.
    var diskHash: Int64 {
        utf8.withContiguousStorageIfAvailable { Self.diskHash($0) } ?? Self.diskHash(Array(utf8))
    }

    private static func diskHash(_ bytes: some Sequence<UInt8>) -> Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(bitPattern: hash)
    }
}
