internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Keeps the first bytes of bodies whose transfer was interrupted, on the disk, for a ``ResumingLoader`` to continue.
///
/// Several processes may share a directory, and any of them may be killed at any time: what it has written by then is
/// there for the next. Nothing fails: where the directory can't be used, nothing is kept.
///
/// ```
///  <directory>/
///      <SHA-256 of the request>.partial    a PartialFile, locked (flock) by the load that has it
/// ```
public final class PartialBodyStore: Sendable {
    /// Writes bytes at a place of a file as `pwrite` does.
    package typealias Write = @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int

    /// What it was made with.
    public let configuration: Configuration
    let directory: PartialDirectory
    private let write: Write
    private let state = Lock(State())

    private struct State {
        var holders: [String: Holder] = [:]
        /// What waits to be written, for all bodies together.
        var unwrittenByteCount = 0
        /// What was written since the last look at the limits.
        var uncheckedByteCount: Int64 = .max
    }

    /// The load that has a body, and who waits for it to let go.
    private struct Holder {
        var isEnding = false
        var waiters: [@Sendable () -> Void] = []
    }

    /// How far a time may be ahead of the clock, in seconds.
    private static let clockTolerance = 60.0
    /// Looks are short, and one thread for them keeps loads in their order; writes and reads of bodies have others.
    static let lookQueue = WorkQueue(label: "webimage-resume", threadCount: 1)
    static let queue = WorkQueue(label: "webimage-partial", threadCount: 2)
    /// More than this waits for the disk only where it is slower than the network: then the bytes are had sooner from there.
    private static let unwrittenByteLimit = 16 << 20

    /// Makes a store; the directory is made with the first body.
    public convenience init(configuration: Configuration) {
        self.init(configuration: configuration) { pwrite($0, $1.baseAddress, $1.count, off_t($2)) }
    }

    /// - Parameter write: how files are written; tests make it fail.
    package init(configuration: Configuration, write: @escaping Write) {
        self.configuration = configuration
        self.write = write
        directory = PartialDirectory(path: configuration.directory.path(percentEncoded: false).withoutTrailingSlash)
    }

    /// Deletes all bodies but those of loads under way. Blocks while it deletes: not for Swift's cooperative threads.
    public func removeAll() {
        directory.withDescriptor { descriptor in
            for entry in directory.entries(in: descriptor) {
                _ = PartialDirectory.removeUnused(entry.name, in: descriptor)
            }
        }
    }

    /// How many bytes the bodies take on the disk. Blocks while it looks: not for Swift's cooperative threads.
    public var byteCount: Int64 {
        directory.withDescriptor { directory.entries(in: $0).reduce(0) { $0 + $1.byteCount } } ?? 0
    }

    // MARK: One load for each body

    enum Claim {
        /// The caller has the body until ``release(_:)``.
        case held
        /// Another load has it: this one goes without.
        case busy
        /// Another load is about to let go of it; the caller is told when.
        case waiting
    }

    /// Asks for the body of that key, within this process; ``PartialDirectory/openLocked(_:in:creates:)`` asks the others.
    ///
    /// - Parameter whenFree: called once, on any thread, if the answer is to wait.
    func claim(_ key: String, whenFree: @escaping @Sendable () -> Void) -> Claim {
        state.withLock { state in
            guard let holder = state.holders[key] else {
                state.holders[key] = Holder()
                return .held
            }
            guard holder.isEnding else { return .busy }
            state.holders[key]?.waiters.append(whenFree)
            return .waiting
        }
    }

    /// Says that the holder lets go of a body as soon as it is on the disk.
    func willRelease(_ key: String) { state.withLock { $0.holders[key]?.isEnding = true } }

    func release(_ key: String) {
        let waiters = state.withLock { $0.holders.removeValue(forKey: key)?.waiters ?? [] }
        for waiter in waiters { waiter() }
    }

    // MARK: Bounds

    /// Counts bytes that are to be written; `false`, and nothing is counted, where too many wait already.
    func admit(_ byteCount: Int) -> Bool {
        state.withLock { state in
            guard state.unwrittenByteCount + byteCount <= Self.unwrittenByteLimit else { return false }
            state.unwrittenByteCount += byteCount
            return true
        }
    }

    /// Says that so many of them wait no more.
    func settle(_ byteCount: Int) { state.withLock { $0.unwrittenByteCount -= byteCount } }

    /// Whether so many bytes more may be written; on a disk thread. Now and then it looks at the directory, and deletes what
    /// has to go.
    func hasRoom(for byteCount: Int) -> Bool {
        let isTimeToLook = state.withLock { state in
            let (sum, overflows) = state.uncheckedByteCount.addingReportingOverflow(Int64(byteCount))
            let isTime = overflows || sum >= max(64 << 10, configuration.byteLimit / 16)
            state.uncheckedByteCount = isTime ? 0 : sum
            return isTime
        }
        guard isTimeToLook, !trim(adding: Int64(byteCount)) else { return true }
        // The next asks again.
        state.withLock { $0.uncheckedByteCount = .max }
        return false
    }

    /// Has the next write look at the limits.
    func looksAtLimitsSoon() { state.withLock { $0.uncheckedByteCount = .max } }

    /// Deletes what is too old or too much; whether there is room for so many bytes then.
    private func trim(adding byteCount: Int64) -> Bool {
        let hasRoom = directory.withDescriptor { descriptor in
            let entries = directory.entries(in: descriptor)
            var total = entries.reduce(0) { $0 + $1.byteCount }
            var count = entries.count
            for entry in entries where entry.secondsUnused < -Self.clockTolerance {
                // From before the clock went back: that counts as now.
                utimensat(descriptor, entry.name, nil, AT_SYMLINK_NOFOLLOW)
            }
            for entry in entries {
                let isOld = entry.secondsUnused > configuration.ageLimit
                guard isOld || total + byteCount > configuration.byteLimit || count > configuration.countLimit else {
                    break
                }
                guard PartialDirectory.removeUnused(entry.name, in: descriptor) else { continue }
                total -= entry.byteCount
                count -= 1
            }
            var status = statvfs()
            guard fstatvfs(descriptor, &status) == 0 else { return false }
            let (free, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            let hasSpace = overflows || free >= UInt64(max(0, configuration.freeSpaceFloor + byteCount))
            return hasSpace && total + byteCount <= configuration.byteLimit && count <= configuration.countLimit
        }
        return hasRoom ?? false
    }

    // MARK: Files

    /// Whether there may be something of a body. On a disk thread.
    func mayHave(_ key: String) -> Bool {
        directory.withDescriptor { descriptor in
            faccessat(descriptor, PartialDirectory.name(key: key), F_OK, 0) == 0
        } ?? false
    }

    /// What there is of a body, with its file locked; `nil` where there is nothing. On a disk thread.
    func open(_ key: String) -> (file: PartialFile, contents: PartialFile.Contents)? {
        let name = PartialDirectory.name(key: key)
        return directory.withDescriptor { descriptor in
            guard let opened = PartialDirectory.openLocked(name, in: descriptor) else { return nil }
            let file = PartialFile(name: name, descriptor: opened, write: write)
            var status = stat()
            let isYoung = fstat(opened, &status) == 0 && status.secondsSinceChange <= configuration.ageLimit
            guard isYoung, let contents = file.read(), contents.head.key == key, contents.byteCount > 0 else {
                file.remove(from: directory)
                return nil
            }
            return (file, contents)
        }
    }

    /// A new file; `nil` where there can be none, or another process has it. On a disk thread.
    func makeFile(_ key: String) -> PartialFile? {
        let name = PartialDirectory.name(key: key)
        return directory.withDescriptor(creates: true) { descriptor in
            PartialDirectory.openLocked(name, in: descriptor, creates: true).map {
                PartialFile(name: name, descriptor: $0, write: write)
            }
        }
    }
}

extension stat {
    fileprivate var secondsSinceChange: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec - st_mtim.tv_sec)
    }
}

extension String {
    /// A slash at the end would follow a symbolic link.
    fileprivate var withoutTrailingSlash: String { count > 1 && hasSuffix("/") ? String(dropLast()) : self }
}
