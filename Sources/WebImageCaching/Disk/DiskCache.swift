public import FoundationEssentials
internal import Dispatch
internal import Glibc
internal import Synchronization
package import WebImageCore

/// Bytes on disk by key, whole or absent whatever happens to the process, the least recently used of which go first.
///
/// Nothing blocks the caller, and nothing fails: when the directory can't be used, stores do nothing and loads find
/// nothing, and ``Configuration/onFailure`` is told once for each cause; a directory that can only be read is read, and
/// stores and removals have no effect there. Several caches, also in several processes, may
/// use one directory at once.
///
/// ```
///  store, remove ──► staging ──► lane: one batch, one transaction ──► index + segments + files
///                      │ seen by                                        │
///  data(for:) ─────────┴────────────────► readers, several at once ◄────┘
/// ```
///
/// Writes are collected in memory and made one batch after the other; ``flush()`` waits for them. While another process
/// holds the index they wait, for a minute at most, and reads go on. What was not written
/// yet when the process dies is lost; so are up to 16,384 noted accesses, which are written in batches too, since a
/// look-up must not be a write.
public final class DiskCache: Sendable {
    /// How this cache was set up.
    public let configuration: Configuration

    private let queue: WorkQueue
    let lane: SerialLane
    private let readers: DiskReaders
    let writer: DiskWriter
    private let state: Lock<State>
    private let isOpened = Atomic(false)
    let now: @Sendable () -> Int64
    /// In microseconds.
    private let ageLimit: Int64
    private let upkeepInterval: Double

    private struct State {
        var staging: DiskStaging
        var isDrainQueued = false
        var isCompacting = false
    }

    /// The threads on which all disk caches read.
    private static let sharedQueue = WorkQueue(label: "webimage-disk", threadCount: threadCount)
    static let threadCount = 3
    /// Those on which they write, one for each cache at a time: apart, as a writer may have to wait for another process.
    private static let writingQueue = WorkQueue(label: "webimage-store", threadCount: 4)

    /// Makes a cache; the directory is opened at the first use, in the background.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, now: Self.microsecondsSince1970)
    }

    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - stagedByteLimit: the most bytes that may wait to be written.
    ///   - indexLookInterval: within how many nanoseconds look-ups notice that somebody has deleted the directory.
    ///   - upkeepInterval: how often entries are looked for that have become too old, in seconds; YYDiskCache's 60.
    init(
        configuration: Configuration, now: @escaping @Sendable () -> Int64, stagedByteLimit: Int = 64 << 20,
        lockPatience: DiskWriter.LockPatience = DiskWriter.LockPatience(), indexLookInterval: UInt64 = 20_000_000,
        upkeepInterval: Double = 60
    ) {
        self.configuration = configuration
        self.now = now
        queue = Self.sharedQueue
        lane = SerialLane(queue: Self.writingQueue)
        ageLimit = DiskWriter.microseconds(ofAge: configuration.ageLimit)
        self.upkeepInterval = upkeepInterval
        let directory = DiskDirectory(
            path: configuration.directory.path, allowsForeignOwner: configuration.allowsForeignDirectory)
        readers = DiskReaders(directory: directory, configuration: configuration, lookInterval: indexLookInterval)
        writer = DiskWriter(
            configuration: configuration, directory: directory, readers: readers, now: now, lockPatience: lockPatience)
        state = Lock(State(staging: DiskStaging(byteLimit: stagedByteLimit)))
    }

    deinit {
        // Closing may copy the log into the database, which takes time; and accesses may still be unwritten.
        let (batch, writer) = (state.withLock { $0.staging.nextBatch() }, writer)
        writer.end()
        lane.submit {
            if !batch.isEmpty { _ = writer.write(batch) }
            writer.close()
        }
    }

    private static func microsecondsSince1970() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    // MARK: Looking up

    /// The bytes stored under `key`; `nil` when there are none, or when they have expired or are too old.
    public func data(for key: String) async -> Data? {
        await withCheckedContinuation { continuation in
            load(key, priority: .normal) { continuation.resume(returning: $0) }
        }
    }

    /// Looks up `key` when its turn comes; `completion` is called on a thread of the disk pool.
    ///
    /// - Returns: the waiting work. When its `cancel()` returns `true`, `completion` is never called.
    @discardableResult
    package func load(
        _ key: String, priority: LoadPriority, completion: @escaping @Sendable (Data?) -> Void
    ) -> WorkItem {
        openOnce()
        return queue.submit(priority: priority) { completion(self.find(key)) }
    }

    /// As ``load(_:priority:completion:)``, with what is known about the bytes.
    func loadItem(
        _ key: String, priority: LoadPriority, completion: @escaping @Sendable (Item?) -> Void
    ) -> WorkItem {
        openOnce()
        return queue.submit(priority: priority) { completion(self.findItem(key)) }
    }

    /// The bytes stored under `key` with what is known about them; counts as an access, as ``data(for:)`` does.
    public func item(for key: String) async -> Item? { await onReadingThread { $0.findItem(key) } }

    /// What is known about the bytes stored under `key`, without reading them; does not count as an access.
    public func entry(for key: String) async -> Entry? { await onReadingThread { $0.findEntry(key) } }

    /// Whether there are bytes under `key`; asking does not count as an access.
    public func contains(_ key: String) async -> Bool { await onReadingThread { $0.isPresent(key) } }

    private func onReadingThread<Result: Sendable>(
        _ body: @escaping @Sendable (DiskCache) -> Result
    ) async -> Result {
        openOnce()
        return await withCheckedContinuation { continuation in
            queue.submit { continuation.resume(returning: body(self)) }
        }
    }

    // MARK: Looking up, on the disk

    /// Blocks on the disk, as the next three.
    func find(_ key: String) -> Data? {
        let now = now()
        switch lookUp(key, now: now) {
        case .found(let data, _, _):
            noteUse(of: key, now: now)
            return data
        case .removed: return miss()
        case .unknown(let staged):
            let result = withReader { reader throws(DiskFault) in
                try reader.read(key) { self.isGone($0, staged: staged, now: now) }
            }
            guard case .found(let data, let record)? = accept(result, now: now) else { return miss() }
            noteUse(of: record, staged: staged, now: now)
            return data
        }
    }

    func findItem(_ key: String) -> Item? {
        let now = now()
        switch lookUp(key, now: now) {
        case .found(let data, let attachments, let times):
            noteUse(of: key, now: now)
            return Item(
                data: data, entry: Entry(key: key, byteCount: data.count, attachments: attachments, times: times))
        case .removed: return miss()
        case .unknown(let staged):
            var entry: Entry?
            let result = withReader { reader throws(DiskFault) in
                while true {
                    let result = try reader.read(key) { self.isGone($0, staged: staged, now: now) }
                    guard case .found(_, let record) = result else { return result }
                    entry = try reader.entry(key, record, staged: staged)
                    // Where it has been replaced since it was read, there is another now.
                    if entry != nil { return result }
                }
            }
            guard case .found(let data, let record)? = accept(result, now: now), let entry else { return miss() }
            noteUse(of: record, staged: staged, now: now)
            return Item(data: data, entry: entry)
        }
    }

    func findEntry(_ key: String) -> Entry? {
        let now = now()
        switch lookUp(key, now: now) {
        case .found(let data, let attachments, let times):
            return Entry(key: key, byteCount: data.count, attachments: attachments, times: times)
        case .removed: return nil
        case .unknown(let staged):
            let entry = withReader { reader throws(DiskFault) -> Entry? in
                while let record = try reader.record(for: key), !isGone(record, staged: staged, now: now) {
                    // `nil` where it has been replaced in between: there is another now.
                    if let entry = try reader.entry(key, record, staged: staged) { return entry }
                }
                return nil
            }
            return entry ?? nil
        }
    }

    func isPresent(_ key: String) -> Bool {
        let now = now()
        switch lookUp(key, now: now) {
        case .found: return true
        case .removed: return false
        case .unknown(let staged):
            let isPresent = withReader { reader throws(DiskFault) in
                try reader.record(for: key).map { !isGone($0, staged: staged, now: now) }
            }
            return isPresent.flatMap { $0 } ?? false
        }
    }

    private func lookUp(_ key: String, now: Int64) -> DiskStaging.Lookup {
        let lookup = state.withLock { $0.staging.lookUp(key) }
        guard case .found(_, let attachments, let times) = lookup else { return lookup }
        let isTooOld = times[configuration.evictionOrder] < now - ageLimit
        return isTooOld || attachments.deadline.isPassed(at: now) ? .removed : lookup
    }

    /// Whether an entry is no longer to be found, though it is still there.
    private func isGone(_ record: DiskReader.Record, staged: DiskAttachments?, now: Int64) -> Bool {
        isTooOld(record, staged: staged, now: now) || isExpired(record, staged: staged, now: now)
    }

    private func isTooOld(_ record: DiskReader.Record, staged: DiskAttachments?, now: Int64) -> Bool {
        let earliest = now - ageLimit
        guard record.time < earliest else { return false }
        switch configuration.evictionOrder {
        // It may have been used since, which is not written yet.
        case .access: return state.withLock { $0.staging.lastAccess(of: record.number) ?? .min } < earliest
        case .modification: return staged == nil
        case .creation: return true
        }
    }

    private func isExpired(_ record: DiskReader.Record, staged: DiskAttachments?, now: Int64) -> Bool {
        guard (staged?.deadline ?? record.row.deadline).isPassed(at: now) else { return false }
        // Uses may have put it off, and not be written yet.
        guard staged == nil, let extended = state.withLock({ $0.staging.extendedExpiry(of: record.number) }) else {
            return true
        }
        return extended <= now
    }

    private func noteUse(of key: String, now: Int64) {
        let rule = configuration.expirationExtension
        if state.withLock({ $0.staging.noteAccess(to: key, extendingBy: rule, now: now) }) { drain() }
    }

    private func noteUse(of record: DiskReader.Record, staged: DiskAttachments?, now: Int64) {
        var deadline = staged?.deadline ?? record.row.deadline
        let expires = deadline.extend(by: configuration.expirationExtension, at: now) ? deadline.time : nil
        let isFull = state.withLock { $0.staging.noteAccess(to: record.number, expires: expires, now: now) }
        if isFull { drain() }
    }

    private func miss<Found>() -> Found? {
        state.withLock { $0.staging.countMiss() }
        return nil
    }

    /// Has what is damaged removed.
    private func accept(_ result: DiskReader.Result?, now: Int64) -> DiskReader.Result? {
        if case .damaged(let number, let fileName)? = result {
            lane.submit { [writer] in writer.removeDamaged(number, fileName: fileName) }
        }
        return result
    }

    private func withReader<Result>(_ body: (DiskReader) throws(DiskFault) -> Result) -> Result? {
        do throws(DiskReaders.Failure) {
            return try readers.withReader(body)
        } catch {
            lane.submit { [writer] in writer.examine(error) }
            return nil
        }
    }

    // MARK: Changing

    /// Stores the bytes under `key`, in place of any older ones and what was kept beside them; returns at once.
    ///
    /// A look-up that follows finds them, although they may not be on disk yet. They are not stored when they exceed
    /// the size limit, or when more than 64 MiB wait to be written already: callers don't wait, and memory has an end.
    ///
    /// - Parameters:
    ///   - attributes: what to keep beside the bytes, and for how long.
    ///   - completion: called on a thread of the disk pool when the bytes are on disk, or could not be stored.
    public func store(
        _ data: Data, for key: String, attributes: Attributes = Attributes(), completion: (@Sendable () -> Void)? = nil
    ) {
        let now = now()
        let isStaged =
            accepts(attributes)
            && state.withLock { [configuration] state in
                let attachments = DiskAttachments(attributes, standard: configuration.expiration, now: now)
                return state.staging.store(data, attachments, for: key, now: now, completion: completion)
            }
        if isStaged {
            drain()
        } else {
            // What the key held before is out of date now.
            remove(for: key, completion: completion)
        }
    }

    /// Replaces what is kept beside the bytes under `key`, as after an answer that says that they have not changed;
    /// ``Entry/modified`` moves, the bytes stay. Returns at once, and does nothing where there are no bytes.
    ///
    /// - Parameters:
    ///   - attributes: all of them: what is `nil` here is gone afterwards. Those that are too large change nothing.
    ///   - completion: called on a thread of the disk pool when that is on disk, or could not be done.
    public func update(
        _ attributes: Attributes, for key: String, completion: (@Sendable () -> Void)? = nil
    ) {
        update(attributes, of: nil, for: key, completion: completion)
    }

    /// As the other of that name, for these bytes alone; others, which another process may have stored, keep what they have.
    ///
    /// - Parameter mark: of the bytes; `nil` for whichever there are.
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
        if isStaged { drain() } else if let completion { lane.submit(completion) }
    }

    private func accepts(_ attributes: Attributes) -> Bool {
        let byteCount = attributes.byteCount
        guard byteCount > DiskAttachments.byteLimit else { return true }
        lane.submit { [writer] in
            writer.report(.attributesTooLarge(byteCount: byteCount, limit: DiskAttachments.byteLimit))
        }
        return false
    }

    /// Removes what is stored under `key`; returns at once.
    ///
    /// - Parameter completion: called on a thread of the disk pool when it is gone from the disk, or could not be removed.
    public func remove(for key: String, completion: (@Sendable () -> Void)? = nil) {
        let now = now()
        state.withLock { $0.staging.remove(key, now: now, completion: completion) }
        drain()
    }

    /// Removes everything: at once for look-ups, and on disk when this returns. Files are deleted afterwards.
    public func removeAll() async { await removeAll(telling: nil) }

    func removeAll(telling progress: DiskStaging.ClearProgress?) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.staging.removeAll(progress: progress) { continuation.resume() } }
            drain()
        }
    }

    // MARK: The lane

    func openOnce() {
        if beginUse() { lane.submit { [writer] in writer.openIfNeeded() } }
    }

    /// Whether this is the first use.
    private func beginUse() -> Bool {
        guard !isOpened.load(ordering: .relaxed), !isOpened.exchange(true, ordering: .relaxed) else { return false }
        planUpkeep()
        return true
    }

    /// Removes from time to time what has become too old or expired, also while nobody stores anything.
    private func planUpkeep() {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + upkeepInterval) { [weak self] in
            guard let self else { return }
            lane.submit { [weak self] in
                guard let self, writer.needsUpkeep else { return }
                writeAccesses()
                writer.enforceLimits()
            }
            planUpkeep()
        }
    }

    /// Queues the writing of what is staged, unless that is queued already.
    private func drain() {
        _ = beginUse()
        let isNew = state.withLock { state in
            defer { state.isDrainQueued = true }
            return !state.isDrainQueued
        }
        if isNew { lane.submit { self.writeNextBatch() } }
    }

    private func writeNextBatch() {
        state.withLock { $0.isDrainQueued = false }
        if writeBatch(includesAccesses: false) != nil { drain() }
    }

    /// How many changes were written; `nil` when there was nothing to do.
    private func writeBatch(includesAccesses: Bool = true) -> Int? {
        // Where others have to go to make room, which of them depends on uses that were noted since.
        let makesRoom = writer.isShortOfSpace(adding: state.withLock { $0.staging.byteCount })
        let batch = state.withLock { $0.staging.nextBatch(includesAccesses: includesAccesses || makesRoom) }
        guard !batch.isEmpty else { return nil }
        let aftermath = writer.write(batch)
        // Before anybody hears that all is gone: what they ask for next finds the space free.
        if aftermath.contains(.cleared) { lane.submit { [writer] in writer.sweepCleared() } }
        let completions = state.withLock { $0.staging.finish(batch) }
        for completion in completions { completion() }
        if aftermath.contains(.overfull) {
            writeAccesses()
            writer.enforceLimits()
        }
        if aftermath.contains(.sparse) { compactInSteps() }
        return batch.changes.count
    }

    /// What goes first depends on uses that were noted since the last batch began.
    private func writeAccesses() {
        let batch = state.withLock { $0.staging.accessBatch() }
        if !batch.isEmpty { _ = writer.write(batch) }
        _ = state.withLock { $0.staging.finish(batch) }
    }

    /// Each step a turn of the lane, so that what is stored meanwhile gets its turn too.
    private func compactInSteps() {
        let isNew = state.withLock { state in
            defer { state.isCompacting = true }
            return !state.isCompacting
        }
        if isNew { compactNextStep() }
    }

    private func compactNextStep() {
        lane.submit { [weak self] in
            guard let self else { return }
            if writer.compactStep() { compactNextStep() } else { state.withLock { $0.isCompacting = false } }
        }
    }

    /// Writes what waits now, but not for ever what comes in the meantime.
    private func writeWaiting() {
        var remaining = state.withLock { $0.staging.waitingCount }
        while let count = writeBatch() {
            remaining -= count
            if remaining <= 0 { return }
        }
    }

    /// Runs `body` after everything that was asked for before is written.
    func onLane<Result: Sendable>(_ body: @escaping @Sendable (DiskWriter) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: body($0)) }
        }
    }

    /// Runs `body` after everything that was asked for before is written.
    func submit(_ body: @escaping @Sendable (DiskWriter) -> Void) {
        lane.submit {
            self.writeWaiting()
            body(self.writer)
        }
    }
}
