internal import CWebImageSQLite

/// A connection to a database, for one thread at a time.
final class SQLiteConnection {
    private let handle: OpaquePointer

    /// Opens the file; makes it, empty, if `creates` is set and there is none.
    convenience init(path: String, creates: Bool, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        let flags = SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0)
        try self.init(name: path, flags: flags, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    }

    /// Opens a file that nobody changes, without locks and without a log.
    convenience init(unchanging path: String) throws(DiskFault) {
        // The name is a URI, in which these bytes mean something.
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
        // From here on deinit closes the handle, as SQLite wants even when opening failed.
        guard status == SQLITE_OK else { throw fault() }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    }

    // The handle lives on until the last statement is gone.
    deinit { sqlite3_close_v2(handle) }

    /// Lets the log be when the connection closes.
    ///
    /// The last connection to close copies the log into the database and deletes it by name. When the database has been
    /// replaced, that name is the new one's.
    func leaveLog() { cwi_sqlite_leave_log(handle) }

    /// Runs statements that are needed once.
    func execute(_ sql: String) throws(DiskFault) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw fault() }
    }

    func prepare(_ sql: String) throws(DiskFault) -> SQLiteStatement {
        var statement: OpaquePointer?
        let status = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard status == SQLITE_OK, let statement else { throw fault() }
        return SQLiteStatement(statement: statement, connection: self)
    }

    /// The first column of the first row.
    func integer(_ sql: String) throws(DiskFault) -> Int64? {
        var result: Int64?
        try prepare(sql).run { row in result = row.integer(0) }
        return result
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    func fault() -> DiskFault {
        .index(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}
