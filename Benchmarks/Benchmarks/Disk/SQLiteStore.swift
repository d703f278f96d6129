import CWebImageSQLite
import FoundationEssentials
import Glibc
import WebImageCore

/// One table of blobs, in the layout that is fastest here: pages of 16 KiB, rows found by a hash of the key.
final class SQLiteStore: DiskStore {
    private let path: String
    /// Two connections that both write would wait for each other by sleeping.
    private let writeLock = LockBox(())

    init(directory: String) throws {
        mkdir(directory, 0o700)
        path = directory + "/store.sqlite"
        try BareSQLite(path: path).run(
            """
            PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL, data BLOB);
            CREATE UNIQUE INDEX IF NOT EXISTS entry_by_hash ON entry (hash)
            """)
    }

    func session() throws -> any DiskSession { try SQLiteSession(path: path, writeLock: writeLock) }
}

private final class SQLiteSession: DiskSession {
    private let connection: BareSQLite
    private let begin, commit, insert, delete, select: BareSQLite.Statement
    private let writeLock: LockBox<Void>

    init(path: String, writeLock: LockBox<Void>) throws {
        self.writeLock = writeLock
        connection = try BareSQLite(path: path)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        insert = try connection.prepare("INSERT OR REPLACE INTO entry (hash, key, data) VALUES (?, ?, ?)")
        delete = try connection.prepare("DELETE FROM entry WHERE hash = ? AND key = ?")
        select = try connection.prepare("SELECT data FROM entry WHERE hash = ? AND key = ?")
    }

    private func transaction(_ body: () throws -> Void) throws {
        try writeLock.withLock { _ in
            try begin.run()
            try body()
            try commit.run()
        }
    }

    func set(_ places: Range<Int>, of entries: DiskEntries, generation: Int) throws {
        for part in places.parts(of: DiskContender.batchCount) {
            try transaction {
                for place in part {
                    insert.bindKey(entries.keys[place])
                    try entries.value(place, generation: generation).withUnsafeBytes { bytes in
                        insert.bind(bytes, at: 3)
                        try insert.run()
                    }
                }
            }
        }
    }

    func remove(_ places: Range<Int>, of entries: DiskEntries) throws {
        for part in places.parts(of: DiskContender.batchCount) {
            try transaction {
                for place in part {
                    delete.bindKey(entries.keys[place])
                    try delete.run()
                }
            }
        }
    }

    func get<Result>(_ key: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
        select.bindKey(key)
        return try select.first { row in
            // The caller keeps the bytes.
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: row.count, alignment: 16)
            defer { copy.deallocate() }
            copy.copyMemory(from: row)
            return body(UnsafeRawBufferPointer(copy))
        }
    }
}

/// As little as possible between a benchmark and SQLite.
final class BareSQLite {
    private let handle: OpaquePointer

    init(path: String) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
            throw WrongResult(description: "SQLite does not open \(path)")
        }
        handle = opened
        sqlite3_busy_timeout(handle, 10_000)
        // As our index: the log is synced when it is copied, not for each transaction.
        try run("PRAGMA synchronous = NORMAL")
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw WrongResult(description: String(cString: sqlite3_errmsg(handle)))
        }
    }

    func prepare(_ sql: String) throws -> Statement {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw WrongResult(description: String(cString: sqlite3_errmsg(handle)))
        }
        return Statement(statement)
    }

    final class Statement {
        private let statement: OpaquePointer

        fileprivate init(_ statement: OpaquePointer) { self.statement = statement }
        deinit { sqlite3_finalize(statement) }

        /// The hash at 1, the key at 2.
        func bindKey(_ key: String) {
            var key = key
            key.withUTF8 { utf8 in
                var hash: UInt64 = 0xCBF2_9CE4_8422_2325
                for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
                sqlite3_bind_int64(statement, 1, Int64(bitPattern: hash))
                utf8.withMemoryRebound(to: CChar.self) { bytes in
                    _ = cwi_sqlite_bind_text(statement, 2, bytes.baseAddress, UInt64(bytes.count))
                }
            }
        }

        func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(statement, index, value) }

        /// Until the statement has run, the bytes must stay where they are.
        func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
            sqlite3_bind_blob64(statement, index, bytes.baseAddress, UInt64(bytes.count), nil)
        }

        func run() throws {
            defer { sqlite3_reset(statement) }
            guard sqlite3_step(statement) == SQLITE_DONE else { throw WrongResult(description: "SQLite fails") }
        }

        /// The first row's first column, a blob.
        func first<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result? {
            defer { sqlite3_reset(statement) }
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                let count = Int(sqlite3_column_bytes(statement, 0))
                return try body(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, 0), count: count))
            case SQLITE_DONE: return nil
            default: throw WrongResult(description: "SQLite fails")
            }
        }

        /// The first row's first two columns, numbers.
        func firstNumbers() throws -> (Int64, Int64)? {
            defer { sqlite3_reset(statement) }
            guard sqlite3_step(statement) == SQLITE_ROW else { return nil }
            return (sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1))
        }
    }
}
