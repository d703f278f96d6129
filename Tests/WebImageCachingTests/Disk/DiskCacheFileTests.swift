import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct DiskCacheSegmentTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private func value(_ number: Int, byteCount: Int = 200_000) -> Data {
        Data(byteCount, of: UInt8(truncatingIfNeeded: number))
    }

    /// Three segments of 167 values, and a fourth that grows.
    private func fill(_ cache: DiskCache, count: Int = 520) async {
        for number in 0..<count {
            cache.store(value(number), for: "\(number)")
            if number % 100 == 0 { await cache.flush() }
        }
        await cache.flush()
    }

    private func cache() -> DiskCache { fixture.cache(sizeLimit: 1 << 30, fileThreshold: 256 << 10) }

    @Test func startsANewSegmentWhenOneIsFull() async {
        let cache = cache()
        await fill(cache)
        #expect(fixture.segmentFiles.count == 4)
        for number in stride(from: 0, to: 520, by: 13) { #expect(await cache.data(for: "\(number)") == value(number)) }
        let segments = await cache.statistics().segments
        #expect(segments.count == 4)
        #expect(segments.byteCount == 520 * 200_000)
        #expect(segments.liveByteCount == 520 * 200_000)
        #expect(fixture.reported.isEmpty)
    }

    @Test func anEmptySegmentFreesItsSpaceImmediately() async {
        let cache = cache()
        await fill(cache)
        for number in 0..<167 { cache.remove(for: "\(number)") }
        await cache.flush()
        #expect(fixture.segmentFiles.count == 3)
        #expect(await cache.data(for: "167") == value(167))
    }

    @Test func aSegmentLessThanHalfLiveIsCompacted() async throws {
        let cache = cache()
        await fill(cache)
        let id = try #require(await cache.entry(for: "5")).id
        for number in 0..<500 where number % 5 != 0 { cache.remove(for: "\(number)") }
        await cache.trim(toSize: .max)
        let statistics = await cache.statistics()
        #expect(statistics.count == 120)
        #expect(statistics.byteCount == 120 * 200_000)
        #expect(statistics.segments.byteCount <= 2 * statistics.byteCount + SegmentFile.capacity)
        #expect(statistics.segments.count == fixture.segmentFiles.count)
        #expect(fixture.segmentFiles.count == 1)
        for number in 0..<520 {
            let isKept = number % 5 == 0 || number >= 500
            #expect(await cache.data(for: "\(number)") == (isKept ? value(number) : nil))
        }
        #expect(try #require(await cache.entry(for: "5")).id == id)
        #expect(fixture.reported.isEmpty)
    }

    @Test func compactsInTheBackground() async {
        let cache = cache()
        await fill(cache)
        for number in 0..<160 { cache.remove(for: "\(number)") }
        // Each call waits for the serial queue, which runs steps of the compaction in between.
        for _ in 0..<1_000 where fixture.segmentFiles.count == 4 { _ = await cache.count }
        #expect(fixture.segmentFiles.count == 3)
        #expect(await cache.data(for: "166") == value(166))
    }

    @Test func aReaderInAnotherCacheFindsMovedValues() async {
        let (cache, other) = (cache(), cache())
        await fill(cache)
        for number in 0..<167 { #expect(await other.data(for: "\(number)") == value(number)) }
        for number in 0..<500 where number % 5 != 0 { cache.remove(for: "\(number)") }
        await cache.trim(toSize: .max)
        for number in stride(from: 0, to: 500, by: 5) { #expect(await other.data(for: "\(number)") == value(number)) }
    }

    @Test func deletedSegmentsAreNotHeldOpen() async throws {
        let directory = DiskDirectory(path: fixture.directory)
        let cache = cache()
        await cache.storeNow(value(1), for: "key")
        let readers = DiskReaders(directory: directory, configuration: fixture.configuration, lookInterval: 0)
        let result = try readers.withReader { reader throws(DiskFault) in try reader.read("key") { _ in false } }
        guard case .found? = result else {
            Issue.record("not found")
            return
        }
        func openSegments() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasPrefix(fixture.directory + "/values-") ?? false
            }
        }
        #expect(try openSegments() == 1)
        readers.closeDeletedSegments()
        #expect(try openSegments() == 1)
        await cache.removeAll()
        await cache.flush()
        readers.closeDeletedSegments()
        #expect(try openSegments() == 0)
    }

    // MARK: Damage

    @Test(arguments: ["missing", "short"]) func aMissingOrTruncatedSegmentIsAMissAndItsEntryIsRemoved(kind: String)
        async throws
    {
        await cache().storeNow(value(1), for: "key")
        let segment = try #require(fixture.segmentFiles.first)
        if kind == "missing" { unlink(segment) } else { truncate(segment, 199_999) }
        let cache = cache()
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.count == 0)
        await cache.storeNow(value(2), for: "key")
        #expect(await cache.data(for: "key") == value(2))
        #expect(fixture.reported.isEmpty)
    }

    /// For example, no descriptors are left or the permission is missing: the bytes may still be there.
    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func anUnreadableSegmentIsReportedOnceAndItsEntriesStay() async throws {
        let cache = cache()
        await cache.storeNow(value(1), for: "key")
        let segment = try #require(fixture.segmentFiles.first)
        chmod(segment, 0)
        for _ in 0..<2 { #expect(await cache.data(for: "key") == nil) }
        #expect(await cache.count == 1)
        #expect(fixture.reported == [.system(errno: EACCES)])
        chmod(segment, 0o600)
        #expect(await cache.data(for: "key") == value(1))
    }

    private func damage(_ path: String) {
        let file = open(path, O_WRONLY)
        pwrite(file, "damage", 6, 100)
        close(file)
    }

    @Test(arguments: [200_000, 300_000]) func checksumsDetectChangedBytes(byteCount: Int) async throws {
        let cache = fixture.cache(fileThreshold: 256 << 10) { $0.usesChecksums = true }
        for number in 0..<2 { await cache.storeNow(value(number, byteCount: byteCount), for: "\(number)") }
        let files = (fixture.segmentFiles + fixture.valueFiles).sorted()
        for file in files { damage(file) }
        #expect(await cache.data(for: "0") == nil)
        #expect(await cache.data(for: "1") == (files.count == 1 ? value(1) : nil))
        #expect(await cache.count == (files.count == 1 ? 1 : 0))
        #expect(fixture.reported.count == 1)
        guard case .corruptValue(let path)? = fixture.reported.first else {
            Issue.record("\(fixture.reported)")
            return
        }
        #expect(files.contains(path))
    }

    /// If checksums are off, values written since the machine started are not compared.
    @Test func checksumsAreComparedForEntriesFromBeforeTheMachineStarted() async throws {
        func cache() -> DiskCache { fixture.cache(fileThreshold: 256 << 10) { $0.usesChecksums = false } }
        await cache().storeNow(value(1), for: "key")
        damage(try #require(fixture.segmentFiles.first))
        #expect(await cache().data(for: "key") != nil)
        do {
            let index = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
            try index.execute("UPDATE cache SET boot = 'another'")
        }
        let cache = cache()
        await cache.flush()
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.count == 0)
        #expect(fixture.reported.count == 1)
        await cache.storeNow(value(2), for: "new")
        #expect(await cache.data(for: "new") == value(2))
    }

    @Test func aCompactionSkipsDamagedValuesAndReportsThem() async throws {
        let cache = cache()
        await fill(cache, count: 170)
        let first = try #require(fixture.segmentFiles.min())
        damage(first)
        for number in 0..<167 where number % 5 != 0 { cache.remove(for: "\(number)") }
        await cache.trim(toSize: .max)
        #expect(await !cache.contains("0"))
        #expect(await cache.data(for: "5") == value(5))
        #expect(await cache.count == 33 + 3)
        #expect(fixture.reported == [.corruptValue(path: first)])
    }

    @Test func bytesLeftByATerminatedWriterAreSkipped() async throws {
        let cache = cache()
        await cache.storeNow(value(1), for: "first")
        let segment = try #require(fixture.segmentFiles.first)
        let file = open(segment, O_WRONLY | O_APPEND)
        #expect(Glibc.write(file, [UInt8](repeating: 0xEE, count: 70_000), 70_000) == 70_000)
        close(file)
        await cache.storeNow(value(2), for: "second")
        #expect(await cache.data(for: "first") == value(1))
        #expect(await cache.data(for: "second") == value(2))
        #expect(fixture.segmentFiles == [segment])
    }

    /// Keys of version 2 were the same for some requests that differ in version 3.
    @Test(arguments: [1, 2])
    func anIndexOfAnOlderVersionIsDroppedSilently(version: Int) async throws {
        await cache().storeNow(value(1), for: "key")
        do {
            let index = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
            try index.execute("PRAGMA user_version = \(version)")
        }
        let cache = cache()
        await cache.flush()
        #expect(await cache.count == 0)
        #expect(await cache.data(for: "key") == nil)
        await cache.storeNow(value(2), for: "new")
        #expect(await cache.data(for: "new") == value(2))
        #expect(fixture.reported.isEmpty)
        await cache.trim(toSize: .max)
        #expect(fixture.segmentFiles.count == 1)
    }

    @Test func removesThePermissionsOfOtherUsersFromOlderCaches() async throws {
        await cache().storeNow(value(1), for: "key")
        let names = ["", "/index.sqlite"]
        for name in names { chmod(fixture.directory + name, 0o777) }
        await cache().flush()
        for name in names {
            var status = stat()
            #expect(stat(fixture.directory + name, &status) == 0)
            #expect(status.st_mode & 0o077 == 0)
        }
    }
}

/// Something other than a file in place of a cache's file, and directories of other users.
@Suite(.timeLimit(.minutes(1))) struct DiskCacheObstacleTests {
    private let fixture: DiskFixture
    private let secret: String
    init() throws {
        fixture = try DiskFixture()
        secret = try fixture.folder.write(Data(30_000, of: 9), to: "secret").path
    }

    enum Obstacle: String, CaseIterable {
        case pipe, link, directory, danglingLink
    }

    private func put(_ obstacle: Obstacle, at path: String) throws {
        unlink(path)
        let status =
            switch obstacle {
            case .pipe: mkfifo(path, 0o600)
            case .link: symlink(secret, path)
            case .danglingLink: symlink(fixture.folder.path("victim"), path)
            case .directory: mkdir(path, 0o700)
            }
        try #require(status == 0)
    }

    private func expectNoHarm() throws {
        #expect(try Data(contentsOf: URL(filePath: secret)) == Data(30_000, of: 9))
        #expect(access(fixture.folder.path("victim"), F_OK) != 0)
    }

    /// Expects that the obstacle was moved aside once and still exists.
    private func expectMovedAside(times count: Int = 1) {
        let paths = (1...count).map { "\(fixture.directory)/aside-\($0)" }
        #expect(fixture.reported == paths.map { .obstructed(movedTo: $0) })
        var status = stat()
        for path in paths { #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG) }
    }

    @Test func aFileInPlaceOfTheDirectoryIsReportedAndLeftAlone() async throws {
        try fixture.folder.write(Data(10, of: 9), to: "cache")
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == nil)
        #expect(fixture.reported == [.system(errno: ENOTDIR)])
        #expect(try Data(contentsOf: URL(filePath: fixture.directory)) == Data(10, of: 9))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root")) func aFileOfAnotherUserInPlaceOfTheDirectoryIsReportedAsOne()
        async throws
    {
        let path = try fixture.folder.write(Data(10, of: 9), to: "cache").path
        try #require(chown(path, 65_534, 65_534) == 0)
        let cache = fixture.cache()
        #expect(await cache.data(for: "key") == nil)
        // Behind the report.
        await cache.removeExpired()
        #expect(fixture.reported == [.system(errno: ENOTDIR)])
    }

    /// 10,000 bytes are stored in a segment, 30,000 in a separate file.
    @Test(arguments: Obstacle.allCases, [10_000, 30_000])
    func anObstacleInPlaceOfAFileIsAMissAndMovedAside(obstacle: Obstacle, byteCount: Int) async throws {
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(byteCount, of: 1), for: "key")
        try await fixture.end(&cache)
        let path = try #require((fixture.valueFiles + fixture.segmentFiles).first)
        try put(obstacle, at: path)
        let next = fixture.cache()
        #expect(await next.data(for: "key") == nil)
        await next.flush()
        #expect(await next.count == 0)
        for _ in 0..<3 {
            await next.storeNow(Data(byteCount, of: 2), for: "key")
            #expect(await next.data(for: "key") == Data(byteCount, of: 2))
        }
        // A cache that has just been opened has no old file open.
        let last = fixture.cache()
        #expect(await last.data(for: "key") == Data(byteCount, of: 2))
        await last.trim(toSize: .max)
        expectMovedAside()
        try expectNoHarm()
    }

    /// The obstacle is in place of the next value's file.
    @Test(arguments: Obstacle.allCases, [10_000, 30_000])
    func aStoreUsesAnotherFileAndMovesTheObstacleAside(obstacle: Obstacle, byteCount: Int) async throws {
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(10, of: 1), for: "first")
        try await fixture.end(&cache)
        let segment = try #require(fixture.segmentFiles.first)
        let folder = URL(filePath: segment).deletingLastPathComponent().path
        try put(obstacle, at: byteCount > 20_480 ? "\(folder)/\(DiskIndex.fileName(2))" : segment)
        let next = fixture.cache()
        await next.storeNow(Data(byteCount, of: 2), for: "key")
        #expect(await next.data(for: "key") == Data(byteCount, of: 2))
        expectMovedAside()
        try expectNoHarm()
    }

    @Test(
        arguments: Obstacle.allCases,
        ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal", "lock"])
    func anObstacleInTheCacheDirectoryIsMovedAside(obstacle: Obstacle, name: String) async throws {
        let path = "\(fixture.directory)/\(name)"
        try #require(mkdir(fixture.directory, 0o700) == 0)
        try put(obstacle, at: path)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        expectMovedAside()
        try expectNoHarm()
        // While the cache is open.
        guard name == "index.sqlite" else { return }
        try put(obstacle, at: path)
        #expect(await cache.data(for: "key") == nil)
        await cache.storeNow(Data(10, of: 2), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 2))
        #expect(await fixture.cache().data(for: "key") == Data(10, of: 2))
        expectMovedAside(times: 2)
        try expectNoHarm()
    }

    /// SQLite looks there for changes to roll back, until it knows that the index has a write-ahead log.
    @Test(arguments: Obstacle.allCases)
    func anObstacleInPlaceOfTheJournalIsMovedAside(obstacle: Obstacle) async throws {
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(10, of: 1), for: "key")
        try await fixture.end(&cache)
        try put(obstacle, at: fixture.indexPath + "-journal")
        let next = fixture.cache()
        await next.storeNow(Data(10, of: 2), for: "other")
        #expect(await next.data(for: "key") == Data(10, of: 1))
        #expect(await next.data(for: "other") == Data(10, of: 2))
        expectMovedAside()
        try expectNoHarm()
    }

    /// A sweep deletes unknown files, but never in another directory.
    @Test func aLinkToAnotherDirectoryIsNotSwept() async throws {
        let victim = try fixture.folder.write(Data(10, of: 1), to: "other/file").path
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(30_000, of: 1), for: "key")
        let folder = URL(filePath: try #require(fixture.valueFiles.first)).deletingLastPathComponent().path
        try #require(symlink(fixture.folder.path("other"), "\(fixture.directory)/values-old") == 0)
        await cache?.trim(toSize: .max)
        #expect(access(victim, F_OK) == 0)
        try await fixture.end(&cache)
        // In place of its own folder.
        try #require(rename(folder, folder + "-moved") == 0)
        try #require(symlink(fixture.folder.path("other"), folder) == 0)
        let next = fixture.cache()
        await next.storeNow(Data(30_000, of: 2), for: "key")
        #expect(await next.data(for: "key") == Data(30_000, of: 2))
        await next.trim(toSize: .max)
        #expect(access(victim, F_OK) == 0)
        expectMovedAside()
    }

    // MARK: Directories of others

    @Test(.enabled(if: geteuid() == 0, "gives files to another user"), arguments: [false, true])
    func aDirectoryOfAnotherUserIsUsedOnlyIfAllowed(isLink: Bool) async throws {
        try #require(mkdir(fixture.directory, 0o777) == 0)
        try put(.danglingLink, at: "\(fixture.directory)/lock")
        var path = fixture.directory
        if isLink {
            // To a directory of this user's.
            path = fixture.folder.path("link")
            try #require(symlink(fixture.directory, path) == 0)
            unlink("\(fixture.directory)/lock")
        }
        try #require(lchown(path, 12_345, 12_345) == 0)
        let cache = fixture.cache(at: path)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == nil)
        #expect(fixture.reported == [.foreignDirectory(owner: 12_345)])
        #expect(DiskDirectory.names(in: fixture.directory) == (isLink ? [] : ["lock"]))
        try expectNoHarm()

        let allowed = fixture.cache(at: path) { $0.allowsForeignDirectory = true }
        await allowed.storeNow(Data(10, of: 1), for: "key")
        #expect(await allowed.data(for: "key") == Data(10, of: 1))
        try expectNoHarm()
        // Existing entries are not read either.
        #expect(await fixture.cache(at: path).data(for: "key") == nil)
    }

    /// For example, if `~/.cache` is on another disk.
    @Test func aLinkToADirectoryOfTheSameUserIsFollowed() async throws {
        try #require(mkdir(fixture.folder.path("elsewhere"), 0o700) == 0)
        try #require(symlink(fixture.folder.path("elsewhere"), fixture.directory) == 0)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        #expect(fixture.reported.isEmpty)
    }
}
