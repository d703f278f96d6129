import Foundation
import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// Files for programs that take a path.
@Suite(.timeLimit(.minutes(3))) struct CachedFileStoreTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private func name(_ source: String = "a", _ content: String = "1") -> CachedFileStore.Name {
        CachedFileStore.Name(source: source, content: content, format: .png)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func status(of path: String) -> stat {
        var status = stat()
        lstat(path, &status)
        return status
    }

    private var names: [String] { DiskDirectory.names(in: fixture.directory + "/files") }

    /// Writes a file, and releases it.
    private func store(_ data: Data, _ name: CachedFileStore.Name, in cache: DiskCache) throws -> String {
        try cache.files.store(data, as: name).path
    }

    @Test func aFileHasTheBytesAndAnExtension() throws {
        let file = try fixture.cache().files.store(Data([1, 2, 3]), as: name())
        #expect(try Data(contentsOf: file.url) == Data([1, 2, 3]))
        #expect(file.path.hasPrefix(fixture.directory + "/files/") && file.path.hasSuffix(".png"))
        #expect(file.byteCount == 3 && file.format == .png)
        #expect(status(of: file.path).st_mode & 0o777 == 0o600)
        #expect(names == [file.url.lastPathComponent])
    }

    @Test func theSameContentIsTheSameFile() throws {
        let cache = fixture.cache()
        let first = try cache.files.store(Data([1]), as: name())
        // Of another process.
        let second = try fixture.cache().files.store(Data([1]), as: name())
        #expect(first.path == second.path && names.count == 1)
        #expect(cache.files.find(name())?.path == first.path)
        #expect(cache.files.find(name("a", "2")) == nil)
        #expect(try store(Data([1]), name("b"), in: cache) != first.path)
        #expect(try store(Data([1]), name("a", "2"), in: cache) != first.path)
    }

    @Test(arguments: [0, 2]) func aFileWithOtherBytesIsWrittenAgain(byteCount: Int) throws {
        let cache = fixture.cache()
        let path = try store(Data([1, 2, 3]), name(), in: cache)
        try Data(byteCount, of: 9).write(to: URL(filePath: path))
        #expect((cache.files.find(name()) == nil) == (byteCount == 0))
        #expect(try store(Data([1, 2, 3]), name(), in: cache) == path)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
        #expect(names.count == 1)
    }

    @Test func filesStayWhileTheyAreHeldOrUsed() throws {
        let cache = fixture.cache { $0.cachedFileAgeLimit = .seconds(100) }
        let held = try cache.files.store(Data([1]), as: name("held"))
        let used = try store(Data([1]), name("used"), in: cache)
        let unused = try store(Data([1]), name("unused"), in: cache)
        fixture.advance(seconds: 99)
        cache.files.sweep()
        #expect(exists(unused))
        #expect(cache.files.find(name("used")) != nil)
        fixture.advance(seconds: 2)
        // Another process sees what this one holds.
        fixture.cache { $0.cachedFileAgeLimit = .seconds(100) }.files.sweep()
        #expect(exists(held.path) && exists(used) && !exists(unused))
        withExtendedLifetime(held) {}
    }

    @Test func theLeastRecentlyUsedFilesLeaveFirst() throws {
        let cache = fixture.cache { $0.cachedFileSizeLimit = 250 }
        var paths: [String] = []
        for source in ["a", "b"] {
            fixture.advance(seconds: 1)
            paths.append(try store(Data(100, of: 1), name(source), in: cache))
        }
        fixture.advance(seconds: 1)
        _ = cache.files.find(name("a"))
        fixture.advance(seconds: 1)
        let last = try store(Data(100, of: 1), name("c"), in: cache)
        #expect(exists(paths[0]) && !exists(paths[1]) && exists(last))
    }

    @Test func aFileLongerThanTheLimitStaysWhileItIsHeld() throws {
        let cache = fixture.cache { $0.cachedFileSizeLimit = 10 }
        let file = try cache.files.store(Data(100, of: 1), as: name())
        cache.files.sweep()
        #expect(exists(file.path))
    }

    @Test func removingEverythingRemovesFilesOnceTheyAreReleased() async throws {
        let cache = fixture.cache()
        var held: CachedFile? = try cache.files.store(Data([1]), as: name("held"))
        let path = try #require(held).path
        let other = try store(Data([1]), name(), in: cache)
        await cache.removeAll()
        #expect(exists(path) && !exists(other))
        held = nil
        #expect(!exists(path))
    }

    @Test func aFileThatIsUsedAfterAClearStays() async throws {
        let cache = fixture.cache()
        var held: CachedFile? = try cache.files.store(Data([1]), as: name())
        let path = try #require(held).path
        await ImageCache(disk: cache).clear(.disk)
        let again = cache.files.find(name())
        held = nil
        #expect(again?.path == path && exists(path))
    }

    @Test func removingAnImageRemovesItsFiles() async throws {
        let cache = fixture.cache()
        let paths = try [("a", "1"), ("a", "2"), ("b", "1")].map { try store(Data([1]), name($0.0, $0.1), in: cache) }
        await ImageCache(disk: cache).remove(for: ImageCacheKey(source: "a", variant: "small"))
        #expect(exists(paths[0]))
        await ImageCache(disk: cache).remove(for: "a")
        #expect(!exists(paths[0]) && !exists(paths[1]) && exists(paths[2]))
    }

    @Test func trimmingAndATimerSweep() async throws {
        let cache = fixture.cache(trimInterval: .milliseconds(10)) { $0.cachedFileAgeLimit = .seconds(100) }
        let first = try store(Data([1]), name("a"), in: cache)
        fixture.advance(seconds: 101)
        await cache.trim()
        #expect(!exists(first))
        let second = try store(Data([1]), name("b"), in: cache)
        fixture.advance(seconds: 3_700)
        await cache.storeNow(Data([1]), for: "key")
        while exists(second), !Task.isCancelled { await Task.yield() }
    }

    @Test func whatAKilledProcessWroteIsRemoved() throws {
        fixture.clock.withLock { $0 = DiskCache.microsecondsSince1970() }
        let cache = fixture.cache()
        _ = try store(Data([1]), name(), in: cache)
        try fixture.folder.write(Data([1]), to: "cache/files/.unfinished")
        cache.files.sweep()
        #expect(names.count == 2)
        fixture.advance(seconds: 120)
        cache.files.sweep()
        #expect(!names.contains(".unfinished"))
    }

    @Test func aFolderThatCannotBeMadeIsAnError() throws {
        try fixture.folder.write(Data([1]), to: "cache")
        #expect(throws: WebImageError.self) { try store(Data([1]), name(), in: fixture.cache()) }
    }

    @Test func cachesWithoutADiskUseATemporaryFolder() async throws {
        let cache = ImageCache(disk: nil)
        #expect(CachedFileStore.of(cache) === CachedFileStore.temporary)
        let disk = ImageCache(disk: fixture.cache())
        #expect(CachedFileStore.of(ImageCache.group(of: [disk, cache])) === disk.disk?.files)
        var file: CachedFile? = try CachedFileStore.temporary.store(Data([1]), as: name(fixture.directory))
        let path = try #require(file).path
        #expect(exists(path))
        await cache.clear(.disk)
        #expect(exists(path))
        file = nil
        #expect(!exists(path))
    }

    @Test func manyThreadsMayWriteTheSameFile() async throws {
        let cache = fixture.cache()
        let data = Data(100_000, of: 7)
        let paths = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { [name] in
                    let file = try await cache.files.file(data, as: name("a", "1"))
                    cache.files.removeAll()
                    #expect(try Data(contentsOf: file.url) == data)
                    return file.path
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(paths.count == 1)
    }

    // MARK: Encoding

    private func file(
        _ image: Image, as format: ImageFormat? = nil, quality: Double = 0.8, in cache: DiskCache
    ) throws(WebImageError) -> CachedFile {
        try cache.files.file(
            of: image, source: "a", format: format, quality: quality, codecs: .builtIn, cancellation: Cancellation())
    }

    @Test func anImageIsEncodedOnce() throws {
        let cache = fixture.cache()
        let path = try file(solidImage(), as: .jpeg, in: cache).path
        let before = status(of: path).st_ino
        #expect(try file(solidImage(), as: .jpeg, in: cache).path == path)
        #expect(status(of: path).st_ino == before && names.count == 1)
        #expect(try file(solidImage(), as: .jpeg, quality: 0.5, in: cache).path != path)
        #expect(try file(solidImage(6, 8), as: .jpeg, in: cache).path != path)
    }

    @Test func anImageGetsAFormatThatHoldsIt() throws {
        let cache = fixture.cache()
        #expect(try file(solidImage(), in: cache).format == .jpeg)
        #expect(try file(solidImage(alpha: 100), in: cache).format == .png)
        var image = try solidImage()
        image.format = .webp
        #expect(try file(image, in: cache).format == .webp)
        image.format = .svg
        #expect(try file(image, in: cache).format == .jpeg)
        #expect(throws: WebImageError.self) { try file(image, as: .svg, in: cache) }
    }

    @Test func anAnimationStaysOne() throws {
        let cache = fixture.cache()
        let image = try CodecRegistry.builtIn.decode(try animatedGIF())
        let file = try file(image, in: cache)
        #expect(file.format == .gif)
        #expect(try CodecRegistry.builtIn.decode(Data(contentsOf: file.url)).frameCount == image.frameCount)
        #expect(try self.file(image, in: cache).path == file.path)
    }
}
