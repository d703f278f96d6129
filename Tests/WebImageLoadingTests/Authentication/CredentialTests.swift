import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct CredentialTests {
    private let downloader = ImageDownloader.forTests()
    private static let right = Credential(username: "user", password: "secret")

    private static func server() throws -> NGINXServer {
        let server = try NGINXServer()
        for name in ["a.png", "b.png"] { try server.write(FaultServer.pattern(100), to: name) }
        return server
    }

    @Test func basicCredentialIsSentAfterAChallengeAndThenPreemptively() async throws {
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

    @Test func userInfoOfTheURLIsACredentialAndNeverPartOfTheURL() async throws {
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

    @Test func theDownloadersCredentialIsForRequestsWithoutOne() async throws {
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
        // The next request has none.
        #expect(try await downloader.echo(LoaderRequest(url: request.url))["authorization"] == nil)
    }

    @Test func anExplicitHeaderTakesPrecedenceOverACredential() async throws {
        let url = try SharedServers.faults.get().url("/echo/by-hand")
        let request = LoaderRequest(url: url, headers: ["authorization": "Own"], credential: .bearerToken("t"))
        #expect(try await downloader.echo(request)["authorization"] == "Own")
    }

    @Test func aPasswordIsNotSentWithoutAChallenge() async throws {
        let url = try SharedServers.faults.get().url("/echo/unasked")
        let request = LoaderRequest(url: url, credential: Self.right)
        #expect(try await downloader.echo(request)["authorization"] == nil)
    }

    @Test(arguments: ["a\r\nX-Injected: 1", "a\0b"]) func refusesCredentialsThatWouldBreakTheRequest(secret: String)
        async throws
    {
        let url = try SharedServers.faults.get().url("/echo/injected")
        for credential in [Credential(username: "u", password: secret), .bearerToken(secret)] {
            let request = LoaderRequest(url: url, credential: credential)
            #expect(
                try await downloader.error(request)
                    == .invalidRequest(reason: .invalidHeader(name: "Authorization"), url: url))
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

@Suite(.timeLimit(.minutes(3))) struct ChallengeTests {
    /// Keeps the challenges and answers them from a list; declines when that is empty.
    private final class Keychain: Sendable {
        let challenges = LockBox<[AuthenticationChallenge]>([])
        private let answers: LockBox<[AuthenticationAnswer]>

        init(_ answers: [AuthenticationAnswer]) { self.answers = LockBox(answers) }

        func downloader(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageDownloader {
            ImageDownloader.forTests { configuration in
                configuration.authenticationHandler = { (challenge) throws(CancellationError) in
                    try self.answer(challenge)
                }
                change(&configuration)
            }
        }

        private func answer(_ challenge: AuthenticationChallenge) throws(CancellationError) -> Credential? {
            challenges.withLock { $0.append(challenge) }
            switch answers.withLock({ $0.isEmpty ? .decline : $0.removeFirst() }) {
            case .credential(let credential): return credential
            case .decline: return nil
            case .cancel: throw CancellationError()
            }
        }
    }

    private static let right = Credential(username: "user", password: "secret")
    private static let wrong = Credential(username: "user", password: "wrong")

    @Test func aHandlerIsAskedUntilTheCredentialIsAccepted() async throws {
        let keychain = Keychain([.credential(Self.wrong), .credential(Self.right)])
        let server = try SharedServers.nginx.get()
        let url = try server.url("/private/small.png")
        let recording = keychain.downloader().record(LoaderRequest(url: url)).recording
        #expect(try await recording.body() == FaultServer.pattern(5000))
        #expect(recording.isInOrder)
        let expected = AuthenticationChallenge(
            url: url, host: "127.0.0.1", port: server.port, isProxy: false, scheme: "basic", realm: "tests",
            previousFailureCount: 0)
        var second = expected
        second.previousFailureCount = 1
        #expect(keychain.challenges.withLock { $0 } == [expected, second])
    }

    @Test func aHandlersCredentialAnswersADigestChallenge() async throws {
        let keychain = Keychain([.credential(Self.right)])
        let url = try SharedServers.faults.get().url("/digest/handler")
        #expect(try await keychain.downloader().body(url) == FaultServer.pattern(10))
        #expect(keychain.challenges.withLock { $0.map(\.scheme) } == ["digest"])
    }

    @Test func aHandlersCredentialReplacesAnExplicitHeader() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let request = LoaderRequest(url: url, headers: ["Authorization": "Basic bm8="])
        #expect(try await Keychain([.credential(Self.right)]).downloader().body(request) == FaultServer.pattern(5000))
    }

    @Test func aHandlerIsAskedALimitedNumberOfTimes() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let keychain = Keychain([
            .credential(Self.wrong), .credential(Self.wrong), .credential(Self.wrong), .credential(Self.wrong),
            .credential(Self.right),
        ])
        #expect(try await keychain.downloader().error(url) == .httpStatus(code: 401, url: url))
        #expect(keychain.challenges.withLock { $0.map(\.previousFailureCount) } == [0, 1, 2])
    }

    @Test func aHandlerMayDeclineOrCancel() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        #expect(try await Keychain([.decline]).downloader().error(url) == .httpStatus(code: 401, url: url))
        #expect(try await Keychain([.cancel]).downloader().error(url) == .cancelled)
        let injected = Credential.bearerToken("a\nb")
        let broken = Keychain([.credential(injected)]).downloader()
        #expect(try await broken.error(url) == .invalidRequest(reason: .invalidHeader(name: "authorization"), url: url))
    }

    @Test func aLoadHasNoSlotWhileItsHandlerDecides() async throws {
        let (asked, answered) = (Countdown(), Countdown())
        let downloader = ImageDownloader.forTests { configuration in
            configuration.maximumConnectionsPerHost = 1
            configuration.authenticationHandler = { _ in
                asked.signal()
                try? await answered.wait()
                return Self.right
            }
        }
        let server = try SharedServers.nginx.get()
        let waiting = downloader.record(try server.url("/private/small.png")).recording
        try await asked.wait()
        #expect(downloader.loadCounts == (0, 1))
        #expect(try await downloader.body(server.url("/small.png")) == FaultServer.pattern(5000))
        answered.signal()
        #expect(try await waiting.body() == FaultServer.pattern(5000))
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func cancellingALoadCancelsItsHandler() async throws {
        let (asked, cancelled) = (Countdown(), Countdown())
        let downloader = ImageDownloader.forTests { configuration in
            configuration.authenticationHandler = { _ in
                await withTaskCancellationHandler {
                    asked.signal()
                    try? await cancelled.wait()
                } onCancel: {
                    cancelled.signal()
                }
                return Self.right
            }
        }
        let server = try SharedServers.nginx.get()
        let (recording, task) = downloader.record(try server.url("/private/small.png"))
        try await asked.wait()
        task.cancel()
        #expect(try await recording.error() == .cancelled)
        try await cancelled.wait()
        // The late answer changes nothing.
        #expect(try await downloader.body(server.url("/small.png")) == FaultServer.pattern(5000))
        #expect(recording.isInOrder)
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func theStorageIsUsedOnceACredentialHasWorked() async throws {
        let server = try NGINXServer()
        try server.write(FaultServer.pattern(100), to: "a.png")
        let keychain = Keychain([.credential(Self.right), .credential(Self.right)])
        let downloader = keychain.downloader()
        var request = LoaderRequest(url: try server.url("/private/a.png"))
        request.usesCredentialStorage = true
        for _ in 0..<3 { #expect(try await downloader.body(request) == FaultServer.pattern(100)) }
        #expect(keychain.challenges.withLock { $0.count } == 1)
        #expect(downloader.credentials.count == 1)
        #expect(try await server.accessLog().map(\.status) == [401, 200, 200, 200])

        downloader.removeStoredCredentials()
        #expect(try await downloader.body(request) == FaultServer.pattern(100))
        #expect(keychain.challenges.withLock { $0.count } == 2)
    }

    @Test func theStorageIsOnlyForRequestsThatEnableIt() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let keychain = Keychain([.credential(Self.right)])
        let downloader = keychain.downloader()
        #expect(try await downloader.body(url) == FaultServer.pattern(5000))
        #expect(downloader.credentials.count == 0)
        #expect(try await downloader.error(url) == .httpStatus(code: 401, url: url))
    }

    @Test func theStorageSeparatesOriginsRealmsAndDirectories() throws {
        let storage = CredentialStorage()
        let (url, otherURL) = (try #require(URL(string: "http://h/")), try #require(URL(string: "http://h:81/")))
        let (origin, other) = (try #require(HTTPOrigin(url)), try #require(HTTPOrigin(otherURL)))
        let credential = Credential(username: "u", password: "p")
        storage.insert(credential, for: origin, realm: "r", scheme: .basic, path: "/a/b.png")
        #expect(storage.credential(for: origin, realm: "r") == credential)
        #expect(storage.credential(for: origin, realm: "s") == nil)
        #expect(storage.credential(for: other, realm: "r") == nil)
        #expect(storage.credential(toSendPreemptivelyTo: origin, path: "/a/c/d.png") == credential)
        #expect(storage.credential(toSendPreemptivelyTo: origin, path: "/ab.png") == nil)
        storage.remove(credential, for: origin)
        #expect(storage.count == 0)
    }
}

@Suite(.timeLimit(.minutes(3))) struct HTTPChallengeTests {
    @Test(arguments: [
        (["Basic realm=\"a b\""], [HTTPChallenge(scheme: "basic", realm: "a b")]),
        (["BASIC Realm=token"], [HTTPChallenge(scheme: "basic", realm: "token")]),
        (["Basic realm=\"a \\\"b\\\", c=d\""], [HTTPChallenge(scheme: "basic", realm: "a \"b\", c=d")]),
        (
            ["Digest realm=\"r\", qop=\"auth, auth-int\", nonce=n==, Basic realm = \"s\""],
            [HTTPChallenge(scheme: "digest", realm: "r"), HTTPChallenge(scheme: "basic", realm: "s")]
        ),
        (
            ["Negotiate", "Bearer", "Basic"],
            [
                HTTPChallenge(scheme: "negotiate", realm: nil), HTTPChallenge(scheme: "bearer", realm: nil),
                HTTPChallenge(scheme: "basic", realm: nil),
            ]
        ),
        (["Basic realm=\"never ends"], [HTTPChallenge(scheme: "basic", realm: "never ends")]),
        (["Basic realm=\"ends in \\"], [HTTPChallenge(scheme: "basic", realm: "ends in \\")]),
        (["", " , ,", "=", "=\"", "realm=\"x\""], []),
    ])
    func readsEveryChallengeOfEveryField(values: [String], expected: [HTTPChallenge]) {
        #expect(HTTPChallenge.parse(values) == expected)
    }

    @Test func prefersTheSchemeThatRevealsTheLeast() {
        let challenges = HTTPChallenge.parse(["Basic realm=b, Digest realm=d", "Bearer realm=t"])
        #expect(challenges.preferred?.scheme == .digest)
        #expect(challenges.preferred?.realm == "d")
        #expect(HTTPChallenge.parse(["Bearer, Basic realm=b"]).preferred?.scheme == .basic)
        #expect(HTTPChallenge.parse(["Negotiate, NTLM"]).preferred == nil)
    }
}
