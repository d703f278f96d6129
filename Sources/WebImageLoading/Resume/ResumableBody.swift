internal import FoundationEssentials
internal import WebImageCore

/// One load's part in the store: what is on the disk of its body, and what is added while it arrives.
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
        /// There is more to come: what there is may be continued.
        case interrupted
        /// All is there, or what is there is of no use.
        case complete
    }

    /// The beginning of a body as it was found.
    struct Found: Sendable {
        let file: PartialFile
        let contents: PartialFile.Contents
        /// How many bytes need not be asked for. Of a whole body all but the last are used, so that there is a range to ask
        /// for; the answer to it shows whether they are still good.
        let byteCount: Int64

        init?(file: PartialFile, contents: PartialFile.Contents) {
            let found = contents.byteCount
            let used = contents.head.byteCount.map { min(found, $0 - 1) } ?? found
            guard used > 0, found <= contents.head.byteCount ?? .max else { return nil }
            (self.file, self.contents, byteCount) = (file, contents, used)
        }
    }

    /// What is done on a disk thread.
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
        /// Of a body that has no file yet.
        var head: PartialHead?
        var pending: [Data] = []
        var pendingByteCount = 0
        /// What has come since ``begin(_:)``, or is there already.
        var byteCount: Int64 = 0
        /// Whether it is long enough to be written while it arrives.
        var isLong = false
        var isKept = false
        var hasEnded = false
        var hasFailed = false
    }

    /// Bodies of at least this length are written while they arrive; shorter ones are there again soon.
    static let longByteCount: Int64 = 128 << 10
    /// How much is written at once.
    static let stepByteCount = 64 << 10
    /// The least worth a file when a short body is cut.
    static let shortestByteCount = 16 << 10

    private let store: PartialBodyStore
    private let key: String
    private let state = Lock(State())

    /// - Parameter key: has been claimed.
    init(key: String, store: PartialBodyStore) {
        self.key = key
        self.store = store
    }

    // MARK: Looking

    /// Reads what there is, before anything else, and gives it on a disk thread.
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

    /// A body begins, and what there was before is of no more use.
    ///
    /// - Parameter head: `nil` for one that is not kept.
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

    /// The rest of a body arrives.
    ///
    /// - Parameter mayBeKept: otherwise what there is goes, though the load may still read it.
    func continueBody(_ found: Found, mayBeKept: Bool) {
        change { state in
            guard !state.hasEnded else { return }
            if !mayBeKept { state.steps.append(.discard) }
            state.byteCount = found.byteCount
            state.isLong = true
            // Of a whole body the last byte is asked for again.
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

    /// The load has ended, or is given up; the first call counts. Another load of the same body waits from now on, until the
    /// bytes are on the disk.
    func end(_ end: End) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        guard isFirst else { return }
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

    /// What has been written stays.
    private func stopKeeping(_ state: inout State) {
        store.settle(state.pendingByteCount)
        (state.pending, state.pendingByteCount) = ([], 0)
        state.isKept = false
    }

    /// Changes the state, and has a thread do the steps that come of it.
    private func change(_ body: (inout State) -> Void) {
        let startsWorking = state.withLock { state in
            body(&state)
            guard !state.steps.isEmpty, !state.isWorking else { return false }
            state.isWorking = true
            return true
        }
        // What is written frees memory.
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
            store.looksAtLimitsSoon()
            file = store.makeFile(key)
            if let made = file, !made.begin(head) {
                made.remove(from: store.directory)
                file = nil
            }
        }
        let isWritten = store.hasRoom(for: byteCount) && file?.append(pieces) ?? false
        // A new file has nothing in it yet.
        if !isWritten, known == nil { file?.remove(from: store.directory) }
        change { [file] state in
            state.file = isWritten ? file : known
            guard !isWritten else { return }
            // A full disk, or a file that others have: the load goes on without.
            state.hasFailed = true
            stopKeeping(&state)
        }
    }
}
