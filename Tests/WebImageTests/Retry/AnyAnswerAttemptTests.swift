import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCore
@testable import WebImageLoading

/// Requests that take every answer are tried again all the same while the server is in trouble.
@Suite(.timeLimit(.minutes(1))) struct AnyAnswerAttemptTests {
    /// The reports of the wrapping loader.
    private final class Record: Sendable {
        private let events = LockBox<[LoaderEvent]>([])

        func note(_ event: LoaderEvent) { events.withLock { $0.append(event) } }

        /// The names of all events except the metrics.
        var names: [String] {
            events.withLock { $0 }.compactMap { event in
                switch event {
                case .report(let report): Self.name(report)
                case .response(let response): "response \(response.statusCode ?? 0)"
                case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
                case .refused: "refused"
                case .finished(.success): "success"
                case .finished(.failure(.cancelled)): "cancelled"
                case .finished(.failure): "failure"
                }
            }
        }

        private static func name(_ report: LoaderReport) -> String? {
            switch report {
            case .queued: "queued"
            case .started: "started"
            case .retrying(let retry): "retrying \(retry.wait)"
            case .waited: "waited"
            case .attemptFailed: "attempt failed"
            case .metrics, .noted, .judged: nil
            }
        }
    }

    private let loader = ScriptedLoader()
    private let clock = ManualTimerClock()
    private let record = Record()

    private func start(maximumAttempts: Int, network: ScriptedConnectivity? = nil) throws -> any LoaderTask {
        var request = LoaderRequest(url: try ManagerFixture.url("any"))
        request.acceptsAnyAnswer = true
        var environment = LoadEnvironment()
        environment.clock = clock
        environment.random = { 1 }
        if let network { environment.connectivity = network }
        let retrying = RetryingLoader(
            loader, strategy: RetryPolicy(maximumAttempts: maximumAttempts), waitsForConnectivity: network != nil,
            environment: environment)
        return retrying.load(request, priority: .normal) { [record] event in record.note(event) }
    }

    private func answer(_ load: ScriptedLoad, _ status: Int, _ text: String) {
        load.begin(expectedByteCount: nil, statusCode: status)
        load.send(Data(text.utf8))
        load.end(.success(()))
    }

    @Test func theTimeLimitIncludesEarlierAttempts() async throws {
        _ = try start(maximumAttempts: 2)
        var metrics = LoaderMetrics()
        metrics.activeDuration = .seconds(4)
        for (status, usedTime) in [(503, Duration.zero), (200, .seconds(4))] {
            let load = try await loader.loads.first()
            #expect(load.request.usedTime == usedTime)
            load.report(metrics)
            answer(load, status, "a")
            clock.advance(by: .seconds(1))
        }
    }

    @Test func anAttemptThatOnlyWaitsForANetworkDoesNotStart() async throws {
        _ = try start(maximumAttempts: 1, network: ScriptedConnectivity(isConnected: false))
        let load = try await loader.loads.first()
        load.end(.failure(.transport(code: 6, message: "no such host", url: load.request.url)))
        clock.advance(by: .seconds(300))
        #expect(record.names == ["retrying connectivity(nil)", "waited", "failure"])
    }

    @Test func skipsAServerErrorWhileThereAreAttempts() async throws {
        _ = try start(maximumAttempts: 3)
        for _ in 1...2 {
            answer(try await loader.loads.first(), 503, "later")
            clock.advance(by: .seconds(1))
        }
        answer(try await loader.loads.first(), 200, "now")
        #expect(
            record.names == [
                "retrying backoff(0.5 seconds)", "started", "retrying backoff(1.0 seconds)", "started", "response 200",
                "now", "success",
            ])
    }

    @Test func theLastAttemptProvidesTheResponse() async throws {
        _ = try start(maximumAttempts: 2)
        answer(try await loader.loads.first(), 503, "later")
        clock.advance(by: .seconds(1))
        answer(try await loader.loads.first(), 503, "much later")
        #expect(record.names.suffix(3) == ["response 503", "much later", "success"])
    }

    @Test func aPermanentErrorIsReturnedAtOnce() async throws {
        _ = try start(maximumAttempts: 5)
        answer(try await loader.loads.first(), 404, "no")
        #expect(record.names == ["response 404", "no", "success"])
        #expect(clock.pendingCallCount == 0)
    }

    @Test func aCancelledLoadIsNotRetried() async throws {
        let task = try start(maximumAttempts: 5)
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: nil, statusCode: 503)
        task.cancel()
        #expect(record.names == ["cancelled"])
        #expect(clock.pendingCallCount == 0)
    }

    @Test func aCancelEndsTheWaitAtOnce() async throws {
        let task = try start(maximumAttempts: 5)
        answer(try await loader.loads.first(), 503, "later")
        #expect(clock.pendingCallCount == 1)
        task.cancel()
        #expect(record.names == ["retrying backoff(0.5 seconds)", "cancelled"])
        #expect(clock.pendingCallCount == 0)
    }

    @Test func aPauseEndsWithItsAttempt() async throws {
        let task = try start(maximumAttempts: 2)
        let first = try await loader.loads.first()
        task.pause()
        first.end(.failure(.timedOut(after: .seconds(1), url: first.request.url)))
        clock.advance(by: .seconds(1))
        let second = try await loader.loads.first()
        #expect(!second.isPaused)
        task.pause()
        #expect(second.isPaused)
    }
}
