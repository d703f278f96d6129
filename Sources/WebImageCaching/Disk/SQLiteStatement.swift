internal import CWebImageSQLite
internal import FoundationEssentials
internal import Glibc

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

    /// Runs the statement and calls `body` for each row, until that returns `false`.
    func visitRows<each Argument: SQLiteArgument>(
        _ arguments: repeat each Argument, while body: (SQLiteStatement) -> Bool
    ) throws(DiskFault) {
        // A row left standing would keep its read transaction open, and with it the log from being recycled.
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

    /// Whether the text is `string`, byte by byte; without making a string of it.
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

    /// SQLite wants the length to be asked for after the bytes.
    private func bytes(_ start: UnsafePointer<UInt8>?, _ column: Int32) -> UnsafeRawBufferPointer {
        bytes(UnsafeRawPointer(start), column)
    }

    private func bytes(_ start: UnsafeRawPointer?, _ column: Int32) -> UnsafeRawBufferPointer {
        guard let start else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

/// What a statement can be given; a type and not a list of cases, so that no array is made for each run.
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
