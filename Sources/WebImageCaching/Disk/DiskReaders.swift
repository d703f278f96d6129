internal import Dispatch
internal import Glibc
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

    /// Runs `body` with a reader that nobody else uses; `nil` when there is no index.
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
        // A deleted index can be read as long as it is open, so somebody has to look for it now and then; a look costs
        // a sixth of reading a small value.
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
