import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Limits for a server that loads URLs given by users.
@Suite(.timeLimit(.minutes(3))) struct ServerPresetTests {
    private let manager: WebImageManager

    init() {
        var configuration = WebImageManager.Configuration.server
        configuration.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        manager = WebImageManager(configuration: configuration)
    }

    @Test func decodesTakeLittleMemory() {
        let limits = WebImageManager.Configuration.server.decodingLimits
        #expect(limits.memoryByteCount == 256 << 20)
    }

    /// Another user may ask for the same URL.
    @Test(arguments: [("private, max-age=600", 2), ("max-age=600", 1), ("max-age=600, s-maxage=0", 2)])
    func responsesForOneUserAnswerNoOther(control: String, requestCount: Int) async throws {
        let origin = try OriginServer()
        try await origin.answer("/own.png", "Cache-Control: \(control)", body: SolidPicture(1).png())
        var downloads = ImageDownloader.Configuration.server
        downloads.addressPolicy.allowedNetworks = ["127.0.0.0/8"]
        var configuration = WebImageManager.Configuration.server
        configuration.loaders = [ImageDownloader(configuration: downloads)]
        let directory = try TemporaryDirectory()
        let disk = DiskCache(configuration: DiskCache.Configuration(directory: directory.url("cache")))
        configuration.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk)
        configuration.isolation = .libraryFormats
        let manager = WebImageManager(configuration: configuration)
        for _ in 0..<2 {
            let image = try await manager.image(for: WebImageRequest(origin.url("/own.png"), cachePolicy: .http))
            #expect(SolidPicture(1).matches(image))
            await disk.flush()
        }
        #expect(try await origin.requests().count { $0.path == "/own.png" } == requestCount)
    }

    @Test func readsNoFiles() async throws {
        let directory = try TemporaryDirectory()
        for url in [try directory.write(Data("x".utf8), to: "a.png"), URL(string: "data:image/png;base64,AAAA")] {
            let url = try #require(url)
            await #expect(throws: WebImageError.invalidRequest(reason: .unsupportedScheme(url.scheme ?? ""), url: url))
            {
                _ = try await manager.image(at: url)
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254", "0x7f.1", "user:secret@127.0.0.1"])
    func reachesNoPrivateAddress(host: String) async throws {
        let url = try #require(URL(string: "http://\(host):\(refusedPort())/a.png"))
        let error = await #expect(throws: WebImageError.self) { _ = try await manager.image(at: url) }
        guard case .blocked(.host, let blocked) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!blocked.absoluteString.contains("secret"))
    }
}
