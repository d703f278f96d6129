import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCore
@testable import WebImageLoading

/// Loads that wait for a network.
@Suite(.timeLimit(.minutes(1))) struct ConnectivityTests {
    private let picture = SolidPicture(9)

    private func makeFixture() throws -> AttemptFixture {
        let fixture = try AttemptFixture(policy: .none, isCacheable: false)
        fixture.network.disconnect()
        return fixture
    }

    private static func unresolved(_ url: URL) -> WebImageError {
        .transport(code: 6, message: "Could not resolve host", url: url)
    }

    @Test func retriesOnceANetworkIsAvailable() async throws {
        let fixture = try makeFixture()
        let operation = fixture.start { $0.waitsForConnectivity = true }
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        #expect(operation.attempts.last == LoadAttempt(number: 2, url: fixture.url, wait: .connectivity(nil)))
        #expect(fixture.network.waiterCount == 1)
        fixture.clock.advance(by: .seconds(20))
        #expect(fixture.loadCount == 1)
        fixture.network.connect()
        #expect(fixture.loadCount == 2)
        try await fixture.nextLoad().answer(picture.png())
        let response = try await fixture.result().get()
        #expect(picture.matches(response.image))
        #expect(response.attempts.last?.wait == .connectivity(.seconds(20)))
        #expect(fixture.clock.pendingCallCount == 0)
    }

    @Test func theStoredImageIsServedIfNoNetworkBecomesAvailable() async throws {
        let fixture = try AttemptFixture(policy: .none)
        func start() {
            fixture.start { request in
                request.cachePolicy = .http
                request.waitsForConnectivity = true
            }
        }
        start()
        try await fixture.nextLoad().answer(picture, "Cache-Control: max-age=60, stale-if-error=600")
        _ = await fixture.results.wait(for: 1)
        fixture.manager.time.advance(seconds: 100)
        fixture.network.disconnect()
        start()
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        fixture.clock.advance(by: .seconds(300))
        let response = try await fixture.results.wait(for: 2)[1].get()
        #expect(picture.matches(response.image) && response.origin == .diskCache)
    }

    @Test func failsAtOnceWithoutTheOption() async throws {
        let fixture = try makeFixture()
        fixture.start()
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        #expect(await fixture.error() == Self.unresolved(fixture.url))
        #expect(fixture.network.waiterCount == 0)
    }

    @Test func failsIfANetworkIsAvailable() async throws {
        let fixture = try makeFixture()
        fixture.network.connect()
        fixture.start { $0.waitsForConnectivity = true }
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        #expect(await fixture.error() == Self.unresolved(fixture.url))
    }

    @Test func aServerErrorIsNoMissingNetwork() async throws {
        let fixture = try makeFixture()
        fixture.start { $0.waitsForConnectivity = true }
        try await fixture.nextLoad().refuse(503)
        #expect(await fixture.error() == .httpStatus(code: 503, url: fixture.url))
    }

    @Test func thisMachineNeedsNoNetwork() async throws {
        let fixture = try makeFixture()
        let url = try #require(URL(string: "scripted://127.0.0.1/a"))
        fixture.start { request in
            request.url = url
            request.waitsForConnectivity = true
        }
        try await fixture.nextLoad().end(.failure(fixture.reset(url)))
        #expect(await fixture.error() == fixture.reset(url))
    }

    @Test func waitsNoLongerThanTheTotalLimit() async throws {
        let fixture = try makeFixture()
        let operation = fixture.start { $0.waitsForConnectivity = true }
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        fixture.clock.advance(by: .seconds(200))
        fixture.network.connect()
        let second = try await fixture.nextLoad()
        fixture.network.disconnect()
        second.end(.failure(Self.unresolved(fixture.url)))
        fixture.clock.advance(by: .seconds(99))
        #expect(fixture.results.all.isEmpty)
        fixture.clock.advance(by: .seconds(1))
        #expect(await fixture.error() == .timedOut(reason: .offline, after: .seconds(300), url: fixture.url))
        #expect(operation.attempts.count == 3 && operation.attempts.last?.wait == .connectivity(.seconds(100)))
        #expect(fixture.network.waiterCount == 0 && fixture.loadCount == 2)
    }

    @Test func alternativesOnThisMachineLoadWithoutANetwork() async throws {
        let fixture = try makeFixture()
        let here = try #require(URL(string: "scripted://localhost/a"))
        fixture.start { request in
            request.waitsForConnectivity = true
            request.alternatives = [here]
        }
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        fixture.clock.advance(by: .seconds(300))
        try await fixture.nextLoad().answer(picture.png())
        #expect(
            try await fixture.result().get().attempts.map(\.error) == [
                Self.unresolved(fixture.url), .timedOut(reason: .offline, after: .seconds(300), url: fixture.url), nil,
            ])
    }

    @Test func aCancelWhileItWaitsEndsItAtOnce() async throws {
        let fixture = try makeFixture()
        let operation = fixture.start { $0.waitsForConnectivity = true }
        try await fixture.nextLoad().end(.failure(Self.unresolved(fixture.url)))
        operation.cancel()
        #expect(await fixture.error() == .cancelled)
        #expect(fixture.network.waiterCount == 0 && fixture.clock.pendingCallCount == 0)
        fixture.network.connect()
        #expect(fixture.loadCount == 1)
    }

    @Test func aNetworkWronglyReportedAsAvailableEndsTheLoad() async throws {
        /// Not connected when asked, connected when waited for.
        struct Flapping: ConnectivityMonitor {
            var isConnected: Bool { false }
            func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait {
                body()
                return ConnectivityWait {}
            }
        }
        let fixture = try ManagerFixture { $0.connectivity = Flapping() }
        let url = try ManagerFixture.url("flapping")
        let results = Results()
        var request = WebImageRequest(url)
        request.waitsForConnectivity = true
        fixture.manager.load(request, completion: results.note)
        for _ in 1...17 { try await fixture.nextLoad().end(.failure(Self.unresolved(url))) }
        _ = await results.wait(for: 1)
        #expect(results.errors == [Self.unresolved(url)])
        #expect(fixture.loader.loadCount == 17)
    }
}
