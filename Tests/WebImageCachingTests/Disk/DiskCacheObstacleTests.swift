import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

/// Something else than a file where a cache has its files, and directories of other users.
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

    /// That something was moved aside, once, and is still there.
    private func expectMovedAside(times count: Int = 1) {
        let paths = (1...count).map { "\(fixture.directory)/aside-\($0)" }
        #expect(fixture.reported == paths.map { .obstructed(movedTo: $0) })
        var status = stat()
        for path in paths { #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG) }
    }

    /// 10,000 bytes lie in a segment, 30,000 in a file of their own.
    @Test(arguments: Obstacle.allCases, [10_000, 30_000])
    func aValuesFileIsMissing(obstacle: Obstacle, byteCount: Int) async throws {
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
        // In a cache that has just been opened, nobody has an old file open.
        let last = fixture.cache()
        #expect(await last.data(for: "key") == Data(byteCount, of: 2))
        await last.trim(toSize: .max)
        expectMovedAside()
        try expectNoHarm()
    }

    /// The place of the value that is stored next.
    @Test(arguments: Obstacle.allCases, [10_000, 30_000])
    func aStoreGoesOnElsewhere(obstacle: Obstacle, byteCount: Int) async throws {
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
    func theCacheWorksAgain(obstacle: Obstacle, name: String) async throws {
        let path = "\(fixture.directory)/\(name)"
        try #require(mkdir(fixture.directory, 0o700) == 0)
        try put(obstacle, at: path)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        expectMovedAside()
        try expectNoHarm()
        // While it is open.
        guard name == "index.sqlite" else { return }
        try put(obstacle, at: path)
        #expect(await cache.data(for: "key") == nil)
        await cache.storeNow(Data(10, of: 2), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 2))
        #expect(await fixture.cache().data(for: "key") == Data(10, of: 2))
        expectMovedAside(times: 2)
        try expectNoHarm()
    }

    /// SQLite looks there for changes to take back, as long as it does not know that the index has a log.
    @Test(arguments: Obstacle.allCases)
    func theJournalOfAnIndexIsMovedAside(obstacle: Obstacle) async throws {
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

    /// A sweep deletes what it does not know, but never in another directory.
    @Test func aLinkToAnotherDirectoryIsNotSwept() async throws {
        let victim = try fixture.folder.write(Data(10, of: 1), to: "other/file").path
        var cache: DiskCache? = fixture.cache()
        await cache?.storeNow(Data(30_000, of: 1), for: "key")
        let folder = URL(filePath: try #require(fixture.valueFiles.first)).deletingLastPathComponent().path
        try #require(symlink(fixture.folder.path("other"), "\(fixture.directory)/values-old") == 0)
        await cache?.trim(toSize: .max)
        #expect(access(victim, F_OK) == 0)
        try await fixture.end(&cache)
        // In place of the folder of its own.
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
        // What is there now is not read either.
        #expect(await fixture.cache(at: path).data(for: "key") == nil)
    }

    /// As where `~/.cache` is on another disk.
    @Test func aLinkToADirectoryOfThisUsersIsFollowed() async throws {
        try #require(mkdir(fixture.folder.path("elsewhere"), 0o700) == 0)
        try #require(symlink(fixture.folder.path("elsewhere"), fixture.directory) == 0)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        #expect(fixture.reported.isEmpty)
    }
}
