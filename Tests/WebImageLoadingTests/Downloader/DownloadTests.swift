import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// The caller gets what a server sends, or an error that says why not.
@Suite(.timeLimit(.minutes(3))) struct DownloadTests {
    private let downloader = ImageDownloader.forTests()

    @Test(arguments: [("small.png", 5000), ("large.png", 2_000_000)])
    func deliversTheBytesOfAFile(name: String, byteCount: Int) async throws {
        let recording = downloader.record(try SharedServers.nginx.get().url("/" + name)).recording
        #expect(try await recording.body() == FaultServer.pattern(byteCount))
        #expect(recording.isInOrder)
        #expect(recording.response?.statusCode == 200)
        #expect(recording.response?.headerValue("content-type") == "image/png")
        #expect(recording.response?.expectedByteCount == Int64(byteCount))
    }

    @Test func deliversAChunkedBodyOfUnknownLength() async throws {
        let faults = try SharedServers.faults.get()
        let recording = downloader.record(try faults.url("/chunked/whole?size=10000")).recording
        #expect(try await recording.body() == FaultServer.pattern(10_000))
        #expect(recording.response?.expectedByteCount == nil)
    }

    @Test func deliversAPageWithStatus200() async throws {
        let url = try SharedServers.nginx.get().url("/page.html")
        #expect(try await downloader.body(url).starts(with: Data("<!doctype html>".utf8)))
    }

    @Test func takesNoMoreThanTheAnnouncedLength() async throws {
        let url = try SharedServers.faults.get().url("/short-length/whole?size=1000&sent=2000")
        #expect(try await downloader.body(url) == FaultServer.pattern(1000))
    }

    @Test(arguments: [400, 401, 404, 500, 503]) func reportsUnsuccessfulStatuses(code: Int) async throws {
        let url = try SharedServers.faults.get().url("/status/download?code=\(code)")
        #expect(try await downloader.error(url) == .httpStatus(code: code, url: url))
    }

    @Test(arguments: ["/empty/download", "/no-content/download"]) func reportsAnEmptyBody(path: String) async throws {
        let url = try SharedServers.faults.get().url(path)
        #expect(try await downloader.error(url) == .invalidResponse(reason: .emptyBody, url: url))
    }

    @Test func reportsABodyShorterThanItsLength() async throws {
        let url = try SharedServers.faults.get().url("/cut-body/download?size=100000&sent=5000")
        #expect(
            try await downloader.error(url)
                == .invalidResponse(reason: .truncated(expected: 100_000, received: 5000), url: url))
    }

    @Test func reportsAChunkedBodyWithoutItsEnd() async throws {
        let url = try SharedServers.faults.get().url("/cut-chunked/download?sent=700")
        #expect(
            try await downloader.error(url)
                == .invalidResponse(reason: .truncated(expected: nil, received: 700), url: url))
    }

    @Test(arguments: ["/reset/download", "/reset-body/download", "/cut-headers/download"])
    func reportsALostConnection(path: String) async throws {
        let url = try SharedServers.faults.get().url(path)
        let error = try await downloader.error(url)
        guard case .transport(let code, let message, let failed) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(code > 0 && !message.isEmpty && failed == url)
    }

    @Test func reportsARefusedConnection() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:\(refusedPort())/"))
        let error = try await downloader.error(url)
        guard case .transport(7, _, url) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: ["/stall-headers/download", "/stall-body/download?size=100000&sent=60000"])
    func reportsAServerThatStopsSending(path: String) async throws {
        let faults = try SharedServers.faults.get()
        let impatient = ImageDownloader.forTests { $0.idleTimeout = .milliseconds(300) }
        let url = try faults.url(path)
        #expect(try await impatient.error(url) == .timedOut(after: .milliseconds(300), url: url))
        try await faults.wait(for: .dropped, path: url.path())
    }

    @Test func waitsForASlowServerThatKeepsSending() async throws {
        // Longer in all than the limit, which is long enough for a machine that stalls.
        let patient = ImageDownloader.forTests { $0.idleTimeout = .seconds(1) }
        let url = try SharedServers.faults.get().url("/drip/download?size=8&interval=0.2")
        #expect(try await patient.body(url) == FaultServer.pattern(8))
    }

    @Test func refusesABodyWhoseAnnouncedLengthIsTooLong() async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/huge-length/download")
        let expected = WebImageError.invalidResponse(
            reason: .bodyTooLong(byteCount: 1_000_000_000_000, limit: 200 << 20), url: url)
        #expect(try await downloader.error(url) == expected)
        try await faults.wait(for: .dropped, path: "/huge-length/download")
    }

    @Test func stopsABodyThatGrowsTooLong() async throws {
        let faults = try SharedServers.faults.get()
        let small = ImageDownloader.forTests { $0.maximumResponseByteCount = 1_000_000 }
        let url = try faults.url("/endless/download")
        let recording = small.record(url).recording
        guard
            case .invalidResponse(reason: .bodyTooLong(let byteCount, 1_000_000), url: url) =
                try await recording.error()
        else {
            Issue.record("no limit")
            return
        }
        #expect(byteCount > 1_000_000)
        try await faults.wait(for: .dropped, path: "/endless/download")
    }

    @Test(arguments: ["http:///a.png", "http:a.png", "https://"]) func refusesAURLWithoutAHost(text: String)
        async throws
    {
        let url = try #require(URL(string: text))
        #expect(try await downloader.error(url) == .invalidURL(url.absoluteString))
    }

    @Test func refusesOtherSchemes() async throws {
        let url = try #require(URL(string: "ftp://127.0.0.1/a.png"))
        #expect(!downloader.canLoad(url))
        #expect(try await downloader.error(url) == .invalidRequest(reason: .unsupportedScheme("ftp"), url: url))
    }

    @Test func acceptsOnlyTheAcceptableStatuses() async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/status/acceptable?code=404")
        let any = ImageDownloader.forTests { $0.acceptableStatusCodes = nil }
        #expect(try await any.body(url).starts(with: Data("<!doctype html>".utf8)))
        let some = ImageDownloader.forTests { $0.acceptableStatusCodes = [404] }
        #expect(try await some.body(url).starts(with: Data("<!doctype html>".utf8)))
        let fine = try faults.url("/bytes/unacceptable")
        #expect(try await some.error(fine) == .httpStatus(code: 200, url: fine))
    }

    @Test func acceptsOnlyTheAcceptableContentTypes() async throws {
        let faults = try SharedServers.faults.get()
        let picky = ImageDownloader.forTests { $0.acceptableContentTypes = ["image/PNG"] }
        for type in ["image/png", "Image/PNG; charset=x"] {
            let field = type.replacing(" ", with: "%20").replacing(";", with: "%3B")
            #expect(try await picky.body(faults.url("/answer/type?header=Content-Type:%20\(field)")).count == 10)
        }
        #expect(try await picky.body(faults.url("/chunked/untyped?size=4")).count == 4, "a missing type passes")
        let url = try faults.url("/html/picky")
        #expect(try await picky.error(url) == .invalidResponse(reason: .contentType("text/html"), url: url))
    }
}

/// Orders and sums that hold however slow the machine is.
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    @Test func distinguishesNewFromReusedConnections() async throws {
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

    @Test func reportsHTTP1_0() async throws {
        let server = try FaultServer()
        let recording = ImageDownloader.forTests().record(try server.url("/old/a")).recording
        #expect(try await recording.body() == FaultServer.pattern(10))
        #expect(recording.metrics?.exchanges.map(\.httpVersion) == [.http1_0])
    }

    @Test func reportsTLSAndHTTP2() async throws {
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
        let security = try #require(exchange.security)
        #expect(security.version.hasPrefix("TLSv1."))
        #expect(security.cipher.contains("AES") || security.cipher.contains("CHACHA20"))
        let certificate = try #require(security.certificate)
        #expect(!certificate.subject.isEmpty && !certificate.issuer.isEmpty)
        #expect(certificate.expires > Date())
        // Also on the existing connection.
        let second = downloader.record(try nginx.secureURL("/small.png?again")).recording
        try await second.body()
        let reused = try #require(second.metrics?.exchanges.first)
        #expect(reused.isConnectionReused && reused.security == security)
    }

    @Test func reportsTheHeadersWithoutSecrets() async throws {
        let nginx = try SharedServers.nginx.get()
        var request = LoaderRequest(url: try nginx.url("/small.png?headers"))
        request.headers = ["Authorization": "Bearer secret", "X-App": "photos"]
        let recording = ImageDownloader.forTests().record(request).recording
        try await recording.body()
        let exchange = try #require(recording.metrics?.exchanges.first)
        #expect(exchange.requestHeaders.contains(HTTPHeader(name: "X-App", value: "photos")))
        #expect(exchange.requestHeaders.contains(HTTPHeader(name: "Authorization", value: "…")))
        #expect(exchange.responseHeaders == recording.response?.headers)
        #expect(exchange.security == nil)
    }

    @Test func listsEveryRedirect() async throws {
        let faults = try SharedServers.faults.get()
        let start = try faults.url("/redirect-chain/metrics?left=2")
        let recording = ImageDownloader.forTests().record(start).recording
        try await recording.body()
        let metrics = try #require(recording.metrics)
        #expect(metrics.redirectCount == 2)
        #expect(metrics.exchanges.map(\.statusCode) == [302, 302, 200])
        #expect(metrics.exchanges.map { $0.url.query() } == ["left=2", "left=1", "left=0"])
        #expect(metrics.exchanges.map(\.bodyByteCount) == [0, 0, 10])
        let starts = metrics.exchanges.map(\.startDuration)
        #expect(starts == starts.sorted() && starts.allSatisfy { $0 <= metrics.totalDuration })
        #expect(metrics.exchanges[0].responseHeaders.contains { $0.name.lowercased() == "location" })
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

    @Test func metricsAreReportedForAFailureToo() async throws {
        let url = try SharedServers.faults.get().url("/reset/metrics")
        let recording = ImageDownloader.forTests().record(url).recording
        #expect(try await recording.error() != nil)
        let exchange = try #require(recording.metrics?.exchanges.first)
        #expect(exchange.statusCode == nil && exchange.httpVersion == nil)
        #expect(exchange.remoteAddress == "127.0.0.1")
    }

    @Test(arguments: [
        ("/status/unwanted?code=404", 0), ("/cut-body/wanted?size=1000&sent=10", 10), ("/endless/too-long", nil),
    ]) func countsOnlyTheDeliveredBytesOfAFailure(path: String, byteCount: Int?) async throws {
        let downloader = ImageDownloader.forTests { $0.maximumResponseByteCount = 1_000_000 }
        let recording = downloader.record(try SharedServers.faults.get().url(path)).recording
        #expect(try await recording.error() != nil)
        let metrics = try #require(recording.metrics)
        #expect(metrics.exchanges.reduce(0) { $0 + $1.bodyByteCount } > 0)
        #expect(metrics.decodedByteCount == Int64(byteCount ?? recording.byteCount))
    }
}
