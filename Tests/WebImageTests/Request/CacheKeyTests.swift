import FoundationEssentials
import Testing
import WebImage

@testable import WebImage

@Suite(.timeLimit(.minutes(3))) struct CacheKeyTests {
    private let url = URL(filePath: "/a.jpg")

    @Test func isTheURLForAnOriginal() {
        let key = WebImageRequest(url).cacheKey
        #expect(key.description == "file:///a.jpg")
        #expect(key == key.original)
    }

    @Test func containsEveryParameterOfAVariant() {
        var keys: Set<ImageCacheKey> = []
        for mode in ResizeMode.allCases {
            for side in [0, 1, 12] {
                for scale in [1.0, 2.0] {
                    let request = WebImageRequest(
                        url, thumbnail: Thumbnail(.pixels(width: side, height: 12), mode: mode), scale: scale)
                    #expect(request.cacheKey.original == WebImageRequest(url).cacheKey)
                    keys.insert(request.cacheKey)
                }
            }
        }
        #expect(keys.count == ResizeMode.allCases.count * 3 * 2)
        #expect(!keys.contains(WebImageRequest(url).cacheKey))
    }

    /// No server and no file system is told of it.
    @Test(arguments: [
        "http://example.org/a.png", "HTTPS://example.org/a.png?b=c", "file:///a.png",
        "http://me:secret@example.org/a.png",
        "data:image/svg+xml,%3Csvg/%3E",
    ])
    func hasNoFragment(address: String) throws {
        let (bare, whole) = (
            try #require(URL(string: address)), try #require(URL(string: address + "#thumbnail=4x4,fit"))
        )
        #expect(WebImageRequest(whole).cacheKey == WebImageRequest(bare).cacheKey)
        #expect(!WebImageRequest(whole).cacheKey.description.contains("#"))
        let key = WebImageRequest(whole, thumbnail: Thumbnail(.pixels(width: 4, height: 4))).cacheKey
        #expect(key == WebImageRequest(bare, thumbnail: Thumbnail(.pixels(width: 4, height: 4))).cacheKey)
    }

    /// A loader of a program's own is given all of the URL.
    @Test func keepsTheFragmentOfACustomScheme() throws {
        let (first, second) = (try #require(URL(string: "asset:icons#1")), try #require(URL(string: "asset:icons#2")))
        #expect(WebImageRequest(first).cacheKey != WebImageRequest(second).cacheKey)
        #expect(WebImageRequest(first).cacheKey.description == "asset:icons\\#1")
    }

    @Test func separatesTheFilteredKeyFromAddedParts() {
        var keys: Set<String> = []
        let changes: [@Sendable (inout WebImageRequest) -> Void] = [
            { _ in }, { $0.handlesCookies = true }, { $0.usesCredentialStorage = true },
            { $0.options = .firstFrameOnly },
        ]
        for text in ["a", "a|cookies=jar", "a\\|cookies=jar", "a\\", "a#first-frame", "a|vary=0"] {
            for change in changes {
                var request = WebImageRequest(url).with(change)
                request.cacheKeyFilter = { _ in text }
                #expect(keys.insert(request.cacheKey.description).inserted, "\(text)")
            }
        }
    }

    @Test(arguments: [(0, 0), (-10, -10), (0, -1)])
    func isTheURLForABoxWithoutSides(width: Int, height: Int) {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: width, height: height)))
        #expect(request.cacheKey == WebImageRequest(url).cacheKey)
    }

    @Test func isEqualForEqualBoxes() {
        func key(_ width: Int) -> ImageCacheKey {
            WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: width, height: 10))).cacheKey
        }
        #expect(key(-10) == key(0))
        #expect(key(1 << 40) == key(70_000))
    }

    @Test func separatesImagesOfDifferentUsers() {
        func key(_ headers: [String: String]) -> ImageCacheKey { WebImageRequest(url, headers: headers).cacheKey }
        let keys: Set = [
            key([:]), key(["Authorization": "Bearer 1"]), key(["Authorization": "Bearer 2"]),
            key(["Cookie": "Bearer 1"]),
            key(["Cookie": "a", "Authorization": "b"]), key(["Cookie": "ab"]),
        ]
        #expect(keys.count == 6)
        #expect(key(["AUTHORIZATION": "x"]) == key(["authorization": "x"]), "names compare without regard to case")
    }

    @Test func separatesResponsesByCredentialsAndUncheckedCertificates() throws {
        let bare = try #require(URL(string: "https://127.0.0.1/a.png"))
        let own = try #require(URL(string: "https://me:secret@127.0.0.1/a.png"))
        let (mine, yours) = (
            Credential(username: "me", password: "secret"), Credential(username: "you", password: "secret")
        )
        let keys = [
            WebImageRequest(bare), WebImageRequest(bare, credential: mine), WebImageRequest(bare, credential: yours),
            WebImageRequest(bare, credential: .bearerToken("secret")),
            WebImageRequest(bare).with { $0.allowsInvalidCertificates = true },
            WebImageRequest(bare).with { $0.handlesCookies = true },
        ].map(\.cacheKey)
        #expect(Set(keys).count == keys.count)
        #expect(WebImageRequest(own).cacheKey == keys[1], "name and password in the URL are a credential")
        for key in keys { #expect(!key.description.contains("secret")) }
    }

    @Test func doesNotRevealCredentials() {
        let key = WebImageRequest(url, headers: ["Authorization": "Bearer secret"]).cacheKey
        #expect(!key.description.contains("secret"))
    }

    @Test func containsTheDigestOfATooLongURL() throws {
        func key(_ picture: String) throws -> ImageCacheKey {
            WebImageRequest(try #require(URL(string: "data:image/png;base64," + picture))).cacheKey
        }
        let long = String(repeating: "A", count: 100_000)
        #expect(try key(long).description.utf8.count < 200)
        #expect(try key(long).description.hasPrefix("data:image/png;base64,AAAA"))
        #expect(try key(long + "AAAA") != key(long + "AAAB"))
        #expect(try key(long) == key(long))
        #expect(try key("AAAA").description == "data:image/png;base64,AAAA")
    }

    @Test(arguments: [
        "Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Referer", "Range", "If-None-Match", "If-Range",
        "If-Modified-Since", "Cache-Control", "Pragma", "traceparent", "tracestate", "X-Request-ID",
        "X-Correlation-ID", "Request-Id", "baggage", "b3", "X-B3-TraceId", "X-B3-Sampled", "X-Amzn-Trace-Id",
        "X-Cloud-Trace-Context", "uber-trace-id", "sentry-trace", "x-datadog-tags", "elastic-apm-traceparent", "DNT",
        "Sec-GPC", "Sec-Fetch-Dest", "Content-Type", "ACCEPT", "x-request-id",
    ])
    func omitsHarmlessHeaders(name: String) {
        #expect(WebImageRequest(url, headers: [name: "1"]).cacheKey == WebImageRequest(url).cacheKey)
    }

    @Test(arguments: [
        "X-Session", "Api-Token", "Private-Token", "X-Api-Key", "X-Csrf-Token", "Authorization", "Cookie",
        "Proxy-Authorization", "X-Unknown", "Acceptance", "If", "Host", "Origin", "X-Forwarded-For", "X-Request-Token",
        "X-B3", "Save-Data",
    ])
    func everyOtherHeaderSeparatesKeys(name: String) {
        func key(_ value: String) -> ImageCacheKey { WebImageRequest(url, headers: [name: value]).cacheKey }
        #expect(Set([key("1"), key("2"), WebImageRequest(url).cacheKey]).count == 3)
    }

    @Test func aRequestCanNameItsHarmlessHeaders() {
        var request = WebImageRequest(url, headers: ["X-Client": "1", "X-Trail-7": "2", "X-Trail": "3"])
        request.harmlessHeaders = ["x-client", "X-Trail-*"]
        var expected = WebImageRequest(url, headers: ["X-Trail": "3"])
        #expect(request.cacheKey == expected.cacheKey)
        // The list replaces the standard one.
        expected.headers["Accept"] = "image/png"
        #expect(expected.cacheKey == request.cacheKey)
        expected.harmlessHeaders = []
        #expect(expected.cacheKey != request.cacheKey)
        expected.harmlessHeaders = .standard
        expected.harmlessHeaders?.remove("ACCEPT")
        #expect(expected.cacheKey != request.cacheKey)
    }
}
