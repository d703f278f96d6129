internal import CWebImageSQLite
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The tables of a disk cache, as the one connection that writes sees them.
///
/// ```
///  cache ── one row: totals, counters, the segment that grows
///  entry ── hash, key, size, times, place ──┬─► (segment, offset) of a segment's file, counted in `segment`
///    │                                      └─► segment 0: a file of its own
///    └─ attachment: what a program keeps beside the bytes, for few entries
/// ```
///
/// Rows are found by a hash of the key, which keeps that index at 16 bytes a row however long the keys are; the key itself
/// is compared too. Two keys with one hash displace each other. Values are never in the index: see Decisions.md.
///
/// Rows, and the bytes that belong to them, come and go inside ``transaction(_:)`` only. SQLite gives one process at a
/// time that right and takes it back when the process dies. So whoever holds it sees a file without a row only if a
/// dead process left it, and alone knows where a segment ends.
///
/// The log is synced when it is copied into the database, every 16 MiB or so, never for an entry. A power cut loses the
/// last entries but not the index; what an entry's row promises may be missing then, so checksums are compared for
/// entries from before the machine started.
final class DiskIndex {
    /// Grows when keys mean something else, too: the index of an older version is dropped whole.
    static let version: Int64 = 3

    /// Names the folder of the values' files. A new index starts a new generation, so that it can never be given an old
    /// file for a new row.
    let generation: Int64
    /// As of the last transaction; another process may have gone on since.
    var totals = Totals()
    /// What this transaction does to segments, by number.
    var segmentChanges: [Int64: SegmentChange] = [:]
    /// The end of the segment that grows, once this transaction has asked for it.
    var segmentEnd: Int64?
    /// Names of files that lose their last row with this transaction.
    private(set) var abandoned: [String] = []

    /// The one row of `cache`.
    struct Totals {
        var nextID: Int64 = 1
        var count: Int64 = 0
        /// Of the values alone, in bytes.
        var size: Int64 = 0
        /// Microseconds since 1970.
        var trimmed: Int64 = 0
        /// The segment that grows; 0 when the next value begins one.
        var segment: Int64 = 0
        var nextSegment: Int64 = 1
        var hits: Int64 = 0
        var misses: Int64 = 0
        var evictions: Int64 = 0

        /// Whether sums with these numbers can't overflow: a damaged page may say anything.
        fileprivate var arePossible: Bool {
            0...DiskDirectory.largestByteCount ~= size
                && [nextID, count, segment, nextSegment, hits, misses, evictions].allSatisfy { 0..<(.max / 2) ~= $0 }
        }
    }

    let connection: SQLiteConnection
    let statements: DiskStatements
    private let begin, commit, rollback: SQLiteStatement

    /// Opens or makes the tables. The caller holds the directory's lock: two processes can't switch one file to WAL.
    init(path: String, order: DiskCache.EvictionOrder, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        // SQLite would make the file, and then its log, readable to everybody. Not `open`: closing a file gives up all
        // locks of the process on it, those of its connections too. A failure shows when SQLite opens the file.
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
            PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 33554432; PRAGMA wal_autocheckpoint = 4096;
            PRAGMA cache_size = -8192
            """)
        if order != .access {
            // Few caches want it, so others need not keep it up.
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
        // The first two must come before the first table. Most changes touch rows that are alone on their pages.
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

    /// Remembers which entries are from before the machine started last.
    private func noteBoot() throws(DiskFault) {
        let boot = DiskDirectory.bootIdentity
        var known = ""
        try connection.prepare("SELECT boot FROM cache").run { known = $0.text(0) }
        guard known != boot || boot.isEmpty else { return }
        try connection.prepare("UPDATE cache SET boot = ?1, boot_first_id = next_id WHERE boot <> ?1 OR boot = ''")
            .run(boot)
    }

    // MARK: Transactions

    /// Runs `body` as the only writer among all processes; all of its changes take effect, or none.
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
            return result
        } catch {
            // SQLite rolls back by itself after some errors.
            if connection.isInTransaction { try? rollback.run() }
            forgetTransaction()
            try? refreshTotals()
            throw error
        }
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

    /// Gives the pages of deleted rows back to the file system.
    func shrink() throws(DiskFault) {
        try connection.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Copies the log into the database and gives its space back.
    func emptyLog() throws(DiskFault) { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    /// The file is no longer what its path names.
    func leaveLog() { connection.leaveLog() }
}
