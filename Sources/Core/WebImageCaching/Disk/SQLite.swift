internal import CWebImageSQLite
internal import FoundationEssentials
internal import Glibc

/// A connection to a database, for one thread at a time.
final class SQLiteConnection {
    private let handle: OpaquePointer

    /// Opens the file; creates an empty one if it does not exist and `creates` is `true`.
    convenience init(path: String, creates: Bool, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        let flags = SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0)
        try self.init(name: path, flags: flags, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    }

    /// Opens a file that no process changes, without locks and without a log.
    convenience init(unchanging path: String) throws(DiskFault) {
        // The name is a URI, in which these bytes have a meaning.
        let escaped = path.utf8.reduce(into: "") { name, byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"%?#".utf8.contains(byte)
            name += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        try self.init(
            name: "file:\(escaped)?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
            busyTimeoutMilliseconds: 0)
    }

    private init(name: String, flags: Int32, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        var opened: OpaquePointer?
        let status = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard let opened else { throw .index(code: SQLITE_NOMEM, message: "out of memory") }
        handle = opened
        // From here on, deinit closes the handle, which SQLite requires even if opening failed.
        guard status == SQLITE_OK else { throw fault() }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    }

    // The handle exists until the last statement is finalized.
    deinit { sqlite3_close_v2(handle) }

    /// Leaves the log unchanged when the connection closes.
    ///
    /// The last connection to close copies the log into the database and deletes it by name. If the database has been
    /// replaced, that name belongs to the new one.
    func leaveLog() { cwi_sqlite_leave_log(handle) }

    /// Runs statements that are used once.
    func execute(_ sql: String) throws(DiskFault) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw fault() }
    }

    func prepare(_ sql: String) throws(DiskFault) -> SQLiteStatement {
        var statement: OpaquePointer?
        let status = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard status == SQLITE_OK, let statement else { throw fault() }
        return SQLiteStatement(statement: statement, connection: self)
    }

    /// Returns the first column of the first row.
    func integer(_ sql: String) throws(DiskFault) -> Int64? {
        var result: Int64?
        try prepare(sql).run { row in result = row.integer(0) }
        return result
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    func fault() -> DiskFault {
        let code = sqlite3_extended_errcode(handle)
        // SQLite has its own code for a full disk, but not where the file that processes share cannot grow.
        let cause = DiskFault.system(errno: code & 0xFF == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0)
        return cause.isFullDisk ? cause : .index(code: code, message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A statement that is prepared once and run many times.
final class SQLiteStatement {
    private let statement: OpaquePointer
    private let connection: SQLiteConnection

    init(statement: OpaquePointer, connection: SQLiteConnection) {
        self.statement = statement
        self.connection = connection
    }

    deinit { sqlite3_finalize(statement) }

    /// Runs the statement to its end and calls `body` for each row.
    func run<each Argument: SQLiteArgument>(
        _ arguments: repeat each Argument, body: (SQLiteStatement) -> Void = { _ in }
    ) throws(DiskFault) {
        try visitRows(
            repeat each arguments,
            while: { row in
                body(row)
                return true
            })
    }

    /// Runs the statement and calls `body` for each row, until it returns `false`.
    func visitRows<each Argument: SQLiteArgument>(
        _ arguments: repeat each Argument, while body: (SQLiteStatement) -> Bool
    ) throws(DiskFault) {
        // A pending row would keep its read transaction open and prevent the log from being reused.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        var index: Int32 = 0
        var status = SQLITE_OK
        for argument in repeat each arguments {
            index += 1
            if status == SQLITE_OK { status = argument.bind(to: statement, at: index) }
        }
        guard status == SQLITE_OK else { throw connection.fault() }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: if !body(self) { return }
            case SQLITE_DONE: return
            default: throw connection.fault()
            }
        }
    }

    // MARK: The current row

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    /// `nil` for NULL.
    func optionalInteger(_ column: Int32) -> Int64? {
        sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : integer(column)
    }

    func text(_ column: Int32) -> String {
        String(decoding: UnsafeRawBufferPointer(bytes(sqlite3_column_text(statement, column), column)), as: UTF8.self)
    }

    /// Compares the text with `string` by bytes, without creating a string.
    func text(_ column: Int32, equals string: String) -> Bool {
        let stored = bytes(sqlite3_column_text(statement, column), column)
        let isEqual = string.utf8.withContiguousStorageIfAvailable { utf8 in
            guard utf8.count == stored.count else { return false }
            guard let first = utf8.baseAddress, let second = stored.baseAddress else { return true }
            return memcmp(first, second, utf8.count) == 0
        }
        return isEqual ?? stored.elementsEqual(string.utf8)
    }

    /// `nil` for NULL.
    func data(_ column: Int32) -> Data? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return nil }
        return Data(bytes(sqlite3_column_blob(statement, column), column))
    }

    /// SQLite requires the length to be read after the bytes.
    private func bytes(_ start: UnsafePointer<UInt8>?, _ column: Int32) -> UnsafeRawBufferPointer {
        bytes(UnsafeRawPointer(start), column)
    }

    private func bytes(_ start: UnsafeRawPointer?, _ column: Int32) -> UnsafeRawBufferPointer {
        guard let start else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

/// An argument of a statement. A protocol and not an enum, so that no array is created for each run.
protocol SQLiteArgument {
    /// SQLite's status.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Int64: SQLiteArgument {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

extension String: SQLiteArgument {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { bytes in
                cwi_sqlite_bind_text(statement, index, bytes.baseAddress, UInt64(bytes.count))
            }
        }
    }
}

extension Data: SQLiteArgument {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        withUnsafeBytes { bytes in
            cwi_sqlite_bind_blob(statement, index, bytes.baseAddress, UInt64(bytes.count))
        }
    }
}

/// `nil` is NULL.
extension Optional: SQLiteArgument where Wrapped: SQLiteArgument {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        self?.bind(to: statement, at: index) ?? sqlite3_bind_null(statement, index)
    }
}

/// The prepared statements of the connection that writes.
struct DiskStatements {
    let readTotals, writeTotals: SQLiteStatement
    let find, findByID, findFirst, findExpired, findInSegment, findBefore: SQLiteStatement
    let insert, insertAttachment, delete, deleteAttachment, noteAccess, noteAccessByHash, move, update: SQLiteStatement
    let times, shiftTimes: SQLiteStatement
    let insertSegment, segmentSize, changeSegment, setSegmentSize, findEmpty, deleteSegment, findSparse: SQLiteStatement
    let deadSize: SQLiteStatement

    /// - Parameter order: the order in which entries are removed.
    init(_ connection: SQLiteConnection, order: DiskCache.EvictionOrder) throws(DiskFault) {
        let (row, time) = (DiskIndex.Row.columns, order.column)
        readTotals = try connection.prepare(
            "SELECT next_id, count, size, trimmed, segment, next_segment, hits, misses, evictions FROM cache")
        writeTotals = try connection.prepare(
            """
            UPDATE cache SET next_id = ?, count = ?, size = ?, trimmed = ?, segment = ?, next_segment = ?, hits = ?,
            misses = ?, evictions = ?
            """)
        find = try connection.prepare("SELECT \(row), key FROM entry WHERE hash = ?")
        findByID = try connection.prepare("SELECT \(row) FROM entry WHERE id = ?")
        findFirst = try connection.prepare("SELECT \(row), \(time) FROM entry ORDER BY \(time), id LIMIT ?")
        findExpired = try connection.prepare("SELECT \(row) FROM entry WHERE expires <= ? ORDER BY expires LIMIT ?")
        findInSegment = try connection.prepare("SELECT \(row) FROM entry WHERE segment = ? LIMIT ?")
        findBefore = try connection.prepare("SELECT \(row) FROM entry WHERE id < ? ORDER BY id LIMIT ?")
        insert = try connection.prepare(
            """
            INSERT INTO entry (id, hash, size, segment, offset, checksum, created, modified, accessed, expires, lifetime,
            attached, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertAttachment = try connection.prepare("REPLACE INTO attachment (id, extended, metadata) VALUES (?, ?, ?)")
        delete = try connection.prepare("DELETE FROM entry WHERE id = ?")
        deleteAttachment = try connection.prepare("DELETE FROM attachment WHERE id = ?")
        // `max` of two values is NULL if one is, so an entry that never expires stays so.
        noteAccess = try connection.prepare(
            "UPDATE entry SET accessed = max(accessed, ?2), expires = max(expires, ifnull(?3, expires)) WHERE id = ?1")
        noteAccessByHash = try connection.prepare(
            "UPDATE entry SET accessed = max(accessed, ?2), expires = max(expires, ifnull(?3, expires)) WHERE hash = ?1"
        )
        move = try connection.prepare("UPDATE entry SET segment = ?2, offset = ?3 WHERE id = ?1")
        update = try connection.prepare(
            "UPDATE entry SET modified = max(modified, ?2), expires = ?3, lifetime = ?4, attached = ?5 WHERE id = ?1")
        // As a single query for both, SQLite would read all rows.
        times = try connection.prepare("SELECT (SELECT min(\(time)) FROM entry), (SELECT max(\(time)) FROM entry)")
        let others = DiskCache.EvictionOrder.allCases.filter { $0 != order }.map(\.column)
        shiftTimes = try connection.prepare(
            """
            UPDATE entry SET \(time) = \(time) + ?2, \(others.map { "\($0) = min(\($0), ?3)" }.joined(separator: ", ")),
            expires = min(expires, ifnull(?3 + lifetime, expires)) WHERE \(time) > ?1
            """)

        insertSegment = try connection.prepare("INSERT INTO segment VALUES (?, 0, 0, 0)")
        segmentSize = try connection.prepare("SELECT size FROM segment WHERE number = ?")
        changeSegment = try connection.prepare(
            "UPDATE segment SET live_count = live_count + ?2, live_size = live_size + ?3 WHERE number = ?1")
        setSegmentSize = try connection.prepare("UPDATE segment SET size = ?2 WHERE number = ?1")
        findEmpty = try connection.prepare("SELECT 1 FROM segment WHERE number = ? AND live_count <= 0")
        deadSize = try connection.prepare("SELECT ifnull(sum(size - live_size), 0) FROM segment")
        deleteSegment = try connection.prepare("DELETE FROM segment WHERE number = ?")
        findSparse = try connection.prepare(
            "SELECT number FROM segment WHERE number <> ? AND live_size < size / 2 ORDER BY live_size LIMIT 1")
    }
}
