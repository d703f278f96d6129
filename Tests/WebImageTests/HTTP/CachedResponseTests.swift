import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// What programs can read of a stored response.
@Suite(.timeLimit(.minutes(1))) struct CachedResponseTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("image.png")
    }

    private func response(_ headers: String) async throws -> CachedResponse? {
        async let response = fixture.manager.response(for: WebImageRequest(url))
        try await fixture.nextLoad().answer(SolidPicture(1), headers)
        _ = try await response
        await fixture.cache.flush()
        let key = fixture.manager.cacheKey(for: WebImageRequest(url)).original
        return await fixture.cache.disk?.entry(for: key.description)?.response
    }

    @Test func itHasTheHeadAndTheLifetime() async throws {
        let start = fixture.time.now
        let response = try #require(
            try await response("Cache-Control: max-age=60\nETag: W/\"1\"\nVary: Accept, User-Agent"))
        #expect(response.statusCode == 200)
        #expect(response.headers.contains(HTTPHeader(name: "ETag", value: "W/\"1\"")))
        #expect(response.entityTag == "W/\"1\"" && response.lastModified == nil && response.finalURL == nil)
        #expect(response.varyingFieldNames == ["accept", "user-agent"])
        #expect(response.isReusable && !response.isInvalidated)
        #expect(response.lifetimeSource == .maxAge)
        #expect(abs(response.freshUntil.timeIntervalSince(start) - 60) < 0.001)
        #expect(response.isFresh(at: start + 59) && !response.isFresh(at: start + 61))
        #expect(!response.isFresh(at: start - 10), "the clock went back")
    }

    @Test func itIsStaleWithoutALifetime() async throws {
        let response = try #require(try await response(""))
        #expect(response.lifetimeSource == .none)
        #expect(!response.isFresh(at: fixture.time.now))
        #expect(response.freshUntil <= fixture.time.now)
    }

    @Test func bytesWithoutAResponseHaveNone() async throws {
        fixture.cache.disk?.store(Data([1, 2, 3]), for: "bytes")
        await fixture.cache.flush()
        let entry = try #require(await fixture.cache.disk?.entry(for: "bytes"))
        #expect(entry.response == nil)
    }
}
