import FoundationEssentials
import Testing
import WebImage

@testable import WebImage

@Suite(.timeLimit(.minutes(3))) struct WebImageRequestTests {
    private let url = URL(filePath: "/a.jpg")

    @Test func copiesAreIndependent() {
        var first = WebImageRequest(url, headers: ["A": "1"])
        first.userInfo["number"] = 1
        var second = first
        second.headers["A"] = "2"
        second.userInfo["number"] = 2
        #expect(first.headers == ["A": "1"])
        #expect(second.headers == ["A": "2"])
        #expect((first.userInfo["number"] as? Int, second.userInfo["number"] as? Int) == (1, 2))
    }

    @Test func takesTheURLFromAText() throws {
        let request = try WebImageRequest(
            " https://example.org/a b.png", options: .progressive, headers: ["A": "1"])
        #expect(request.url == URL(string: "https://example.org/a%20b.png"))
        #expect(request.options == .progressive && request.headers == ["A": "1"])
    }

    @Test(arguments: [
        "", "no url at all", "/photos/a.png", "//example.org/a.png", "example.org/a.png", "http://[::1",
        "http:///a.png",
    ])
    func aTextThatIsNoURLIsAnError(text: String) async {
        #expect(throws: WebImageError.invalidURL(text)) { try WebImageRequest(text) }
        await #expect(throws: WebImageError.invalidURL(text)) { try await WebImageManager.shared.image(at: text) }
    }

    @Test func isSmallWithoutRareSettings() {
        #expect(WebImageRequest(url).hasStandardDetails)
        #expect(MemoryLayout<WebImageRequest>.size <= 96)
    }

    @Test func keepsItsSettings() {
        var request = WebImageRequest(url)
        let cache = ImageCache(memory: MemoryCache(costLimit: 1), disk: nil)
        request.cache = cache
        request.decodedByteLimit = 400
        request.cacheAccess = .all
        request.lowResolutionURL = URL(filePath: "/small.jpg")
        request.allowsDamage = true
        request.credential = Credential(username: "u", password: "p")
        request.idleTimeout = .seconds(2)
        request.totalTimeout = .seconds(20)
        #expect(request.cache === cache)
        #expect(request.decodedByteLimit == 400)
        #expect(request.cacheAccess == .all)
        #expect(request.originalCacheAccess == .disk)
        #expect(request.lowResolutionURL?.path() == "/small.jpg")
        #expect(request.allowsDamage == true)
        #expect(request.idleTimeout == .seconds(2))
        #expect(request.totalTimeout == .seconds(20))
        request.cacheAccess = .memory
        #expect(request.decodedByteLimit == 400, "one field leaves the others alone")
    }

    @Test func isMadeFromALoaderRequest() {
        var source = LoaderRequest(url: url, headers: ["X": "1"], credential: .bearerToken("t"))
        source.handlesCookies = true
        source.allowsInvalidCertificates = true
        source.idleTimeout = .seconds(3)
        source.totalTimeout = .seconds(30)
        let request = WebImageRequest(source)
        #expect(request.url == url)
        #expect(request.headers == ["X": "1"])
        #expect(request.handlesCookies && request.allowsInvalidCertificates && !request.usesCredentialStorage)
        #expect(request.idleTimeout == .seconds(3))
        #expect(request.totalTimeout == .seconds(30))
    }

    @Test(arguments: [
        ("https://127.0.0.1/photo@2x.png", 2.0), ("https://127.0.0.1/photo@3x.jpg?size=1", 3),
        ("https://127.0.0.1/photo%402x.png#top", 2), ("https://127.0.0.1/photo.png", 1),
        ("https://127.0.0.1/photo@2x", 1), ("https://127.0.0.1/photo2x.png", 1),
        ("https://127.0.0.1/photo@4x.png", 1), ("https://127.0.0.1/a@2x.d/photo", 1),
        ("https://127.0.0.1/?name=photo@2x.png", 1), ("https://127.0.0.1/@2x.png", 2), ("data:,@2", 1),
    ])
    func takesTheScaleFromTheName(address: String, scale: Double) throws {
        let url = try #require(URL(string: address))
        #expect(WebImageRequest(url).impliedScale == scale)
        #expect(WebImageRequest(url).resolvedScale == scale)
        #expect(WebImageRequest(url, scale: 1.5).resolvedScale == 1.5)
        #expect(WebImageRequest(url, scale: 0).resolvedScale == scale, "a scale that is none")
    }

    @Test func keyContainsWhatChangesTheImage() {
        var keys: Set<ImageCacheKey> = [WebImageRequest(url).cacheKey]
        for options: WebImageOptions in [.firstFrameOnly, .preloadAllFrames] {
            keys.insert(WebImageRequest(url, options: options).cacheKey)
        }
        var request = WebImageRequest(url)
        request.decodedByteLimit = 100
        keys.insert(request.cacheKey)
        #expect(keys.count == 4)
        #expect(Set(keys.map(\.original)).count == 1)
        #expect(WebImageRequest(url, options: [.progressive, .waitForStore]).cacheKey == WebImageRequest(url).cacheKey)
    }

    @Test func filterDeterminesTheSourceKey() throws {
        let signed = try #require(URL(string: "https://me:secret@127.0.0.1/a.png?signature=1"))
        var request = WebImageRequest(signed)
        request.cacheKeyFilter = { url in
            #expect(!url.absoluteString.contains("secret"))
            return url.host()! + url.path()
        }
        #expect(request.cacheKey.source.hasPrefix("127.0.0.1/a.png"))
        #expect(request.cacheKey.source.contains("credentials="), "what lets somebody in is added in any case")
    }
}
