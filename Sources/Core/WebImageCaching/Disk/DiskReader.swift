internal import CWebImageSQLite
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// A read-only connection, for one thread at a time.
///
/// It never creates or repairs anything: without an index, nothing is found. It also reads directories without write
/// permission, where SQLite would create a log. If no other process has a log, the index is read without one, and each
/// value is verified by its checksum.
final class DiskReader {
    enum Result {
        case found(Data, Record)
        case missing
        /// The entry's bytes are missing, truncated or changed.
        case damaged(EntryNumber, fileName: String?)
    }

    /// An entry's number. Another index may use the same number for another entry.
    struct EntryNumber: Hashable {
        let id: Int64
        /// The ``DiskIndex/generation``. Unlike the file's identity, it is unique to an index.
        let generation: Int64
    }

    /// An entry's row.
    struct Record {
        let number: EntryNumber
        let row: DiskIndex.Row
        /// The time that determines the age, in microseconds since 1970.
        let time: Int64
    }

    /// The file that is read. Damage found in it says nothing about a newer index at the same path.
    let identity: DiskDirectory.FileIdentity
    let generation: Int64
    /// The state of an index that is read as immutable; `nil` if SQLite detects changes.
    let settledIndex: DiskDirectory.SettledIndex?
    private let valuesPath: String
    /// Entries with smaller numbers are from before the last boot.
    private let bootFirstID: Int64
    private let checksAll: Bool
    private let connection: SQLiteConnection
    private let find, describe, attachment: SQLiteStatement
    private var segments = SegmentDescriptors()

    /// - Parameters:
    ///   - checksAll: whether the checksum of each value is verified.
    ///   - order: determines the time that counts for the age of entries.
    init?(
        directory: DiskDirectory, identity: DiskDirectory.FileIdentity, checksAll: Bool, order: DiskCache.EvictionOrder
    ) throws(DiskFault) {
        self.identity = identity
        self.checksAll = checksAll
        let (connection, settledIndex, version) = try Self.connect(to: directory)
        // 0 while another thread creates the tables.
        guard version == DiskIndex.version else { return nil }
        (self.connection, self.settledIndex) = (connection, settledIndex)
        // The writer is responsible for the log.
        connection.leaveLog()
        try connection.execute("PRAGMA cache_size = -8192; PRAGMA query_only = 1")
        var (generation, bootFirstID) = (0 as Int64, Int64.max)
        try connection.prepare("SELECT generation, boot_first_id, boot FROM cache").run { row in
            generation = row.integer(0)
            // If no writer has opened it since the last boot, all entries are from before.
            if row.text(2) == DiskDirectory.bootIdentity, settledIndex == nil { bootFirstID = row.integer(1) }
        }
        self.generation = generation
        self.bootFirstID = bootFirstID
        valuesPath = directory.valuesPath(generation: generation)
        find = try connection.prepare("SELECT \(DiskIndex.Row.columns), key, \(order.column) FROM entry WHERE hash = ?")
        describe = try connection.prepare("SELECT created, modified, accessed FROM entry WHERE id = ?")
        attachment = try connection.prepare("SELECT extended, metadata FROM attachment WHERE id = ?")
    }

    private typealias Opened = (SQLiteConnection, DiskDirectory.SettledIndex?, version: Int64?)

    /// Opens the index; as an immutable one where SQLite cannot create the files that it shares with writers.
    private static func connect(to directory: DiskDirectory) throws(DiskFault) -> Opened {
        if directory.isReadOnly, let opened = try connect(toSettledIndexIn: directory) { return opened }
        do throws(DiskFault) {
            let connection = try SQLiteConnection(
                path: directory.indexPath, creates: false, busyTimeoutMilliseconds: 2_000)
            return (connection, nil, try connection.integer("PRAGMA user_version"))
        } catch let fault {
            guard fault.isFullDisk, let opened = try connect(toSettledIndexIn: directory) else { throw fault }
            return opened
        }
    }

    private static func connect(toSettledIndexIn directory: DiskDirectory) throws(DiskFault) -> Opened? {
        guard let settledIndex = directory.settledIndex else { return nil }
        let connection = try SQLiteConnection(unchanging: directory.indexPath)
        return (connection, settledIndex, try connection.integer("PRAGMA user_version"))
    }

    /// Whether an index that is read as immutable has changed.
    func isOutOfDate(in directory: DiskDirectory) -> Bool {
        settledIndex != nil && settledIndex != directory.settledIndex
    }

    /// - Parameter isExpired: whether an entry must not be found any more.
    func read(_ key: String, isExpired: (Record) -> Bool) throws(DiskFault) -> Result {
        var damaged: Record?
        // The entry may be replaced or moved between reading the row and the bytes; then there is another row.
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

    /// Returns the description of an entry without its bytes; `nil` if it was removed meanwhile.
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

    /// `nil` if the bytes are missing or too short.
    private func bytes(of row: DiskIndex.Row) throws(DiskFault) -> Data? {
        if row.isInFile { return try ValueFile.read("\(valuesPath)/\(row.fileName)", byteCount: row.size) }
        return try segments.read(row, in: valuesPath)
    }

    /// Opens the file of a row; `nil` if its bytes are missing or damaged.
    func file(of row: DiskIndex.Row) throws(DiskFault) -> StoredFile? {
        guard let file = try ValueFile.open("\(valuesPath)/\(row.fileName)", byteCount: row.size) else { return nil }
        return !needsCheck(row) || file.checksum == row.checksum ? file : nil
    }

    /// After a power failure, the index may refer to values that never reached the disk. Values written since the last
    /// boot are in the system's memory or on disk.
    private func needsCheck(_ row: DiskIndex.Row) -> Bool { checksAll || row.id < bootFirstID }

    private func isWhole(_ data: Data, _ row: DiskIndex.Row) -> Bool {
        !needsCheck(row) || Checksum.of(data) == row.checksum
    }

    /// Closes segments: only those that others have deleted, or all. Their space is not freed while they are open.
    func closeSegments(onlyDeleted: Bool) {
        if onlyDeleted { segments.closeDeleted() } else { segments.closeAll() }
    }

    var hasOpenSegments: Bool { !segments.isEmpty }
}

/// A pool of readers, one for each thread that reads.
final class DiskReaders: Sendable {
    /// A fault, and the file in which it occurred.
    struct Failure: Error {
        let fault: DiskFault
        let identity: DiskDirectory.FileIdentity
    }

    private struct State {
        /// Incremented when the index is replaced, so that readers of the old one are not returned to the pool.
        var generation = 0
        var idle: [DiskReader] = []
        var isCheckPlanned = false
        /// Whether there were reads since the last check.
        var isInUse = false
        /// When the index was last seen at its path, in nanoseconds of the monotonic clock.
        var lastLook: UInt64 = 0
    }

    private let directory: DiskDirectory
    private let checksAll: Bool
    private let order: DiskCache.EvictionOrder
    private let lookInterval: UInt64
    private let state = Lock(State())

    /// The interval at which open segments are checked, in seconds.
    private static let checkInterval = 20

    /// - Parameter lookInterval: how long the index is assumed to be at its path after it was seen there, in
    ///   nanoseconds; 0 checks each time.
    init(directory: DiskDirectory, configuration: DiskCache.Configuration, lookInterval: UInt64) {
        self.directory = directory
        checksAll = configuration.usesChecksums
        order = configuration.evictionOrder
        self.lookInterval = lookInterval
    }

    /// Runs `body` with exclusive use of a reader; returns `nil` if there is no index.
    func withReader<Result>(_ body: (DiskReader) throws(DiskFault) -> Result) throws(Failure) -> Result? {
        guard let (identity, idle, generation) = takeIdle() else { return nil }
        do throws(DiskFault) {
            let reader: DiskReader
            if let idle {
                reader = idle
            } else {
                try directory.checkOwner()
                let opened = try directory.withReadersLock { () throws(DiskFault) in
                    try directory.checkIndexFiles()
                    return try DiskReader(
                        directory: directory, identity: identity, checksAll: checksAll, order: order)
                }
                guard let opened else { return nil }
                reader = opened
            }
            // After a fault the reader is dropped.
            let result = try body(reader)
            giveBack(reader, generation: generation)
            return result
        } catch {
            throw Failure(fault: error, identity: identity)
        }
    }

    /// Returns the identity of the index, an idle reader if there is one, and the generation to which the reader can be
    /// returned; `nil` if there is no index.
    private func takeIdle() -> (DiskDirectory.FileIdentity, DiskReader?, generation: Int)? {
        // A deleted index can be read while it is open, so its path is checked at intervals. A check takes a sixth of
        // the time of reading a small value.
        let now = lookInterval == 0 ? 0 : Self.coarseNanoseconds()
        let (idle, generation, isRecent) = state.withLock { state in
            (state.idle.popLast(), state.generation, now &- state.lastLook < lookInterval)
        }
        if let idle, isRecent { return (idle.identity, idle, generation) }
        // Before a file is opened: if it is replaced in between, a fault is attributed to the old file.
        guard let identity = directory.indexIdentity else {
            closeAll()
            return nil
        }
        if let idle, idle.identity != identity || idle.isOutOfDate(in: directory) {
            // All readers are for the old file, or its old contents.
            closeAll()
            return (identity, nil, state.withLock { $0.generation })
        }
        state.withLock { $0.lastLook = now }
        return (identity, idle, generation)
    }

    /// Accurate to a few milliseconds, at a fifth of the cost of the precise clock.
    private static func coarseNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private func giveBack(_ reader: DiskReader, generation: Int) {
        let plansCheck = state.withLock { state in
            guard state.generation == generation else { return false }
            state.idle.append(reader)
            state.isInUse = true
            guard !state.isCheckPlanned, reader.hasOpenSegments else { return false }
            state.isCheckPlanned = true
            return true
        }
        if plansCheck { planCheck() }
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

    // MARK: Segments

    /// Frees the space of deleted segments, also of those that another process has deleted.
    func closeDeletedSegments() { closeSegments(onlyDeleted: true) }

    private func closeSegments(onlyDeleted: Bool) {
        // One at a time: a look-up that finds no idle reader opens another one, which stays in the pool.
        for _ in 0..<idleCount {
            let (reader, generation) = state.withLock { state in
                (state.idle.isEmpty ? nil : state.idle.removeFirst(), state.generation)
            }
            guard let reader else { return }
            reader.closeSegments(onlyDeleted: onlyDeleted)
            state.withLock { if $0.generation == generation { $0.idle.append(reader) } }
        }
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    /// Checks open segments at intervals while there are reads, and closes them when there are none. An unused cache
    /// does no work.
    private func planCheck() {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(Self.checkInterval)) { [weak self] in
            self?.check()
        }
    }

    private func check() {
        let wasInUse = state.withLock { state in
            defer { (state.isInUse, state.isCheckPlanned) = (false, state.isInUse) }
            return state.isInUse
        }
        closeSegments(onlyDeleted: wasInUse)
        if wasInUse { planCheck() }
    }
}

/// Open segments, so that reading a value takes one system call.
struct SegmentDescriptors: ~Copyable {
    /// The number of segments in a cache of the largest default size (1 GiB).
    private static let countLimit = 32

    private var open: [Int64: Int32] = [:]
    /// The last one read, which is often the next.
    private var last: (segment: Int64, descriptor: Int32)?

    deinit { for descriptor in open.values { close(descriptor) } }

    var isEmpty: Bool { open.isEmpty }

    /// Returns a value's bytes; `nil` if they do not exist.
    mutating func read(_ row: DiskIndex.Row, in folder: String) throws(DiskFault) -> Data? {
        guard row.size != 0 else { return Data() }
        guard 0...SegmentFile.largestValue ~= row.size, row.offset >= 0 else { return nil }
        guard let descriptor = try descriptor(of: row.segment, in: folder) else { return nil }
        return try ValueFile.read(descriptor, at: row.offset, byteCount: Int(row.size))
    }

    /// `nil` if there is no such file.
    private mutating func descriptor(of segment: Int64, in folder: String) throws(DiskFault) -> Int32? {
        if let last, last.segment == segment { return last.descriptor }
        let descriptor: Int32
        if let known = open[segment] {
            descriptor = known
        } else {
            if open.count >= Self.countLimit { closeAll() }
            guard let opened = try ValueFile.open("\(folder)/\(SegmentFile.name(segment))") else { return nil }
            descriptor = opened
            open[segment] = descriptor
        }
        last = (segment, descriptor)
        return descriptor
    }

    mutating func closeAll() {
        for descriptor in open.values { close(descriptor) }
        open = [:]
        last = nil
    }

    /// Closes segments whose files have been deleted.
    mutating func closeDeleted() {
        for (segment, descriptor) in open {
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { continue }
            close(descriptor)
            open[segment] = nil
        }
        last = nil
    }
}
