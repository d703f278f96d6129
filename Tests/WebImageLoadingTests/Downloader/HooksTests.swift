import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// The changes that hooks may make, as the server and the caller see them.
@Suite(.timeLimit(.minutes(3))) struct HooksTests {
    private func downloader(_ change: (inout ImageDownloader.Configuration) -> Void) -> ImageDownloader {
        .forTests(change)
    }

    private func echo(_ downloader: ImageDownloader, _ url: URL, headers: [String: String] = [:]) async throws
        -> [String: String]
    {
        try JSONDecoder().decode([String: String].self, from: try await downloader.body(url, headers: headers))
    }

    @Test func theRequestModifierFiltersHeadersByURL() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                var request = request
                if request.url.path() == "/echo/filtered" { request.headers["X-Filter"] = request.headers["X-Own"] }
                request.headers["User-Agent"] = nil
                return request
            }
        }
        let filtered = try await echo(downloader, faults.url("/echo/filtered"), headers: ["X-Own": "own"])
        #expect(filtered["x-filter"] == "own")
        #expect(filtered["user-agent"] == nil)
        #expect(try await echo(downloader, faults.url("/echo/plain"))["x-filter"] == nil)
    }

    @Test func theRequestModifierChangesURLAndHeaders() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.otherOriginURL("/echo/modified")
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                var request = request
                request.url = target
                request.headers["X-Agent"] = request.headers["User-Agent"]
                return request
            }
        }
        let echo = try await echo(downloader, faults.url("/status/unmodified"))
        #expect(echo["host"] == "127.0.0.1:\(faults.otherPort)")
        #expect(echo["x-agent"]?.hasPrefix("swift-web-image/") == true)
    }

    @Test func theRequestModifierRunsOnTheNetworkThreadAndWhereHeadersAreAskedFor() async throws {
        let threads = LockBox<[String]>([])
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                threads.withLock { $0.append(currentThreadName()) }
                return request
            }
        }
        let url = try SharedServers.nginx.get().url("/small.png?modified")
        _ = try await downloader.body(url)
        let name = threads.withLock { $0 }
        #expect(name.count == 1 && name != [currentThreadName()], "once, on the network thread")
        _ = downloader.requestHeaders(for: LoaderRequest(url: url))
        #expect(threads.withLock { $0 } == name + [currentThreadName()])
    }

    @Test func theRequestModifierRefusesARequestBeforeItIsSent() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = downloader { $0.requestModifier = { _ in nil } }
        let url = try faults.url("/bytes/refused-request")
        #expect(try await downloader.error(url) == .blocked(reason: .hook, url: url))
        #expect(try await faults.statistics().requests["/bytes/refused-request"] == nil)
        #expect(downloader.currentDownloadCount == 0)
    }

    @Test func aRefusalDoesNotRevealThePasswordOfTheURL() async throws {
        let downloader = downloader { $0.requestModifier = { _ in nil } }
        let url = try #require(URL(string: "http://user:secret@a.test/"))
        #expect(try await downloader.error(url) == .blocked(reason: .hook, url: url.separatedFromUserInfo.url))
    }

    @Test func aModifiedRequestIsCheckedLikeAnyOther() async throws {
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                var request = request
                request.headers["X-A"] = "a\r\nX-Injected: 1"
                return request
            }
        }
        let url = try SharedServers.faults.get().url("/echo/injected")
        #expect(try await downloader.error(url) == .invalidRequest(reason: .invalidHeader(name: "X-A"), url: url))
    }

    @Test func aHeadRequestReturnsTheHeadAlone() async throws {
        let nginx = try SharedServers.nginx.get()
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                var request = request
                if request.url.query() == "head" { request.method = .head }
                return request
            }
        }
        let recording = downloader.record(try nginx.url("/small.png?head")).recording
        #expect(try await recording.body().isEmpty)
        #expect(recording.response?.expectedByteCount == 5000)
        #expect(try await nginx.waitForEntry(path: "/small.png?head").method == "HEAD")
        // The next request is a GET.
        #expect(try await downloader.body(nginx.url("/small.png?after-head")).count == 5000)
    }

    @Test func requestHooksRunOnTheNetworkThreadAndTheLoadCanBeCancelledMeanwhile() async throws {
        let isRunning = Countdown()
        let gate = ThreadGate()
        let downloader = downloader { configuration in
            configuration.requestModifier = { request in
                isRunning.signal()
                gate.wait()
                return request
            }
        }
        let faults = try SharedServers.faults.get()
        let load = downloader.record(try faults.url("/bytes/cancelled-hook"))
        try await isRunning.wait()
        #expect(downloader.loadCounts == (0, 1))
        load.task.setPriority(.high)
        load.task.cancel()
        gate.open()
        #expect(try await load.recording.error() == .cancelled)
        #expect(load.recording.isInOrder)
        #expect(try await faults.statistics().requests["/bytes/cancelled-hook"] == nil)
    }

    @Test func theResponseModifierRunsBeforeTheStatusIsChecked() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = downloader { configuration in
            configuration.responseModifier = { response in
                var response = response
                response.statusCode = response.statusCode == 404 ? 200 : 500
                response.expectedByteCount = 1
                response.headers.append(HTTPHeader(name: "X-Modified", value: "1"))
                return response
            }
        }
        let recording = downloader.record(try faults.url("/status/modified?code=404")).recording
        #expect(try await recording.body().starts(with: Data("<!doctype html>".utf8)))
        #expect(recording.response?.statusCode == 200)
        #expect(recording.response?.headerValue("x-modified") == "1")
        #expect(recording.response?.expectedByteCount != 1)
        let url = try faults.url("/bytes/modified")
        #expect(try await downloader.error(url) == .httpStatus(code: 500, url: url))
    }

    @Test func theResponseModifierRefusesAResponseButSeesNoRedirect() async throws {
        let faults = try SharedServers.faults.get()
        let seen = LockBox<[Int?]>([])
        let downloader = downloader { configuration in
            configuration.responseModifier = { response in
                seen.withLock { $0.append(response.statusCode) }
                return nil
            }
        }
        let url = try faults.url("/redirect/modifier?to=/bytes/modifier")
        #expect(
            try await downloader.error(url) == .invalidResponse(reason: .refused, url: faults.url("/bytes/modifier")))
        #expect(seen.withLock { $0 } == [200])
    }

    @Test func theDecryptorGetsTheWholeBodyOffTheNetworkThread() async throws {
        let threads = LockBox<Set<String>>([])
        let downloader = downloader { configuration in
            configuration.decryptor = { body, response in
                threads.withLock { _ = $0.insert(currentThreadName()) }
                return response.statusCode == 200 ? Data(body.reversed()) : nil
            }
        }
        let recording = downloader.record(try SharedServers.nginx.get().url("/large.png?decrypt")).recording
        #expect(try await recording.body() == Data(FaultServer.pattern(2_000_000).reversed()))
        #expect(recording.isInOrder)
        #expect(recording.response?.expectedByteCount == nil)
        #expect(threads.withLock { $0 } == ["webimage-decryp"])
        #expect(downloader.loadCounts == (0, 0))
    }

    @Test func theDecryptorMayRefuseABody() async throws {
        let downloader = downloader { $0.decryptor = { _, _ in nil } }
        let url = try SharedServers.nginx.get().url("/small.png?undecryptable")
        #expect(try await downloader.error(url) == .invalidResponse(reason: .decryption, url: url))
        let missing = try SharedServers.nginx.get().url("/missing")
        #expect(try await downloader.error(missing) == .httpStatus(code: 404, url: missing))
    }

    @Test func aCancelWhileTheDecryptorRunsEndsTheLoadOnce() async throws {
        let isRunning = Countdown()
        let gate = ThreadGate()
        let downloader = ImageDownloader.forTests { configuration in
            configuration.maximumConnectionsPerHost = 1
            configuration.decryptor = { body, _ in
                isRunning.signal()
                gate.wait()
                return body
            }
        }
        let nginx = try SharedServers.nginx.get()
        let load = downloader.record(try nginx.url("/small.png?cancel-decryption"))
        try await isRunning.wait()
        #expect(downloader.loadCounts == (0, 0), "the slot is free for the next")
        load.task.cancel()
        #expect(try await load.recording.error() == .cancelled)
        gate.open()
        #expect(try await downloader.body(nginx.url("/small.png?after-decryption")).count == 5000)
        #expect(load.recording.isInOrder)
    }
}

private func currentThreadName() -> String {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return String((name ?? "").prefix { $0 != "\n" })
}

/// Bodies in a content coding: decoded where that was asked for, an error elsewhere.
@Suite(.timeLimit(.minutes(3))) struct ContentCodingTests {
    private let asking = ImageDownloader.forTests { $0.headers["Accept-Encoding"] = "gzip, deflate" }
    private let notAsking = ImageDownloader.forTests()

    @Test func decodesRequestedCodingsAndCountsBothLengths() async throws {
        let nginx = try SharedServers.nginx.get()
        let recording = asking.record(try nginx.url("/gzip/large.png")).recording
        #expect(try await recording.body() == FaultServer.pattern(2_000_000))
        #expect(recording.response?.expectedByteCount == nil)
        #expect(recording.response?.headerValue("content-encoding") == "gzip")
        let metrics = try #require(recording.metrics)
        #expect(metrics.decodedByteCount == 2_000_000)
        #expect(metrics.exchanges[0].bodyByteCount > 0 && metrics.exchanges[0].bodyByteCount < 1_000_000)
        // The next request does not ask.
        let plain = notAsking.record(try nginx.url("/gzip/large.png?plain")).recording
        #expect(try await plain.body().count == 2_000_000)
        #expect(plain.response?.headerValue("content-encoding") == nil)
    }

    @Test func aRequestMaySetItsOwnAcceptEncoding() async throws {
        let nginx = try SharedServers.nginx.get()
        let recording = notAsking.record(
            try nginx.url("/gzip/large.png?own"), headers: ["accept-encoding": "gzip"]
        ).recording
        #expect(try await recording.body() == FaultServer.pattern(2_000_000))
        #expect(recording.response?.headerValue("content-encoding") == "gzip")
    }

    @Test func sendsTheCodingsItCanDecode() async throws {
        let url = try SharedServers.faults.get().url("/echo/coding")
        let echo = try JSONDecoder().decode([String: String].self, from: try await asking.body(url))
        #expect(echo["accept-encoding"] == "gzip, deflate")
    }

    @Test func reportsACodingThatWasNotRequested() async throws {
        let url = try SharedServers.faults.get().url("/gzip-bomb/unasked?size=1000")
        #expect(try await notAsking.error(url) == .invalidResponse(reason: .contentCoding("gzip"), url: url))
    }

    @Test(arguments: ["br", "zstd", "sdch", "gzip,%20gzip"]) func reportsACodingItCanNotDecode(name: String)
        async throws
    {
        let url = try SharedServers.faults.get().url("/answer/coding?header=Content-Encoding:%20\(name)")
        let expected = name.replacing("%20", with: " ")
        #expect(try await asking.error(url) == .invalidResponse(reason: .contentCoding(expected), url: url))
    }

    @Test(arguments: [
        ("gzip, chunked", "gzip"), ("GZip, deflate, chunked", "gzip"), ("br, chunked", "br"),
        ("chunked, deflate", "deflate"),
    ])
    func decodesNoTransferCodingExceptChunked(codings: String, refused: String) async throws {
        let list = codings.replacing(" ", with: "%20")
        let url = try SharedServers.faults.get().url("/coded-transfer/refused?size=1000&coding=\(list)")
        for downloader in [asking, notAsking] {
            let recording = downloader.record(url).recording
            #expect(try await recording.error() == .invalidResponse(reason: .contentCoding(refused), url: url))
            #expect(recording.metrics?.decodedByteCount == 0)
        }
        let chunked = try SharedServers.faults.get().url("/coded-transfer/plain?size=1000&coding=chunked")
        #expect(try await notAsking.body(chunked).count == 1000)
    }

    @Test func passesTheIdentityCoding() async throws {
        let url = try SharedServers.faults.get().url("/answer/identity?header=Content-Encoding:%20identity")
        #expect(try await notAsking.body(url).count == 10)
    }

    @Test func reportsADamagedCodedBody() async throws {
        let url = try SharedServers.faults.get().url("/answer/damaged?header=Content-Encoding:%20gzip")
        guard case .transport(61, _, url) = try await asking.error(url) else {
            Issue.record("damaged gzip was taken")
            return
        }
    }

    @Test func aDecompressionBombStopsAtTheLimitOfDecodedBytes() async throws {
        let url = try SharedServers.faults.get().url("/gzip-bomb/limit?size=\(1 << 30)")
        let limit: Int64 = 32 << 20
        let downloader = ImageDownloader.forTests {
            $0.headers["Accept-Encoding"] = "gzip, deflate"
            $0.maximumResponseByteCount = limit
        }
        let before = residentByteCount()
        let peak = LockBox(0)
        let ended = Countdown()
        let error = LockBox<WebImageError?>(nil)
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
        guard case .invalidResponse(reason: .bodyTooLong(let byteCount, limit), url: url) = error.withLock({ $0 })
        else {
            Issue.record("\(String(describing: error.withLock { $0 }))")
            return
        }
        #expect(byteCount > limit && byteCount < limit + 1 << 20)
        #expect(peak.withLock { $0 } - before < 16 << 20)
    }

    @Test func aPausedDecompressionBombTakesLittleMemory() async throws {
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
