import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Bodies in a content coding: decoded where that was asked for, an error elsewhere.
@Suite struct ContentCodingTests {
    private let asking = ImageDownloader.forTests { $0.acceptsContentCodings = true }
    private let notAsking = ImageDownloader.forTests()

    @Test func decodesWhatItAskedForAndCountsBoth() async throws {
        let nginx = try SharedServers.nginx.get()
        let recording = asking.record(try nginx.url("/gzip/large.png")).recording
        #expect(try await recording.body() == FaultServer.pattern(2_000_000))
        #expect(recording.response?.expectedByteCount == nil)
        #expect(recording.response?.headerValue("content-encoding") == "gzip")
        let metrics = try #require(recording.metrics)
        #expect(metrics.decodedByteCount == 2_000_000)
        #expect(metrics.exchanges[0].bodyByteCount > 0 && metrics.exchanges[0].bodyByteCount < 1_000_000)
        // The handle goes on to a transfer that does not ask.
        let plain = notAsking.record(try nginx.url("/gzip/large.png?plain")).recording
        #expect(try await plain.body().count == 2_000_000)
        #expect(plain.response?.headerValue("content-encoding") == nil)
    }

    @Test func aRequestMayAskForItself() async throws {
        let nginx = try SharedServers.nginx.get()
        let recording = notAsking.record(
            try nginx.url("/gzip/large.png?own"), headers: ["accept-encoding": "gzip"]
        ).recording
        #expect(try await recording.body() == FaultServer.pattern(2_000_000))
        #expect(recording.response?.headerValue("content-encoding") == "gzip")
    }

    @Test func sendsWhatItCanDecode() async throws {
        let url = try SharedServers.faults.get().url("/echo/coding")
        let echo = try JSONDecoder().decode([String: String].self, from: try await asking.body(url))
        #expect(echo["accept-encoding"] == "gzip, deflate")
    }

    @Test func reportsACodingNobodyAskedFor() async throws {
        let url = try SharedServers.faults.get().url("/gzip-bomb/unasked?size=1000")
        #expect(try await notAsking.error(url) == .unsupportedContentCoding("gzip", url: url))
    }

    @Test(arguments: ["br", "zstd", "sdch", "gzip,%20gzip"]) func reportsACodingItCanNotDecode(name: String)
        async throws
    {
        let url = try SharedServers.faults.get().url("/answer/coding?header=Content-Encoding:%20\(name)")
        let expected = name.replacing("%20", with: " ")
        #expect(try await asking.error(url) == .unsupportedContentCoding(expected, url: url))
    }

    @Test(arguments: [
        ("gzip, chunked", "gzip"), ("GZip, deflate, chunked", "gzip"), ("br, chunked", "br"),
        ("chunked, deflate", "deflate"),
    ])
    func undoesNoTransferCodingButChunks(codings: String, refused: String) async throws {
        let list = codings.replacing(" ", with: "%20")
        let url = try SharedServers.faults.get().url("/coded-transfer/refused?size=1000&coding=\(list)")
        for downloader in [asking, notAsking] {
            let recording = downloader.record(url).recording
            #expect(try await recording.error() == .unsupportedContentCoding(refused, url: url))
            #expect(recording.metrics?.decodedByteCount == 0)
        }
        let chunked = try SharedServers.faults.get().url("/coded-transfer/plain?size=1000&coding=chunked")
        #expect(try await notAsking.body(chunked).count == 1000)
    }

    @Test func passesTheIdentityCoding() async throws {
        let url = try SharedServers.faults.get().url("/answer/identity?header=Content-Encoding:%20identity")
        #expect(try await notAsking.body(url).count == 10)
    }

    @Test func reportsACodedBodyThatIsDamaged() async throws {
        let url = try SharedServers.faults.get().url("/answer/damaged?header=Content-Encoding:%20gzip")
        guard case .transport(61, _, url) = try await asking.error(url) else {
            Issue.record("damaged gzip was taken")
            return
        }
    }

    @Test func aBombStopsAtTheLimitOfDecodedBytes() async throws {
        let url = try SharedServers.faults.get().url("/gzip-bomb/limit?size=\(1 << 30)")
        let limit: Int64 = 32 << 20
        let downloader = ImageDownloader.forTests {
            $0.acceptsContentCodings = true
            $0.maximumResponseByteCount = limit
        }
        let before = residentByteCount()
        let peak = Lock(0)
        let ended = Countdown()
        let error = Lock<WebImageError?>(nil)
        _ = downloader.load(LoaderRequest(url: url), priority: .normal) { event in
            switch event {
            case .bytes: peak.withLock { $0 = max($0, residentByteCount()) }
            case .finished(.failure(let failure)):
                error.withLock { $0 = failure }
                ended.signal()
            default: break
            }
        }
        try await ended.wait()
        guard case .responseTooLarge(let byteCount, limit, url) = error.withLock({ $0 }) else {
            Issue.record("\(String(describing: error.withLock { $0 }))")
            return
        }
        #expect(byteCount > limit && byteCount < limit + 1 << 20)
        #expect(peak.withLock { $0 } - before < 16 << 20)
    }

    @Test func aBombLeavesLittleInMemoryWhilePaused() async throws {
        let url = try SharedServers.faults.get().url("/gzip-bomb/paused?size=\(150 << 20)")
        let bytes = try await asking.bytes(for: LoaderRequest(url: url))
        var iterator = bytes.makeAsyncIterator()
        var received = try await iterator.next()?.count ?? 0
        let before = residentByteCount()
        // Others go through the same thread, so that whatever it would put aside for us is there.
        for number in 0..<20 {
            _ = try await asking.body(SharedServers.nginx.get().url("/small.png?beside-bomb=\(number)"))
        }
        #expect(residentByteCount() - before < 16 << 20)
        while let piece = try await iterator.next() { received += piece.count }
        #expect(received == 150 << 20)
    }
}
