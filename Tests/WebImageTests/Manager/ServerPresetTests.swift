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
