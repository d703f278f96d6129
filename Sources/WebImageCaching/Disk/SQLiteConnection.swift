internal import CWebImageSQLite
internal import FoundationEssentials

/// A connection to a database, for one thread at a time.
final class SQLiteConnection {
    private let handle: OpaquePointer

    /// Opens the file; makes it, empty, if `creates` is set and there is none.
    init(path: String, creates: Bool, busyTimeoutMilliseconds: Int32) throws(DiskFault) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (creates ? SQLITE_OPEN_CREATE : 0)
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard let opened else { throw .index(code: SQLITE_NOMEM, message: "out of memory") }
        handle = opened
        // From here on deinit closes the handle, as SQLite wants even when opening failed.
        guard status == SQLITE_OK else { throw fault() }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    }

    // The handle lives on until the last statement is gone.
    deinit { sqlite3_close_v2(handle) }

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

    fileprivate func fault() -> DiskFault {
        .index(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A statement that is prepared once and run many times.
final class SQLiteStatement {
    enum Argument {
        case integer(Int64)
        case text(String)
        case blob(Data)
    }

    private let statement: OpaquePointer
    private let connection: SQLiteConnection

    fileprivate init(statement: OpaquePointer, connection: SQLiteConnection) {
        self.statement = statement
        self.connection = connection
    }

    deinit { sqlite3_finalize(statement) }

    /// Runs the statement to its end and calls `body` for each row.
    func run(_ arguments: Argument..., body: (SQLiteStatement) -> Void = { _ in }) throws(DiskFault) {
        // A row left standing would keep its read transaction open, and with it the log from being recycled.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, argument) in arguments.enumerated() { try bind(argument, at: Int32(index + 1)) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: body(self)
            case SQLITE_DONE: return
            default: throw connection.fault()
            }
        }
    }

    private func bind(_ argument: Argument, at index: Int32) throws(DiskFault) {
        let status =
            switch argument {
            case .integer(let value):
                sqlite3_bind_int64(statement, index, value)
            case .text(var text):
                text.withUTF8 { utf8 in
                    utf8.withMemoryRebound(to: CChar.self) { bytes in
                        cwi_sqlite_bind_text(statement, index, bytes.baseAddress, UInt64(bytes.count))
                    }
                }
            case .blob(let data):
                data.withUnsafeBytes { bytes in
                    cwi_sqlite_bind_blob(statement, index, bytes.baseAddress, UInt64(bytes.count))
                }
            }
        guard status == SQLITE_OK else { throw connection.fault() }
    }

    // MARK: The current row

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func text(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(statement, column) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// `nil` for NULL.
    func data(_ column: Int32) -> Data? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return nil }
        guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
    }
}
