import CWebImageSQLite
import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct DiskCacheFailureTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Calls every function, none of which may fail or find anything.
    private func expectUnusable(_ cache: DiskCache) async {
        for number in 0..<3 {
            await cache.storeNow(Data(10, of: 1), for: "small \(number)")
            await cache.storeNow(Data(50_000, of: 1), for: "large")
            #expect(await cache.data(for: "small \(number)") == nil)
            #expect(await cache.data(for: "large") == nil)
        }
        cache.remove(for: "large")
        await cache.trim(toSize: 0)
        await cache.removeAll()
        await cache.flush()
        #expect(await cache.count == 0)
        #expect(await cache.totalSize == 0)
        #expect(await cache.entries().isEmpty)
    }

    @Test func aDirectoryThatCannotBeCreatedIsReportedOnce() async throws {
        try fixture.folder.write(Data(), to: "file")
        await expectUnusable(fixture.cache(at: fixture.folder.path("file/cache")))
        #expect(fixture.reported == [.system(errno: ENOTDIR)])
    }

    @Test func aDirectoryThatCannotHoldFilesIsReportedOnce() async {
        await expectUnusable(fixture.cache(at: "/proc/self/cache"))
        #expect(fixture.reported.count == 1)
    }

    @Test func aLookUpReportsAnUnusableDirectory() async throws {
        try fixture.folder.write(Data(), to: "file")
        let cache = fixture.cache(at: fixture.folder.path("file/cache"))
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.count == 0)
        #expect(fixture.reported == [.system(errno: ENOTDIR)])
    }

    @Test func recoversWhenTheDirectoryBecomesUsable() async throws {
        let file = try fixture.folder.write(Data(), to: "file")
        let cache = fixture.cache(at: file.appending(path: "cache").path)
        await cache.storeNow(Data(10, of: 1), for: "key")
        unlink(file.path)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == nil)
        fixture.advance(seconds: 61)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        #expect(fixture.reported.count == 1)
    }

    @Test func recreatesADeletedDirectory() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(50_000, of: 1), for: "old")
        try FileManager.default.removeItem(atPath: fixture.directory)
        await cache.storeNow(Data(50_000, of: 2), for: "new")
        #expect(await cache.data(for: "old") == nil)
        #expect(await cache.data(for: "new") == Data(50_000, of: 2))
        #expect(fixture.reported.isEmpty)
    }

    /// A file system that is first mounted read-only, as in a container, and then writable.
    @Test(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs"))
    func readsAReadOnlyDirectory() async throws {
        let disk = try SmallFileSystem(mebibytes: 4)
        let path = disk.path + "/100% of #1?"
        var filler: DiskCache? = fixture.cache(at: path)
        for byteCount in [10, 50_000] { await filler?.storeNow(Data(byteCount, of: 1), for: "\(byteCount)") }
        try await fixture.end(&filler)
        try disk.makeReadOnly()

        let cache = fixture.cache(at: path)
        for _ in 0..<2 {
            for byteCount in [10, 50_000] {
                #expect(await cache.data(for: "\(byteCount)") == Data(byteCount, of: 1))
                await cache.storeNow(Data(5, of: 2), for: "new")
            }
            #expect(await cache.item(for: "10")?.entry.byteCount == 10)
            #expect(await cache.data(for: "new") == nil)
        }
        await cache.flush()
        #expect(fixture.reported == [.system(errno: EROFS)])

        try disk.makeReadOnly(false)
        fixture.advance(seconds: 61)
        await fixture.cache(at: path).storeNow(Data(20, of: 3), for: "10")
        #expect(await cache.data(for: "10") == Data(20, of: 3))
        #expect(fixture.reported.count == 1)
    }

    /// Another user's cache, open or not, and readable or not.
    @Test(
        .enabled(if: geteuid() == 0, "needs the right to become another user"), arguments: [false, true],
        [false, true])
    func readsAnotherUsersCacheOnlyIfAllowed(isOpen: Bool, isReadable: Bool) async throws {
        let key = WriterKeys.name(0, owner: "")
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(CheckedValue.make(key: key, version: 1, byteCount: 1_000), for: key)
        if !isOpen { try await fixture.end(&cache) }
        chmod(fixture.folder.path, 0o755)
        for name in ["", "/lock", "/index.sqlite", "/index.sqlite-wal", "/index.sqlite-shm"] {
            chmod(fixture.directory + name, isReadable ? 0o755 : 0o700)
        }
        for file in fixture.segmentFiles {
            chmod(file, isReadable ? 0o644 : 0o600)
            chmod(URL(filePath: file).deletingLastPathComponent().path, isReadable ? 0o755 : 0o700)
        }
        let stranger = try CacheWriterProcess(["look", fixture.directory])
        #expect(stranger.waitForEnd() == (isReadable ? 0 : 6))
        #expect(fixture.reported.isEmpty)
        withExtendedLifetime(cache) {}
    }

    /// Another process may delete the directory and create it again.
    @Test(arguments: [10, 50_000])
    func doesNotReadADeletedIndex(byteCount: Int) async throws {
        let (cache, other) = (fixture.cache(), fixture.cache())
        await cache.storeNow(Data(byteCount, of: 1), for: "old")
        #expect(await cache.data(for: "old") == Data(byteCount, of: 1))
        try FileManager.default.removeItem(atPath: fixture.directory)
        #expect(await cache.data(for: "old") == nil)
        #expect(await !cache.contains("old"))
        await other.storeNow(Data(byteCount, of: 2), for: "new")
        #expect(await cache.data(for: "old") == nil)
        #expect(await cache.data(for: "new") == Data(byteCount, of: 2))
        #expect(await cache.count == 1)
        #expect(fixture.reported.isEmpty)
    }

    @Test func endsSilentlyWithoutRecreatingADeletedDirectory() async throws {
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(50_000, of: 1), for: "key")
        await cache?.flush()
        // Only the access noted by a look-up still waits to be written.
        #expect(await cache?.data(for: "key") != nil)
        try FileManager.default.removeItem(atPath: fixture.directory)
        try await fixture.end(&cache)
        #expect(!FileManager.default.fileExists(atPath: fixture.directory))
        #expect(fixture.reported.isEmpty)
    }

    @Test func writesTheLastAccessesWhenItEnds() async throws {
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(10, of: 1), for: "first")
        await cache?.storeNow(Data(10, of: 1), for: "second")
        #expect(await cache?.data(for: "first") != nil)
        try await fixture.end(&cache)
        let next = fixture.cache()
        await next.trim(toSize: 10)
        #expect(await next.contains("first"))
    }

    @Test func entryNumbersOfADeletedIndexDoNotAffectTheNewOne() async throws {
        let directory = DiskDirectory(path: fixture.directory)
        let readers = DiskReaders(directory: directory, configuration: fixture.configuration, lookInterval: 0)
        func number(of key: String) throws -> DiskReader.EntryNumber? {
            try readers.withReader { reader throws(DiskFault) in try reader.record(for: key)?.number } ?? nil
        }
        await fixture.cache().storeNow(Data(10, of: 1), for: "old")
        let old = try #require(try number(of: "old"))
        try FileManager.default.removeItem(atPath: fixture.directory)

        fixture.advance(seconds: 1)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 2), for: "new")
        let new = try #require(try number(of: "new"))
        #expect(old.id == new.id && old.generation != new.generation)
        let writer = DiskWriter(
            configuration: cache.configuration, limits: cache.limits, directory: directory, readers: readers,
            now: { [fixture] in fixture.clock.withLock { $0 } })
        writer.removeDamaged(old)
        #expect(writer.totals()?.count == 1)
        let stored = try #require(writer.entries(after: 0, limit: 1).first)
        var staging = DiskStaging(byteLimit: 0)
        fixture.advance(seconds: 1)
        _ = staging.noteAccess(to: old, expires: nil, now: fixture.clock.withLock { $0 })
        _ = writer.write(staging.nextBatch())
        #expect(writer.entries(after: 0, limit: 1) == [stored])
        _ = staging.noteAccess(to: new, expires: nil, now: fixture.clock.withLock { $0 })
        _ = writer.write(staging.nextBatch())
        #expect(writer.entries(after: 0, limit: 1) != [stored])
        writer.removeDamaged(new)
        #expect(writer.totals()?.count == 0)
    }

    @Test(arguments: [0, 100, 50_000])
    func anInvalidIndexIsMovedAside(byteCount: Int) async throws {
        try fixture.folder.write(Data(byteCount, of: 0x5A), to: "cache/index.sqlite")
        let cache = fixture.cache()
        #expect(await cache.data(for: "key") == nil)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        if byteCount == 0 {
            #expect(fixture.reported.isEmpty)
        } else {
            let moved = "\(fixture.indexPath).corrupt-1"
            #expect(fixture.reported == [.corruptIndex(movedTo: moved)])
            #expect(try Data(contentsOf: URL(filePath: moved)).count == byteCount)
        }
    }

    @Test(arguments: [
        "CREATE TABLE entry (name TEXT)", "PRAGMA user_version = \(DiskIndex.version)",
        "CREATE TABLE cache (id); PRAGMA user_version = \(DiskIndex.version)",
    ])
    func anIndexWithOtherTablesIsMovedAside(statements: String) async throws {
        mkdir(fixture.directory, 0o700)
        do {
            let other = try SQLiteConnection(path: fixture.indexPath, creates: true, busyTimeoutMilliseconds: 1_000)
            try other.execute(statements)
        }
        let cache = fixture.cache()
        #expect(await cache.data(for: "key") == nil)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        #expect(fixture.reported == [.corruptIndex(movedTo: "\(fixture.indexPath).corrupt-1")])
    }

    @Test func damageInsideAnIndexIsMovedAsideWhenFound() async throws {
        do {
            let cache = fixture.cache()
            for number in 0..<300 { cache.store(Data(15_000, of: 1), for: "\(number)") }
            await cache.trim(toSize: .max)
        }
        // All pages but the first, which holds the schema.
        let file = open(fixture.indexPath, O_WRONLY)
        let size = lseek(file, 0, SEEK_END)
        let noise = [UInt8](repeating: 0xA5, count: Int(size) - 4_096)
        #expect(pwrite(file, noise, noise.count, 4_096) == noise.count)
        close(file)

        let cache = fixture.cache()
        for number in 0..<300 { #expect(await cache.data(for: "\(number)") == nil) }
        await cache.storeNow(Data(30_000, of: 2), for: "new")
        await cache.storeNow(Data(30_000, of: 2), for: "newer")
        #expect(await cache.data(for: "newer") == Data(30_000, of: 2))
        #expect(fixture.reported == [.corruptIndex(movedTo: "\(fixture.indexPath).corrupt-1")])
    }

    @Test func leavesTheIndexOfANewerVersionAlone() async throws {
        do {
            let cache = fixture.cache()
            await cache.storeNow(Data(10, of: 1), for: "key")
        }
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("PRAGMA user_version = 1000")
        await expectUnusable(fixture.cache())
        #expect(try other.integer("SELECT count(*) FROM entry") == 1)
        #expect(
            fixture.reported
                == [.index(code: Int(SQLITE_SCHEMA), message: "made by a newer version of this library")])
    }

    @Test(arguments: [0, 100, 29_999, 30_001])
    func aValueFileOfTheWrongLengthIsAMissAndIsRemoved(byteCount: Int) async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(30_000, of: 1), for: "key")
        let file = try #require(fixture.valueFiles.first)
        try Data(byteCount, of: 1).write(to: URL(filePath: file))
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.count == 0)
        #expect(fixture.valueFiles.isEmpty)
        #expect(fixture.reported.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func aChangeWaitsWhileAnotherProcessLocksTheIndex(isClear: Bool) async throws {
        let patience = DiskWriter.LockPatience(timeoutMilliseconds: 5, attemptCount: 10_000)
        let cache = fixture.cache(lockPatience: patience)
        await cache.storeNow(Data(10, of: 1), for: "changed")
        await cache.storeNow(Data(10, of: 1), for: "removed")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        async let clear: Void? = isClear ? cache.removeAll() : nil
        if !isClear {
            cache.store(Data(10, of: 2), for: "changed")
            cache.remove(for: "removed")
        }
        // The first attempt has failed.
        try await fixture.firstFailure.wait()
        #expect(await cache.data(for: "changed") == (isClear ? nil : Data(10, of: 2)))
        #expect(await cache.data(for: "removed") == nil)
        try other.execute("COMMIT")
        await clear
        await cache.flush()
        #expect(await fixture.cache().data(for: "changed") == (isClear ? nil : Data(10, of: 2)))
        #expect(await fixture.cache().data(for: "removed") == nil)
        #expect(fixture.reported == [.index(code: Int(SQLITE_BUSY), message: "database is locked")])
    }

    @Test func aChangeFailsIfAnotherProcessKeepsTheIndexLocked() async throws {
        let cache = fixture.cache(lockPatience: DiskWriter.LockPatience(timeoutMilliseconds: 5, attemptCount: 3))
        await cache.storeNow(Data(10, of: 1), for: "first")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        await cache.storeNow(Data(10, of: 2), for: "second")
        #expect(await cache.data(for: "first") == Data(10, of: 1))
        #expect(await cache.data(for: "second") == nil)
        try other.execute("COMMIT")
        await cache.storeNow(Data(10, of: 3), for: "third")
        #expect(await cache.data(for: "third") == Data(10, of: 3))
        #expect(fixture.reported.count == 1)
    }

    /// Stores 200 values in files, in a batch whose last value fails the whole; entry 201 is the last with a file.
    private func failABatch(in cache: DiskCache) async throws {
        await cache.storeNow(Data(10, of: 0), for: "first")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute(
            """
            CREATE TRIGGER refusal BEFORE INSERT ON entry WHEN NEW.key = 'refused'
            BEGIN SELECT RAISE(ABORT, 'refused'); END;
            BEGIN IMMEDIATE
            """)
        for number in 0..<200 { cache.store(Data(20_481, of: 1), for: "\(number)") }
        cache.store(Data(), for: "refused")
        try other.execute("COMMIT")
    }

    @Test func aFailedBatchLeavesNoFile() async throws {
        let cache = fixture.cache()
        try await failABatch(in: cache)
        // The first one writes; the second one ends the pause after the failure.
        await cache.flush()
        await cache.flush()
        let entries = await cache.entries()
        #expect(!entries.contains { $0.key == "199" })
        #expect(fixture.valueFiles.count == entries.count - 1)
    }

    /// The rival uses the failed batch's last number as soon as the rollback frees it. Where it comes too late to meet
    /// the deletion there is nothing to be seen; it cannot come too early.
    @Test(arguments: 1...5)
    func aFailedBatchKeepsAFileWrittenByAnotherProcessSince(round: Int) async throws {
        // The rival's row has no checksum.
        let cache = fixture.cache { $0.usesChecksums = false }
        try await failABatch(in: cache)
        let rival = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 0)
        let folder = try #require(DiskDirectory.names(in: fixture.directory).first { $0.hasPrefix("values-") })
        let path = "\(fixture.directory)/\(folder)/\(DiskIndex.fileName(201))"
        let now = fixture.clock.withLock { $0 }
        let start = ContinuousClock.now
        while access(path, F_OK) != 0, ContinuousClock.now < start + .seconds(1) {}
        while (try? rival.execute("BEGIN IMMEDIATE")) == nil, ContinuousClock.now < start + .seconds(30) {}
        try rival.execute(
            """
            INSERT INTO entry VALUES
                (201, \("rival".diskHash), 5, 0, 0, 0, \(now), \(now), \(now), NULL, NULL, 0, 'rival');
            UPDATE cache SET next_id = 202, count = count + 1, size = size + 5
            """)
        try ValueFile.write(Data(5, of: 2), to: path)
        try rival.execute("COMMIT")
        await cache.flush()
        #expect(await cache.data(for: "rival") == Data(5, of: 2))
    }

    @Test func aMissingValueFileIsAMissAndItsEntryIsRemoved() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(30_000, of: 1), for: "key")
        unlink(try #require(fixture.valueFiles.first))
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.count == 0)
    }

    @Test(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs"))
    func aFullDiskIsReportedOnceAndStoredValuesStayValid() async throws {
        let disk = try SmallFileSystem(mebibytes: 4)
        let cache = fixture.cache(at: disk.path + "/cache")
        for number in 0..<120 {
            let byteCount = number % 2 == 0 ? 15_000 : 90_000
            await cache.storeNow(Data(byteCount, of: UInt8(number)), for: "\(number)")
        }
        #expect(fixture.reported == [.system(errno: ENOSPC)])
        let kept = await cache.entries()
        #expect(!kept.isEmpty && kept.count < 120)
        for entry in kept {
            let number = try #require(UInt8(entry.key))
            #expect(await cache.data(for: entry.key) == Data(entry.byteCount, of: number))
        }
        await cache.removeAll()
        await cache.storeNow(Data(90_000, of: 1), for: "again")
        #expect(await cache.data(for: "again") == Data(90_000, of: 1))
        #expect(fixture.reported.count == 1)
    }
}

/// A cache on a real file system that is full.
@Suite(.timeLimit(.minutes(3)), .enabled(if: SmallFileSystem.isAvailable, "needs root, to mount a tmpfs"))
struct DiskCacheFullDiskTests {
    private let fixture: DiskFixture
    private let disk: SmallFileSystem

    init() throws {
        fixture = try DiskFixture()
        disk = try SmallFileSystem(mebibytes: 8)
    }

    private func makeCache() -> DiskCache { fixture.cache(at: disk.path + "/cache") }

    private func version(of key: String, in cache: DiskCache) async -> UInt64? {
        guard let data = await cache.data(for: key) else { return nil }
        let version = CheckedValue.version(of: data, key: key)
        #expect(version != nil, "\(key) is not whole")
        return version
    }

    private func store(_ key: String, version: UInt64, byteCount: Int = 30_000, in cache: DiskCache) async {
        await cache.storeNow(CheckedValue.make(key: key, version: version, byteCount: byteCount), for: key)
    }

    @Test func storedValuesAreFoundWhileTheDiskIsFull() async throws {
        let cache = makeCache()
        let keys = (0..<40).map { "key \($0)" }
        for (number, key) in keys.enumerated() {
            await store(key, version: 1, byteCount: number % 2 == 0 ? 1_000 : 60_000, in: cache)
        }
        await cache.flush()
        try disk.fill()
        for key in keys { #expect(await version(of: key, in: cache) == 1) }
        // Also by a cache that opens its index now.
        let next = makeCache()
        for key in keys { #expect(await version(of: key, in: next) == 1) }
        await cache.flush()
        await next.flush()
        #expect(fixture.reported.filter { $0 != .system(errno: ENOSPC) } == [])
    }

    /// Values that do not fit are not stored, and the values they replace are removed.
    @Test func aFullDiskLeavesNoOutdatedValues() async throws {
        let cache = makeCache()
        let keys = (0..<20).map { "key \($0)" }
        for key in keys { await store(key, version: 1, in: cache) }
        await cache.flush()
        try disk.fill()
        for key in keys.prefix(10) { await store(key, version: 2, in: cache) }
        for number in 0..<10 { await store("new \(number)", version: 2, in: cache) }
        for cache in [cache, makeCache()] {
            for key in keys.prefix(10) { #expect([2, nil].contains(await version(of: key, in: cache))) }
            for key in keys.suffix(10) { #expect([1, nil].contains(await version(of: key, in: cache))) }
            for number in 0..<10 { #expect([2, nil].contains(await version(of: "new \(number)", in: cache))) }
        }
        #expect(fixture.reported == [.system(errno: ENOSPC)])
    }

    @Test func storesAgainOnceThereIsSpace() async throws {
        let cache = makeCache()
        await store("first", version: 1, in: cache)
        try disk.fill()
        for number in 0..<20 { await store("lost \(number)", version: 1, byteCount: 100_000, in: cache) }
        disk.clear()
        for number in 0..<20 { await store("kept \(number)", version: 2, byteCount: 100_000, in: cache) }
        await cache.flush()
        for cache in [cache, makeCache()] {
            for number in 0..<20 { #expect(await version(of: "kept \(number)", in: cache) == 2) }
        }
        let entries = await cache.entries()
        #expect(await cache.totalSize == entries.reduce(0) { $0 + Int64($1.byteCount) })
        #expect(fixture.reported == [.system(errno: ENOSPC)])
    }

    @Test func removesFromAFullDisk() async throws {
        let cache = makeCache()
        for number in 0..<20 { await store("key \(number)", version: 1, byteCount: 100_000, in: cache) }
        await cache.flush()
        try disk.fill()
        for number in 0..<10 { cache.remove(for: "key \(number)") }
        await cache.flush()
        for number in 0..<10 { #expect(await version(of: "key \(number)", in: cache) == nil) }
        await cache.removeAll()
        #expect(await cache.count == 0)
        #expect(await makeCache().count == 0)
        // Their space is free again.
        await store("new", version: 2, byteCount: 100_000, in: cache)
        #expect(await version(of: "new", in: cache) == 2)
    }

    /// SQLite shares a file with other processes, which cannot be created then.
    @Test func aCacheThatIsOpenedOnAFullDiskFindsItsValues() async throws {
        var cache: DiskCache? = makeCache()
        for number in 0..<20 {
            await cache?.storeNow(Data(number % 2 == 0 ? 1_000 : 60_000, of: UInt8(number)), for: "\(number)")
        }
        try await fixture.end(&cache)
        try disk.fill()
        let next = makeCache()
        for number in 0..<20 {
            #expect(await next.data(for: "\(number)") == Data(number % 2 == 0 ? 1_000 : 60_000, of: UInt8(number)))
        }
        await next.flush()
        #expect(fixture.reported.filter { $0 != .system(errno: ENOSPC) } == [])
        disk.clear()
        await next.storeNow(Data(60_000, of: 99), for: "3")
        #expect(await next.data(for: "3") == Data(60_000, of: 99))
    }

    /// The old index keeps its space while another process reads it.
    @Test func storesAfterAFullDiskIsClearedWhileTheOldIndexIsInUse() async throws {
        let cache = makeCache()
        for number in 0..<20 { await store("key \(number)", version: 1, byteCount: 100_000, in: cache) }
        await cache.flush()
        let reader = try SQLiteConnection(
            path: disk.path + "/cache/index.sqlite", creates: false, busyTimeoutMilliseconds: 0)
        try reader.execute("BEGIN; SELECT count(*) FROM entry")
        try disk.fill()
        await cache.removeAll()
        await store("new", version: 2, byteCount: 100_000, in: cache)
        #expect(await version(of: "new", in: cache) == 2)
        try reader.execute("COMMIT")
    }

    /// Makes small changes until the disk is full, repeatedly. Each must be complete or absent.
    @Test(.timeLimit(.minutes(1)))
    func everyEntryIsCompleteOrAbsentAfterManyFullDisks() async throws {
        var random = SplitMix64(seed: 21)
        for round in 1...8 as ClosedRange<UInt64> {
            let cache = makeCache()
            for _ in 0..<80 {
                let key = "key \(Int.random(in: 0..<200, using: &random))"
                let byteCount = Int.random(in: 24...200_000, using: &random)
                cache.store(CheckedValue.make(key: key, version: round, byteCount: byteCount), for: key)
                if Int.random(in: 0..<10, using: &random) == 0 { await cache.flush() }
            }
            await cache.flush()
            for entry in await cache.entries() { #expect(await version(of: entry.key, in: cache) != nil) }
            // In each round: fill the rest, empty a half, continue.
            if round % 2 == 0 { try disk.fill() } else { disk.clear() }
            if round % 3 == 0 { await cache.trim(toSize: 2 << 20) }
        }
        disk.clear()
        let cache = makeCache()
        await cache.trim(toSize: 1 << 20)
        await store("last", version: 9, in: cache)
        #expect(await version(of: "last", in: cache) == 9)
        let entries = await cache.entries()
        #expect(await cache.count == entries.count)
        #expect(fixture.reported.filter { $0 != .system(errno: ENOSPC) } == [])
    }
}
