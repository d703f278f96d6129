import FoundationEssentials
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// How long a load may take, and what of its time counts.
@Suite(.timeLimit(.minutes(1))) struct TimeLimitTests {
    private let faults: FaultServer

    init() throws { faults = try SharedServers.faults.get() }

    @Test func defaultLimitsSuitSlowNetworksAndServerLimitsDoNot() {
        let standard = ImageDownloader.Configuration()
        #expect(standard.totalTimeout == nil && standard.idleTimeout == .seconds(15))
        #expect(standard.minimumBytesPerSecond == 100 && standard.minimumRateWindow == .seconds(60))
        let server = ImageDownloader.Configuration.server
        #expect(server.totalTimeout == .seconds(60) && server.idleTimeout == .seconds(10))
        #expect(server.minimumBytesPerSecond == 1024 && server.minimumRateWindow == .seconds(10))
        #expect(server.maximumResponseByteCount == 50 << 20)
    }

    @Test func aRequestCanHaveItsOwnTotalTimeLimit() async throws {
        let downloader = ImageDownloader.forTests { $0.totalTimeout = .milliseconds(200) }
        var request = LoaderRequest(url: try faults.url("/drip/total?size=8&interval=0.1"))
        #expect(
            try await downloader.error(request)
                == .timedOut(reason: .total, after: .milliseconds(200), url: request.url))
        request.totalTimeout = .seconds(30)
        #expect(try await downloader.body(request) == FaultServer.pattern(8))
    }

    @Test func theTotalLimitIncludesRedirects() async throws {
        let downloader = ImageDownloader.forTests { $0.totalTimeout = .milliseconds(500) }
        let error = try await downloader.error(faults.url("/redirect-chain/total?left=9&wait=0.15"))
        guard case .timedOut(.total, .milliseconds(500), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let count = try #require(try await faults.statistics().requests["/redirect-chain/total"])
        #expect((2...4).contains(count), "\(count)")
    }

    /// The redirect is known, and would be followed after an error in its body.
    @Test func aRedirectIsNotFollowedAfterTheTotalLimit() throws {
        let url = try #require(URL(string: "http://host/a"))
        let state = try DownloadState(LoaderRequest(url: url), environment: DownloadEnvironment(Self.limited))
        let head = TransferHead(statusCode: 302, fields: [HTTPHeader(name: "Location", value: "/b")])
        _ = state.receive(head)
        guard case .redirected = state.conclude(.timedOut(.idle)) else {
            Issue.record("The redirect was lost")
            return
        }
        guard case .finished(.failure(.timedOut(.total, .seconds(5), url))) = state.conclude(.timedOut(.total)) else {
            Issue.record("The limit was not kept")
            return
        }
        _ = state.receive(TransferHead(statusCode: 404))
        guard case .finished(.failure(.httpStatus(404, url))) = state.conclude(.timedOut(.total)) else {
            Issue.record("The status was lost")
            return
        }
    }

    private static var limited: ImageDownloader.Configuration {
        var configuration = ImageDownloader.Configuration()
        configuration.totalTimeout = .seconds(5)
        return configuration
    }

    @Test func theTotalLimitIncludesEarlierAttempts() throws {
        let url = try #require(URL(string: "http://host/a"))
        var request = LoaderRequest(url: url)
        var earlier = LoaderMetrics()
        earlier.activeDuration = .seconds(2)
        request.history = LoadHistory()
        request.history?.addTransfer(earlier)
        let state = try DownloadState(request, environment: DownloadEnvironment(Self.limited))
        #expect(state.limits(after: .seconds(1)).total == .seconds(2))
        #expect(state.limits(after: .seconds(4)).total == .zero)
    }

    @Test func waitingForASlotDoesNotCountAgainstTimeLimits() async throws {
        let downloader = ImageDownloader.forTests { $0.maximumConnections = 1 }
        let other = ImageDownloader.forTests()
        let first = downloader.record(try faults.url("/held/total/first"))
        try await faults.wait(for: .requests, path: "/held/total/first")
        var request = LoaderRequest(url: try faults.url("/bytes/total/second?size=9"))
        request.totalTimeout = .milliseconds(400)
        let second = downloader.record(request)
        let deadline = ContinuousClock.now + .milliseconds(500)
        while ContinuousClock.now < deadline { _ = try await other.body(faults.url("/bytes/total/beside?size=9")) }
        try await faults.release("/held/total/first")
        try await first.recording.body()
        #expect(try await second.recording.body().count == 9)
    }

    @Test func pausesByTheReaderDoNotCountAgainstTimeLimits() async throws {
        let downloader = ImageDownloader.forTests {
            $0.minimumBytesPerSecond = 1 << 30
            $0.minimumRateWindow = .seconds(2)
        }
        var request = LoaderRequest(url: try faults.url("/bytes/total/held?size=300000"))
        // A busy machine needs much of it for the rest.
        request.totalTimeout = .seconds(2)
        let load = downloader.record(request)
        load.task.pause()
        try await load.recording.waitForResponse()
        let deadline = ContinuousClock.now + .milliseconds(2100)
        while ContinuousClock.now < deadline { _ = try await downloader.body(faults.url("/bytes/total/beside?size=9")) }
        load.task.resume()
        #expect(try await load.recording.body() == FaultServer.pattern(300_000))
        let metrics = try #require(load.recording.metrics)
        #expect(metrics.totalDuration >= .milliseconds(2100))
        #expect(metrics.activeDuration < .seconds(2))
    }

    @Test(arguments: ["/drip/rate?size=1000", "/drip-head/rate"])
    func aTransferThatIsTooSlowEnds(path: String) async throws {
        let downloader = ImageDownloader.forTests {
            $0.minimumBytesPerSecond = 1000
            $0.minimumRateWindow = .milliseconds(500)
        }
        let url = try faults.url(path)
        let reason = WebImageError.TimeoutReason.slow(bytesPerSecond: 1000)
        #expect(try await downloader.error(url) == .timedOut(reason: reason, after: .milliseconds(500), url: url))
        try await faults.wait(for: .dropped, path: url.path())
    }

    @Test func aSlowTransferContinuesWithoutAMinimumRate() async throws {
        let downloader = ImageDownloader.forTests {
            $0.minimumBytesPerSecond = 0
            $0.minimumRateWindow = .milliseconds(100)
        }
        #expect(try await downloader.body(faults.url("/drip/unlimited?size=5")) == FaultServer.pattern(5))
    }

    @Test func waitingForTheResponseIsNotASlowTransfer() async throws {
        let downloader = ImageDownloader.forTests {
            $0.minimumBytesPerSecond = 1000
            $0.minimumRateWindow = .milliseconds(100)
        }
        #expect(try await downloader.body(faults.url("/redirect-chain/thinks?left=1&wait=0.4")).count == 10)
    }

    /// On one connection, each stream has its own clocks.
    @Test func aSlowHTTP2StreamEndsAlone() async throws {
        let nginx = try NGINXServer(certificates: [.valid], locations: "location = /slow.png { limit_rate 300; }")
        for name in ["slow.png", "fast.png"] { try nginx.write(FaultServer.pattern(50_000), to: name) }
        let authority = try TestCertificates.shared.get().authority
        let downloader = ImageDownloader.forTests {
            $0.certificateAuthorities = .file(authority)
            $0.minimumBytesPerSecond = 10_000
            $0.minimumRateWindow = .milliseconds(500)
        }
        let url = try nginx.secureURL("/slow.png")
        let slow = downloader.record(url)
        try await slow.recording.waitForResponse()
        #expect(try await downloader.body(nginx.secureURL("/fast.png")).count == 50_000)
        let reason = WebImageError.TimeoutReason.slow(bytesPerSecond: 10_000)
        #expect(try await slow.recording.error() == .timedOut(reason: reason, after: .milliseconds(500), url: url))
        #expect(try await downloader.body(nginx.secureURL("/fast.png?again")).count == 50_000)
        let log = try await nginx.accessLog()
        #expect(log.count == 3 && Set(log.map(\.connection)).count == 1)
    }

    @Test func aFewInformationalResponsesAreAccepted() async throws {
        let downloader = ImageDownloader.forTests()
        #expect(try await downloader.body(faults.url("/informational/few?count=20")).count == 10)
    }

    @Test(arguments: ["/informational/many?count=21", "/informational/endless"])
    func tooManyInformationalResponsesEndTheLoad(path: String) async throws {
        let url = try faults.url(path)
        #expect(
            try await ImageDownloader.forTests().error(url)
                == .invalidResponse(reason: .tooManyInformationalResponses(limit: 20), url: url))
    }

    @Test func informationalResponsesDoNotResetTheIdleLimit() async throws {
        let downloader = ImageDownloader.forTests { $0.idleTimeout = .milliseconds(500) }
        let url = try faults.url("/informational/silent?count=19&interval=0.1")
        #expect(try await downloader.error(url) == .timedOut(after: .milliseconds(500), url: url))
    }

    @Test func sendingABodyCountsAgainstTimeLimitsToo() async throws {
        let downloader = ImageDownloader.forTests { $0.idleTimeout = .milliseconds(500) }
        var request = LoaderRequest(url: try faults.url("/mirror/sent"))
        request.method = .put
        request.body = FaultServer.pattern(300_000)
        #expect(try await downloader.body(request).count > 300_000)
    }
}

/// The time limits of an exchange, without a server and without waiting. Times are in milliseconds.
@Suite(.timeLimit(.minutes(3))) struct TransferClockTests {
    private static let start: Int64 = 1_000_000
    private var clock = Self.makeClock()
    private var sent: Int64 = 0
    private var received: Int64 = 0

    private static func makeClock(_ change: (inout TransferLimits) -> Void = { _ in }) -> TransferClock {
        var limits = TransferLimits()
        limits.idle = .seconds(15)
        limits.total = .seconds(60)
        limits.bytesPerSecond = 100
        limits.rateWindow = .seconds(10)
        change(&limits)
        return TransferClock(limits, now: start)
    }

    /// The limit that has been reached at `time`.
    private mutating func exceededLimit(at time: Int64, isHeld: Bool = false) -> TransferLimits.Kind? {
        clock.advance(to: Self.start + time, isHeld: isHeld)
        return clock.exceededLimit(sent: { sent }, received: { received })
    }

    private mutating func receive(_ byteCount: Int64, at time: Int64) {
        clock.noteActivity(at: Self.start + time)
        received += byteCount
    }

    private var deadline: Int64? { clock.deadline.map { $0 - Self.start } }

    @Test mutating func onlyTheTotalLimitCountsWithoutAConnection() {
        #expect(deadline == 60_000)
        #expect(exceededLimit(at: 59_999) == nil)
        #expect(exceededLimit(at: 60_000) == .total)
    }

    @Test mutating func theIdleLimitCountsFromTheLastByte() {
        clock.noteConnection(at: Self.start + 1000)
        #expect(deadline == 16_000)
        receive(5000, at: 9000)
        #expect(exceededLimit(at: 19_000) == nil)
        #expect(deadline == 24_000)
        #expect(exceededLimit(at: 23_999) == nil)
        #expect(exceededLimit(at: 24_000) == .idle)
    }

    @Test mutating func bytesThatAreSentCountAsActivity() {
        clock.noteConnection(at: Self.start)
        sent = 1
        #expect(exceededLimit(at: 15_000) == nil)
        #expect(exceededLimit(at: 29_999) == .rate)
        clock = Self.makeClock { $0.bytesPerSecond = 0 }
        clock.noteConnection(at: Self.start)
        #expect(exceededLimit(at: 15_000) == nil)
        #expect(deadline == 30_000)
        #expect(exceededLimit(at: 30_000) == .idle)
    }

    @Test mutating func aRateBelowTheLeastIsReachedAtTheEndOfItsWindow() {
        clock.noteConnection(at: Self.start)
        for second: Int64 in 5..<15 { receive(99, at: second * 1000) }
        #expect(deadline == 15_000)
        #expect(exceededLimit(at: 14_999) == nil)
        #expect(exceededLimit(at: 15_000) == .rate)
    }

    @Test mutating func eachWindowIsMeasuredAlone() {
        clock.noteConnection(at: Self.start)
        receive(1000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(1, at: 12_000)
        #expect(deadline == 22_000)
        #expect(exceededLimit(at: 22_000) == .rate)
    }

    @Test mutating func silenceIsNoMatterOfTheRate() {
        clock = Self.makeClock { $0.idle = .seconds(120) }
        clock.noteConnection(at: Self.start)
        #expect(exceededLimit(at: 50_000) == nil)
        receive(1000, at: 50_000)
        #expect(exceededLimit(at: 59_999) == nil)
    }

    @Test mutating func theRateIsMeasuredAnewWhenTheTransportRepeatsTheRequest() {
        receive(1000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(0, at: 11_000)
        received = 1000
        #expect(exceededLimit(at: 21_000) == .rate)
        clock = Self.makeClock()
        received = 0
        receive(2000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(0, at: 11_000)
        received = 1000
        #expect(exceededLimit(at: 21_000) == nil)
    }

    @Test mutating func noLimitRunsWhileTheReceiverHoldsTheExchangeBack() {
        clock.noteConnection(at: Self.start)
        receive(1, at: 1000)
        #expect(exceededLimit(at: 200_000, isHeld: true) == nil)
        clock.noteResumption(at: Self.start + 300_000)
        #expect(deadline == 315_000)
        #expect(exceededLimit(at: 314_999) == nil)
        #expect(clock.elapsed == 15_999)
        #expect(exceededLimit(at: 315_000) == .idle)
        receive(10_000, at: 315_000)
        #expect(exceededLimit(at: 325_000) == nil)
        receive(50_000, at: 330_000)
        #expect(exceededLimit(at: 340_000) == nil)
        receive(50_000, at: 350_000)
        #expect(deadline == 359_000)
        #expect(exceededLimit(at: 359_000) == .total)
    }

    @Test mutating func bytesThatComeDuringAHoldDoNotMakeItCount() {
        clock.noteConnection(at: Self.start)
        receive(1, at: 1000)
        clock.noteActivity(at: Self.start + 200_000, isHeld: true)
        #expect(clock.elapsed == 1000)
        receive(1, at: 201_000)
        #expect(clock.elapsed == 2000)
    }

    @Test mutating func withoutLimitsOnlySilenceCounts() {
        clock = Self.makeClock { ($0.total, $0.bytesPerSecond) = (nil, 0) }
        #expect(deadline == nil)
        clock.noteConnection(at: Self.start)
        receive(1, at: 10_000)
        #expect(deadline == 25_000)
    }
}
