public import FoundationEssentials
package import WebImageCore

/// Bytes on disk by key, whole or absent whatever happens to the process, the least recently used of which go first.
///
/// Nothing blocks the caller, and nothing fails: when the directory can't be used, stores do nothing and loads find
/// nothing, and ``Configuration/onFailure`` is told once for each cause. Several caches, also in several processes, may
/// use one directory at once.
///
/// ```
///  store, remove ──► staging ──► lane: one batch, one transaction ──► index + files
///                      │ seen by                                        │
///  data(for:) ─────────┴────────────────► readers, several at once ◄────┘
/// ```
///
/// Writes are collected in memory and made one batch after the other; ``flush()`` waits for them. While another process
/// holds the index they wait, for a minute at most. What was not written
/// yet when the process dies is lost; so are up to 1,024 noted accesses, which are written in batches too, since a
/// look-up must not be a write.
public final class DiskCache: Sendable {
    /// How this cache was set up.
    public let configuration: Configuration

    private let queue: WorkQueue
    let lane: SerialLane
    private let readers: DiskReaders
    private let writer: DiskWriter
    private let state: Lock<State>
    private let now: @Sendable () -> Int64

    private struct State {
        var staging: DiskStaging
        var isOpened = false
        var isDrainQueued = false
    }

    /// The threads of all disk caches: one may write while two read.
    private static let sharedQueue = WorkQueue(label: "webimage-disk", threadCount: threadCount)
    static let threadCount = 3

    /// Makes a cache; the directory is opened at the first use, in the background.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, now: { Int64(Date().timeIntervalSince1970 * 1_000_000) })
    }

    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - stagedByteLimit: the most bytes that may wait to be written.
    init(
        configuration: Configuration, now: @escaping @Sendable () -> Int64, stagedByteLimit: Int = 64 << 20,
        lockPatience: DiskWriter.LockPatience = DiskWriter.LockPatience()
    ) {
        self.configuration = configuration
        self.now = now
        queue = Self.sharedQueue
        lane = SerialLane(queue: queue)
        let directory = DiskDirectory(path: configuration.directory.path)
        readers = DiskReaders(directory: directory)
        writer = DiskWriter(
            configuration: configuration, directory: directory, readers: readers, now: now, lockPatience: lockPatience)
        state = Lock(State(staging: DiskStaging(byteLimit: stagedByteLimit)))
    }

    deinit {
        // Closing may copy the log into the database, which takes time; and accesses may still be unwritten.
        let (batch, writer) = (state.withLock { $0.staging.nextBatch() }, writer)
        writer.end()
        lane.submit {
            if !batch.isEmpty { writer.write(batch) }
            writer.close()
        }
    }

    // MARK: Looking up

    /// The bytes stored under `key`; `nil` when there are none.
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
        return queue.submit(priority: priority) { completion(self.read(key)) }
    }

    /// Whether there are bytes under `key`; asking does not count as an access.
    public func contains(_ key: String) async -> Bool {
        openOnce()
        return await withCheckedContinuation { continuation in
            queue.submit {
                let isPresent =
                    switch self.state.withLock({ $0.staging.lookUp(key) }) {
                    case .found: true
                    case .removed: false
                    case .unknown:
                        self.withReader { reader throws(DiskFault) in try reader.contains(key) } ?? false
                    }
                continuation.resume(returning: isPresent)
            }
        }
    }

    /// Blocks on the disk.
    private func read(_ key: String) -> Data? {
        switch state.withLock({ $0.staging.lookUp(key) }) {
        case .found(let data): return data
        case .removed: return nil
        case .unknown: break
        }
        switch withReader({ reader throws(DiskFault) in try reader.read(key) }) {
        case .found(let data, let number):
            let now = now()
            let isFull = state.withLock { $0.staging.noteAccess(to: number, now: now) }
            if isFull { drain() }
            return data
        case .damaged(let number):
            lane.submit { [writer] in writer.removeDamaged(number) }
            return nil
        case .missing, nil:
            return nil
        }
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

    /// Stores the bytes under `key`, in place of any older ones; returns at once.
    ///
    /// A look-up that follows finds them, although they may not be on disk yet. They are not stored when they exceed
    /// the size limit, or when more than 64 MiB wait to be written already: callers don't wait, and memory has an end.
    ///
    /// - Parameter completion: called on a thread of the disk pool when the bytes are on disk, or could not be stored.
    public func store(_ data: Data, for key: String, completion: (@Sendable () -> Void)? = nil) {
        let now = now()
        let isStaged = state.withLock { $0.staging.store(data, for: key, now: now, completion: completion) }
        if isStaged {
            drain()
        } else {
            // What the key held before is out of date now.
            remove(for: key, completion: completion)
        }
    }

    /// Removes what is stored under `key`; returns at once.
    ///
    /// - Parameter completion: called on a thread of the disk pool when it is gone from the disk, or could not be removed.
    public func remove(for key: String, completion: (@Sendable () -> Void)? = nil) {
        let now = now()
        state.withLock { $0.staging.remove(key, now: now, completion: completion) }
        drain()
    }

    /// Removes everything.
    public func removeAll() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.staging.removeAll { continuation.resume() } }
            drain()
        }
    }

    /// Removes the least recently used entries until the values take no more than `size` bytes, and expired ones, and
    /// files that a killed process left behind; gives the space back to the file system.
    public func trim(toSize size: Int64) async { await onLane { $0.trim(toSize: max(0, size)) } }

    /// Writes everything that waits, accesses too, and applies the limits. After a failure it tries the directory again.
    public func flush() async {
        lane.submit { [writer] in writer.retry() }
        await onLane { $0.enforceLimits() }
    }

    // MARK: Counting

    /// The bytes of all values, after everything stored before is written. Looking it up takes constant time.
    public var totalSize: Int64 { get async { await onLane { $0.totals()?.size ?? 0 } } }

    /// How many entries there are, after everything stored before is written. Looking it up takes constant time.
    public var count: Int { get async { await onLane { Int($0.totals()?.count ?? 0) } } }

    /// A page of the entries, in the order in which they were stored.
    ///
    /// - Parameters:
    ///   - entry: the last of the page before; `nil` for the first page.
    ///   - limit: the most entries to return. An empty page is the end.
    public func entries(after entry: Entry? = nil, limit: Int = 1_000) async -> [Entry] {
        let id = entry?.id ?? 0
        return await onLane { $0.entries(after: id, limit: max(1, limit)) }
    }

    // MARK: The lane

    private func openOnce() {
        let isFirst = state.withLock { state in
            defer { state.isOpened = true }
            return !state.isOpened
        }
        if isFirst { lane.submit { [writer] in writer.openIfNeeded() } }
    }

    /// Queues the writing of what is staged, unless that is queued already.
    private func drain() {
        let isNew = state.withLock { state in
            defer { (state.isOpened, state.isDrainQueued) = (true, true) }
            return !state.isDrainQueued
        }
        if isNew { lane.submit { self.writeNextBatch() } }
    }

    private func writeNextBatch() {
        state.withLock { $0.isDrainQueued = false }
        if writeBatch() != nil { drain() }
    }

    /// How many changes were written; `nil` when there was nothing to do.
    private func writeBatch() -> Int? {
        let batch = state.withLock { $0.staging.nextBatch() }
        guard !batch.isEmpty else { return nil }
        writer.write(batch)
        let completions = state.withLock { $0.staging.finish(batch) }
        for completion in completions { completion() }
        return batch.changes.count
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
    private func onLane<Result: Sendable>(_ body: @escaping @Sendable (DiskWriter) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            lane.submit {
                self.writeWaiting()
                continuation.resume(returning: body(self.writer))
            }
        }
    }
}
