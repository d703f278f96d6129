internal import CWebImageSQLite
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

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
    /// The state of an index that is read as immutable; `nil` where SQLite detects changes.
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

    /// Whether an index that is read as immutable has changed.
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

/// A pool of readers: as many as threads read at once.
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
        var isCheckPlanned = false
        /// Whether there were reads since the last check.
        var isInUse = false
        /// When the index was last seen in its place, in nanoseconds of the monotonic clock.
        var lastLook: UInt64 = 0
    }

    private let directory: DiskDirectory
    private let checksAll: Bool
    private let order: DiskCache.EvictionOrder
    private let lookInterval: UInt64
    private let state = Lock(State())

    /// How often open segments are looked after, in seconds.
    private static let checkInterval = 20

    /// - Parameter lookInterval: for how long the index counts as still in its place once it was seen there, in
    ///   nanoseconds; 0 looks each time.
    init(directory: DiskDirectory, configuration: DiskCache.Configuration, lookInterval: UInt64) {
        self.directory = directory
        checksAll = configuration.usesChecksums
        order = configuration.evictionOrder
        self.lookInterval = lookInterval
    }

    /// Runs `body` with exclusive use of a reader; returns `nil` when there is no index.
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

    /// Which index there is, a reader of it at rest, if there is one, and the generation to which that may return; `nil`
    /// when there is no index.
    private func takeIdle() -> (DiskDirectory.FileIdentity, DiskReader?, generation: Int)? {
        // A deleted index can be read as long as it is open, so its path is checked now and then; a check costs a sixth of
        // reading a small value.
        let now = lookInterval == 0 ? 0 : Self.coarseNanoseconds()
        let (idle, generation, isRecent) = state.withLock { state in
            (state.idle.popLast(), state.generation, now &- state.lastLook < lookInterval)
        }
        if let idle, isRecent { return (idle.identity, idle, generation) }
        // Before a file is opened: if it is replaced in between, a fault counts as one of the old file.
        guard let identity = directory.indexIdentity else {
            closeAll()
            return nil
        }
        if let idle, idle.identity != identity || idle.isOutOfDate(in: directory) {
            // All of them are of the old file, or its old contents.
            closeAll()
            return (identity, nil, state.withLock { $0.generation })
        }
        state.withLock { $0.lastLook = now }
        return (identity, idle, generation)
    }

    /// Precise to some milliseconds, and a fifth of the price of the precise clock.
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

    /// Gives the space of deleted segments free, also of those that another process has deleted.
    func closeDeletedSegments() { closeSegments(onlyDeleted: true) }

    private func closeSegments(onlyDeleted: Bool) {
        // One at a time: a look-up that found none at rest would open another, and each of them would stay.
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

    /// Looks after open segments from time to time while there are reads, and closes them when there are none any more:
    /// nothing runs while a cache is not used.
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

/// Open segments, so that reading a value is one call to the system.
struct SegmentDescriptors: ~Copyable {
    /// As many as a cache of the largest default size (1 GiB) has.
    private static let countLimit = 32

    private var open: [Int64: Int32] = [:]
    /// The one read last, which is often the next.
    private var last: (segment: Int64, descriptor: Int32)?

    deinit { for descriptor in open.values { close(descriptor) } }

    var isEmpty: Bool { open.isEmpty }

    /// A value's bytes; `nil` when they are not there.
    mutating func read(_ row: DiskIndex.Row, in folder: String) throws(DiskFault) -> Data? {
        guard row.size != 0 else { return Data() }
        guard 0...SegmentFile.largestValue ~= row.size, row.offset >= 0 else { return nil }
        guard let descriptor = try descriptor(of: row.segment, in: folder) else { return nil }
        return try ValueFile.read(descriptor, at: row.offset, byteCount: Int(row.size))
    }

    /// `nil` when there is no such file.
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

    /// Closes those whose file has no name any more.
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
