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

    let configuration: Configuration
    let directory: PartialDirectory
    private let write: Write
    private let state = Lock(State())

    private struct State {
        /// The number of steps that wait or run.
        var stepCount = 0
        /// The number of bytes that wait to be written, for all bodies together.
        var unwrittenByteCount = 0
        /// How many more bytes may be written before the limits are checked.
        var uncheckedByteCount: Int64 = 0
    }

    /// How far a file's time may be in the future, in seconds.
    private static let clockTolerance = 60.0
    /// One thread, so that everything happens in order: a load that begins after another one of the same body was
    /// cancelled finds its bytes.
    static let queue = WorkQueue(label: "webimage-partial", threadCount: 1)
    /// More bytes than this wait only if the disk is slower than the network. Loading them again is faster then.
    private static let unwrittenByteLimit = 16 << 20

    /// Creates a store.
    ///
    /// - Parameter write: writes to files; tests make it fail.
    package init(
        configuration: Configuration,
        write: @escaping Write = { pwrite($0, $1.baseAddress, $1.count, off_t($2)) }
    ) {
        self.configuration = configuration
        self.write = write
        let path = configuration.directory.path(percentEncoded: false)
        // A trailing slash would make the system follow a symbolic link.
        directory = PartialDirectory(path: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path)
    }

    /// Deletes all bodies except those of loads in progress. Blocks while it deletes, so do not call it on Swift's
    /// cooperative threads.
    func removeAll() {
        directory.withDescriptor { descriptor in
            for entry in directory.entries(in: descriptor) { PartialDirectory.removeUnused(entry.name, in: descriptor) }
        }
    }

    /// The same, after the bytes of loads that have ended are on disk.
    package func removeAll(completion: @escaping @Sendable () -> Void) {
        submit { [self] in
            removeAll()
            completion()
        }
    }

    // MARK: Steps

    /// Runs a change of the disk after those submitted before, and before lookups that begin later.
    func submit(_ step: @escaping @Sendable () -> Void) {
        state.withLock { $0.stepCount += 1 }
        Self.queue.submit(priority: .veryHigh) { [self] in
            step()
            state.withLock { $0.stepCount -= 1 }
        }
    }

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

    // MARK: Limits

    /// Makes the next write check the limits.
    private func checkLimitsSoon() { state.withLock { $0.uncheckedByteCount = 0 } }

    /// Whether this number of bytes may be written. Occasionally checks the directory and deletes bodies above the
    /// limits. Called on the disk thread.
    func hasSpace(for byteCount: Int) -> Bool {
        let isDue = state.withLock { state in
            state.uncheckedByteCount -= Int64(byteCount)
            guard state.uncheckedByteCount < 0 else { return false }
            state.uncheckedByteCount = max(64 << 10, configuration.byteLimit / 16)
            return true
        }
        guard isDue, directory.withDescriptor({ trim($0, adding: Int64(byteCount)) }) != true else { return true }
        checkLimitsSoon()
        return false
    }

    /// Deletes bodies that are too old or above the limits; returns whether there is then space for the additional
    /// bytes.
    private func trim(_ descriptor: Int32, adding byteCount: Int64) -> Bool {
        let entries = directory.entries(in: descriptor)
        var total = entries.reduce(byteCount) { $0 + $1.byteCount }
        var count = entries.count
        for entry in entries where entry.secondsUnused < -Self.clockTolerance {
            // The time is from before the clock was set back, and counts as now.
            utimensat(descriptor, entry.name, nil, AT_SYMLINK_NOFOLLOW)
        }
        for entry in entries {
            let isOld = entry.secondsUnused > configuration.ageLimit
            guard isOld || total > configuration.byteLimit || count > configuration.countLimit else { break }
            guard PartialDirectory.removeUnused(entry.name, in: descriptor) else { continue }
            total -= entry.byteCount
            count -= 1
        }
        return total <= configuration.byteLimit && count <= configuration.countLimit
            && RegularFile.hasSpace(for: configuration.freeSpaceFloor + byteCount, on: descriptor) ?? false
    }

    // MARK: Files

    /// Whether a partial body may exist, or is about to.
    func mayHave(_ key: PartialBodyKey) -> Bool {
        state.withLock { $0.stepCount > 0 }
            || directory.withDescriptor { faccessat($0, key.fileName, F_OK, 0) == 0 } ?? false
    }

    /// Opens, locks and reads a partial body; `nil` if there is none. Called on the disk thread.
    func open(_ key: PartialBodyKey) -> (file: PartialFile, beginning: PartialBeginning)? {
        openFile(key) { file, status in
            guard status.secondsUnused <= configuration.ageLimit, let beginning = file.read(),
                beginning.head.key == key.digest
            else { return nil }
            return (file, beginning)
        }
    }

    /// Creates the file of a body; `nil` if that fails or another load holds it. Called on the disk thread.
    func makeFile(_ key: PartialBodyKey, _ head: PartialHead) -> PartialFile? {
        checkLimitsSoon()
        return openFile(key, creates: true) { file, _ in file.begin(head) ? file : nil }
    }

    /// Opens and locks a file, which is deleted if `body` cannot use it.
    private func openFile<Result>(
        _ key: PartialBodyKey, creates: Bool = false, _ body: (PartialFile, stat) -> Result?
    ) -> Result? {
        let name = key.fileName
        return directory.withDescriptor(creates: creates) { descriptor in
            guard let opened = PartialDirectory.openLocked(name, in: descriptor, creates: creates) else { return nil }
            let file = PartialFile(name: name, descriptor: opened, write: write)
            var status = stat()
            if fstat(opened, &status) == 0, let result = body(file, status) { return result }
            file.remove(from: directory)
            return nil
        }
    }
}

extension PartialBodyStore {
    /// The location and limits of partial bodies.
    package struct Configuration: Sendable {
        /// Created with the first body, with mode 0700. It must belong to this user; other files in it are not changed.
        var directory: URL
        /// The maximum size of all bodies and of a single one, in bytes. The least recently used are deleted first.
        var byteLimit: Int64
        var countLimit = 256
        /// How long a body is kept after it was last written or resumed, in seconds; 7 days by default.
        var ageLimit: Double = 7 * 86_400
        /// The free space to leave on the file system, in bytes; 256 MiB by default. Below it nothing more is stored.
        package var freeSpaceFloor: Int64 = 256 << 20

        package init(directory: URL, byteLimit: Int64 = 64 << 20) {
            (self.directory, self.byteLimit) = (directory, byteLimit)
        }
    }
}
