internal import Dispatch
public import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageCoding
internal import WebImageCore

/// A cache of data on disk, by key. The least recently used entries are removed first.
///
/// An entry is complete or absent, even if the process is killed. Callers are never blocked, and there are no errors:
/// if the directory cannot be used, stores do nothing, loads find nothing, and ``Configuration/onFailure`` is called
/// once for each cause. In a read-only directory, stores and removals have no effect. Several caches, also in several
/// processes, may use one directory at once.
///
/// ```
///  store, remove ──► staging ──► serialQueue: one batch, one transaction ──► index + segments + files
///                      │ seen by                                        │
///  data(for:) ─────────┴────────────────► readers, several at once ◄────┘
/// ```
///
/// Writes are collected in memory and written in batches; the completion of ``store(_:for:attributes:completion:)`` is
/// called afterwards. While another process holds the index they wait, at most a minute, and reads continue. If the
/// process is killed, unwritten changes are lost. This includes up to 16,384 accesses, which are written in batches so
/// that look-ups need not write. When `main` returns, or `exit` is called, all are written: the program ends up to two
/// seconds later.
///
/// ```swift
/// let cache = DiskCache(configuration: DiskCache.Configuration(directory: folder))
/// cache.store(data, for: "report")
/// print(await cache.data(for: "report")?.count ?? 0)
/// ```
public final class DiskCache: Sendable {
    /// The configuration of this cache. Its limits are those at the beginning; ``sizeLimit`` and others are the current ones.
    public let configuration: Configuration

    private let queue: WorkQueue
    let serialQueue: SerialQueue
    private let readers: DiskReaders
    let writer: DiskWriter
    private let state: Lock<State>
    private let isOpened = Atomic(false)
    let now: @Sendable () -> Int64
    let limits: LockBox<DiskLimits>
    /// The copies of entries for programs that take a path.
    let files: CachedFileStore
    private let expirationExtension: DeadlineExtension

    private struct State {
        var staging: DiskStaging
        var isDrainQueued = false
        /// Whether a timer will queue it.
        var isDrainPlanned = false
        /// When the last batch was written, in nanoseconds of the monotonic clock.
        var lastBatchTime: UInt64 = 0
        var isCompacting = false
    }

    /// The threads on which all disk caches read. They may decode what they have read.
    static let readingQueue = WorkQueue(
        label: "webimage-disk", threadCount: threadCount, niceness: DecodingQueue.niceness)
    static let threadCount = 3
    /// The threads on which disk caches write, one per cache at a time. They are separate, since a writer may have to
    /// wait for another process.
    private static let writingQueue = WorkQueue(label: "webimage-store", threadCount: 4)

    /// Creates a cache. The directory is opened at the first use, in the background.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, now: Self.microsecondsSince1970)
    }

    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - stagedByteLimit: the maximum number of bytes that wait to be written.
    ///   - indexLookInterval: how soon look-ups notice that the directory was deleted, in nanoseconds.
    init(
        configuration: Configuration, now: @escaping @Sendable () -> Int64, stagedByteLimit: Int = 64 << 20,
        lockPatience: DiskWriter.LockPatience = DiskWriter.LockPatience(), indexLookInterval: UInt64 = 20_000_000
    ) {
        self.configuration = configuration
        self.now = now
        queue = Self.readingQueue
        serialQueue = SerialQueue(queue: Self.writingQueue)
        limits = LockBox(DiskLimits(configuration))
        files = CachedFileStore(beside: configuration, now: now)
        expirationExtension = DeadlineExtension(configuration.expirationExtension)
        let directory = DiskDirectory(
            path: configuration.directory.path, allowsForeignOwner: configuration.allowsForeignDirectory)
        readers = DiskReaders(directory: directory, configuration: configuration, lookInterval: indexLookInterval)
        writer = DiskWriter(
            configuration: configuration, limits: limits, directory: directory, readers: readers, now: now,
            lockPatience: lockPatience)
        state = Lock(State(staging: DiskStaging(byteLimit: stagedByteLimit)))
    }

    deinit {
        // Closing may copy the log into the database, which takes time, and accesses may be unwritten.
        let (batch, writer) = (state.withLock { $0.staging.nextBatch() }, writer)
        writer.end()
        ProgramEnd.beginWork()
        ProgramEnd.remove(ObjectIdentifier(self))
        serialQueue.submit {
            if !batch.isEmpty { _ = writer.write(batch) }
            writer.close()
            ProgramEnd.endWork()
        }
    }

    static func microsecondsSince1970() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    // MARK: Looking up

    /// Returns the bytes stored under `key`; `nil` if there are none, or if they have expired or are too old.
    public func data(for key: String) async -> Data? { await onReadingThread { $0.find(key) } }

    /// Returns the bytes stored under `key` with their description. Counts as an access, like ``data(for:)``.
    public func item(for key: String) async -> Item? { await onReadingThread { $0.findItem(key) } }

    /// Returns the description of the bytes stored under `key`, without reading them. Does not count as an access.
    public func entry(for key: String) async -> Entry? { await onReadingThread { $0.findEntry(key) } }

    /// Whether bytes are stored under `key`. Does not count as an access.
    public func contains(_ key: String) async -> Bool { await onReadingThread { $0.isPresent(key) } }

    /// Returns what `body` returns, which may block on the disk.
    func onReadingThread<Result: Sendable>(
        _ body: @escaping @Sendable (DiskCache) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            onReadingThread(priority: .normal) { continuation.resume(returning: body(self)) }
        }
    }

    /// Runs `body`, which may block on the disk.
    ///
    /// - Returns: the waiting work. If its `cancel()` returns `true`, `body` is never called.
    @discardableResult
    func onReadingThread(priority: LoadPriority, _ body: @escaping @Sendable () -> Void) -> WorkItem {
        openOnce()
        return queue.submit(priority: priority, body)
    }

    /// Looks up the description of `key`, without the value. It does not count as a use.
    func loadEntry(_ key: String, completion: @escaping @Sendable (Entry?) -> Void) {
        onReadingThread(priority: .normal) { completion(self.findEntry(key)) }
    }

    /// Looks up the bytes stored under `key` with their description.
    func loadItem(
        _ key: String, priority: LoadPriority, completion: @escaping @Sendable (Item?) -> Void
    ) -> WorkItem {
        onReadingThread(priority: priority) { completion(self.findItem(key)) }
    }

    // MARK: Looking up, on the disk

    /// Blocks on the disk, like the following three.
    func find(_ key: String) -> Data? {
        find(key, counting: [.use, .miss]) { data, _, _ in
            data
        } onDisk: { reader, _, isGone throws(DiskFault) in
            guard case .found(let data, let record) = removingDamaged(try reader.read(key, isExpired: isGone)) else {
                return nil
            }
            return (data, record)
        }
    }

    func findItem(_ key: String) -> Item? {
        guard case .data(let data, let entry) = findOpenItem(key, atLeast: .max) else { return nil }
        return Item(data: data, entry: entry)
    }

    func findEntry(_ key: String, countsAsUse: Bool = false) -> Entry? {
        find(key, counting: countsAsUse ? .use : []) { data, attachments, times in
            Entry(key: key, byteCount: data.count, mark: BytesMark(data), attachments: attachments, times: times)
        } onDisk: { reader, staged, isGone throws(DiskFault) in
            while let record = try reader.record(for: key), !isGone(record) {
                // `nil` if the entry was replaced in between; then there is another one.
                if let entry = try reader.entry(key, record, staged: staged) { return (entry, record) }
            }
            return nil
        }
    }

    func isPresent(_ key: String) -> Bool {
        find(key, counting: []) { _, _, _ in
            true
        } onDisk: { reader, _, isGone throws(DiskFault) in
            try reader.record(for: key).flatMap { isGone($0) ? nil : (true, $0) }
        } ?? false
    }

    /// The changes that a look-up makes.
    struct Counting: OptionSet {
        let rawValue: Int
        /// The entry counts as used now.
        static let use = Counting(rawValue: 1)
        /// Finding nothing counts as a miss.
        static let miss = Counting(rawValue: 2)
    }

    /// Looks a key up among the changes that wait to be written, then on disk.
    ///
    /// - Parameters:
    ///   - waiting: makes the result of what waits.
    ///   - onDisk: reads the result with its record. What waits may replace the attachments on disk; a record that is gone is not found.
    func find<Found>(
        _ key: String, counting: Counting, waiting: (Data, DiskAttachments, Entry.Times) -> Found,
        onDisk: (DiskReader, _ staged: DiskAttachments?, _ isGone: (DiskReader.Record) -> Bool) throws(DiskFault) ->
            (Found, DiskReader.Record)?
    ) -> Found? {
        let now = now()
        switch lookUp(key, now: now) {
        case .found(let data, let attachments, let times):
            if counting.contains(.use) { noteUse(of: key, deadline: attachments.deadline, now: now) }
            return waiting(data, attachments, times)
        case .removed: break
        case .unknown(let staged):
            let result = withReader { reader throws(DiskFault) in
                try onDisk(reader, staged) { self.isGone($0, key: key, staged: staged, now: now) }
            }
            guard case (let found, let record)?? = result else { break }
            if counting.contains(.use) { noteUse(of: record, staged: staged, now: now) }
            return found
        }
        if counting.contains(.miss) { state.withLock { $0.staging.countMiss() } }
        return nil
    }

    private func lookUp(_ key: String, now: Int64) -> DiskStaging.Lookup {
        let lookup = state.withLock { $0.staging.lookUp(key) }
        guard case .found(_, let attachments, let times) = lookup else { return lookup }
        let isTooOld = times[configuration.evictionOrder] < now - limits.withLock { $0.ageMicroseconds }
        return isTooOld || attachments.deadline.isPassed(at: now) ? .removed : lookup
    }

    /// Whether an entry must not be found although it still exists.
    private func isGone(_ record: DiskReader.Record, key: String, staged: DiskAttachments?, now: Int64) -> Bool {
        isTooOld(record, key: key, staged: staged, now: now) || isExpired(record, key: key, staged: staged, now: now)
    }

    private func isTooOld(_ record: DiskReader.Record, key: String, staged: DiskAttachments?, now: Int64) -> Bool {
        let earliest = now - limits.withLock { $0.ageMicroseconds }
        guard record.time < earliest else { return false }
        switch configuration.evictionOrder {
        // It may have been used since, without that being written yet.
        case .access: return state.withLock { $0.staging.lastAccess(of: record.number, key: key) ?? .min } < earliest
        case .modification: return staged == nil
        case .creation: return true
        }
    }

    private func isExpired(_ record: DiskReader.Record, key: String, staged: DiskAttachments?, now: Int64) -> Bool {
        guard (staged?.deadline ?? record.row.deadline).isPassed(at: now) else { return false }
        // Uses may have extended it, without that being written yet.
        guard staged == nil, let extended = state.withLock({ $0.staging.extendedExpiry(of: record.number, key: key) })
        else {
            return true
        }
        return extended <= now
    }

    private func noteUse(of key: String, deadline: ExpirationDeadline, now: Int64) {
        let isFull = state.withLock {
            $0.staging.noteAccess(to: key, deadline: deadline, extendingBy: expirationExtension, now: now)
        }
        if isFull { drain() }
    }

    private func noteUse(of record: DiskReader.Record, staged: DiskAttachments?, now: Int64) {
        var deadline = staged?.deadline ?? record.row.deadline
        let expires = deadline.extend(by: expirationExtension, at: now) ? deadline.time : nil
        let isFull = state.withLock { $0.staging.noteAccess(to: record.number, expires: expires, now: now) }
        if isFull { drain() }
    }

    /// Schedules the removal of a damaged entry.
    func removingDamaged(_ result: DiskReader.Result) -> DiskReader.Result {
        if case .damaged(let number, let fileName) = result {
            serialQueue.submit { [writer] in writer.removeDamaged(number, fileName: fileName) }
        }
        return result
    }

    private func withReader<Result>(_ body: (DiskReader) throws(DiskFault) -> Result) -> Result? {
        do throws(DiskReaders.Failure) {
            return try readers.withReader(body)
        } catch {
            serialQueue.submit { [writer] in writer.examine(error) }
            return nil
        }
    }

    // MARK: Changing

    /// Stores the bytes under `key`, replacing older ones and their attributes. Returns immediately.
    ///
    /// Look-ups find them from now on, even if they are not on disk yet. They are not stored if they exceed the size
    /// limit, or if more than 64 MiB would wait to be written.
    ///
    /// - Parameters:
    ///   - attributes: what to store with the bytes, and for how long.
    ///   - completion: called on a thread of the disk pool when the bytes are on disk, or could not be stored.
    public func store(
        _ data: Data, for key: String, attributes: Attributes = Attributes(), completion: (@Sendable () -> Void)? = nil
    ) {
        store(data, for: key, attributes: attributes, isAwaited: completion != nil, completion: completion)
    }

    /// - Parameter isAwaited: whether a caller waits for the completion, so that writing should begin at once.
    func store(
        _ data: Data, for key: String, attributes: Attributes, isAwaited: Bool, completion: (@Sendable () -> Void)?
    ) {
        let now = now()
        let isStaged =
            accepts(attributes)
            && state.withLock { [configuration] state in
                let attachments = DiskAttachments(attributes, standard: configuration.expiration, now: now)
                return state.staging.store(data, attachments, for: key, now: now, completion: completion)
            }
        if isStaged {
            drain(isAwaited: isAwaited)
        } else {
            // The old value is out of date now.
            remove(for: key, completion: completion)
        }
    }

    /// Replaces the attributes of the bytes under `key`, as after a response which confirms that they have not changed.
    /// Updates ``Entry/modified``. Returns immediately, and does nothing if there are no bytes.
    ///
    /// - Parameters:
    ///   - attributes: replace all old ones, including those that are `nil` here. Attributes that are too large change
    ///     nothing.
    ///   - completion: called on a thread of the disk pool when the attributes are on disk, or could not be stored.
    func update(
        _ attributes: Attributes, for key: String, completion: (@Sendable () -> Void)? = nil
    ) {
        update(attributes, of: nil, for: key, completion: completion)
    }

    /// Like the method above, but only for certain bytes, since another process may have stored others.
    ///
    /// - Parameter mark: identifies the bytes; `nil` for any.
    func update(
        _ attributes: Attributes, of mark: BytesMark?, for key: String, completion: (@Sendable () -> Void)? = nil
    ) {
        let now = now()
        let isStaged =
            accepts(attributes)
            && state.withLock { [configuration] state in
                let attachments = DiskAttachments(attributes, standard: configuration.expiration, now: now)
                return state.staging.update(attachments, of: mark, for: key, now: now, completion: completion)
            }
        if isStaged { drain(isAwaited: completion != nil) } else if let completion { submitCompletion(completion) }
    }

    private func accepts(_ attributes: Attributes) -> Bool {
        let byteCount = attributes.byteCount
        guard byteCount > DiskAttachments.byteLimit else { return true }
        serialQueue.submit { [writer] in
            writer.report(.attributesTooLarge(byteCount: byteCount, limit: DiskAttachments.byteLimit))
        }
        return false
    }

    /// Removes the entry of `key`. Returns immediately.
    ///
    /// - Parameter completion: called on a thread of the disk pool when the entry is removed from disk, or could not be
    ///   removed.
    public func remove(for key: String, completion: (@Sendable () -> Void)? = nil) {
        let now = now()
        state.withLock { $0.staging.remove(key, now: now, completion: completion) }
        drain()
    }

    /// Removes everything. Look-ups find nothing from now on. When this returns, the entries are removed from disk; the
    /// files are deleted afterwards. Each ``CachedFile`` stays until its object is released.
    ///
    /// - Parameter progress: called on a thread of the disk pool with the number of entries removed from the disk and
    ///   the total; first with 0. With a closure, entries are removed step by step, which takes longer.
    public func removeAll(progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)? = nil) async {
        await withCheckedContinuation { continuation in
            removeAll(progress: progress) { continuation.resume() }
        }
    }

    func removeAll(
        progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?, completion: @escaping @Sendable () -> Void
    ) {
        state.withLock { [files] state in
            state.staging.removeAll(progress: progress) {
                files.removeAll()
                completion()
            }
        }
        drain()
    }

    // MARK: Writing

    func openOnce() {
        if beginUse() { serialQueue.submit { [writer] in writer.openIfNeeded() } }
    }

    var isInUse: Bool { isOpened.load(ordering: .relaxed) }

    /// Whether this is the first use.
    private func beginUse() -> Bool {
        guard !isInUse, !isOpened.exchange(true, ordering: .relaxed) else { return false }
        ProgramEnd.add(self)
        planUpkeep()
        return true
    }

    /// Periodically removes entries that are too old or have expired, also while nothing is stored.
    private func planUpkeep() {
        guard let seconds = configuration.trimInterval.map({ $0 / .seconds(1) }) else { return }
        let time = DispatchTime.now() + min(max(seconds, 0.001), 86_400)
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: time) { [weak self] in
            guard let self else { return }
            serialQueue.submit { [weak self] in
                guard let self else { return }
                files.sweepIfDue()
                guard writer.needsUpkeep else { return }
                writeAccesses()
                writer.enforceLimits()
            }
            planUpkeep()
        }
    }

    /// Queues the writing of staged changes, unless it is queued already.
    ///
    /// - Parameter isAwaited: whether a caller waits for them. Others are collected for up to ``batchInterval`` after
    ///   the last batch.
    private func drain(isAwaited: Bool = true) {
        _ = beginUse()
        let delay = state.withLock { state -> UInt64? in
            guard !state.isDrainQueued else { return nil }
            let end = state.lastBatchTime + Self.batchInterval
            let time = isAwaited || state.staging.isBatchFull ? end : DispatchTime.now().uptimeNanoseconds
            if time >= end {
                state.isDrainQueued = true
                return 0
            }
            guard !state.isDrainPlanned else { return nil }
            state.isDrainPlanned = true
            return end - time
        }
        guard let delay else { return }
        if delay == 0 { return serialQueue.submit { self.writeNextBatch() } }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isDrainPlanned = false }
            drain()
        }
    }

    /// In nanoseconds. A batch costs six writes to the index's log, for one image or a thousand.
    private static let batchInterval: UInt64 = 25_000_000

    private func writeNextBatch() {
        state.withLock { $0.isDrainQueued = false }
        guard writeBatch(includesAccesses: false) != nil else { return }
        let isMore = state.withLock { state in
            state.lastBatchTime = DispatchTime.now().uptimeNanoseconds
            return state.staging.waitingCount > 0
        }
        if isMore { drain(isAwaited: false) }
    }

    /// Returns the number of changes written; `nil` if there was nothing to do.
    private func writeBatch(includesAccesses: Bool = true) -> Int? {
        // If others must be removed to free space, the order depends on the accesses noted since.
        let makesRoom = writer.isShortOfSpace(adding: state.withLock { $0.staging.byteCount })
        let batch = state.withLock { $0.staging.nextBatch(includesAccesses: includesAccesses || makesRoom) }
        guard !batch.isEmpty else { return nil }
        let aftermath = writer.write(batch)
        // Before the completions, so that their callers find the space free for their next stores.
        if aftermath.contains(.cleared) { serialQueue.submit { [writer] in writer.sweepCleared() } }
        let completions = state.withLock { $0.staging.finish(batch) }
        if !completions.isEmpty { serialQueue.complete { for completion in completions { completion() } } }
        if aftermath.contains(.overfull) {
            writeAccesses()
            writer.enforceLimits()
        }
        if aftermath.contains(.sparse) { compactInSteps() }
        return batch.changes.count
    }

    /// Accesses noted since the last batch began determine which entries are removed first.
    func writeAccesses() {
        let batch = state.withLock { $0.staging.accessBatch() }
        if !batch.isEmpty { _ = writer.write(batch) }
        _ = state.withLock { $0.staging.finish(batch) }
    }

    /// Each step is a separate piece of work, so that other writes run in between.
    private func compactInSteps() {
        let isNew = state.withLock { state in
            defer { state.isCompacting = true }
            return !state.isCompacting
        }
        if isNew { compactNextStep() }
    }

    private func compactNextStep() {
        serialQueue.submit { [weak self] in
            guard let self else { return }
            if writer.compactStep() { compactNextStep() } else { state.withLock { $0.isCompacting = false } }
        }
    }

    /// Writes what is waiting now, but not what is added meanwhile.
    func writeWaiting() {
        var remaining = state.withLock { $0.staging.waitingCount }
        while let count = writeBatch() {
            remaining -= count
            if remaining <= 0 { return }
        }
    }

    /// Whether changes or accesses are not on disk.
    var hasChanges: Bool { state.withLock { $0.staging.hasChanges } }

    /// Runs `body` after all earlier changes are written.
    func afterWriting<Result: Sendable>(_ body: @escaping @Sendable (DiskWriter) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: body($0)) }
        }
    }

    /// Runs `body` after all earlier changes are written.
    func submit(_ body: @escaping @Sendable (DiskWriter) -> Void) {
        serialQueue.submit {
            self.writeWaiting()
            body(self.writer)
        }
    }
}
