internal import CWebImageSQLite
internal import FoundationEssentials
internal import WebImageCore

/// A connection that only looks things up, for one thread at a time.
///
/// It never makes or repairs anything: when the index is not there, there is nothing to be found.
final class DiskReader {
    enum Result {
        case found(Data, EntryNumber)
        case missing
        /// The entry's bytes are gone or of another length.
        case damaged(EntryNumber)
    }

    /// An entry's number, which another index may give to another entry.
    struct EntryNumber {
        let id: Int64
        /// ``DiskIndex/generation``: unlike the file's identity, no other index ever has it.
        let generation: String
    }

    /// Which file it reads: what is found wrong with it says nothing about a newer index at the same path.
    let identity: DiskDirectory.FileIdentity
    private let generation: String
    private let valuesPath: String
    private let lookUp, exists: SQLiteStatement

    init?(directory: DiskDirectory, identity: DiskDirectory.FileIdentity) throws(DiskFault) {
        self.identity = identity
        let connection = try SQLiteConnection(
            path: directory.indexPath, creates: false, busyTimeoutMilliseconds: 2_000)
        // 0 while another thread makes the tables.
        guard try connection.integer("PRAGMA user_version") == DiskIndex.version else { return nil }
        var generation = ""
        try connection.prepare("SELECT generation FROM cache").run { generation = $0.text(0) }
        self.generation = generation
        valuesPath = directory.valuesPath(generation: generation)
        lookUp = try connection.prepare(
            """
            SELECT entry.id, size, in_file, data FROM entry LEFT JOIN value ON value.id = entry.id
            WHERE hash = ? AND key = ?
            """)
        exists = try connection.prepare("SELECT 1 FROM entry WHERE hash = ? AND key = ?")
    }

    func read(_ key: String) throws(DiskFault) -> Result {
        let result = try readOnce(key)
        guard case .damaged(let first) = result else { return result }
        // Between the row and the file the entry may have been replaced; then there is another row now.
        let again = try readOnce(key)
        if case .damaged(let second) = again, second.id != first.id { return .missing }
        return again
    }

    func contains(_ key: String) throws(DiskFault) -> Bool {
        var isPresent = false
        try exists.run(.integer(key.diskHash), .text(key)) { _ in isPresent = true }
        return isPresent
    }

    private func readOnce(_ key: String) throws(DiskFault) -> Result {
        var result = Result.missing
        var fileSize: Int?
        try lookUp.run(.integer(key.diskHash), .text(key)) { row in
            let (number, size) = (EntryNumber(id: row.integer(0), generation: generation), Int(row.integer(1)))
            result = .damaged(number)
            if row.integer(2) != 0 {
                fileSize = size
            } else if let data = row.data(3), data.count == size {
                result = .found(data, number)
            }
        }
        if case .damaged(let number) = result, let fileSize,
            let data = ValueFile.read("\(valuesPath)/\(DiskIndex.fileName(number.id))", byteCount: fileSize)
        {
            result = .found(data, number)
        }
        return result
    }
}

/// Readers at rest. As many come to exist as threads read at once.
final class DiskReaders: Sendable {
    /// A fault, and the file in which it was met.
    struct Failure: Error {
        let fault: DiskFault
        let identity: DiskDirectory.FileIdentity
    }

    private struct State {
        /// Grows when the index is replaced, so that readers of the old one are not taken back.
        var generation = 0
        var idle: [DiskReader] = []
    }

    private let directory: DiskDirectory
    private let state = Lock(State())

    init(directory: DiskDirectory) { self.directory = directory }

    /// Runs `body` with a reader that nobody else uses; `nil` when there is no index.
    func withReader<Result>(_ body: (DiskReader) throws(DiskFault) -> Result) throws(Failure) -> Result? {
        // Each time, as a deleted index can be read as long as it is open. Before a file is opened: if it is replaced in
        // between, a fault counts as one of the old file.
        guard let identity = directory.indexIdentity else { return nil }
        let (idle, generation) = takeIdle(of: identity)
        do throws(DiskFault) {
            let reader: DiskReader
            if let idle {
                reader = idle
            } else {
                let opened = try directory.withExclusiveLock { () throws(DiskFault) in
                    try DiskReader(directory: directory, identity: identity)
                }
                guard let opened else { return nil }
                reader = opened
            }
            // After a fault the reader is dropped.
            let result = try body(reader)
            state.withLock { if $0.generation == generation { $0.idle.append(reader) } }
            return result
        } catch {
            throw Failure(fault: error, identity: identity)
        }
    }

    /// A reader at rest, if there is one, and the generation to which it may return.
    private func takeIdle(of identity: DiskDirectory.FileIdentity) -> (DiskReader?, generation: Int) {
        let (idle, generation) = state.withLock { ($0.idle.popLast(), $0.generation) }
        guard let idle, idle.identity != identity else { return (idle, generation) }
        // All of them are of the old file.
        closeAll()
        return (nil, state.withLock { $0.generation })
    }

    func closeAll() {
        let closed = state.withLock { state in
            state.generation += 1
            let idle = state.idle
            state.idle = []
            return idle
        }
        withExtendedLifetime(closed) {}
    }
}
