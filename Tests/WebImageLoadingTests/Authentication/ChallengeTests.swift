import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct ChallengeTests {
    /// Keeps the challenges and answers them from a list; declines when that is empty.
    private final class Keychain: Sendable {
        let challenges = Lock<[AuthenticationChallenge]>([])
        private let answers: Lock<[AuthenticationAnswer]>

        init(_ answers: [AuthenticationAnswer]) { self.answers = Lock(answers) }


        func downloader(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageDownloader {
            ImageDownloader.forTests { configuration in
                configuration.authenticationHandler = { (challenge) throws(CancellationError) in try self.answer(challenge) }
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

    @Test func aHandlerIsAskedUntilItIsRight() async throws {
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

    @Test func itsCredentialTakesThePlaceOfAHeaderSetByHand() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let request = LoaderRequest(url: url, headers: ["Authorization": "Basic bm8="])
        #expect(try await Keychain([.credential(Self.right)]).downloader().body(request) == FaultServer.pattern(5000))
    }

    @Test func aHandlerIsAskedAtMostSoOften() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let keychain = Keychain([.credential(Self.wrong), .credential(Self.wrong), .credential(Self.wrong), .credential(Self.wrong), .credential(Self.right)])
        #expect(try await keychain.downloader().error(url) == .httpStatus(code: 401, url: url))
        #expect(keychain.challenges.withLock { $0.map(\.previousFailureCount) } == [0, 1, 2])
    }

    @Test func aHandlerMayDeclineOrCancel() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        #expect(try await Keychain([.decline]).downloader().error(url) == .httpStatus(code: 401, url: url))
        #expect(try await Keychain([.cancel]).downloader().error(url) == .cancelled)
        let injected = Credential.bearerToken("a\nb")
        let broken = Keychain([.credential(injected)]).downloader()
        #expect(try await broken.error(url) == .invalidHeader(name: "authorization"))
    }

    @Test func aLoadHasNoSlotWhileItsHandlerThinks() async throws {
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

    @Test func theStorageAnswersOnceACredentialHasWorked() async throws {
        let server = try NGINXServer()
        try server.write(FaultServer.pattern(100), to: "a.png")
        let keychain = Keychain([.credential(Self.right), .credential(Self.right)])
        let downloader = keychain.downloader()
        var request = LoaderRequest(url: try server.url("/private/a.png"))
        request.usesCredentialStorage = true
        for _ in 0..<3 { #expect(try await downloader.body(request) == FaultServer.pattern(100)) }
        #expect(keychain.challenges.withLock { $0.count } == 1)
        #expect(downloader.storedCredentialCount == 1)
        #expect(try await server.accessLog().map(\.status) == [401, 200, 200, 200])

        downloader.removeStoredCredentials()
        #expect(try await downloader.body(request) == FaultServer.pattern(100))
        #expect(keychain.challenges.withLock { $0.count } == 2)
    }

    @Test func theStorageIsForRequestsThatAskForIt() async throws {
        let url = try SharedServers.nginx.get().url("/private/small.png")
        let keychain = Keychain([.credential(Self.right)])
        let downloader = keychain.downloader()
        #expect(try await downloader.body(url) == FaultServer.pattern(5000))
        #expect(downloader.storedCredentialCount == 0)
        #expect(try await downloader.error(url) == .httpStatus(code: 401, url: url))
    }

    @Test func theStorageKeepsOriginsRealmsAndDirectoriesApart() throws {
        let storage = CredentialStorage()
        let (url, otherURL) = (try #require(URL(string: "http://h/")), try #require(URL(string: "http://h:81/")))
        let (origin, other) = (try #require(HTTPOrigin(url)), try #require(HTTPOrigin(otherURL)))
        let credential = Credential(username: "u", password: "p")
        storage.insert(credential, for: origin, realm: "r", scheme: .basic, path: "/a/b.png")
        #expect(storage.credential(for: origin, realm: "r") == credential)
        #expect(storage.credential(for: origin, realm: "s") == nil)
        #expect(storage.credential(for: other, realm: "r") == nil)
        #expect(storage.credential(toSendUnaskedTo: origin, path: "/a/c/d.png") == credential)
        #expect(storage.credential(toSendUnaskedTo: origin, path: "/ab.png") == nil)
        storage.remove(credential, for: origin)
        #expect(storage.count == 0)
    }
}
