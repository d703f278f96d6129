import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct CredentialTests {
    private let downloader = ImageDownloader.forTests()
    private static let right = Credential(username: "user", password: "secret")

    private static func server() throws -> NGINXServer {
        let server = try NGINXServer()
        for name in ["a.png", "b.png"] { try server.write(FaultServer.pattern(100), to: name) }
        return server
    }

    @Test func basicIsShownOnlyOnceAskedForAndThenAtOnce() async throws {
        let server = try Self.server()
        for name in ["a.png", "b.png"] {
            let request = LoaderRequest(url: try server.url("/private/" + name), credential: Self.right)
            #expect(try await downloader.body(request) == FaultServer.pattern(100))
        }
        #expect(try await server.accessLog().map(\.status) == [401, 200, 200])
    }

    @Test(arguments: ["MD5", "SHA-256"]) func digestIsAnswered(algorithm: String) async throws {
        let url = try SharedServers.faults.get().url("/digest/answered?algorithm=\(algorithm)")
        for _ in 0..<3 {
            let request = LoaderRequest(url: url, credential: Self.right)
            let recording = downloader.record(request).recording
            #expect(try await recording.body() == FaultServer.pattern(10))
            #expect(recording.isInOrder && recording.response?.statusCode == 200)
        }
    }

    @Test(arguments: ["/private/small.png", "/digest/refused"]) func aWrongPasswordIsA401(path: String) async throws {
        let isDigest = path.hasPrefix("/digest")
        let url = try isDigest ? SharedServers.faults.get().url(path) : SharedServers.nginx.get().url(path)
        let request = LoaderRequest(url: url, credential: Credential(username: "user", password: "wrong"))
        #expect(try await downloader.error(request) == .httpStatus(code: 401, url: url))
        #expect(try await downloader.error(LoaderRequest(url: url)) == .httpStatus(code: 401, url: url))
    }

    @Test func theURLsUserInfoIsACredentialAndNeverPartOfTheURL() async throws {
        let server = try SharedServers.nginx.get()
        let bare = try server.url("/private/small.png")
        let url = try #require(URL(string: bare.absoluteString.replacing("//", with: "//us%65r:s%65cret@")))
        let recording = downloader.record(LoaderRequest(url: url)).recording
        #expect(try await recording.body() == FaultServer.pattern(5000))
        #expect(recording.response?.url == bare)

        let wrong = try #require(URL(string: bare.absoluteString.replacing("//", with: "//user:wr@ng@")))
        #expect(try await downloader.error(LoaderRequest(url: wrong)) == .httpStatus(code: 401, url: bare))
        var request = LoaderRequest(url: wrong)
        request.credential = Self.right
        #expect(try await downloader.body(request) == FaultServer.pattern(5000))
    }

    @Test func theDownloadersOwnIsForRequestsWithoutOne() async throws {
        let downloader = ImageDownloader.forTests { $0.credential = Self.right }
        let url = try SharedServers.nginx.get().url("/private/small.png")
        #expect(try await downloader.body(url) == FaultServer.pattern(5000))
        let wrong = LoaderRequest(url: url, credential: Credential(username: "user", password: "wrong"))
        #expect(try await downloader.error(wrong) == .httpStatus(code: 401, url: url))
    }

    @Test func aTokenIsSentAtOnce() async throws {
        let faults = try SharedServers.faults.get()
        let request = LoaderRequest(url: try faults.url("/echo/token"), credential: .bearerToken("t0ken"))
        #expect(try await downloader.echo(request)["authorization"] == "Bearer t0ken")
        #expect(try await faults.statistics().requests["/echo/token"] == 1)
        // The handle goes on without it.
        #expect(try await downloader.echo(LoaderRequest(url: request.url))["authorization"] == nil)
    }

    @Test func aHeaderSetByHandGoesBeforeACredential() async throws {
        let url = try SharedServers.faults.get().url("/echo/by-hand")
        let request = LoaderRequest(url: url, headers: ["authorization": "Own"], credential: .bearerToken("t"))
        #expect(try await downloader.echo(request)["authorization"] == "Own")
    }

    @Test func aPasswordIsNotShownToAServerThatDoesNotAsk() async throws {
        let url = try SharedServers.faults.get().url("/echo/unasked")
        let request = LoaderRequest(url: url, credential: Self.right)
        #expect(try await downloader.echo(request)["authorization"] == nil)
    }

    @Test(arguments: ["a\r\nX-Injected: 1", "a\0b"]) func refusesWhatWouldBreakTheRequest(secret: String) async throws {
        let url = try SharedServers.faults.get().url("/echo/injected")
        for credential in [Credential(username: "u", password: secret), .bearerToken(secret)] {
            let request = LoaderRequest(url: url, credential: credential)
            #expect(try await downloader.error(request) == .invalidHeader(name: "Authorization"))
        }
    }

    @Test func descriptionsHideTheSecret() {
        for credential in [Self.right, .bearerToken("secret")] {
            var dumped = ""
            dump(credential, to: &dumped)
            for text in ["\(credential)", String(reflecting: credential), dumped, "\([credential])"] {
                #expect(!text.contains("secret"))
            }
        }
    }

    @Test(arguments: [
        ("http://u:p@h/a?b#c", "http://h/a?b#c", "u", true), ("https://u@h:1/", "https://h:1/", "u", true),
        ("http://h/u:p@x", "http://h/u:p@x", nil, false), ("http://u%40x:p%3A@h", "http://h", "u@x", true),
    ])
    func takesUserInfoOutOfURLs(text: String, bare: String, username: String?, isSeparated: Bool) throws {
        let (url, credential) = try #require(URL(string: text)).separatedFromUserInfo
        #expect(url.absoluteString == bare)
        #expect(credential?.username == username)
        #expect((credential != nil) == isSeparated)
    }
}
