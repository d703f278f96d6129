import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct BundledImagesTests {
    private let fixture: ImageCacheFixture
    private let folder: TemporaryDirectory
    private let key: ImageCacheKey

    init() throws {
        fixture = try ImageCacheFixture()
        folder = try TemporaryDirectory()
        key = fixture.key
    }

    private func cache() -> ImageCache {
        fixture.cache { $0.bundled = [.directory(URL(filePath: folder.path))] }
    }

    @Test func areFoundByHostAndPath() async throws {
        let data = try solidPNG()
        try folder.write(data, to: "example.org/a.png")
        let cache = cache()
        #expect(await cache.tier(holding: key) == .bundled)
        #expect(await cache.data(for: key)?.data == data)
        let result = await cache.image(for: key)
        #expect(result?.tier == .bundled && result?.image?.width == 8)
        #expect(await cache.image(for: key)?.tier == .memory)
        // There are none in memory only, and no variants.
        cache.memory.removeAll()
        #expect(await cache.image(for: key, in: .memory) == nil)
        #expect(await cache.image(for: fixture.thumbnailKey) == nil)
        // They are not copied.
        #expect(await cache.disk?.count == 0)
    }

    @Test func areFoundByBlockingLookUps() throws {
        try folder.write(try solidPNG(), to: "example.org/a.png")
        let cache = cache()
        #expect(cache.blockingTier(holding: key) == .bundled)
        #expect(cache.blockingData(for: key)?.tier == .bundled)
        #expect(cache.blockingImage(for: key)?.tier == .bundled)
    }

    @Test func areLookedUpAfterTheDisk() async throws {
        try folder.write(try solidPNG(1, 1), to: "example.org/a.png")
        let cache = cache()
        await cache.store(nil, data: try solidPNG(2, 2), for: key, in: .disk)
        #expect(await cache.image(for: key, in: .disk)?.image?.width == 2)
        await cache.remove(for: key)
        #expect(await cache.image(for: key, in: .disk)?.image?.width == 1)
        await cache.clear()
        #expect(await cache.image(for: key, in: .disk)?.image?.width == 1)
    }

    @Test func areFoundByAClosureInOrder() async throws {
        try folder.write(try solidPNG(1, 1), to: "one")
        try folder.write(try solidPNG(2, 2), to: "two")
        let (one, two) = (folder.path("one"), folder.path("two"))
        let cache = fixture.cache { configuration in
            configuration.bundled = [
                BundledImages { $0.variant == "thumb" ? one : "/nowhere" }, BundledImages { _ in two },
            ]
        }
        #expect(await cache.image(for: fixture.thumbnailKey)?.image?.width == 1)
        #expect(await cache.image(for: key)?.image?.width == 2)
    }

    @Test func oneClosureReplacesAllOthers() async throws {
        try folder.write(try solidPNG(1, 1), to: "one")
        let one = folder.path("one")
        let closure: @Sendable (ImageCacheKey) -> String? = { $0.variant == nil ? one : nil }
        let cache = fixture.cache { configuration in
            configuration.bundled = [.directory(URL(filePath: folder.path)), BundledImages { _ in "/nowhere" }]
            configuration.bundledPath = closure
        }
        #expect(await cache.image(for: key)?.image?.width == 1)
        #expect(await cache.tier(holding: fixture.thumbnailKey) == nil)
        #expect(cache.configuration.bundledPath?(key) == one)
        // Without one, there are none.
        let other = fixture.cache { configuration in
            configuration.bundledPath = closure
            configuration.bundledPath = nil
        }
        #expect(await other.image(for: key) == nil)
        #expect(other.configuration.bundledPath == nil)
    }

    @Test func aDamagedFileIsReportedOnceAndKept() async throws {
        try folder.write(try solidPNG().prefix(60), to: "example.org/a.png")
        let cache = cache()
        for _ in 0..<3 { #expect(await cache.image(for: key) == nil) }
        #expect(fixture.reports.codes == [403])
        #expect(access(folder.path("example.org/a.png"), F_OK) == 0)
    }

    @Test func areRegularFilesWithinTheSizeLimit() async throws {
        try folder.write(Data(), to: "example.org/x")
        #expect(mkfifo(folder.path("example.org/a.png"), 0o600) == 0)
        let cache = cache()
        #expect(await cache.image(for: key) == nil)
        #expect(await cache.tier(holding: key) == nil)
        #expect(await cache.image(for: ImageCacheKey(source: "http://example.org/")) == nil)
        // Longer than the limit, so it is ignored.
        try folder.write(Data(), to: "example.org/long")
        #expect(truncate(folder.path("example.org/long"), BundledImages.byteLimit + 1) == 0)
        let long = ImageCacheKey(source: "http://example.org/long")
        #expect(await cache.tier(holding: long) == nil)
        #expect(await cache.image(for: long) == nil)
        #expect(fixture.reports.codes == [])
    }

    @Test(
        arguments: [
            ("https://example.org/a/b%20c.png", "example.org/a/b c.png"), ("http://h:8080/a?x=1#y", "h:8080/a?x=1"),
            ("avatars/3.png", "avatars/3.png"), ("https://example.org/../../etc/passwd", nil),
            ("https://example.org/%2E%2E/%2e%2e/etc/passwd", nil), ("https://example.org/a%00b", nil),
            ("/etc/passwd", nil),
            ("../x", nil), ("", nil), ("https://example.org", "example.org"), ("data:image/png;base64,AA", nil),
        ] as [(String, String?)])
    func haveAPathBelowTheDirectory(_ source: String, _ path: String?) {
        #expect(BundledImages.relativePath(for: source) == path)
    }
}
