internal import CWebImageSQLite
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The tables of a disk cache, as the one connection that writes sees them.
///
/// `entry` holds what is known about a value, `value` the bytes of small ones: apart, so that noting an access does not
/// rewrite a picture, and so that walking the entries does not read them. Rows are found by a hash of the key, which
/// keeps that index at 16 bytes a row however long the keys are; the key itself is compared too. Two keys with one hash
/// displace each other.
///
/// Rows, and the files that belong to them, come and go inside ``transaction(_:)`` only. SQLite gives one process at a
/// time that right and takes it back when the process dies. So whoever holds it sees a file without a row only if a
/// dead process left it.
final class DiskIndex {
    static let version: Int64 = 1

    /// Names the folder of the values' files. A new index starts a new generation, so that it can never be given an old
    /// file for a new row.
    let generation: String
    /// As of the last transaction; another process may have gone on since.
    private(set) var totals: Totals

    struct Totals {
        var nextID: Int64
        var count: Int64
        /// Of the values alone, in bytes.
        var size: Int64
        /// Microseconds since 1970.
        var trimmed: Int64
    }

    struct Row {
        let id: Int64
        let size: Int64
        let accessed: Int64
        let isInFile: Bool
    }

    private let connection: SQLiteConnection
    private let begin, commit, rollback: SQLiteStatement
    private let readTotals, writeTotals: SQLiteStatement
    private let find, findByID, findOldest, findNewestAccess, shiftAccesses: SQLiteStatement
    private let insertEntry, insertValue, deleteEntry, deleteValue, noteAccess: SQLiteStatement

    /// The name of an entry's file, in the generation's folder.
    static func fileName(_ id: Int64) -> String { String(id, radix: 16) }

    /// Opens or makes the tables. The caller holds the directory's lock: two processes can't switch one file to WAL.
    init(path: String, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        // SQLite would make the file, and then its log, readable to everybody. Not `open`: closing a file gives up all
        // locks of the process on it, those of its connections too. A failure shows when SQLite opens the file.
        mknod(path, S_IFREG | 0o600, 0)
        connection = try SQLiteConnection(path: path, creates: true, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
        let version = try connection.integer("PRAGMA user_version") ?? 0
        guard version <= Self.version else {
            throw .index(code: SQLITE_SCHEMA, message: "made by a newer version of this library")
        }
        if version == 0 { try Self.makeTables(connection) }
        // The log is synced when it is copied into the database, every 16 MiB or so, never for an entry. A power cut
        // loses the last entries but no more; OFF would save those few syncs and risk the whole index.
        try connection.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 33554432")

        var generation = ""
        try connection.prepare("SELECT generation FROM cache").run { generation = $0.text(0) }
        guard !generation.isEmpty else { throw .index(code: SQLITE_CORRUPT, message: "no generation") }
        self.generation = generation

        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        readTotals = try connection.prepare("SELECT next_id, count, size, trimmed FROM cache")
        writeTotals = try connection.prepare("UPDATE cache SET next_id = ?, count = ?, size = ?, trimmed = ?")
        find = try connection.prepare("SELECT id, size, accessed, in_file FROM entry WHERE hash = ?")
        findByID = try connection.prepare("SELECT id, size, accessed, in_file FROM entry WHERE id = ?")
        findOldest = try connection.prepare(
            "SELECT id, size, accessed, in_file FROM entry ORDER BY accessed, id LIMIT ?")
        findNewestAccess = try connection.prepare("SELECT max(accessed) FROM entry")
        shiftAccesses = try connection.prepare("UPDATE entry SET accessed = accessed + ?2 WHERE accessed > ?1")
        insertEntry = try connection.prepare(
            "INSERT INTO entry (id, hash, size, created, accessed, in_file, key) VALUES (?, ?, ?, ?, ?, ?, ?)")
        insertValue = try connection.prepare("INSERT INTO value (id, data) VALUES (?, ?)")
        deleteEntry = try connection.prepare("DELETE FROM entry WHERE id = ?")
        deleteValue = try connection.prepare("DELETE FROM value WHERE id = ?")
        noteAccess = try connection.prepare("UPDATE entry SET accessed = max(accessed, ?2) WHERE id = ?1")
        totals = Totals(nextID: 1, count: 0, size: 0, trimmed: 0)
        try refreshTotals()
    }

    private static func makeTables(_ connection: SQLiteConnection) throws(DiskFault) {
        // The first two must come before the first table.
        try connection.execute("PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        let generation = String(UInt64.random(in: .min ... .max), radix: 16)
        try connection.execute(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE cache (
                id INTEGER PRIMARY KEY CHECK (id = 1), generation TEXT NOT NULL, next_id INTEGER NOT NULL,
                count INTEGER NOT NULL, size INTEGER NOT NULL, trimmed INTEGER NOT NULL
            );
            INSERT INTO cache VALUES (1, '\(generation)', 1, 0, 0, 0);
            CREATE TABLE entry (
                id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, size INTEGER NOT NULL, created INTEGER NOT NULL,
                accessed INTEGER NOT NULL, in_file INTEGER NOT NULL, key TEXT NOT NULL
            );
            CREATE UNIQUE INDEX entry_by_hash ON entry (hash);
            CREATE INDEX entry_by_access ON entry (accessed);
            CREATE TABLE value (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
            PRAGMA user_version = \(version);
            COMMIT
            """)
    }

    /// Runs `body` as the only writer among all processes; all of its changes take effect, or none.
    func transaction<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        try begin.run()
        do {
            try refreshTotals()
            let result = try body()
            try writeTotals.run(
                .integer(totals.nextID), .integer(totals.count), .integer(totals.size), .integer(totals.trimmed))
            try commit.run()
            return result
        } catch {
            // SQLite rolls back by itself after some errors.
            if connection.isInTransaction { try? rollback.run() }
            try? refreshTotals()
            throw error
        }
    }

    func refreshTotals() throws(DiskFault) {
        try readTotals.run { row in
            totals = Totals(
                nextID: row.integer(0), count: row.integer(1), size: row.integer(2), trimmed: row.integer(3))
        }
        // What a damaged page says must not overflow the sums that are made with it.
        guard 0...DiskDirectory.largestByteCount ~= totals.size else {
            throw .index(code: SQLITE_CORRUPT, message: "a size of \(totals.size) bytes")
        }
    }

    // MARK: Inside a transaction

    func row(hash: Int64) throws(DiskFault) -> Row? { try rows(find, hash).first }
    func row(id: Int64) throws(DiskFault) -> Row? { try rows(findByID, id).first }
    func oldestRows(limit: Int) throws(DiskFault) -> [Row] { try rows(findOldest, Int64(limit)) }

    private func rows(_ statement: SQLiteStatement, _ argument: Int64) throws(DiskFault) -> [Row] {
        var rows: [Row] = []
        try statement.run(.integer(argument)) { row in
            rows.append(
                Row(id: row.integer(0), size: row.integer(1), accessed: row.integer(2), isInFile: row.integer(3) != 0))
        }
        return rows
    }

    /// Adds an entry, whose hash must be free, and returns its number.
    ///
    /// - Parameter inlineData: the value, unless it is kept in a file.
    func insert(key: String, size: Int, time: Int64, inlineData: Data?) throws(DiskFault) -> Int64 {
        let id = totals.nextID
        try insertEntry.run(
            .integer(id), .integer(key.diskHash), .integer(Int64(size)), .integer(time), .integer(time),
            .integer(inlineData == nil ? 1 : 0), .text(key))
        if let inlineData { try insertValue.run(.integer(id), .blob(inlineData)) }
        totals.nextID += 1
        totals.count += 1
        totals.size += Int64(size)
        return id
    }

    func delete(_ row: Row) throws(DiskFault) {
        try deleteEntry.run(.integer(row.id))
        if !row.isInFile { try deleteValue.run(.integer(row.id)) }
        totals.count -= 1
        totals.size -= row.size
    }

    func deleteAll() throws(DiskFault) {
        try connection.execute("DELETE FROM entry; DELETE FROM value")
        totals.count = 0
        totals.size = 0
    }

    func noteAccess(id: Int64, time: Int64) throws(DiskFault) { try noteAccess.run(.integer(id), .integer(time)) }

    /// Moves accesses later than `limit` together, so that their order stays, until the last of them is at `time`.
    func moveAccesses(after limit: Int64, to time: Int64) throws(DiskFault) {
        var newest = limit
        try findNewestAccess.run { newest = $0.integer(0) }
        if newest > limit { try shiftAccesses.run(.integer(limit), .integer(time - newest)) }
    }

    func noteTrim(time: Int64) { totals.trimmed = time }

    // MARK: Outside

    /// Gives the pages of deleted values back to the file system.
    func shrink() throws(DiskFault) {
        try connection.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    func entries(after id: Int64, limit: Int) throws(DiskFault) -> [DiskCache.Entry] {
        var entries: [DiskCache.Entry] = []
        let page = try connection.prepare(
            "SELECT id, key, size, created, accessed FROM entry WHERE id > ? ORDER BY id LIMIT ?")
        try page.run(.integer(id), .integer(Int64(limit))) { row in
            entries.append(
                DiskCache.Entry(
                    id: row.integer(0), key: row.text(1), byteCount: Int(row.integer(2)),
                    created: Date(microseconds: row.integer(3)), lastAccess: Date(microseconds: row.integer(4))))
        }
        return entries
    }
}

extension String {
    /// What rows are found by: 64-bit FNV-1a, the same in every process.
    var diskHash: Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(bitPattern: hash)
    }
}

extension Date {
    fileprivate init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
}
