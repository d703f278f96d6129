internal import CWebImageSQLite
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The tables of a disk cache, for the connection that writes.
///
/// ```
///  cache ── one row: totals, counters, the segment that grows
///  entry ── hash, key, size, times, place ──┬─► (segment, offset) of a segment's file, counted in `segment`
///    │                                      └─► segment 0: a separate file
///    └─ attachment: data stored with the bytes, for few entries
/// ```
///
/// Rows are found by a hash of the key, which limits that index to 16 bytes per row, however long the keys are. The key
/// itself is compared, too. Two keys with the same hash displace each other. Values are never in the index: see
/// Decisions.md.
///
/// Rows and their bytes are added and removed only inside ``transaction(_:)``. SQLite allows one process at a time to
/// be in a transaction, and revokes this when the process dies. So for a process in a transaction, a file
/// without a row was left by a process that has ended, and only this process adds to segments.
///
/// The log is synced when it is copied into the database, every 16 MiB or, with a million entries, 64 MiB, never for a
/// single entry. A power failure loses the last entries but not the index. The bytes of a row may then be missing, so
/// checksums are verified for entries from before the last boot.
final class DiskIndex {
    /// Also incremented when keys change their meaning, since the index of an older version is deleted as a whole.
    static let version: Int64 = 3

    /// Determines the folder of the value files. A new index starts a new generation, so that a new row can never refer
    /// to an old file.
    let generation: Int64
    /// As of the last transaction; another process may have changed them since.
    var totals = Totals()
    /// The changes of segments in this transaction, by number.
    var segmentChanges: [Int64: SegmentChange] = [:]
    /// The end of the growing segment, once this transaction has looked it up.
    var segmentEnd: Int64?
    /// Names of files that lose their last row in this transaction.
    private(set) var abandoned: [String] = []

    /// The one row of `cache`.
    struct Totals {
        var nextID: Int64 = 1
        var count: Int64 = 0
        /// The size of the values only, in bytes.
        var size: Int64 = 0
        /// Microseconds since 1970.
        var trimmed: Int64 = 0
        /// The growing segment; 0 if the next value starts one.
        var segment: Int64 = 0
        var nextSegment: Int64 = 1
        var hits: Int64 = 0
        var misses: Int64 = 0
        var evictions: Int64 = 0

        /// Whether sums with these numbers cannot overflow; a damaged page may contain any value.
        fileprivate var arePossible: Bool {
            0...DiskDirectory.largestByteCount ~= size
                && [nextID, count, segment, nextSegment, hits, misses, evictions].allSatisfy { 0..<(.max / 2) ~= $0 }
        }
    }

    let connection: SQLiteConnection
    let statements: DiskStatements
    private let begin, commit, rollback: SQLiteStatement
    /// The number of pages in the log after which they are copied into the database.
    private var logPageLimit = DiskIndex.logPageLimits.lowerBound
    private static let logPageLimits: ClosedRange<Int64> = 4_096...16_384
    private static let pageByteCount: Int64 = 4_096
    /// The limit of the cache in bytes, on which the sizes of segments and of the log depend.
    var sizeLimit = Int64.max

    /// Opens or creates the tables. The caller holds the directory's lock, since two processes cannot switch a file to
    /// WAL at once.
    init(path: String, order: DiskCache.EvictionOrder, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        // SQLite would create the file, and then its log, readable by all users. Not `open`, since closing a file
        // releases all locks of the process on it, including those of its connections. A failure shows when SQLite
        // opens the file.
        mknod(path, S_IFREG | 0o600, 0)
        connection = try SQLiteConnection(path: path, creates: true, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
        let version = try connection.integer("PRAGMA user_version") ?? 0
        guard version <= Self.version else {
            throw .index(code: SQLITE_SCHEMA, message: "made by a newer version of this library")
        }
        guard version == 0 || version == Self.version else { throw .olderIndex }
        if version == 0 { try Self.makeTables(connection) }
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -8192;
            PRAGMA wal_autocheckpoint = \(Self.logPageLimits.lowerBound)
            """)
        if order != .access {
            // Few caches use this order, so others need not maintain its index.
            try connection.execute(
                "CREATE INDEX IF NOT EXISTS entry_by_\(order.column) ON entry (\(order.column))")
        }

        let generation = try connection.integer("SELECT generation FROM cache")
        guard let generation else { throw .index(code: SQLITE_CORRUPT, message: "no generation") }
        self.generation = generation
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        statements = try DiskStatements(connection, order: order)
        try noteBoot()
        try refreshTotals()
    }

    private static func makeTables(_ connection: SQLiteConnection) throws(DiskFault) {
        // The first two must precede the first table. Most changes touch rows that are alone on their pages.
        try connection.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        let generation = Int64.random(in: 1 ... .max)
        try connection.execute(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE cache (
                id INTEGER PRIMARY KEY CHECK (id = 1), generation INTEGER NOT NULL, boot TEXT NOT NULL,
                boot_first_id INTEGER NOT NULL, next_id INTEGER NOT NULL, count INTEGER NOT NULL, size INTEGER NOT NULL,
                trimmed INTEGER NOT NULL, segment INTEGER NOT NULL, next_segment INTEGER NOT NULL,
                hits INTEGER NOT NULL, misses INTEGER NOT NULL, evictions INTEGER NOT NULL
            );
            INSERT INTO cache VALUES (1, \(generation), '', 1, 1, 0, 0, 0, 0, 1, 0, 0, 0);
            CREATE TABLE segment (
                number INTEGER PRIMARY KEY, size INTEGER NOT NULL, live_count INTEGER NOT NULL,
                live_size INTEGER NOT NULL
            );
            CREATE TABLE entry (
                id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, size INTEGER NOT NULL, segment INTEGER NOT NULL,
                offset INTEGER NOT NULL, checksum INTEGER NOT NULL, created INTEGER NOT NULL,
                modified INTEGER NOT NULL, accessed INTEGER NOT NULL, expires INTEGER, lifetime INTEGER,
                attached INTEGER NOT NULL, key TEXT NOT NULL
            );
            CREATE UNIQUE INDEX entry_by_hash ON entry (hash);
            CREATE INDEX entry_by_accessed ON entry (accessed);
            CREATE INDEX entry_by_segment ON entry (segment);
            CREATE INDEX entry_by_expiry ON entry (expires) WHERE expires IS NOT NULL;
            CREATE TABLE attachment (id INTEGER PRIMARY KEY, extended BLOB, metadata BLOB);
            PRAGMA user_version = \(version);
            COMMIT
            """)
    }

    /// Records which entries are from before the last boot.
    private func noteBoot() throws(DiskFault) {
        let boot = DiskDirectory.bootIdentity
        var known = ""
        try connection.prepare("SELECT boot FROM cache").run { known = $0.text(0) }
        guard known != boot || boot.isEmpty else { return }
        try connection.prepare("UPDATE cache SET boot = ?1, boot_first_id = next_id WHERE boot <> ?1 OR boot = ''")
            .run(boot)
    }

    // MARK: Transactions

    /// Runs `body` as the only writer among all processes. All of its changes take effect, or none.
    func transaction<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        try begin.run()
        do {
            forgetTransaction()
            try refreshTotals()
            let result = try body()
            try settleSegments()
            try statements.writeTotals.run(
                totals.nextID, totals.count, totals.size, totals.trimmed, totals.segment, totals.nextSegment,
                totals.hits,
                totals.misses, totals.evictions)
            try commit.run()
            adaptLog()
            return result
        } catch {
            // SQLite rolls back by itself after some errors.
            if connection.isInTransaction { try? rollback.run() }
            forgetTransaction()
            try? refreshTotals()
            throw error
        }
    }

    /// Lets the log grow with the index. A hash falls on any page of its index: with many pages, each is copied for
    /// fewer entries.
    private func adaptLog() {
        let (limits, step) = (Self.logPageLimits, 2_048 as Int64)
        var limit = min(max(totals.count / 64 / step * step, limits.lowerBound), limits.upperBound)
        // In a small cache the log takes a sixteenth of the space.
        limit = min(limit, max(64, sizeLimit / 16 / Self.pageByteCount))
        guard limit != logPageLimit, (try? connection.execute("PRAGMA wal_autocheckpoint = \(limit)")) != nil else {
            return
        }
        logPageLimit = limit
    }

    private func forgetTransaction() {
        segmentChanges = [:]
        segmentEnd = nil
        abandoned = []
    }

    /// Notes a file to be deleted once the transaction is committed.
    func abandon(_ fileName: String) { abandoned.append(fileName) }

    func refreshTotals() throws(DiskFault) {
        try statements.readTotals.run { row in
            totals = Totals(
                nextID: row.integer(0), count: row.integer(1), size: row.integer(2), trimmed: row.integer(3),
                segment: row.integer(4), nextSegment: row.integer(5), hits: row.integer(6), misses: row.integer(7),
                evictions: row.integer(8))
        }
        guard totals.arePossible else { throw .index(code: SQLITE_CORRUPT, message: "impossible totals") }
    }

    // MARK: Outside

    /// Returns the pages of deleted rows to the file system.
    func shrink() throws(DiskFault) {
        try connection.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Copies the log into the database and frees its space.
    func emptyLog() throws(DiskFault) { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    /// Called when the path no longer belongs to this file.
    func leaveLog() { connection.leaveLog() }
}

/// Everything here runs inside a transaction.
extension DiskIndex {
    /// The values needed to find an entry's bytes, or to delete it.
    struct Row: Sendable, Hashable {
        let id: Int64
        /// In bytes.
        let size: Int64
        /// 0 for a value in a separate file.
        let segment: Int64
        let offset: Int64
        let checksum: UInt32
        let isAttached: Bool
        /// `.max` for never.
        let expires: Int64
        let lifetime: Int64?

        static let columns = "id, size, segment, offset, checksum, attached, expires, lifetime"
        /// The first column after these.
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

        /// Identifies the bytes.
        var mark: BytesMark { BytesMark(byteCount: size, checksum: checksum) }
        var isInFile: Bool { segment == 0 }
        var deadline: ExpirationDeadline { ExpirationDeadline(time: expires, lifetime: lifetime) }
        /// The file that contains the bytes, in the generation's folder.
        var fileName: String { isInFile ? DiskIndex.fileName(id) : SegmentFile.name(segment) }
    }

    /// The name of a file that contains one entry's value.
    static func fileName(_ id: Int64) -> String { String(id, radix: 16) }

    /// Returns the row with the key's hash, and whether it also has the key.
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

    /// Returns the entries to be removed next, while `isIncluded` returns `true` for the entry and the time that orders
    /// it.
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

    /// Returns the entries with numbers smaller than `end`, oldest first.
    func rows(before end: Int64, limit: Int) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statements.findBefore.run(end, Int64(limit)) { rows.append(Row($0)) }
        return rows
    }

    /// A value that has no row yet.
    struct NewEntry {
        let key: String
        let size: Int64
        let checksum: UInt32
        let times: DiskCache.Entry.Times
        let attachments: DiskAttachments
    }

    /// Adds an entry, whose hash must not be in use, and returns its number.
    ///
    /// - Parameter place: the position of its bytes in a segment; `nil` for a separate file.
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

    /// Deletes an entry. Its file is deleted when the transaction is committed; a segment, when it has no entries left.
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

    /// Deletes entries in the order of their numbers, since neighbors share pages.
    func delete(_ rows: [Row]) throws(DiskFault) {
        for row in rows.sorted(by: { $0.id < $1.id }) { try delete(row) }
    }

    /// Deletes all rows without reading them. The files are deleted by a sweep.
    func deleteAll() throws(DiskFault) {
        try connection.execute("DELETE FROM entry; DELETE FROM attachment; DELETE FROM segment")
        totals.count = 0
        totals.size = 0
        totals.segment = 0
        segmentChanges = [:]
    }

    /// Replaces the attachments of an entry.
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

    /// Shifts times later than `limit` back, preserving their order, until the latest is `time`. Then no other time of
    /// these entries, and no start of a lifetime, is later than `now`.
    func moveTimes(after limit: Int64, to time: Int64, now: Int64) throws(DiskFault) {
        guard let newest = try times()?.newest, newest > limit else { return }
        try statements.shiftTimes.run(limit, time - newest, now)
    }

    /// The earliest and latest of the times that order removal; `nil` if there are no entries.
    func times() throws(DiskFault) -> (oldest: Int64, newest: Int64)? {
        var times: (Int64, Int64)?
        try statements.times.run { row in
            times = row.optionalInteger(0).map { ($0, row.integer(1)) }
        }
        return times
    }
}

extension ExpirationDeadline {
    /// The time as stored in the index: `nil` for never.
    fileprivate var storedTime: Int64? { time == .max ? nil : time }
}

extension String {
    /// The hash by which rows are found: 64-bit FNV-1a, which is the same in every process.
    var diskHash: Int64 {
        utf8.withContiguousStorageIfAvailable { Self.diskHash($0) } ?? Self.diskHash(Array(utf8))
    }

    private static func diskHash(_ bytes: some Sequence<UInt8>) -> Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(bitPattern: hash)
    }
}

/// Everything here runs inside a transaction.
extension DiskIndex {
    /// The position of a value in a segment.
    struct SegmentPlace: Hashable, Sendable {
        let segment: Int64
        let offset: Int64
    }

    /// The number of entries and bytes that a segment gains or loses.
    struct SegmentChange {
        private(set) var count: Int64 = 0
        private(set) var size: Int64 = 0

        mutating func add(_ count: Int64, _ size: Int64) {
            self.count += count
            self.size += size
        }
    }

    /// Reserves space at the end of the growing segment. The caller must write the bytes there before the transaction
    /// ends.
    func reserve(_ size: Int64) throws(DiskFault) -> SegmentPlace {
        var end = try currentEnd()
        if totals.segment == 0 || end > 0 && end + size > SegmentFile.capacity(sizeLimit: sizeLimit) {
            try settleEnd()
            totals.segment = totals.nextSegment
            totals.nextSegment += 1
            try statements.insertSegment.run(totals.segment)
            end = 0
        }
        segmentEnd = end + size
        return SegmentPlace(segment: totals.segment, offset: end)
    }

    /// Makes the next value start another segment, since the file of this one is not as expected.
    func leaveSegment() {
        totals.segment = 0
        segmentEnd = nil
    }

    private func currentEnd() throws(DiskFault) -> Int64 {
        if let segmentEnd { return segmentEnd }
        guard totals.segment != 0 else { return 0 }
        var size: Int64?
        try statements.segmentSize.run(totals.segment) { size = $0.integer(0) }
        // A segment without a row has no values, so a new one is started.
        guard let size, 0...DiskDirectory.largestByteCount ~= size else {
            totals.segment = 0
            return 0
        }
        return size
    }

    private func settleEnd() throws(DiskFault) {
        guard let end = segmentEnd, totals.segment != 0 else { return }
        try statements.setSegmentSize.run(totals.segment, end)
        segmentEnd = nil
    }

    /// Records the end of the last segment and the contents of each; deletes segments that have become empty.
    func settleSegments() throws(DiskFault) {
        try settleEnd()
        for (number, change) in segmentChanges {
            try statements.changeSegment.run(number, change.count, change.size)
            guard change.count <= 0 else { continue }
            var isEmpty = false
            try statements.findEmpty.run(number) { _ in isEmpty = true }
            if isEmpty { try drop(segment: number) }
        }
        segmentChanges = [:]
    }

    /// Deletes a segment; its file is deleted with the transaction.
    func drop(segment number: Int64) throws(DiskFault) {
        try statements.deleteSegment.run(number)
        abandon(SegmentFile.name(number))
        if totals.segment == number { totals.segment = 0 }
    }

    /// The segment with the fewest live bytes among those that are less than half live, except for the growing one.
    func sparseSegment() throws(DiskFault) -> Int64? {
        var number: Int64?
        try statements.findSparse.run(totals.segment) { number = $0.integer(0) }
        return number
    }

    /// The size of all segments beyond the values in them.
    func deadByteCount() throws(DiskFault) -> Int64 {
        var size: Int64 = 0
        try statements.deadSize.run { size = $0.integer(0) }
        return DiskDirectory.possibleByteCount(size)
    }

    /// Changes the position of an entry's bytes, which must be written there before the transaction ends.
    func move(_ row: Row, to place: SegmentPlace) throws(DiskFault) {
        try statements.move.run(row.id, place.segment, place.offset)
        segmentChanges[row.segment, default: SegmentChange()].add(-1, -row.size)
        segmentChanges[place.segment, default: SegmentChange()].add(1, row.size)
    }

    /// Returns the end of the segment; `nil` if it has no entries.
    func end(ofSegment number: Int64) throws(DiskFault) -> Int64? {
        var end: Int64?
        try statements.segmentSize.run(number) { end = $0.integer(0) }
        return end
    }
}
