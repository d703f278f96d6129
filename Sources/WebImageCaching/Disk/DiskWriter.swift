internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Everything that changes the disk. Blocking, and called by one thread at a time, the ``DiskCache``'s lane, but for
/// ``end()``.
final class DiskWriter: @unchecked Sendable {
    // `@unchecked`: everything mutable is touched on the lane only, or locked.
    let configuration: DiskCache.Configuration
    let directory: DiskDirectory
    let readers: DiskReaders
    let now: @Sendable () -> Int64
    private let lockPatience: LockPatience

    private(set) var index: DiskIndex?
    private(set) var indexIdentity: DiskDirectory.FileIdentity?
    private var logIdentity: DiskDirectory.FileIdentity?
    private(set) var sizeLimit: Int64 = .max
    /// Set between a removal of everything and the deletion of its files.
    var cleared: Cleared?
    /// After a failure nothing is tried until then, so that each load does not pay for it anew.
    private var retryTime: Int64 = .min
    private let isEnding = Lock(false)
    private var reported: Set<WebImageError.DiskCacheFailure> = []

    static let second: Int64 = 1_000_000
    private static let retryInterval = 60 * second
    private static let trimInterval = 3_600 * second

    /// How long a change waits while another process holds the index: a minute in all, after which it is given up.
    struct LockPatience {
        var timeoutMilliseconds: Int32 = 10_000
        var attemptCount = 6
    }

    init(
        configuration: DiskCache.Configuration, directory: DiskDirectory, readers: DiskReaders,
        now: @escaping @Sendable () -> Int64, lockPatience: LockPatience = LockPatience()
    ) {
        self.configuration = configuration
        self.directory = directory
        self.readers = readers
        self.now = now
        self.lockPatience = lockPatience
    }

    // MARK: Opening

    /// Makes the next use try again at once, whatever failed before.
    func retry() { retryTime = .min }

    func openIfNeeded() { _ = withIndex { _ in } }

    /// From now on an index that is open can be written, but none is opened or made, no failure is reported, and nobody
    /// waits for another process: the cache is gone, and its directory may be too. Called on any thread.
    func end() { isEnding.withLock { $0 = true } }

    func close() {
        readers.closeAll()
        // Its log has the name of another one's.
        if let index, directory.indexIdentity != indexIdentity { index.leaveLog() }
        index = nil
    }

    /// Runs `body` with the open index; `nil`, after a report, when there is none or it fails.
    ///
    /// `body` runs again when another process held the index, or a segment was shorter than it should be: what it did must have been undone, or bear repeating.
    func withIndex<Result>(_ body: (DiskIndex) throws(DiskFault) -> Result) -> Result? {
        var remaining = lockPatience.attemptCount
        while true {
            do throws(DiskFault) {
                guard let index = try openIndex() else { return nil }
                return try body(index)
            } catch let fault {
                handle(fault)
                remaining -= 1
                guard fault.isWorthRepeating, remaining > 0, !isEnding.withLock({ $0 }) else { return nil }
            }
        }
    }

    /// `nil` soon after a failure, which was reported then.
    private func openIndex() throws(DiskFault) -> DiskIndex? {
        if let index {
            if directory.indexIdentity != indexIdentity {
                // Deleted, or moved aside by another process.
                close()
            } else if directory.logIdentity != logIdentity {
                // Whoever deletes the directory took the log of an index that was just made: readers would find it empty.
                discardIndex()
            } else {
                return index
            }
        }
        guard now() >= retryTime, !isEnding.withLock({ $0 }) else { return nil }
        try directory.create()
        try directory.checkOwner()
        directory.restrict()
        var aside: String?
        let opened = try directory.withExclusiveLock { () throws(DiskFault) in
            try directory.checkIndexFiles()
            let opened: DiskIndex
            do throws(DiskFault) {
                opened = try makeIndex()
            } catch .olderIndex {
                directory.removeIndex()
                opened = try makeIndex()
            } catch let fault where fault.isCorruption || fault.isForeignSchema {
                aside = try directory.moveIndexAside()
                opened = try makeIndex()
            }
            indexIdentity = directory.indexIdentity
            // As long as the index is open, nobody has reason to replace its log.
            logIdentity = directory.logIdentity
            return opened
        }
        if let aside { report(.corruptIndex(movedTo: aside)) }
        try directory.makeValues(generation: opened.generation)
        index = opened
        sizeLimit = max(0, configuration.sizeLimit ?? defaultSizeLimit(opened))
        let (now, trimmed) = (now(), opened.totals.trimmed)
        // A trim in the future is one from before the clock went back.
        if trimmed < now - Self.trimInterval || trimmed > now {
            try enforceLimits(opened)
            try sweep(opened)
        }
        return opened
    }

    private func makeIndex() throws(DiskFault) -> DiskIndex {
        try DiskIndex(
            path: directory.indexPath, order: configuration.evictionOrder,
            busyTimeoutMilliseconds: lockPatience.timeoutMilliseconds)
    }

    /// 10 % of what the cache could have, 64 MiB … 1 GiB.
    private func defaultSizeLimit(_ index: DiskIndex) -> Int64 {
        Self.defaultSizeLimit(available: (directory.freeByteCount ?? 0) + index.totals.size)
    }

    static func defaultSizeLimit(available: Int64) -> Int64 { min(max(available / 10, 64 << 20), 1 << 30) }

    // MARK: Failing

    private func handle(_ fault: DiskFault) {
        switch fault {
        case _ where fault.isCorruption:
            let damaged = indexIdentity
            close()
            do throws(DiskFault) {
                let aside = try directory.withExclusiveLock { () throws(DiskFault) -> String? in
                    // Another process may have put a good one there already.
                    guard directory.indexIdentity == damaged else { return nil }
                    return try directory.moveIndexAside()
                }
                if let aside { report(.corruptIndex(movedTo: aside)) }
            } catch let fault {
                retryTime = now() + Self.retryInterval
                report(fault.failure)
            }
        case _ where fault.isPassing:
            report(fault.failure)
        case .missingSegment:
            leaveSegment()
        case .obstacle(let path):
            clearAway(path)
        default:
            close()
            retryTime = now() + Self.retryInterval
            report(fault.failure)
        }
    }

    private func leaveSegment() {
        do throws(DiskFault) {
            try index?.transaction { index?.leaveSegment() }
        } catch {
            close()
        }
    }

    /// Moves what is no regular file out of the way of one. It stays where somebody may look for it.
    func clearAway(_ path: String) {
        do throws(DiskFault) {
            // Somebody else may have done so.
            guard directory.isObstructed(path) else { return }
            report(.obstructed(movedTo: try directory.moveAside(path)))
            leaveSegment()
        } catch let fault {
            close()
            retryTime = now() + Self.retryInterval
            report(fault.failure)
        }
    }

    func report(_ failure: WebImageError.DiskCacheFailure) {
        var cause = failure
        // Where one value is damaged, others are too: one report does.
        if case .corruptValue = failure { cause = .corruptValue(path: "") }
        guard !isEnding.withLock({ $0 }), reported.insert(cause).inserted else { return }
        configuration.onFailure(.diskCache(path: directory.path, reason: failure))
    }

    /// Called when a reader met a fault: a damaged index is replaced, unless that has happened since; another fault is
    /// reported.
    func examine(_ failure: DiskReaders.Failure) {
        openIfNeeded()
        if case .obstacle = failure.fault { return handle(failure.fault) }
        guard index != nil, failure.identity == indexIdentity else { return }
        if failure.fault.isCorruption { handle(failure.fault) } else { report(failure.fault.failure) }
    }
}
