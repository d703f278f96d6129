import FoundationEssentials
import Testing
import WebImageCore
import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct ImageLoaderGroupTests {
    private let url = URL(filePath: "/picture.png")

    @Test func theLastAddedMatchingLoaderLoads() async throws {
        let group: ImageLoaderGroup = [NamedLoader("first"), NamedLoader("second"), NamedLoader("web", scheme: "http")]
        #expect(try await group.asLoader.body(url) == Data("second".utf8))
        group.add(NamedLoader("third"))
        #expect(try await group.asLoader.body(url) == Data("third".utf8))
        #expect(group.loaders.compactMap { ($0 as? NamedLoader)?.name } == ["first", "second", "web", "third"])
    }

    @Test func removingALoaderRestoresThePreviousOne() async throws {
        let group: ImageLoaderGroup = [NamedLoader("first")]
        group.add(NamedLoader("second"))
        group.add(NamedLoader("third"))
        group.remove { ($0 as? NamedLoader)?.name == "second" }
        #expect(try await group.asLoader.body(url) == Data("third".utf8))
        for _ in 0..<2 { group.remove { ($0 as? NamedLoader)?.name == "third" } }
        #expect(try await group.asLoader.body(url) == Data("first".utf8))
    }

    @Test func answersForTheLoaderThatGetsTheURL() throws {
        let group: ImageLoaderGroup = [NamedLoader("cacheable", scheme: "http"), FileLoader()]
        let web = try #require(URL(string: "http://127.0.0.1/a.png"))
        let loader = group.asLoader
        #expect(loader.canLoad(web) && loader.canLoad(url))
        #expect(loader.isCacheable(web))
        #expect(!loader.isCacheable(url))
    }

    @Test func explainsWhyNoLoaderMatches() async throws {
        let group: ImageLoaderGroup = [FileLoader()]
        let other = try #require(URL(string: "gopher://127.0.0.1/1"))
        #expect(!group.asLoader.canLoad(other))
        #expect(
            try await group.asLoader.error(other) == .invalidRequest(reason: .unsupportedScheme("gopher"), url: other))
        let secret = try #require(URL(string: "gopher://user:secret@127.0.0.1/1"))
        #expect(
            try await group.asLoader.error(secret) == .invalidRequest(reason: .unsupportedScheme("gopher"), url: other))
        let noScheme = try #require(URL(string: "picture.png"))
        #expect(try await group.asLoader.error(noScheme) == .invalidURL("picture.png"))
    }

    @Test func canBeNested() async throws {
        let inner: ImageLoaderGroup = [NamedLoader("inner")]
        let outer: ImageLoaderGroup = [NamedLoader("outer"), inner.asLoader]
        #expect(try await outer.asLoader.body(url) == Data("inner".utf8))
    }

    @Test func theSharedGroupAcceptsAllBuiltInSchemes() throws {
        for text in ["http://127.0.0.1/a", "https://127.0.0.1/a", "file:///a", "data:,a"] {
            #expect(ImageLoaderGroup.shared.asLoader.canLoad(try #require(URL(string: text))))
        }
    }
}

/// Answers with its name, at once.
private final class NamedLoader: ImageLoader {
    let name: String
    private let scheme: String

    init(_ name: String, scheme: String = "file") {
        self.name = name
        self.scheme = scheme
    }

    func canLoad(_ url: URL) -> Bool { url.scheme == scheme }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        handler(.response(LoaderResponse(url: request.url)))
        handler(.bytes(Data(name.utf8)))
        handler(.finished(.success(())))
        return Ended()
    }

    private final class Ended: LoaderTask {
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }
}
