import FoundationEssentials
import Testing

@testable import WebImageLoading

/// The requests that share a body, and those that have none.
@Suite(.timeLimit(.minutes(3))) struct PartialBodyKeyTests {
    private func request(_ change: (inout LoaderRequest) throws -> Void = { _ in }) throws -> LoaderRequest {
        var request = LoaderRequest(url: try ResumeFixture.url(), headers: ["Accept": "image/*"])
        try change(&request)
        return request
    }

    private func key(_ change: (inout LoaderRequest) throws -> Void = { _ in }) throws -> PartialBodyKey? {
        try request(change).partialBodyKey(scope: "s")
    }

    @Test func propertiesThatAffectTheResponseChangeTheKey() throws {
        let other = try ResumeFixture.url("b.png")
        let withUser = try #require(URL(string: "http://u:p@host/a.png"))
        let keys = [
            try key(), try key { $0.url = other }, try key { $0.headers["Accept"] = "image/png" },
            try key { $0.headers["Cookie"] = "user=1" }, try key { $0.headers["Cookie"] = "user=2" },
            try key { $0.headers["Authorization"] = "Bearer 1" }, try key { $0.headers["X-Anything"] = "1" },
            try key { $0.credential = Credential(username: "a", password: "b") }, try key { $0.url = withUser },
            try key { $0.allowsInvalidCertificates = true }, try request().partialBodyKey(scope: "t"),
            try key { $0.headers["A"] = "b\n1:c" }, try key { $0.headers = ["A": "b", "1:c": ""] },
        ]
        #expect(keys.allSatisfy { $0?.digest.count == 64 })
        #expect(Set(keys).count == keys.count)
    }

    @Test func otherPropertiesDoNotChangeTheKey() throws {
        let plain = try key()
        #expect(try key { $0.headers = ["accept": "image/*"] } == plain)
        #expect(try key { $0.idleTimeout = .seconds(3) } == plain)
        #expect(try key { $0.url = try #require(URL(string: "http://host/a.png#b")) } == plain)
        #expect(try key { $0.totalTimeout = .seconds(3) } == plain)
        #expect(try key { $0.headers["Cache-Control"] = "no-cache" } == plain)
        #expect(
            try key { $0.url = try #require(URL(string: "http://u:p@host/a.png")) }
                == key { $0.credential = Credential(username: "u", password: "p") })
    }

    @Test func someRequestsAreNeverContinued() throws {
        #expect(try key { $0.method = .head } == nil)
        for name in ["Range", "range", "If-Range", "If-None-Match", "if-modified-since"] {
            #expect(try key { $0.headers[name] = "x" } == nil)
        }
        #expect(try key { $0.headers["cache-control"] = "max-age=0, no-store" } == nil)
        #expect(try key { $0.handlesCookies = true } == nil)
        #expect(try key { $0.usesCredentialStorage = true } == nil)
        #expect(try key { $0.url = URL(filePath: "/a.png") } == nil)
    }

    @Test func theDownloadersHeadersAndCredentialChangeTheKey() throws {
        func scope(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) throws -> String? {
            var configuration = ImageDownloader.Configuration()
            change(&configuration)
            return ImageDownloader(configuration: configuration).resumptionScope(of: try request())
        }
        let scopes = [
            try scope(), try scope { $0.headers["X-User"] = "1" },
            try scope { $0.credential = Credential(username: "a", password: "b") },
            try scope { $0.headers["Accept-Encoding"] = "gzip, deflate" },
        ]
        #expect(Set(scopes).count == scopes.count)
        #expect(try scope { $0.maximumConnections = 1 } == scopes[0])
        // Another origin is not sent them, so it may answer with other bytes.
        var other = try request()
        other.isForAnotherOrigin = true
        var secret = ImageDownloader.Configuration()
        secret.headers["X-User"] = "1"
        #expect(ImageDownloader(configuration: secret).resumptionScope(of: other) != scopes[1])
        // Nobody knows what these send, or what the bytes are that came.
        #expect(try scope { $0.requestModifier = { $0 } } == nil)
        #expect(try scope { $0.responseModifier = { $0 } } == nil)
        #expect(try scope { $0.decryptor = { data, _ in data } } == nil)
        #expect(try scope { $0.authenticationHandler = { _ in nil } } == nil)
    }
}
