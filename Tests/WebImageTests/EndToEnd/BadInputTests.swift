import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Each mistake of a server has its own error, and leaves nothing in a cache. ``FaultTableTests`` has those that end at a
/// limit of time.
@Suite(.timeLimit(.minutes(2))) struct BadInputTests {
    private static let faults = try? FaultServer()
    private let directory: TemporaryDirectory
    private let manager: WebImageManager

    init() throws {
        directory = try TemporaryDirectory()
        var downloader = ImageDownloader.Configuration()
        downloader.maximumResponseByteCount = 1 << 20
        manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(
                    memory: MemoryCache(costLimit: 64 << 20),
                    disk: DiskCache(in: directory)),
                loaders: [FileLoader(), ImageDownloader(configuration: downloader)]))
    }

    private func failure(of url: URL) async -> WebImageError? {
        do throws(WebImageError) {
            _ = try await manager.image(at: url)
            return nil
        } catch {
            return error
        }
    }

    private func expectNothingCached(for url: URL, sourceLocation: SourceLocation = #_sourceLocation) async {
        #expect(manager.cachedImage(for: WebImageRequest(url)) == nil, sourceLocation: sourceLocation)
        let disk = manager.imageCache.disk
        #expect(await disk?.contains(url.absoluteString) == false, sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        "/status?code=404", "/html", "/empty", "/cut-body", "/cut-chunked", "/reset-body", "/cut-headers",
        "/redirect-loop", "/huge-length", "/endless", "/bytes?size=4096",
    ])
    func eachFaultHasItsOwnError(path: String) async throws {
        let faults = try #require(Self.faults)
        let url = try faults.url(path)
        let error = try #require(await failure(of: url))
        await expectNothingCached(for: url)

        let isExpected =
            switch (path, error) {
            case ("/status?code=404", .httpStatus(404, _)), ("/empty", .invalidResponse(.emptyBody, _)),
                ("/redirect-loop", .invalidResponse(.tooManyRedirects, _)),
                ("/cut-body", .invalidResponse(.truncated(.some, _), _)),
                ("/cut-chunked", .invalidResponse(.truncated(nil, _), _)),
                ("/reset-body", .transport), ("/reset-body", .invalidResponse(.truncated, _)),
                ("/cut-headers", .transport),
                ("/cut-headers", .invalidResponse(.emptyBody, _)),
                ("/huge-length", .invalidResponse(.bodyTooLong, _)),
                ("/endless", .invalidResponse(.bodyTooLong, _)), ("/bytes?size=4096", .unrecognizedFormat):
                true
            case ("/html", .unrecognizedFormat(let contentType, _, _)):
                contentType?.hasPrefix("text/html") == true && error.description.contains("web page")
            default:
                false
            }
        #expect(isExpected, "\(path) gave \(error)")
    }

    @Test func aRefusedConnectionNamesTheHost() async throws {
        let port = try refusedPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/a.png"))
        let error = try #require(await failure(of: url))
        guard case .transport = error else {
            Issue.record("refused gave \(error)")
            return
        }
        #expect(error.description.contains("127.0.0.1:\(port)"))
        await expectNothingCached(for: url)
    }

    @Test func aDamagedFileIsADecodingError() async throws {
        let files = try TemporaryDirectory()
        let png = try Noise.png(byteCountAtLeast: 20_000)
        var corrupt = png
        for index in 1000..<2000 { corrupt[index] ^= 0xFF }
        try files.write(corrupt, to: "corrupt.png")
        try files.write(png.prefix(10_000), to: "truncated.png")
        try files.write(Data(Self.hugeJPEG), to: "huge.jpg")
        let server = try NGINXServer(root: files.path)

        for name in ["corrupt.png", "truncated.png", "huge.jpg"] {
            let url = try server.url("/" + name)
            let error = try #require(await failure(of: url))
            switch (name, error) {
            case ("corrupt.png", .decoding(.png, .corrupt, _)), ("truncated.png", .decoding(.png, .truncated, _)),
                ("huge.jpg", .limitExceeded(.pixels(PixelSize(width: 65_535, height: 65_535), _), _)):
                break
            default:
                Issue.record("\(name) gave \(error)")
            }
            await expectNothingCached(for: url)
        }
    }

    @Test func anUnwritableCacheDirectoryIsReportedOnceAndNotUsed() async throws {
        let files = try TemporaryDirectory()
        let picture = try files.write(SolidPicture(1).png(), to: "a.png")
        try files.write(SolidPicture(2).png(), to: "b.png")
        let server = try NGINXServer(root: files.path)
        let reports = LockBox<[WebImageError]>([])
        var configuration = DiskCache.Configuration(directory: picture.appending(path: "cache"))
        configuration.onFailure = { error in reports.withLock { $0.append(error) } }
        let cache = ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: DiskCache(configuration: configuration))
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: cache, loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())]))

        for (name, number) in [("a.png", 1), ("b.png", 2)] {
            #expect(SolidPicture(number).matches(try await manager.image(at: try server.url("/" + name))))
        }
        await cache.disk?.flush()
        #expect(reports.withLock { $0 }.count == 1)
    }

    @Test func aCorruptIndexIsMovedAsideAndTheCacheStartsEmpty() async throws {
        let files = try TemporaryDirectory()
        try files.write(SolidPicture(1).png(), to: "a.png")
        let server = try NGINXServer(root: files.path)
        let url = try server.url("/a.png")
        _ = try await manager.image(at: url)
        await manager.imageCache.disk?.flush()

        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path("cache"))
        where name.contains("sqlite") {
            try Data(repeating: 0x41, count: 8192).write(to: directory.url("cache/" + name))
        }
        let reports = LockBox<[WebImageError]>([])
        var configuration = DiskCache.Configuration(directory: directory.url("cache"))
        configuration.onFailure = { [directory] error in
            withExtendedLifetime(directory) { reports.withLock { $0.append(error) } }
        }
        let disk = DiskCache(configuration: configuration)
        let nextStart = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk),
                loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())]))
        #expect(try await nextStart.response(for: WebImageRequest(url)).origin == .remote)
        await disk.flush()
        #expect(await disk.contains(url.absoluteString))
        guard case .diskCache(_, .corruptIndex)? = reports.withLock({ $0 }).first else {
            Issue.record("reported \(reports.withLock { $0 })")
            return
        }
    }

    /// A baseline JPEG that claims 65,535 × 65,535 pixels: start, frame header, scan header, two bytes of scan.
    private static let hugeJPEG: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 0xFF, 0xFF, 0xFF, 0xFF, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]
        + [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0, 0, 0, 0xFF, 0xD9]
}
