internal import FoundationEssentials
internal import WebImageCore

/// Stores the body of one load: reads what is on disk, and adds what arrives.
///
///     loader's thread                                      disk thread, one step at a time
///     ───────────────                                      ───────────────────────────────
///     begin ── a new body ───────────────────────────────► delete what there was
///     append ──► pending ── 64 KiB, of a long body ──────► write behind ──► PartialFile
///     end ── interrupted: the rest of pending ───────────► write ──► unlock, let the next load have it
///         └─ complete ───────────────────────────────────► delete ─┘
final class ResumableBody: Sendable {
    /// How a load ends, as far as its bytes are concerned.
    enum End {
        /// More bytes are missing: the stored ones can be resumed.
        case interrupted
        /// The body is complete, or its bytes are useless.
        case complete
    }

    /// The beginning of a body that was found on disk.
    struct Found: Sendable {
        let file: PartialFile
        let contents: PartialFile.Contents
        /// The number of bytes that need not be requested. For a complete body, the last byte is requested again, since
        /// a range cannot be empty. The response shows whether the other bytes are still valid.
        let byteCount: Int64

        init?(file: PartialFile, contents: PartialFile.Contents) {
            let found = contents.byteCount
            let used = contents.head.byteCount.map { min(found, $0 - 1) } ?? found
            guard used > 0, found <= contents.head.byteCount ?? .max else { return nil }
            (self.file, self.contents, byteCount) = (file, contents, used)
        }
    }

    /// Work on a disk thread.
    private enum Step {
        case look(@Sendable (Found?) -> Void)
        case discard
        case write(pieces: [Data], byteCount: Int, head: PartialHead?)
        case release
    }

    private struct State {
        var steps: [Step] = []
        var isWorking = false
        var file: PartialFile?
        /// The head of a body that has no file yet.
        var head: PartialHead?
        var pending: [Data] = []
        var pendingByteCount = 0
        /// The number of bytes received since ``begin(_:)``, or already stored.
        var byteCount: Int64 = 0
        /// Whether the body is long enough to be written while it arrives.
        var isLong = false
        var isKept = false
        var hasEnded = false
        var hasFailed = false
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

    /// - Parameter key: must have been claimed.
    init(key: PartialBodyKey, store: PartialBodyStore) {
        self.key = key
        self.store = store
    }

    // MARK: Looking

    /// Reads the stored bytes before anything else; calls `completion` on a disk thread.
    func look(_ completion: @escaping @Sendable (Found?) -> Void) {
        change { $0.steps.append(.look(completion)) }
    }

    private func look() -> Found? {
        guard let (file, contents) = store.open(key) else { return nil }
        guard let found = Found(file: file, contents: contents) else {
            file.remove(from: store.directory)
            return nil
        }
        let isWanted = state.withLock { state in
            if !state.hasEnded { state.file = file }
            return !state.hasEnded
        }
        guard isWanted else {
            file.unlock()
            return nil
        }
        return found
    }

    // MARK: On a loader's thread

    /// Starts a body, which replaces the stored bytes.
    ///
    /// - Parameter head: `nil` for a body that is not stored.
    func begin(_ head: PartialHead?) {
        change { state in
            guard !state.hasEnded else { return }
            if state.file != nil { state.steps.append(.discard) }
            state.head = head
            state.byteCount = 0
            state.isKept = head != nil && !state.hasFailed
            state.isLong = head?.byteCount ?? 0 >= Self.longByteCount
        }
    }

    /// Continues a stored body.
    ///
    /// - Parameter mayBeKept: if `false`, the stored bytes are deleted, although the load may still read them.
    func continueBody(_ found: Found, mayBeKept: Bool) {
        change { state in
            guard !state.hasEnded else { return }
            if !mayBeKept { state.steps.append(.discard) }
            state.byteCount = found.byteCount
            state.isLong = true
            // The last byte of a complete body was requested again, and is not appended.
            state.isKept = mayBeKept && found.byteCount == found.contents.byteCount
        }
    }

    func append(_ bytes: Data) {
        change { state in
            guard state.isKept else { return }
            let byteCount = state.byteCount + Int64(bytes.count)
            guard byteCount <= min(state.head?.byteCount ?? .max, store.configuration.byteLimit),
                store.admit(bytes.count)
            else {
                stopKeeping(&state)
                return
            }
            state.byteCount = byteCount
            state.pending.append(bytes)
            state.pendingByteCount += bytes.count
            if byteCount >= Self.longByteCount { state.isLong = true }
            if state.isLong, state.pendingByteCount >= Self.stepByteCount { submitPending(&state) }
        }
    }

    /// Called when the load has ended or was cancelled; only the first call counts. From now on, another load of the
    /// same body waits until the bytes are on disk.
    func end(_ end: End) {
        let (isFirst, isUntouched) = state.withLock { state in
            defer { state.hasEnded = true }
            // Nothing is on disk, and nothing will be.
            let isUntouched =
                !state.hasEnded && state.file == nil && !state.isWorking && (end == .complete || !state.isKept)
            if isUntouched { stopKeeping(&state) }
            return (!state.hasEnded, isUntouched)
        }
        guard isFirst else { return }
        if isUntouched { return store.release(key) }
        store.willRelease(key)
        change { state in
            switch end {
            case .complete:
                stopKeeping(&state)
                state.steps.append(.discard)
            case .interrupted:
                if state.isKept, state.isLong || state.pendingByteCount >= Self.shortestByteCount {
                    submitPending(&state)
                }
                stopKeeping(&state)
            }
            state.steps.append(.release)
        }
    }

    private func submitPending(_ state: inout State) {
        guard state.pendingByteCount > 0 else { return }
        state.steps.append(.write(pieces: state.pending, byteCount: state.pendingByteCount, head: state.head))
        (state.pending, state.pendingByteCount) = ([], 0)
    }

    /// Stops storing; bytes already written stay.
    private func stopKeeping(_ state: inout State) {
        store.settle(state.pendingByteCount)
        (state.pending, state.pendingByteCount) = ([], 0)
        state.isKept = false
    }

    /// Changes the state, and starts a thread for the resulting steps.
    private func change(_ body: (inout State) -> Void) {
        let startsWorking = state.withLock { state in
            body(&state)
            guard !state.steps.isEmpty, !state.isWorking else { return false }
            state.isWorking = true
            return true
        }
        // Writing frees memory.
        if startsWorking { PartialBodyStore.queue.submit(priority: .high) { [self] in work() } }
    }

    // MARK: Steps

    private func work() {
        while let (step, file) = nextStep() {
            switch step {
            case .look(let completion): completion(look())
            case .discard:
                file?.remove(from: store.directory)
                state.withLock { $0.file = nil }
            case .write(let pieces, let byteCount, let head):
                write(pieces, byteCount: byteCount, head: head, to: file)
                store.settle(byteCount)
            case .release:
                file?.unlock()
                state.withLock { $0.file = nil }
                store.release(key)
            }
        }
    }

    private func nextStep() -> (step: Step, file: PartialFile?)? {
        state.withLock { state in
            guard !state.steps.isEmpty else {
                state.isWorking = false
                return nil
            }
            return (state.steps.removeFirst(), state.file)
        }
    }

    private func write(_ pieces: [Data], byteCount: Int, head: PartialHead?, to known: PartialFile?) {
        guard !state.withLock({ $0.hasFailed }) else { return }
        var file = known
        if file == nil, let head {
            store.checkLimitsSoon()
            file = store.makeFile(key)
            if let made = file, !made.begin(head) {
                made.remove(from: store.directory)
                file = nil
            }
        }
        let isWritten = store.hasSpace(for: byteCount) && file?.append(pieces) ?? false
        // A new file has no contents yet.
        if !isWritten, known == nil { file?.remove(from: store.directory) }
        change { [file] state in
            state.file = isWritten ? file : known
            guard !isWritten else { return }
            // The disk is full, or another process holds the file; the load continues without storing.
            state.hasFailed = true
            stopKeeping(&state)
        }
    }
}
