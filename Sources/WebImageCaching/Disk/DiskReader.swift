internal import CWebImageSQLite
internal import FoundationEssentials

/// A connection that only looks things up, for one thread at a time.
///
/// It never makes or repairs anything: when the index is not there, there is nothing to be found. A directory that can only
/// be read is no obstacle, though SQLite would make a log there: as long as no other process has one, the index is read
/// without, and what it says is believed when the bytes have the right checksum.
final class DiskReader {
    enum Result {
        case found(Data, Record)
        case missing
        /// The entry's bytes are gone, shorter than they were, or not those that were stored.
        case damaged(EntryNumber, fileName: String?)
    }

    /// An entry's number, which another index may give to another entry.
    struct EntryNumber: Hashable {
        let id: Int64
        /// ``DiskIndex/generation``: unlike the file's identity, no other index ever has it.
        let generation: Int64
    }

    /// An entry's row.
    struct Record {
        let number: EntryNumber
        let row: DiskIndex.Row
        /// That by which its age counts, in microseconds since 1970.
        let time: Int64
    }

    /// Which file it reads: what is found wrong with it says nothing about a newer index at the same path.
    let identity: DiskDirectory.FileIdentity
    let generation: Int64
    /// The index as it was when this reader took it for one that nobody changes; `nil` where SQLite looks after changes.
    let settledIndex: DiskDirectory.SettledIndex?
    private let valuesPath: String
    /// Entries with smaller numbers are from before the machine started.
    private let bootFirstID: Int64
    private let checksAll: Bool
    private let connection: SQLiteConnection
    private let find, describe, attachment: SQLiteStatement
    private var segments = SegmentDescriptors()

    /// - Parameters:
    ///   - checksAll: whether each value is compared with its checksum.
    ///   - order: by which time the age of entries counts.
    init?(
        directory: DiskDirectory, identity: DiskDirectory.FileIdentity, checksAll: Bool, order: DiskCache.EvictionOrder
    ) throws(DiskFault) {
        self.identity = identity
        self.checksAll = checksAll
        let settledIndex = directory.isReadOnly ? directory.settledIndex : nil
        self.settledIndex = settledIndex
        connection =
            if settledIndex != nil {
                try SQLiteConnection(unchanging: directory.indexPath)
            } else {
                try SQLiteConnection(path: directory.indexPath, creates: false, busyTimeoutMilliseconds: 2_000)
            }
        // 0 while another thread makes the tables.
        guard try connection.integer("PRAGMA user_version") == DiskIndex.version else { return nil }
        // The log is the writer's business.
        connection.leaveLog()
        try connection.execute("PRAGMA cache_size = -8192; PRAGMA query_only = 1")
        var (generation, bootFirstID) = (0 as Int64, Int64.max)
        try connection.prepare("SELECT generation, boot_first_id, boot FROM cache").run { row in
            generation = row.integer(0)
            // As long as no writer has opened it since the machine started, all entries are from before.
            if row.text(2) == DiskDirectory.bootIdentity, settledIndex == nil { bootFirstID = row.integer(1) }
        }
        self.generation = generation
        self.bootFirstID = bootFirstID
        valuesPath = directory.valuesPath(generation: generation)
        find = try connection.prepare("SELECT \(DiskIndex.Row.columns), key, \(order.column) FROM entry WHERE hash = ?")
        describe = try connection.prepare("SELECT created, modified, accessed FROM entry WHERE id = ?")
        attachment = try connection.prepare("SELECT extended, metadata FROM attachment WHERE id = ?")
    }

    /// Whether somebody else has changed the index after all.
    func isOutOfDate(in directory: DiskDirectory) -> Bool {
        settledIndex != nil && settledIndex != directory.settledIndex
    }

    /// - Parameter isExpired: whether an entry is no longer to be found.
    func read(_ key: String, isExpired: (Record) -> Bool) throws(DiskFault) -> Result {
        var damaged: Record?
        // Between the row and the bytes the entry may have been replaced, or moved; then there is another row now.
        while true {
            guard let record = try record(for: key), !isExpired(record) else { return .missing }
            if let data = try bytes(of: record.row) {
                guard isWhole(data, record.row) else {
                    return .damaged(record.number, fileName: "\(valuesPath)/\(record.row.fileName)")
                }
                return .found(data, record)
            }
            if let damaged, damaged.row == record.row { return .damaged(record.number, fileName: nil) }
            damaged = record
        }
    }

    func record(for key: String) throws(DiskFault) -> Record? {
        var found: Record?
        try find.run(key.diskHash) { statement in
            guard statement.text(DiskIndex.Row.columnCount, equals: key) else { return }
            let row = DiskIndex.Row(statement)
            found = Record(
                number: EntryNumber(id: row.id, generation: generation), row: row,
                time: statement.integer(DiskIndex.Row.columnCount + 1))
        }
        return found
    }

    /// What is known about an entry, but for its bytes; `nil` when it has gone in the meantime.
    ///
    /// - Parameter staged: attachments that are newer than those on disk.
    func entry(_ key: String, _ record: Record, staged: DiskAttachments?) throws(DiskFault) -> DiskCache.Entry? {
        var (extended, metadata) = (staged?.extendedData, staged?.responseMetadata)
        if record.row.isAttached, staged == nil {
            try attachment.run(record.row.id) { (extended, metadata) = ($0.data(0), $0.data(1)) }
        }
        var entry: DiskCache.Entry?
        try describe.run(record.row.id) { row in
            entry = DiskCache.Entry(
                key: key, row: record.row, deadline: staged?.deadline ?? record.row.deadline, created: row.integer(0),
                modified: row.integer(1), accessed: row.integer(2), extendedData: extended, responseMetadata: metadata)
        }
        return entry
    }

    // MARK: Bytes

    /// `nil` when they are missing or too short.
    private func bytes(of row: DiskIndex.Row) throws(DiskFault) -> Data? {
        if row.isInFile { return try ValueFile.read("\(valuesPath)/\(row.fileName)", byteCount: row.size) }
        return try segments.read(row, in: valuesPath)
    }

    /// A power cut may have kept an index from before it whose values never reached the disk. Values that were written
    /// since the machine started are in its memory, or where it has put them.
    private func isWhole(_ data: Data, _ row: DiskIndex.Row) -> Bool {
        guard checksAll || row.id < bootFirstID else { return true }
        return Checksum.of(data) == row.checksum
    }

    /// Closes the files that others have deleted, or all: as long as one is open, its space is not free.
    func closeSegments(onlyDeleted: Bool) {
        if onlyDeleted { segments.closeDeleted() } else { segments.closeAll() }
    }

    var hasOpenSegments: Bool { !segments.isEmpty }
}
