import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Orders and sums that hold however slow the machine is.
@Suite struct MetricsTests {
    @Test func tellsANewConnectionFromOneUsedAgain() async throws {
        let nginx = try SharedServers.nginx.get()
        let downloader = ImageDownloader.forTests()
        let first = downloader.record(try nginx.url("/large.png?metrics=1")).recording
        try await first.body()
        let second = downloader.record(try nginx.url("/small.png?metrics=2")).recording
        try await second.body()
        let (new, reused) = (
            try #require(first.metrics?.exchanges.first), try #require(second.metrics?.exchanges.first)
        )

        #expect(!new.isConnectionReused && reused.isConnectionReused)
        #expect(new.connectDuration > .zero)
        #expect((reused.nameLookupDuration, reused.connectDuration, reused.secureDuration) == (.zero, .zero, .zero))
        for (exchange, byteCount) in [(new, 2_000_000), (reused, 5000)] {
            #expect(exchange.bodyByteCount == Int64(byteCount))
            #expect(exchange.httpVersion == .http1_1)
            #expect((exchange.remoteAddress, exchange.remotePort) == ("127.0.0.1", nginx.port))
            #expect(exchange.statusCode == 200)
            #expect(exchange.secureDuration == .zero)
            let phases = exchange.nameLookupDuration + exchange.connectDuration + exchange.secureDuration
            #expect(phases <= exchange.firstByteDuration && exchange.firstByteDuration <= exchange.totalDuration)
        }
        let metrics = try #require(second.metrics)
        let headerByteCount = try #require(second.response).headers.reduce(0) {
            $0 + $1.name.count + $1.value.count + 4
        }
        #expect(reused.headerByteCount > Int64(headerByteCount), "the status line comes on top")
        #expect(metrics.wireByteCount == reused.headerByteCount + 5000)
        #expect(metrics.decodedByteCount == 5000)
        #expect(metrics.redirectCount == 0)
        #expect(metrics.queueDuration <= metrics.totalDuration)
    }

    @Test func tellsTLSAndHTTP2() async throws {
        let nginx = try NGINXServer(certificates: [.valid])
        try nginx.write(FaultServer.pattern(5000), to: "small.png")
        let authority = try TestCertificates.shared.get().authority
        let downloader = ImageDownloader.forTests { $0.certificateAuthorities = .file(authority) }
        let recording = downloader.record(try nginx.secureURL("/small.png")).recording
        try await recording.body()
        let exchange = try #require(recording.metrics?.exchanges.first)
        #expect(exchange.httpVersion == .http2)
        #expect(exchange.secureDuration > .zero)
        #expect(exchange.secureDuration < exchange.firstByteDuration)
        #expect(exchange.bodyByteCount == 5000)
    }

    @Test func namesEveryHop() async throws {
        let faults = try SharedServers.faults.get()
        let start = try faults.url("/redirect-chain/metrics?left=2")
        let recording = ImageDownloader.forTests().record(start).recording
        try await recording.body()
        let metrics = try #require(recording.metrics)
        #expect(metrics.redirectCount == 2)
        #expect(metrics.exchanges.map(\.statusCode) == [302, 302, 200])
        #expect(metrics.exchanges.map { $0.url.query() } == ["left=2", "left=1", "left=0"])
        #expect(metrics.exchanges.map(\.bodyByteCount) == [0, 0, 10])
        #expect(metrics.totalDuration >= metrics.exchanges.reduce(.zero) { $0 + $1.totalDuration } - .milliseconds(5))
    }

    @Test func countsTheTimeInTheQueue() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.maximumConnectionsPerHost = 1 }
        let first = downloader.record(try faults.url("/held/metrics")).recording
        let second = downloader.record(try faults.url("/bytes/metrics")).recording
        try await faults.wait(for: .requests, path: "/held/metrics")
        let start = ContinuousClock.now
        while ContinuousClock.now < start + .milliseconds(50) { await Task.yield() }
        try await faults.release("/held/metrics")
        try await first.body()
        try await second.body()
        #expect(try #require(second.metrics).queueDuration >= .milliseconds(50))
    }

    @Test func comesWithAFailureToo() async throws {
        let url = try SharedServers.faults.get().url("/reset/metrics")
        let recording = ImageDownloader.forTests().record(url).recording
        #expect(try await recording.error() != nil)
        let exchange = try #require(recording.metrics?.exchanges.first)
        #expect(exchange.statusCode == nil && exchange.httpVersion == nil)
        #expect(exchange.remoteAddress == "127.0.0.1")
    }

    @Test(arguments: [
        ("/status/unwanted?code=404", 0), ("/cut-body/wanted?size=1000&sent=10", 10), ("/endless/too-long", nil),
    ]) func countsOfAFailureOnlyWhatTheCallerGot(path: String, byteCount: Int?) async throws {
        let downloader = ImageDownloader.forTests { $0.maximumResponseByteCount = 1_000_000 }
        let recording = downloader.record(try SharedServers.faults.get().url(path)).recording
        #expect(try await recording.error() != nil)
        let metrics = try #require(recording.metrics)
        #expect(metrics.exchanges.reduce(0) { $0 + $1.bodyByteCount } > 0)
        #expect(metrics.decodedByteCount == Int64(byteCount ?? recording.byteCount))
    }
}
