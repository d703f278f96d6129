import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Interrupted bodies and what becomes of them, with a server that does what the test says.
@Suite(.timeLimit(.minutes(1))) struct ResumingLoaderTests {
    private static let body = FaultServer.pattern(300_000)

    /// Those of the other loader: answers that vary by what it adds are told apart by them.
    @Test func sendsTheFieldsOfTheWrappedLoader() throws {
        let downloader = ImageDownloader()
        let directory = try TemporaryDirectory()
        let store = PartialBodyStore(configuration: .init(directory: directory.url("partial")))
        let request = LoaderRequest(url: try #require(URL(string: "http://127.0.0.1/")), headers: ["X-Own": "1"])
        let fields = ResumingLoader(downloader, store: store).requestHeaders(for: request)
        #expect(fields == downloader.requestHeaders(for: request) && fields.count > 1)
    }

    // MARK: Continuing

    @Test func anInterruptedBodyContinuesWhereItStopped() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.range == "bytes=200000-")
        #expect(transfer.ifRange == ResumeFixture.tag)
        transfer.continueBody(Self.body, from: 200_000)
        #expect(try await recording.body() == Self.body)
        #expect(recording.isInOrder)
        let response = try #require(recording.response)
        #expect(response.statusCode == 200)
        #expect(response.expectedByteCount == 300_000)
        #expect(response.headerValue("Content-Range") == nil)
        #expect(response.headerValue("Content-Length") == "300000")
        await fixture.settle()
        #expect(fixture.files.isEmpty, "nothing is left of a complete body")
    }

    @Test func aBodyCanBeInterruptedRepeatedly() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 130_000)
        var offset = 130_000
        while offset < 280_000 {
            let (recording, _, transfer) = try await fixture.load()
            #expect(transfer.range == "bytes=\(offset)-")
            let headers = ["ETag": ResumeFixture.tag, "Content-Range": "bytes \(offset)-299999/300000"]
            transfer.respond(206, headers, byteCount: Int64(300_000 - offset))
            transfer.send(Self.body[offset..<offset + 50_000])
            transfer.finish(
                .failure(.invalidResponse(reason: .truncated(expected: 1, received: 2), url: transfer.request.url)))
            offset += 50_000
            let error = try await recording.error()
            #expect(
                error
                    == .invalidResponse(
                        reason: .truncated(expected: 300_000, received: Int64(offset)), url: transfer.request.url),
                "the numbers are those of the whole")
            #expect(recording.byteCount == offset)
        }
        let (recording, _, transfer) = try await fixture.load()
        transfer.continueBody(Self.body, from: offset)
        #expect(try await recording.body() == Self.body)
    }

    @Test func aCancelledBodyContinuesToo() async throws {
        let fixture = try ResumeFixture()
        let (recording, task, transfer) = try await fixture.load()
        transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: 300_000)
        transfer.send(Self.body.prefix(100_000))
        try await recording.waitForFirstBytes()
        task.cancel()
        // At once, without waiting for the end of the first.
        let (second, _, next) = try await fixture.load()
        #expect(next.range == "bytes=100000-")
        next.continueBody(Self.body, from: 100_000)
        #expect(try await second.body() == Self.body)
        #expect(try await recording.error() == .cancelled)
    }

    @Test func aBodyOfUnknownLengthContinuesOnceItsRangeTellsTheLength() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000, announcesLength: false)
        let (recording, _, transfer) = try await fixture.load()
        transfer.continueBody(Self.body, from: 200_000)
        #expect(try await recording.body() == Self.body)
        #expect(recording.response?.expectedByteCount == 300_000)
    }

    @Test func aDateIsUsedWithoutAnEntityTag() async throws {
        let fixture = try ResumeFixture()
        let headers = [
            "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Mon, 07 Nov 1994 08:49:37 GMT",
        ]
        try await fixture.interrupt(Self.body, after: 200_000, headers: headers)
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.ifRange == "Sun, 06 Nov 1994 08:49:37 GMT")
        transfer.respond(
            206, headers.merging(["Content-Range": "bytes 200000-299999/300000"]) { $1 }, byteCount: 100_000)
        transfer.send(Self.body[200_000...])
        transfer.finish()
        #expect(try await recording.body() == Self.body)
    }

    @Test func aCompleteBodyWithoutItsEndRequestsTheLastByte() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 300_000)
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.range == "bytes=299999-")
        transfer.continueBody(Self.body, from: 299_999)
        #expect(try await recording.body() == Self.body)
    }

    @Test func anyLoaderResumesInADirectoryUpToALimit() async throws {
        let (directory, origin) = (try TemporaryDirectory(), ScriptedOrigin())
        let loader = origin.resuming(in: directory.url("partial"), byteLimit: 200_000)
        let (recording, _) = loader.record(try ResumeFixture.url())
        let transfer = try await origin.next()
        transfer.respond(200, ["ETag": ResumeFixture.tag], byteCount: 300_000)
        for start in stride(from: 0, to: 250_000, by: 10_000) { transfer.send(Self.body[start..<start + 10_000]) }
        transfer.cut()
        #expect(try await recording.error() != nil)
        let (second, _) = loader.record(try ResumeFixture.url())
        let next = try await origin.next()
        let offset = try #require(next.offset)
        #expect((1...200_000).contains(offset))
        next.continueBody(Self.body, from: offset)
        #expect(try await second.body() == Self.body)
    }

    // MARK: Beginning anew

    @Test func aChangedBodyRestartsWithA200() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let changed = Data(Self.body.reversed())
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.range != nil)
        transfer.respond(200, ["ETag": "\"v2\""], byteCount: 300_000)
        transfer.send(changed.prefix(150_000))
        transfer.cut()
        #expect(try await recording.error() != nil)
        // The bytes on disk are those of the second.
        let (second, _, next) = try await fixture.load()
        #expect(next.range == "bytes=150000-" && next.ifRange == "\"v2\"")
        next.continueBody(changed, from: 150_000, tag: "\"v2\"")
        #expect(try await second.body() == changed)
    }

    @Test(arguments: [
        ["ETag": "\"v2\"", "Content-Range": "bytes 200000-299999/300000"],
        ["Content-Range": "bytes 200000-299999/300000"],
        ["ETag": "\"v1\"", "Content-Range": "bytes 100000-299999/300000"],
        ["ETag": "\"v1\"", "Content-Range": "bytes 200000-299999/400000"],
        ["ETag": "\"v1\"", "Content-Range": "bytes 200000-250000/300000"],
        ["ETag": "\"v1\"", "Content-Range": "bytes 200000-299999/*"], ["ETag": "\"v1\""],
        ["ETag": "\"v1\"", "Content-Type": "multipart/byteranges; boundary=x"],
    ])
    func aMismatchingRangeRestartsTheWholeBody(headers: [String: String]) async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(206, headers, byteCount: nil)
        #expect(try await transfer.call() == .cancel)
        let whole = try await fixture.origin.next()
        #expect(whole.range == nil && whole.ifRange == nil)
        whole.answer(Self.body)
        #expect(try await recording.body() == Self.body)
        #expect(recording.isInOrder)
        #expect(fixture.origin.requests.count == 3)
        await fixture.settle()
        #expect(fixture.files.isEmpty)
    }

    @Test(arguments: [true, false], [416, 400, 403, 206]) func aRefusedRangeIsRequestedOnce(
        isError: Bool, status: Int
    ) async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        if isError {
            transfer.finish(.failure(.httpStatus(code: status, url: transfer.request.url)))
        } else {
            transfer.respond(status, ["Content-Range": "bytes */1000"], byteCount: 0)
        }
        let whole = try await fixture.origin.next()
        #expect(whole.range == nil)
        // No further attempt, whatever comes.
        whole.finish(.failure(.httpStatus(code: status, url: transfer.request.url)))
        #expect(try await recording.error() == .httpStatus(code: status, url: transfer.request.url))
        #expect(fixture.origin.requests.count == 3)
        #expect(try await fixture.requestedRange() == nil)
    }

    @Test func theTimeOfARefusedRangeCountsAgainstTheLimit() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        var metrics = LoaderMetrics()
        metrics.activeDuration = .seconds(4)
        transfer.report(metrics)
        transfer.finish(.failure(.httpStatus(code: 416, url: transfer.request.url)))
        let whole = try await fixture.origin.next()
        #expect(whole.request.usedTime == .seconds(4))
        #expect(recording.metrics == nil, "they come once, right before the end")
        whole.report(metrics)
        whole.cut()
        #expect(try await recording.error() != nil)
        #expect(recording.metrics?.activeDuration == .seconds(4))
    }

    @Test(arguments: [(401, true), (429, true), (500, true), (503, true), (404, false), (410, false)])
    func otherErrorsArePassedOn(status: Int, keeps: Bool) async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        transfer.finish(.failure(.httpStatus(code: status, url: transfer.request.url)))
        #expect(try await recording.error() == .httpStatus(code: status, url: transfer.request.url))
        #expect(try await fixture.requestedRange() == (keeps ? "bytes=200000-" : nil))
    }

    @Test func aLoaderWithoutStatusesWorksAsBefore() async throws {
        let fixture = try ResumeFixture()
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(nil, ["ETag": ResumeFixture.tag], byteCount: 300_000)
        transfer.send(Self.body)
        transfer.finish()
        #expect(try await recording.body() == Self.body)
        #expect(recording.response?.statusCode == nil)
        let (second, _, next) = try await fixture.load()
        #expect(next.range == nil)
        next.respond(nil, ["ETag": ResumeFixture.tag], byteCount: 300_000)
        next.send(Self.body.prefix(200_000))
        next.cut()
        #expect(try await second.error() != nil)
        #expect(try await fixture.requestedRange() == nil)
    }

    // MARK: Lies about the length

    @Test func aRemainderThatIsTooLongFailsAndDiscardsItsBytes() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(206, ["ETag": ResumeFixture.tag, "Content-Range": "bytes 200000-299999/300000"])
        for _ in 0..<3 { transfer.send(Self.body[200_000...]) }
        #expect(
            try await recording.error()
                == .invalidResponse(reason: .truncated(expected: 300_000, received: 400_000), url: transfer.request.url)
        )
        #expect(recording.byteCount <= 300_000)
        #expect(try await fixture.requestedRange() == nil)
    }

    @Test func aRemainderThatEndsEarlyFailsAndStoresItsBytes() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(206, ["ETag": ResumeFixture.tag, "Content-Range": "bytes 200000-299999/300000"])
        transfer.send(Self.body[200_000..<250_000])
        transfer.finish()
        #expect(
            try await recording.error()
                == .invalidResponse(reason: .truncated(expected: 300_000, received: 250_000), url: transfer.request.url)
        )
        #expect(try await fixture.requestedRange() == "bytes=250000-")
    }

    @Test func aBodyOverTheLoadersLimitIsNotStored() async throws {
        let fixture = try ResumeFixture()
        let (recording, _, transfer) = try await fixture.load()
        transfer.respond(200, ["ETag": ResumeFixture.tag])
        transfer.send(Self.body)
        transfer.finish(
            .failure(.invalidResponse(reason: .bodyTooLong(byteCount: 300_000, limit: 1), url: transfer.request.url)))
        #expect(try await recording.error() != nil)
        #expect(try await fixture.requestedRange() == nil)
    }

    // MARK: What is kept

    @Test func requestsOfDifferentUsersShareNothing() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000, requestHeaders: ["Cookie": "user=1"])
        #expect(try await fixture.requestedRange(headers: ["Cookie": "user=2"]) == nil)
        #expect(try await fixture.requestedRange() == nil)
        #expect(try await fixture.requestedRange(headers: ["cookie": "user=1"]) == "bytes=200000-")
    }

    @Test func rangeRequestsPassThroughUnchanged() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        #expect(try await fixture.requestedRange(headers: ["Range": "bytes=5-"]) == "bytes=5-")
        #expect(try await fixture.requestedRange(headers: ["If-None-Match": "\"v1\""]) == nil)
    }

    @Test func aShortBodyIsStoredOnInterruptionIfItIsLongEnough() async throws {
        for (count, isKept) in [(16 << 10, true), ((16 << 10) - 1, false)] {
            let fixture = try ResumeFixture()
            try await fixture.interrupt(Self.body.prefix(100_000), after: count)
            #expect(try await fixture.requestedRange() == (isKept ? "bytes=\(count)-" : nil))
        }
    }

    @Test func aNoStoreRemainderEndsTheStoring() async throws {
        let fixture = try ResumeFixture()
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, task, transfer) = try await fixture.load()
        transfer.respond(
            206,
            [
                "ETag": ResumeFixture.tag, "Content-Range": "bytes 200000-299999/300000", "Cache-Control": "no-store",
            ], byteCount: 100_000)
        transfer.send(Self.body[200_000..<290_000])
        try await recording.waitForFirstBytes()
        transfer.cut()
        #expect(try await recording.error() != nil)
        _ = task
        #expect(try await fixture.requestedRange() == nil)
    }

    @Test func loadsWorkWithoutAUsableDirectory() async throws {
        let fixture = try ResumeFixture()
        try fixture.directory.write(Data([1]), to: "partial")
        try await fixture.interrupt(Self.body, after: 200_000)
        let (recording, _, transfer) = try await fixture.load()
        #expect(transfer.range == nil)
        transfer.answer(Self.body)
        #expect(try await recording.body() == Self.body)
    }
}
