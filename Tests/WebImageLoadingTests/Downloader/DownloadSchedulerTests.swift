import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport
import WebImageTesting

@testable import WebImageLoading

/// The scheduler's steps against a transport that the test controls.
@Suite(.timeLimit(.minutes(1))) struct DownloadSchedulerTests {
    /// Records the calls; the test acts as the server.
    private final class ScriptedTransport: HTTPTransport {
        struct State {
            var started: [TransferRequest] = []
            var receivers: [any TransferReceiver] = []
            var cancelled: [TransferID] = []
            var resumed: [TransferID] = []
            var bodies: [@Sendable () -> Void] = []
        }

        let state = LockBox(State())

        func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver) {
            state.withLock { state in
                state.started.append(request)
                state.receivers.append(receiver)
            }
        }

        func cancel(_ id: TransferID) { state.withLock { $0.cancelled.append(id) } }

        func resume(_ id: TransferID) { state.withLock { $0.resumed.append(id) } }

        func perform(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.bodies.append(body) } }

        func withCookies(_ body: @escaping @Sendable (any CookieStore) -> Void) {}

        func runPerformed() {
            let bodies = state.withLock { state in
                defer { state.bodies = [] }
                return state.bodies
            }
            bodies.forEach { $0() }
        }
    }

    /// A cancel that reaches the transport between two hops, which real transports rarely show.
    @Test(arguments: ["/same-origin", "http://other/origin"])
    func aCancelBetweenTwoRedirectsIsNotLost(location: String) async throws {
        let transport = ScriptedTransport()
        let downloader = ImageDownloader(configuration: .init(), transport: transport)
        let load = downloader.record(try #require(URL(string: "http://h/a")))
        let receiver = try #require(transport.state.withLock { $0.receivers.first })
        let field = HTTPHeader(name: "Location", value: location)
        #expect(receiver.transferDidReceive(TransferHead(statusCode: 302, fields: [field])) == .proceed)

        // The transport has ended the hop already, so that this cancel finds nothing there.
        load.task.cancel()
        #expect(transport.state.withLock { $0.cancelled.count } == 1)
        receiver.transferDidEnd(.complete)
        transport.runPerformed()
        #expect(try await load.recording.error() == .cancelled)
        #expect(load.recording.isInOrder)
        #expect(transport.state.withLock { $0.started.count } == 1)
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func aRedirectToAnotherOriginWaitsForASlotThere() throws {
        let transport = ScriptedTransport()
        var configuration = ImageDownloader.Configuration()
        configuration.maximumConnectionsPerHost = 1
        let downloader = ImageDownloader(configuration: configuration, transport: transport)
        _ = downloader.record(try #require(URL(string: "http://a/1")))
        _ = downloader.record(try #require(URL(string: "http://b/2")))
        _ = downloader.record(try #require(URL(string: "http://a/3")))
        let receivers = transport.state.withLock { $0.receivers }
        let field = HTTPHeader(name: "Location", value: "http://b/1")
        _ = receivers[0].transferDidReceive(TransferHead(statusCode: 302, fields: [field]))
        receivers[0].transferDidEnd(.complete)
        #expect(
            transport.state.withLock { $0.started.map(\.url.absoluteString) } == [
                "http://a/1", "http://b/2", "http://a/3",
            ])
        receivers[1].transferDidEnd(.interrupted)
        #expect(transport.state.withLock { $0.started.last?.url.absoluteString } == "http://b/1")
    }

    // MARK: Rate limit

    /// A downloader with a rate limit on a clock that the test advances.
    private struct LimitedDownloader {
        let transport = ScriptedTransport()
        let clock = ManualClock()
        let downloader: ImageDownloader

        init(
            transfersPerSecond: Double?, burst: Int = 25,
            _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
        ) {
            var configuration = ImageDownloader.Configuration()
            configuration.maximumTransfersPerSecond = transfersPerSecond
            configuration.transferBurst = burst
            configuration.maximumConnections = 1000
            configuration.maximumConnectionsPerHost = 1000
            change(&configuration)
            downloader = ImageDownloader(configuration: configuration, transport: transport, clock: clock)
        }

        @discardableResult
        func load(_ path: String, _ priority: LoadPriority = .normal) throws -> (
            recording: LoadRecording, task: any LoaderTask
        ) {
            downloader.record(try #require(URL(string: "http://host/\(path)")), priority: priority)
        }

        var started: [String] { transport.state.withLock { $0.started.map { String($0.url.path().dropFirst()) } } }

        /// Lets the next token come, and waits until the next load has taken it.
        func waitForToken(after duration: Duration) async throws {
            let count = started.count
            try await clock.waitForSleepers()
            clock.advance(by: duration)
            while started.count == count, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func startsABurstThenOneLoadPerInterval() async throws {
        let limited = LimitedDownloader(transfersPerSecond: 80)
        for number in 0..<30 { try limited.load("\(number)") }
        #expect(limited.started.count == 25)
        #expect(limited.downloader.loadCounts == (25, 5))
        for count in 26...30 {
            try await limited.waitForToken(after: .microseconds(12_500))
            #expect(limited.started.count == count)
        }
        #expect(limited.started == (0..<30).map { "\($0)" })
        #expect(limited.clock.sleeperCount == 0)
    }

    @Test func withoutARateLimitEverythingStartsAtOnce() throws {
        #expect(ImageDownloader.Configuration().maximumTransfersPerSecond == nil)
        let limited = LimitedDownloader(transfersPerSecond: nil)
        for number in 0..<500 { try limited.load("\(number)") }
        #expect(limited.started.count == 500 && limited.clock.sleeperCount == 0)
    }

    @Test func aLoadThatWaitsForATokenKeepsItsPriorityAndCanBeCancelled() async throws {
        let limited = LimitedDownloader(transfersPerSecond: 10, burst: 1)
        try limited.load("first")
        let low = try limited.load("low", .low)
        let cancelled = try limited.load("cancelled", .veryHigh)
        try limited.load("normal")
        let raised = try limited.load("raised", .low)
        raised.task.setPriority(.high)
        cancelled.task.cancel()
        limited.transport.runPerformed()
        #expect(try await cancelled.recording.error() == .cancelled)
        #expect(limited.started == ["first"])
        for _ in 0..<3 { try await limited.waitForToken(after: .milliseconds(100)) }
        #expect(limited.started == ["first", "raised", "normal", "low"])
        low.task.cancel()
        #expect(limited.clock.sleeperCount == 0)
    }

    /// Only the start of a load takes a token.
    @Test func redirectsConsumeNoToken() throws {
        let limited = LimitedDownloader(transfersPerSecond: 1, burst: 1)
        try limited.load("first")
        try limited.load("second")
        for location in ["/same", "http://other/origin"] {
            let receiver = try #require(limited.transport.state.withLock { $0.receivers.first })
            let field = HTTPHeader(name: "Location", value: location)
            _ = receiver.transferDidReceive(TransferHead(statusCode: 302, fields: [field]))
            receiver.transferDidEnd(.complete)
        }
        #expect(limited.started == ["first", "same", "origin"])
    }

    /// The time limit of a load covers its exchanges, and each starts with all of the time.
    @Test func theWaitForATokenDoesNotCountAgainstTimeLimits() async throws {
        let limited = LimitedDownloader(transfersPerSecond: 0.1, burst: 1) { $0.totalTimeout = .seconds(5) }
        try limited.load("first")
        try limited.load("second")
        try await limited.waitForToken(after: .seconds(10))
        #expect(limited.transport.state.withLock { $0.started.map(\.limits.total) } == [.seconds(5), .seconds(5)])
    }

    @Test func startingNeedsBothASlotAndAToken() async throws {
        let limited = LimitedDownloader(transfersPerSecond: 10, burst: 2) { $0.maximumConnectionsPerHost = 1 }
        for name in ["first", "second", "third"] { try limited.load(name) }
        #expect(limited.started == ["first"])
        #expect(limited.clock.sleeperCount == 0)
        let end: (Int) -> Void = { index in
            limited.transport.state.withLock { $0.receivers[index] }.transferDidEnd(.interrupted)
        }
        end(0)
        #expect(limited.started == ["first", "second"])
        end(1)
        #expect(limited.started == ["first", "second"])
        try await limited.waitForToken(after: .milliseconds(100))
        #expect(limited.started == ["first", "second", "third"])
    }

    @Test func aTokenBucketFillsUpToItsBurst() {
        var bucket = TokenBucket(transfersPerSecond: 4, burst: 3, now: .zero)
        let takeAll = { (now: Duration) in
            var count = 0
            while bucket.take(at: now) { count += 1 }
            return count
        }
        #expect(takeAll(.zero) == 3)
        #expect(bucket.wait == .milliseconds(250))
        #expect(takeAll(.milliseconds(249)) == 0)
        #expect(takeAll(.milliseconds(500)) == 2)
        #expect(takeAll(.seconds(1000)) == 3)
        // Limits that make no sense neither trap nor stop all loads.
        for rate in [0, -1, .infinity, .nan] {
            var bucket = TokenBucket(transfersPerSecond: rate, burst: 0, now: .zero)
            #expect(bucket.take(at: .zero) && !bucket.take(at: .zero))
            #expect(bucket.wait >= .milliseconds(1) && bucket.wait <= .seconds(1000))
        }
    }

    // MARK: Start

    @Test func reportsTheStartOnceWhenTheFirstSlotIsFree() throws {
        let transport = ScriptedTransport()
        var configuration = ImageDownloader.Configuration()
        configuration.maximumConnectionsPerHost = 1
        let downloader = ImageDownloader(configuration: configuration, transport: transport)
        let started = LockBox<[String]>([])
        for path in ["1", "2", "3"] {
            let request = LoaderRequest(url: try #require(URL(string: "http://host/\(path)")))
            let task = downloader.load(
                request, priority: .normal,
                handler: { event in
                    guard case .report(.started) = event else { return }
                    started.withLock { $0.append(path) }
                })
            if path == "3" { task.cancel() }
        }
        transport.runPerformed()
        #expect(started.withLock { $0 } == ["1"])
        for location in ["/again", "http://host/end"] {
            let receiver = try #require(transport.state.withLock { $0.receivers.first })
            _ = receiver.transferDidReceive(
                TransferHead(statusCode: 302, fields: [HTTPHeader(name: "Location", value: location)]))
            receiver.transferDidEnd(.complete)
        }
        transport.runPerformed()
        #expect(started.withLock { $0 } == ["1"], "a redirect is no start")
        transport.state.withLock { $0.receivers[0] }.transferDidEnd(.interrupted)
        transport.runPerformed()
        #expect(started.withLock { $0 } == ["1", "2"])
    }
}
