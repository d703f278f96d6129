import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

/// Requests that take every answer are tried again all the same while the server is in trouble.
@Suite(.timeLimit(.minutes(1))) struct AnyAnswerAttemptTests {
    /// Keeps what attempts bring.
    private final class Record: Sendable {
        let receivers = Lock<[Receiver]>([])
        let attempts = Lock<[LoadAttempt]>([])

        func makeReceiver() -> Receiver {
            let receiver = Receiver()
            receivers.withLock { $0.append(receiver) }
            return receiver
        }
    }

    private final class Receiver: AttemptReceiver {
        private let state = Lock((statuses: [Int?](), body: Data(), isEnded: false, isAbandoned: false))
        private let metrics = Lock(LoaderMetrics?.none)
        private let beginningCount = Lock(0)

        var statuses: [Int?] { state.withLock { $0.statuses } }
        var body: Data { state.withLock { $0.body } }
        var isEnded: Bool { state.withLock { $0.isEnded } }
        var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
        var activeDuration: Duration? { metrics.withLock { $0?.activeDuration } }
        var hasBegunOnce: Bool { beginningCount.withLock { $0 == 1 } }

        func begin() { beginningCount.withLock { $0 += 1 } }
        func attach(_ task: any LoaderTask) {}
        func abandon() { state.withLock { $0.isAbandoned = true } }

        func receive(_ event: LoaderEvent) {
            if case .metrics(let metrics) = event { self.metrics.withLock { $0 = metrics } }
            state.withLock { state in
                switch event {
                case .response(let response): state.statuses.append(response.statusCode)
                case .bytes(let bytes): state.body.append(bytes)
                case .refused, .metrics: break
                case .finished: state.isEnded = true
                }
            }
        }
    }

    private let loader = ScriptedLoader()
    private let clock = ManualAnimationClock()
    private let record = Record()

    private func start(maximumAttempts: Int, network: ScriptedConnectivity? = nil) throws -> AttemptLoop {
        var request = LoaderRequest(url: try ManagerFixture.url("any"))
        request.acceptsAnyAnswer = true
        var options = AttemptOptions(policy: RetryPolicy(maximumAttempts: maximumAttempts))
        options.waitsForConnectivity = network != nil
        let plan = AttemptPlan(
            request, loader: loader, options: options, alternativeLoader: { [loader] _ in loader })
        var surroundings = AttemptSurroundings()
        surroundings.clock = clock
        surroundings.random = { 1 }
        if let network { surroundings.connectivity = network }
        let loop = AttemptLoop(
            plan, in: surroundings, priority: .normal, makeReceiver: { [record] _, _ in record.makeReceiver() },
            onAttempts: { [record] attempts in record.attempts.withLock { $0 = attempts } })
        return loop.started()
    }

    private func answer(_ load: ScriptedLoad, _ status: Int, _ text: String) {
        load.begin(expectedByteCount: nil, statusCode: status)
        load.send(Data(text.utf8))
        load.end(.success(()))
    }

    @Test func metricsCountTheTimeOfTheAttemptsBefore() async throws {
        let loop = try start(maximumAttempts: 2)
        var metrics = LoaderMetrics()
        metrics.activeDuration = .seconds(4)
        for status in [503, 200] {
            let load = try await loader.loads.first()
            load.report(metrics)
            answer(load, status, "a")
            clock.advance(by: .seconds(1))
        }
        let receivers = record.receivers.withLock { $0 }
        #expect(receivers.map(\.activeDuration) == [nil, .seconds(8)])
        let hasBegunOnce = receivers.allSatisfy { $0.hasBegunOnce }
        #expect(hasBegunOnce)
        withExtendedLifetime(loop) {}
    }

    @Test func anAttemptThatOnlyWaitsForANetworkDoesNotBegin() async throws {
        let network = ScriptedConnectivity(isConnected: false)
        let loop = try start(maximumAttempts: 1, network: network)
        let load = try await loader.loads.first()
        load.end(.failure(.transport(code: 6, message: "no such host", url: load.request.url)))
        clock.advance(by: .seconds(300))
        let receivers = record.receivers.withLock { $0 }
        #expect(receivers.map(\.isEnded) == [false, true])
        #expect(receivers.map(\.hasBegunOnce) == [true, false])
        withExtendedLifetime(loop) {}
    }

    @Test func anAnswerOfTroubleIsPassedOverWhileThereAreAttempts() async throws {
        let loop = try start(maximumAttempts: 3)
        for _ in 1...2 {
            answer(try await loader.loads.first(), 503, "later")
            clock.advance(by: .seconds(1))
        }
        answer(try await loader.loads.first(), 200, "now")
        let receivers = record.receivers.withLock { $0 }
        #expect(receivers.map(\.isAbandoned) == [true, true, false])
        #expect(receivers.map(\.statuses) == [[], [], [200]])
        #expect(receivers.map(\.body) == [Data(), Data(), Data("now".utf8)])
        #expect(record.attempts.withLock { $0 }.map(\.error).dropLast().allSatisfy { $0 != nil })
        withExtendedLifetime(loop) {}
    }

    @Test func theLastOneIsTheAnswer() async throws {
        let loop = try start(maximumAttempts: 2)
        answer(try await loader.loads.first(), 503, "later")
        clock.advance(by: .seconds(1))
        answer(try await loader.loads.first(), 503, "much later")
        let last = try #require(record.receivers.withLock { $0.last })
        #expect(last.statuses == [503] && last.body == Data("much later".utf8) && last.isEnded)
        withExtendedLifetime(loop) {}
    }

    @Test func whatTheServerWillSayAgainIsTheAnswerAtOnce() async throws {
        let loop = try start(maximumAttempts: 5)
        answer(try await loader.loads.first(), 404, "no")
        let receiver = try #require(record.receivers.withLock { $0.first })
        #expect(receiver.statuses == [404] && receiver.isEnded && clock.pendingCallCount == 0)
        withExtendedLifetime(loop) {}
    }

    @Test func aCancelIsACancel() async throws {
        let loop = try start(maximumAttempts: 5)
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: nil, statusCode: 503)
        loop.cancel()
        #expect(record.receivers.withLock { $0.first?.isEnded } == true)
        #expect(clock.pendingCallCount == 0 && record.attempts.withLock { $0 }.map(\.error) == [.cancelled])
    }
}
