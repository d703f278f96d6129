internal import Dispatch
internal import WebImageCore

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
        var isCheckPlanned = false
        /// Whether somebody has read since the last check.
        var isInUse = false
    }

    private let directory: DiskDirectory
    private let checksAll: Bool
    private let state = Lock(State())

    /// How often open segments are looked after, in seconds.
    private static let checkInterval = 20

    init(directory: DiskDirectory, checksAll: Bool) {
        self.directory = directory
        self.checksAll = checksAll
    }

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
                    try DiskReader(directory: directory, identity: identity, checksAll: checksAll)
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

    /// A reader at rest, if there is one, and the generation to which it may return.
    private func takeIdle(of identity: DiskDirectory.FileIdentity) -> (DiskReader?, generation: Int) {
        let (idle, generation) = state.withLock { ($0.idle.popLast(), $0.generation) }
        guard let idle, idle.identity != identity else { return (idle, generation) }
        // All of them are of the old file.
        closeAll()
        return (nil, state.withLock { $0.generation })
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
        let (idle, generation) = state.withLock { state in
            defer { state.idle = [] }
            return (state.idle, state.generation)
        }
        for reader in idle { reader.closeSegments(onlyDeleted: onlyDeleted) }
        state.withLock { if $0.generation == generation { $0.idle += idle } }
    }

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
