package import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Stores the first bytes of interrupted transfers on disk, for a ``ResumingLoader`` to resume.
///
/// Several processes may share a directory, and any of them may be killed at any time. The bytes written by then are
/// available to the next load. There are no errors: if the directory cannot be used, nothing is stored.
///
/// ```
///  <directory>/
///      <SHA-256 of the request>.partial    a PartialFile, locked (flock) by the load that has it
/// ```
package final class PartialBodyStore: Sendable {
    /// Writes bytes at an offset of a file, like `pwrite`.
    package typealias Write = @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int

    package let configuration: Configuration
    let directory: PartialDirectory
    private let write: Write
    private let state = Lock(State())

    private struct State {
        var holders: [PartialBodyKey: Holder] = [:]
        /// The number of bytes that wait to be written, for all bodies together.
        var unwrittenByteCount = 0
        /// The number of bytes written since the limits were last checked.
        var uncheckedByteCount: Int64 = .max
    }

    /// The load that holds a body, and the loads that wait for its release.
    private struct Holder {
        var isEnding = false
        var waiters: [@Sendable () -> Void] = []
    }

    /// How far a file's time may be in the future, in seconds.
    private static let clockTolerance = 60.0
    /// Lookups are short, and one thread for them preserves the order of loads. Bodies are written and read on other
    /// threads.
    static let lookQueue = WorkQueue(label: "webimage-resume", threadCount: 1)
    static let queue = WorkQueue(label: "webimage-partial", threadCount: 2)
    /// More bytes than this wait only if the disk is slower than the network. Loading them again is faster then.
    private static let unwrittenByteLimit = 16 << 20

    /// Creates a store. It keeps at most 256 bodies, for 7 days, and stores nothing while less than 256 MiB are free.
    ///
    /// - Parameters:
    ///   - directory: created with the first body, with mode 0700. It must belong to this user; other files in it are
    ///     not changed.
    ///   - byteLimit: the maximum size of all bodies and of a single one, in bytes; 64 MiB by default. The least
    ///     recently used are deleted first.
    package convenience init(directory: URL, byteLimit: Int64 = 64 << 20) {
        var configuration = Configuration(directory: directory)
        configuration.byteLimit = byteLimit
        self.init(configuration: configuration)
    }

    /// - Parameter write: writes to files; tests make it fail.
    package init(
        configuration: Configuration,
        write: @escaping Write = { pwrite($0, $1.baseAddress, $1.count, off_t($2)) }
    ) {
        self.configuration = configuration
        self.write = write
        directory = PartialDirectory(path: configuration.directory.path(percentEncoded: false).withoutTrailingSlash)
    }

    /// Deletes all bodies except those of loads in progress. Blocks while it deletes, so do not call it on Swift's
    /// cooperative threads.
    package func removeAll() {
        directory.withDescriptor { descriptor in
            for entry in directory.entries(in: descriptor) {
                _ = PartialDirectory.removeUnused(entry.name, in: descriptor)
            }
        }
    }

    /// The size of all bodies on disk, in bytes. Blocks while it reads the directory, so do not call it on Swift's
    /// cooperative threads.
    package var byteCount: Int64 {
        directory.withDescriptor { directory.entries(in: $0).reduce(0) { $0 + $1.byteCount } } ?? 0
    }

    // MARK: One load for each body

    enum Claim {
        /// The caller holds the body until ``release(_:)``.
        case held
        /// Another load holds the body: this one continues without it.
        case busy
        /// Another load is about to release the body; the caller is notified.
        case waiting
    }

    /// Claims the body of a key within this process. ``PartialDirectory/openLocked(_:in:creates:)`` claims it among
    /// processes.
    ///
    /// - Parameter whenFree: called once, on any thread, if the result is to wait.
    func claim(_ key: PartialBodyKey, whenFree: @escaping @Sendable () -> Void) -> Claim {
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

    /// Announces that the holder releases a body as soon as it is on disk.
    func willRelease(_ key: PartialBodyKey) { state.withLock { $0.holders[key]?.isEnding = true } }

    func release(_ key: PartialBodyKey) {
        let waiters = state.withLock { $0.holders.removeValue(forKey: key)?.waiters ?? [] }
        for waiter in waiters { waiter() }
    }

    // MARK: Bounds

    /// Counts bytes that are to be written; returns `false`, without counting, if too many wait already.
    func admit(_ byteCount: Int) -> Bool {
        state.withLock { state in
            guard state.unwrittenByteCount + byteCount <= Self.unwrittenByteLimit else { return false }
            state.unwrittenByteCount += byteCount
            return true
        }
    }

    /// Subtracts bytes that no longer wait.
    func settle(_ byteCount: Int) { state.withLock { $0.unwrittenByteCount -= byteCount } }

    /// Whether this number of bytes may be written. Occasionally checks the directory and deletes bodies above the
    /// limits. Called on a disk thread.
    func hasSpace(for byteCount: Int) -> Bool {
        let isTimeToLook = state.withLock { state in
            let (sum, overflows) = state.uncheckedByteCount.addingReportingOverflow(Int64(byteCount))
            let isTime = overflows || sum >= max(64 << 10, configuration.byteLimit / 16)
            state.uncheckedByteCount = isTime ? 0 : sum
            return isTime
        }
        guard isTimeToLook, !trim(adding: Int64(byteCount)) else { return true }
        // The next write checks again.
        state.withLock { $0.uncheckedByteCount = .max }
        return false
    }

    /// Makes the next write check the limits.
    func checkLimitsSoon() { state.withLock { $0.uncheckedByteCount = .max } }

    /// Deletes bodies that are too old or above the limits; returns whether there is then space for the additional
    /// bytes.
    private func trim(adding byteCount: Int64) -> Bool {
        let hasSpace = directory.withDescriptor { descriptor in
            let entries = directory.entries(in: descriptor)
            var total = entries.reduce(0) { $0 + $1.byteCount }
            var count = entries.count
            for entry in entries where entry.secondsUnused < -Self.clockTolerance {
                // The time is from before the clock was set back, and counts as now.
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
            let hasSpace = RegularFile.hasSpace(for: configuration.freeSpaceFloor + byteCount, on: descriptor) ?? false
            return hasSpace && total + byteCount <= configuration.byteLimit && count <= configuration.countLimit
        }
        return hasSpace ?? false
    }

    // MARK: Files

    /// Whether a partial body may exist. Called on a disk thread.
    func mayHave(_ key: PartialBodyKey) -> Bool {
        directory.withDescriptor { descriptor in
            faccessat(descriptor, PartialDirectory.name(key: key.digest), F_OK, 0) == 0
        } ?? false
    }

    /// Opens, locks and reads a partial body; `nil` if there is none. Called on a disk thread.
    func open(_ key: PartialBodyKey) -> (file: PartialFile, contents: PartialFile.Contents)? {
        let name = PartialDirectory.name(key: key.digest)
        return directory.withDescriptor { descriptor in
            guard let opened = PartialDirectory.openLocked(name, in: descriptor) else { return nil }
            let file = PartialFile(name: name, descriptor: opened, write: write)
            var status = stat()
            let isYoung = fstat(opened, &status) == 0 && status.secondsSinceChange <= configuration.ageLimit
            guard isYoung, let contents = file.read(), contents.head.key == key.digest, contents.byteCount > 0 else {
                file.remove(from: directory)
                return nil
            }
            return (file, contents)
        }
    }

    /// Creates a file; `nil` if that fails or another process holds it. Called on a disk thread.
    func makeFile(_ key: PartialBodyKey) -> PartialFile? {
        let name = PartialDirectory.name(key: key.digest)
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
    /// A trailing slash would make the system follow a symbolic link.
    fileprivate var withoutTrailingSlash: String { count > 1 && hasSuffix("/") ? String(dropLast()) : self }
}

extension PartialBodyStore {
    /// The location and limits of partial bodies.
    package struct Configuration: Sendable {
        package var directory: URL
        package var byteLimit: Int64 = 64 << 20
        package var countLimit = 256
        /// How long a body is kept after it was last written or resumed, in seconds; 7 days by default.
        package var ageLimit: Double = 7 * 86_400
        /// The free space to leave on the file system, in bytes; 256 MiB by default. Below it nothing more is stored.
        package var freeSpaceFloor: Int64 = 256 << 20

        package init(directory: URL) { self.directory = directory }
    }
}
