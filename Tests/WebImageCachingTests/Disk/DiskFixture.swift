import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// A directory, a clock that the test advances, and the reports of the caches that use them.
final class DiskFixture: Sendable {
    let folder: TemporaryDirectory
    let clock = LockBox<Int64>(1_000_000_000_000_000)
    private let failures = LockBox<[WebImageError]>([])

    let firstFailure = Countdown()

    init() throws { folder = try TemporaryDirectory(inMemory: true) }

    var directory: String { folder.path("cache") }
    var indexPath: String { "\(directory)/index.sqlite" }

    var reported: [WebImageError.DiskCacheFailure] {
        var reasons: [WebImageError.DiskCacheFailure] = []
        for error in failures.withLock({ $0 }) {
            if case .diskCache(_, let reason) = error { reasons.append(reason) }
        }
        return reasons
    }

    func cache(
        at path: String? = nil, sizeLimit: Int64? = 100 << 20, ageLimit: Duration? = .seconds(1_000),
        freeSpaceFloor: Int64 = 0,
        fileThreshold: Int = 20_480, stagedByteLimit: Int = 64 << 20, trimInterval: Duration? = .seconds(60),
        lockPatience: DiskWriter.LockPatience = DiskWriter.LockPatience(),
        configure: (inout DiskCache.Configuration) -> Void = { _ in }
    ) -> DiskCache {
        var configuration = DiskCache.Configuration(directory: URL(filePath: path ?? directory))
        configuration.sizeLimit = sizeLimit
        configuration.ageLimit = ageLimit
        configuration.freeSpaceFloor = freeSpaceFloor
        configuration.fileThreshold = fileThreshold
        configuration.trimInterval = trimInterval
        configuration.onFailure = { error in
            self.failures.withLock { $0.append(error) }
            self.firstFailure.signal()
        }
        configure(&configuration)
        return DiskCache(
            configuration: configuration, now: { self.clock.withLock { $0 } }, stagedByteLimit: stagedByteLimit,
            lockPatience: lockPatience, indexLookInterval: 0)
    }

    /// A configuration with only the directory set.
    var configuration: DiskCache.Configuration { DiskCache.Configuration(directory: URL(filePath: directory)) }

    /// Releases the cache, and waits until its last changes are on disk.
    func end(_ cache: inout DiskCache?) async throws {
        guard let (serialQueue, writer) = cache.map({ ($0.serialQueue, $0.writer) }) else { return }
        weak let ending = cache
        cache = nil
        // Work in progress may hold the cache a moment longer, and a weak reference is nil before the end has left its
        // last work on the queue: that work closes the index.
        let isOver = LockBox(false)
        while !isOver.withLock({ $0 }) {
            let isGone = ending == nil
            let turn = Countdown()
            serialQueue.submit {
                isOver.withLock { $0 = isGone && writer.index == nil }
                turn.signal()
            }
            try await turn.wait()
        }
    }

    func advance(seconds: Double) { clock.withLock { $0 += Int64(seconds * 1_000_000) } }

    /// The paths of the files with a single value.
    var valueFiles: [String] { files.filter { !$0.contains("/segment-") } }

    /// The paths of the segments, which contain many values.
    var segmentFiles: [String] { files.filter { $0.contains("/segment-") } }

    private var files: [String] {
        let folders = DiskDirectory.names(in: directory).filter { $0.hasPrefix(DiskDirectory.valuesPrefix) }
        return folders.flatMap { folder in
            DiskDirectory.names(in: "\(directory)/\(folder)").map { "\(directory)/\(folder)/\($0)" }
        }
    }
}

extension Data {
    init(_ byteCount: Int, of byte: UInt8) { self.init(repeating: byte, count: byteCount) }
}

extension DiskCache {
    /// Stores and waits until it is on disk.
    func storeNow(_ data: Data, for key: String, attributes: Attributes = Attributes()) async {
        await withCheckedContinuation { continuation in
            store(data, for: key, attributes: attributes) { continuation.resume() }
        }
    }
}

/// A simple model of a disk cache: an array in order of use.
struct DiskCacheModel {
    private struct Entry {
        let key: String
        let version: UInt64
        let byteCount: Int
        var accessed: Int64
        /// In seconds; `nil` for one that does not expire.
        let lifetime: Int64?
        /// On the model's clock; each use extends it.
        var expires: Int64
    }

    /// Microseconds, on the clock of the cache.
    var time: Int64 = 1_000_000_000_000_000
    /// The least recently used first.
    private var entries: [Entry] = []
    private let sizeLimit: Int64
    private let ageLimit: Int64

    init(sizeLimit: Int64 = .max, ageLimit: Duration? = nil) {
        self.sizeLimit = sizeLimit
        self.ageLimit = (ageLimit ?? .seconds(Int64.max)).clampedMicroseconds
    }

    /// In order of use, the least recently used first.
    var keys: [String] { entries.map(\.key) }
    var count: Int { entries.count }
    var size: Int64 { entries.reduce(0) { $0 + Int64($1.byteCount) } }

    func contains(_ key: String) -> Bool { entries.contains { $0.key == key && $0.expires > time } }
    func byteCount(of key: String) -> Int? { entries.first { $0.key == key }?.byteCount }

    /// A look-up, which makes the entry the most recently used.
    mutating func use(_ key: String) -> Data? {
        guard let place = entries.firstIndex(where: { $0.key == key && $0.expires > time }) else { return nil }
        var entry = entries.remove(at: place)
        entry.accessed = time
        if let lifetime = entry.lifetime { entry.expires = max(entry.expires, time + lifetime * 1_000_000) }
        entries.append(entry)
        return CheckedValue.make(key: key, version: entry.version, byteCount: entry.byteCount)
    }

    mutating func store(version: UInt64, byteCount: Int, for key: String, lifetime: Int64? = nil) {
        remove(key)
        entries.append(
            Entry(
                key: key, version: version, byteCount: byteCount, accessed: time, lifetime: lifetime,
                expires: lifetime.map { time + $0 * 1_000_000 } ?? .max))
        if size > sizeLimit { enforceLimits() }
    }

    mutating func enforceLimits() {
        entries.removeAll { $0.expires <= time }
        trim(toSize: size > sizeLimit ? sizeLimit / 10 * 9 : .max)
    }

    mutating func remove(_ key: String) { entries.removeAll { $0.key == key } }
    mutating func removeAll() { entries = [] }

    mutating func trim(toSize target: Int64) {
        entries.removeAll { $0.expires <= time }
        let oldest = time - ageLimit
        while let first = entries.first, first.accessed < oldest || size > target { entries.removeFirst() }
    }
}

/// The changes of one key, each with a number, by tasks that run at the same time.
final class History: Sendable {
    private struct State {
        var lastNumber: UInt64 = 0
        /// The last removal's number.
        var removal: UInt64 = 0
    }

    private let key: String
    private let state = LockBox(State())

    init(key: String) { self.key = key }

    var isPresent: Bool { state.withLock { $0.lastNumber > $0.removal } }

    /// Called under the lock, so that numbers are in the order of the cache's changes.
    func store(byteCount: Int, in cache: DiskCache) {
        state.withLock { state in
            state.lastNumber += 1
            let value = CheckedValue.make(key: key, version: state.lastNumber, byteCount: byteCount)
            cache.store(value, for: key)
        }
    }

    func remove(in cache: DiskCache) {
        state.withLock { state in
            state.lastNumber += 1
            state.removal = state.lastNumber
            cache.remove(for: key)
        }
    }

    func expectCurrentValue(in cache: DiskCache) async {
        let before = state.withLock { $0 }
        let data = await cache.data(for: key)
        let after = state.withLock { $0 }
        let wasAbsent = before.lastNumber == before.removal
        if let data {
            let version = CheckedValue.version(of: data, key: key)
            #expect(version != nil, "a value that is not whole, or another key's")
            let first = wasAbsent ? before.lastNumber + 1 : before.lastNumber
            #expect((version ?? .max) >= first, "a value from before")
        } else {
            // Never stored, removed when the look-up began, or removed during it.
            #expect(wasAbsent || after.removal > before.lastNumber, "nothing, although \(key) was never removed")
        }
    }
}

/// A file system of a few MiB in memory, unmounted when it is released. It needs permission to mount.
final class SmallFileSystem {
    let path: String
    private let folder: TemporaryDirectory

    static let isAvailable = (try? SmallFileSystem(mebibytes: 1)) != nil

    init(mebibytes: Int) throws {
        folder = try TemporaryDirectory()
        path = folder.path("disk")
        guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
            throw POSIXError(.EPERM)
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    private var ballastPath: String { path + "/ballast" }

    /// Fills the remaining space to the last block.
    func fill() throws {
        let file = open(ballastPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 0xBA, count: 4_096)
        while write(file, block, block.count) == block.count {}
        guard errno == ENOSPC else { throw POSIXError(.EIO) }
    }

    /// Frees the space that ``fill()`` used.
    func clear() { unlink(ballastPath) }

    /// Makes it read-only, also for root. Waits until no file is open for writing.
    func makeReadOnly(_ isReadOnly: Bool = true) throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        // A released cache may close its last file slightly later, on its own thread.
        let deadline = ContinuousClock.now + .seconds(10)
        while mount("tmpfs", path, "tmpfs", flags, nil) != 0 {
            guard errno == EBUSY, ContinuousClock.now < deadline else { throw POSIXError(.EBUSY) }
            sched_yield()
        }
    }
}

/// The possible contents of a cache after a process that changed it was killed, by the process's output.
///
/// Changes of one key take effect in the order of their versions. Those that are done are on disk; of those
/// that were only begun, the first few may be.
struct ChangeLedger {
    private struct Key {
        /// The newest change known to be on disk.
        var done: UInt64 = 0
        var isStored = false
        var newestStore: UInt64 = 0
        var newestRemoval: UInt64 = 0
    }

    private var keys = [Key](repeating: Key(), count: WriterKeys.count)
    /// The newest change that can remove any or every entry.
    private var newestTrim: UInt64 = 0
    private var newestClear: UInt64 = 0
    private var clearDone: UInt64 = 0

    mutating func note(_ record: ChangeRecord) {
        switch (record.change, record.isDone) {
        case (.store, false): keys[record.key].newestStore = record.version
        case (.remove, false): keys[record.key].newestRemoval = record.version
        case (.store, true), (.remove, true):
            guard record.version > keys[record.key].done else { break }
            keys[record.key].done = record.version
            keys[record.key].isStored = record.change == .store
        case (.trim, false): newestTrim = record.version
        case (.removeAll, false): newestClear = record.version
        case (.trim, true): break
        case (.removeAll, true): clearDone = record.version
        }
    }

    /// Whether the process made changes that can remove any entry.
    var canRemoveAnyEntry: Bool { newestTrim > 0 || newestClear > 0 }

    /// Checks a found value, and expects a found value to stay from then on.
    ///
    /// - Parameter mayBeMissing: whether another process may have removed it.
    mutating func check(_ number: Int, key name: String, found data: Data?, mayBeMissing: Bool = false) {
        let key = keys[number]
        let floor = max(key.done, clearDone)
        if let data {
            guard let version = CheckedValue.version(of: data, key: name) else {
                Issue.record("\(name) is not whole: \(data.count) bytes")
                return
            }
            #expect(version >= floor && version <= key.newestStore, "\(name) is of \(version), not \(floor) or later")
            #expect(version > clearDone && version != key.newestRemoval)
            keys[number].done = version
            keys[number].isStored = true
        } else {
            let mayBeMissing =
                mayBeMissing || !key.isStored || max(key.newestRemoval, newestTrim, newestClear) > key.done
            #expect(mayBeMissing, "\(name) was stored at \(key.done) and is missing")
            keys[number].done = max(key.done, key.newestStore, key.newestRemoval)
            keys[number].isStored = false
        }
    }
}

/// A running process of Tests/CacheCrashWriter, killed when it is released.
final class CacheWriterProcess {
    private var process = pid_t()
    private let input: Int32
    private let output: Int32
    private var isRunning = false
    private var pending: [UInt8] = []

    /// - Parameter arguments: without the program's name.
    init(_ arguments: [String]) throws {
        var inputEnds: [Int32] = [0, 0]
        var outputEnds: [Int32] = [0, 0]
        let areOpen = pipe(&inputEnds) == 0 && pipe(&outputEnds) == 0
        try #require(areOpen)
        for end in inputEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], STDOUT_FILENO)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(inputEnds[0])
            close(outputEnds[1])
        }
        let program = try Self.programPath()
        var strings: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        (input, output) = (inputEnds[1], outputEnds[0])
        let status = posix_spawn(&process, program, &actions, nil, &strings, environ)
        // Without a process, `process` would name the group of the tests.
        isRunning = status == 0
        try #require(isRunning)
    }

    /// One that changes the cache.
    ///
    /// - Parameter count: how many changes it makes; 0 for as many as it can until it is killed.
    static func changing(_ directory: String, owner: String, seed: Int, count: Int) throws -> CacheWriterProcess {
        try CacheWriterProcess(["change", directory, owner, "\(seed)", "\(count)"])
    }

    deinit {
        kill()
        close(input)
        close(output)
    }

    /// Beside the test program.
    private static func programPath() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "CacheCrashWriter").path
        try #require(FileManager.default.isExecutableFile(atPath: program), "\(program) is missing")
        return program
    }

    /// Reads records until `count` of them have reported a change on disk.
    func readRecords(untilDone count: Int, _ receive: (ChangeRecord) -> Void) {
        var remaining = count
        while remaining > 0 {
            guard let record = nextRecord() else {
                Issue.record("the writer ended by itself")
                return
            }
            if record.isDone { remaining -= 1 }
            receive(record)
        }
    }

    /// Reads the rest of its output.
    func readRest(_ receive: (ChangeRecord) -> Void) {
        while let record = nextRecord() { receive(record) }
    }

    private func nextRecord() -> ChangeRecord? {
        while pending.count < ChangeRecord.byteCount {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(output, &buffer, buffer.count)
            guard count > 0 else { return nil }
            pending += buffer[..<count]
        }
        defer { pending.removeFirst(ChangeRecord.byteCount) }
        return ChangeRecord(pending[..<ChangeRecord.byteCount])
    }

    func kill() {
        guard isRunning else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
        isRunning = false
    }

    /// Tells a reader to stop.
    func endInput() {
        // The descriptor stays open until `deinit`, so that no other file gets its number.
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        dup2(null, input)
        close(null)
    }

    /// Reads until the process ends. Returns its exit status, or -1 if a signal ended it.
    func waitForEnd(_ receive: (ChangeRecord) -> Void = { _ in }) -> Int32 {
        readRest(receive)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isRunning = false
        return status & 0x7F == 0 ? status >> 8 : -1
    }
}
