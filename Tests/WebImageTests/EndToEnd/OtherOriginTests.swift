import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The parts of a request that servers of other origins receive.
@Suite(.timeLimit(.minutes(1))) struct OtherOriginTests {
    private let first: OriginServer
    private let other: OriginServer

    /// The level at which the header fields are set.
    enum Owner: CaseIterable { case request, manager, downloader }

    init() throws {
        first = try OriginServer()
        other = try OriginServer()
    }

    private static let secrets = ["X-Api-Key": "key", "X-Session": "1", "User-Agent": "test"]

    private func manager(
        _ headers: [String: String], of owner: Owner,
        _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) -> WebImageManager {
        var downloader = ImageDownloader.Configuration()
        if owner == .downloader { downloader.headers.merge(headers) { $1 } }
        change(&downloader)
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil),
            loaders: [ImageDownloader(configuration: downloader)])
        if owner == .manager { configuration.optionsProcessor = { $0.headers.merge(headers) { own, _ in own } } }
        return WebImageManager(configuration: configuration)
    }

    private func request(_ url: URL, _ headers: [String: String], of owner: Owner) -> WebImageRequest {
        WebImageRequest(url, headers: owner == .request ? headers : [:])
    }

    @Test(arguments: Owner.allCases) func alternativesOnAnotherOriginGetNoSecrets(of owner: Owner) async throws {
        try await other.answer("/b.png", body: SolidPicture(1).png())
        var request = request(try first.url("/a.png"), Self.secrets, of: owner)
        request.alternatives = [try other.url("/b.png")]
        let manager = manager(Self.secrets, of: owner)
        #expect(SolidPicture(1).matches(try await manager.response(for: request).image))
        let (asked, seen) = (try await first.requests(), try await other.requests())
        #expect(asked.map { $0.headers["x-api-key"] } == ["key"])
        #expect(seen.count == 1)
        for request in seen {
            #expect(Set(request.headers.keys) == ["host", "accept", "accept-encoding", "user-agent"])
            #expect(request.headers["user-agent"] == "test")
        }
    }

    @Test(arguments: Owner.allCases) func theLowResolutionURLOnAnotherOriginGetsNoSecrets(of owner: Owner) async throws
    {
        try await other.answer("/small.png", body: SolidPicture(1).png())
        var request = request(try first.url("/a.png"), Self.secrets, of: owner)
        request.lowResolutionURL = try other.url("/small.png")
        // The end of the load would stop the small one: it gets no answer before.
        let held = HeldLoader()
        var configuration = manager(Self.secrets, of: owner).configuration
        configuration.loaders = ImageLoaderGroup([
            held.inFront(of: configuration.loaders.asLoader, for: try first.url("/a.png"))
        ]
        )
        let manager = WebImageManager(configuration: configuration)
        let shown = Countdown()
        let operation = manager.load(request, preview: { _ in shown.signal() }) { _ in }
        try await shown.wait()
        operation.cancel()
        let seen = try await other.requests()
        #expect(seen.count == 1)
        for request in seen {
            #expect(Set(request.headers.keys) == ["host", "accept", "accept-encoding", "user-agent"])
        }
    }

    @Test(arguments: Owner.allCases) func alternativesOnTheSameOriginGetAllHeaders(of owner: Owner) async throws {
        try await first.answer("/b.png", body: SolidPicture(1).png())
        var request = request(try first.url("/a.png"), Self.secrets, of: owner)
        request.alternatives = [try first.url("/b.png")]
        _ = try await manager(Self.secrets, of: owner).response(for: request)
        #expect(try await first.requests().map { $0.headers["x-api-key"] } == ["key", "key"])
    }

    @Test func alternativesOnAnotherOriginGetNoCredentialOfTheDownloader() async throws {
        let challenge = "WWW-Authenticate: Basic realm=\"images\""
        try await first.answer("/a.png", status: 401, challenge)
        try await other.answer("/b.png", status: 401, challenge)
        var request = WebImageRequest(try first.url("/a.png"))
        request.alternatives = [try other.url("/b.png")]
        let manager = manager([:], of: .downloader) {
            $0.credential = Credential(username: "me", password: "secret")
        }
        await #expect(throws: WebImageError.httpStatus(code: 401, url: request.url)) {
            try await manager.response(for: request)
        }
        #expect(try await first.requests().contains { $0.headers["authorization"] != nil })
        let seen = try await other.requests()
        #expect(!seen.isEmpty && seen.allSatisfy { $0.headers["authorization"] == nil })
    }
}

/// A loader that never answers for one URL.
private struct HeldLoader {
    private let loader = ScriptedLoader()

    func inFront(of others: any ImageLoader, for url: URL) -> any ImageLoader {
        Selecting(url: url, held: loader, others: others)
    }

    private struct Selecting: ImageLoader {
        let url: URL
        let held: ScriptedLoader
        let others: any ImageLoader

        func canLoad(_ url: URL) -> Bool { others.canLoad(url) }

        func load(
            _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
        ) -> any LoaderTask {
            let loader: any ImageLoader = request.url == url ? held : others
            return loader.load(request, priority: priority, handler: handler)
        }
    }
}
