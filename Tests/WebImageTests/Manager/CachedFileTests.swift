import Foundation
import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Files of a manager for programs that take a path.
@Suite(.timeLimit(.minutes(1))) struct CachedFileTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    /// Requests a file, and answers the load with `data`.
    private func file(
        for request: WebImageRequest, format: ImageFormat? = nil, answeringWith data: Data
    ) async throws -> CachedFile {
        async let file = fixture.manager.file(for: request, format: format)
        try await fixture.nextLoad().answer(data)
        return try await file
    }

    private func image(of file: CachedFile) throws -> Image {
        try CodecRegistry.shared.decode(Data(contentsOf: file.url))
    }

    @Test func theFileHasTheOriginalBytes() async throws {
        let data = try SolidPicture(1).png()
        let file = try await file(for: WebImageRequest(url), answeringWith: data)
        #expect(try Data(contentsOf: file.url) == data)
        #expect(file.format == .png && file.byteCount == data.count)
        #expect(file.path.hasPrefix(fixture.directory.path("cache/files/")))
        // Nothing was decoded.
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        // The disk cache has the bytes.
        let again = try await fixture.manager.file(for: WebImageRequest(url))
        #expect(again.path == file.path && fixture.loader.loadCount == 1)
        // Also with the name of the format.
        #expect(try await fixture.manager.file(for: WebImageRequest(url), format: .png).path == file.path)
    }

    @Test func anImageInMemoryNeedsNoServer() async throws {
        let data = try SolidPicture(1).png()
        _ = try await fixture.load(WebImageRequest(url, options: .waitForStore), answeringWith: data)
        let file = try await fixture.manager.file(for: WebImageRequest(url))
        #expect(try Data(contentsOf: file.url) == data)
        let jpeg = try await fixture.manager.file(for: WebImageRequest(url), format: .jpeg)
        #expect(try image(of: jpeg).format == .jpeg && fixture.loader.loadCount == 1)
    }

    @Test func theFileHasTheSizeAndTheFormatOfTheRequest() async throws {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 3)))
        let file = try await file(for: request, format: .webp, answeringWith: SolidPicture(1).png())
        #expect(file.format == .webp && file.path.hasSuffix(".webp"))
        #expect(try image(of: file).pixels.size == PixelSize(width: 4, height: 3))
        #expect(try await fixture.manager.file(for: request, format: .webp).path == file.path)
        // Without a format, that of the original.
        let png = try await fixture.manager.file(for: request)
        #expect(png.format == .png && fixture.loader.loadCount == 1)
        let processed = WebImageRequest(url, processors: [.grayscale()])
        #expect(try await fixture.manager.file(for: processed).path != png.path)
    }

    @Test func newBytesAreAnotherFile() async throws {
        let old = try await file(for: WebImageRequest(url), answeringWith: SolidPicture(1).png())
        let request = WebImageRequest(url, cachePolicy: .reload)
        let new = try await file(for: request, answeringWith: SolidPicture(2).png())
        #expect(old.path != new.path)
        #expect(try SolidPicture(1).matches(image(of: old)) && SolidPicture(2).matches(image(of: new)))
    }

    @Test func whatIsNoImageIsAnError() async throws {
        await #expect(throws: WebImageError.self) {
            try await file(for: WebImageRequest(url), answeringWith: Data("<html>".utf8))
        }
        await #expect(throws: WebImageError.self) {
            try await fixture.manager.file(for: WebImageRequest(URL(filePath: "/a.png")))
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.directory.path("cache/files")))
    }

    @Test func filesShareTheLoadsOfImages() async throws {
        async let image = fixture.manager.image(at: url)
        let load = try await fixture.nextLoad()
        async let small = fixture.manager.file(
            for: WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 3))))
        async let original = fixture.manager.file(for: WebImageRequest(url))
        try load.answer(SolidPicture(1).png())
        #expect(try await image.width == 8)
        #expect(try await self.image(of: small).width == 4)
        #expect(try await self.image(of: original).width == 8)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func aCancelledTaskGetsNoFile() async throws {
        let task = Task { [manager = fixture.manager, url] in try await manager.file(for: WebImageRequest(url)) }
        let load = try await fixture.nextLoad()
        task.cancel()
        _ = try await load.cancellations.first()
        await #expect(throws: WebImageError.cancelled) { try await task.value }
    }

    @Test func anImageThatAClosureReturnsIsEncoded() async throws {
        let request = WebImageRequest(id: "drawing", image: { try SolidPicture(3).image() })
        let file = try await fixture.manager.file(for: request)
        #expect(file.format == .jpeg)
        #expect(try image(of: file).width == 8)
        #expect(try await fixture.manager.file(for: request, format: .png).format == .png)
    }

    @Test func removingAnImageRemovesItsFiles() async throws {
        let path = try await file(for: WebImageRequest(url), answeringWith: SolidPicture(1).png()).path
        await fixture.manager.removeImages(of: fixture.manager.cacheKey(for: WebImageRequest(url)))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func aManagerWithoutADiskUsesATemporaryFolder() async throws {
        let fixture = try ManagerFixture(hasDisk: false)
        async let file = fixture.manager.file(for: WebImageRequest(url))
        let data = try SolidPicture(1).png()
        try await fixture.nextLoad().answer(data)
        #expect(try await Data(contentsOf: file.url) == data)
    }

    // MARK: Names

    @Test func tracesAndCountersHaveTheNamesOfCaches() async throws {
        let directory = try TemporaryDirectory()
        var disk = DiskCache.Configuration(directory: directory.url("cache"))
        disk.name = "files"
        var memory = MemoryCache<ImageCacheKey, Image>.Configuration(costLimit: 1 << 20)
        memory.name = "pictures"
        var configuration = ImageCache.Configuration()
        configuration.name = "covers"
        let named = ImageCache(
            memory: MemoryCache(configuration: memory), disk: DiskCache(configuration: disk),
            configuration: configuration)
        let fixture = try ManagerFixture { $0.cache = named }
        #expect(fixture.manager.counters.cacheName == "covers" && named.name == "covers")
        let loaded = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(loaded.trace.description.contains("nothing is stored (files)"))
        let found = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(found.trace.description.contains("the image is in memory (pictures)"))
        #expect(self.fixture.manager.counters.cacheName == nil)
    }
}
