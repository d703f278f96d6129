internal import FoundationEssentials
internal import WebImageCore

/// Stores the body of one load: reads what is on disk, and adds what arrives.
///
///     loader's thread                                      disk thread, in order
///     ───────────────                                      ─────────────────────
///     begin ── a new body ───────────────────────────────► delete what there was
///     append ──► pending ── 64 KiB, of a long body ──────► write behind ──► PartialFile
///     end ── interrupted: the rest of pending ───────────► write ──► unlock, for the next load
///         └─ complete ───────────────────────────────────► delete
final class ResumableBody: Sendable {
    private struct State {
        /// The head of the body; `nil` while its bytes are not stored.
        var head: PartialHead?
        var pending: [Data] = []
        var pendingByteCount = 0
        /// The number of bytes received since ``begin(_:)``, or already stored.
        var byteCount: Int64 = 0
        /// Whether there may be a file, now or soon.
        var usesDisk = false
        var hasEnded = false
        var hasFailed = false

        /// Whether the body is long enough to be written while it arrives.
        var isLong: Bool { usesDisk || max(byteCount, head?.byteCount ?? 0) >= ResumableBody.longByteCount }
    }

    /// Bodies of at least this length are written while they arrive; shorter ones are loaded again quickly.
    static let longByteCount: Int64 = 128 << 10
    /// The number of bytes per write.
    static let stepByteCount = 64 << 10
    /// The shortest interrupted body that is worth a file.
    static let shortestByteCount = 16 << 10

    private let store: PartialBodyStore
    private let key: PartialBodyKey
    private let state = Lock(State())
    /// Used on the disk thread only.
    private let file = Lock<PartialFile?>(nil)

    init(key: PartialBodyKey, store: PartialBodyStore) {
        self.key = key
        self.store = store
    }

    /// Reads the stored bytes, before anything else. Called on the disk thread.
    func look() -> PartialBeginning? {
        guard let (file, beginning) = store.open(key) else { return nil }
        self.file.withLock { $0 = file }
        state.withLock { state in
            state.usesDisk = true
            if state.hasEnded { submitRelease(deletes: false) }
        }
        return beginning
    }

    // MARK: On a loader's thread

    /// Starts a body, which replaces the stored bytes.
    ///
    /// - Parameter head: `nil` for a body that is not stored.
    func begin(_ head: PartialHead?) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            stopStoring(&state)
            if state.usesDisk { submitRelease(deletes: true) }
            if !state.hasFailed { state.head = head }
            state.byteCount = 0
        }
    }

    /// Continues a stored body.
    ///
    /// - Parameter mayBeKept: if `false`, the stored bytes are deleted.
    func continueBody(_ beginning: PartialBeginning, mayBeKept: Bool) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            if !mayBeKept { submitRelease(deletes: true) }
            state.byteCount = Int64(beginning.bytes.count)
            state.head = mayBeKept && beginning.isExtensible ? beginning.head : nil
        }
    }

    func append(_ bytes: Data) {
        state.withLock { state in
            guard let head = state.head else { return }
            state.byteCount += Int64(bytes.count)
            guard state.byteCount <= min(head.byteCount ?? .max, store.configuration.byteLimit),
                store.admit(bytes.count)
            else { return stopStoring(&state) }
            state.pending.append(bytes)
            state.pendingByteCount += bytes.count
            if state.isLong, state.pendingByteCount >= Self.stepByteCount { submitPending(&state) }
        }
    }

    /// Called when the load has ended or was cancelled; only the first call counts. The next load of the same body
    /// finds the bytes.
    ///
    /// - Parameter isComplete: whether no bytes are missing, or they are useless; if not, the stored ones can be resumed.
    func end(isComplete: Bool) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.hasEnded = true
            if !isComplete, state.isLong || state.pendingByteCount >= Self.shortestByteCount {
                submitPending(&state)
            }
            stopStoring(&state)
            if state.usesDisk { submitRelease(deletes: isComplete) }
        }
    }

    private func submitPending(_ state: inout State) {
        guard state.pendingByteCount > 0, let head = state.head else { return }
        let isFirst = state.byteCount == Int64(state.pendingByteCount)
        store.submit { [self, pieces = state.pending] in
            let bytes = pieces.dropFirst().reduce(into: pieces[0]) { $0.append($1) }
            write(bytes, of: isFirst ? head : nil)
            store.settle(bytes.count)
        }
        state.usesDisk = true
        (state.pending, state.pendingByteCount) = ([], 0)
    }

    /// Bytes already submitted stay.
    private func stopStoring(_ state: inout State) {
        store.settle(state.pendingByteCount)
        (state.pending, state.pendingByteCount, state.head) = ([], 0, nil)
    }

    private func submitRelease(deletes: Bool) {
        store.submit { [self] in
            let file = file.withLock { $0.take() }
            if deletes { file?.remove(from: store.directory) }
            file?.unlock()
        }
    }

    // MARK: On the disk thread

    /// - Parameter head: the head of a body that has no file yet.
    private func write(_ bytes: Data, of head: PartialHead?) {
        guard !state.withLock({ $0.hasFailed }) else { return }
        let known = file.withLock { $0 }
        let file = known ?? head.flatMap { store.makeFile(key, $0) }
        if let file, store.hasSpace(for: bytes.count), file.append(bytes) {
            return self.file.withLock { $0 = file }
        }
        // A new file has no contents yet.
        if known == nil { file?.remove(from: store.directory) }
        // The disk is full, or another load holds the file; this one continues without storing.
        state.withLock { state in
            state.hasFailed = true
            stopStoring(&state)
        }
    }
}
