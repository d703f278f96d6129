import Foundation
import Testing
import WebImage
import WebImageCore
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// Requests with a body.
@Suite(.timeLimit(.minutes(1)))
struct RequestBodyTests {
    private func fixture(_ change: (inout HTTPServer.Limits) -> Void = { _ in }) throws -> ServerFixture {
        try ServerFixture(takesBodies: true) { limits in
            limits.bodyByteCount = 1 << 30
            change(&limits)
        }
    }

    private static func answer(_ text: String, status: Int = 200) -> ServiceAnswer {
        ServiceAnswer(status: status, headers: [], body: Data(text.utf8))
    }

    /// Reads a body to its end.
    private static func bytes(_ exchange: HTTPExchange) async throws -> Data {
        var data = Data()
        for try await piece in try #require(exchange.body) { data.append(piece) }
        return data
    }

    private static func post(_ fields: String, _ body: String = "") -> String {
        "POST /upload HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    /// On a thread that may wait for the server.
    private static func send(_ data: Data, by client: RawClient) {
        _ = PlatformThread.start(name: "test-sender") { client.send(data) }
    }

    @Test func aBodyArrivesWhole() async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        let requests = [
            Self.post("Content-Length: 5", "hello"),
            Self.post("Transfer-Encoding: chunked", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
            Self.post("Content-Length: 0"), Self.post("X: y"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ]
        var index = 0
        client.send(requests[0])
        for await exchange in fixture.exchanges.prefix(requests.count) {
            let text = index < 4 ? String(decoding: try await Self.bytes(exchange), as: UTF8.self) : "none"
            #expect(index < 4 || exchange.body == nil)
            exchange.send(Self.answer("<\(index)\(text)>"), closes: false)
            let read = await client.read { $0.contains(">") }
            #expect(read.hasSuffix(["<0hello>", "<1hello>", "<2>", "<3>", "<4none>"][index]), "\(read)")
            index += 1
            if index < requests.count { client.send(requests[index]) }
        }
        try await fixture.stop()
    }

    /// A client that sends faster than its bytes are taken waits, and costs little memory.
    @Test(arguments: [false, true]) func aFullQueueStopsTheConnection(isChunked: Bool) async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        let block = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 >> 3) })
        let count = 24
        if isChunked {
            client.send(Self.post("Transfer-Encoding: chunked"))
            let chunks = (0..<count).map { _ in Data("100000\r\n".utf8) + block + Data("\r\n".utf8) }
            Self.send(Data(chunks.joined()) + Data("0\r\n\r\n".utf8), by: client)
        } else {
            client.send(Self.post("Content-Length: \(count << 20)"))
            Self.send(Data((0..<count).map { _ in block }.joined()), by: client)
        }
        for await exchange in fixture.exchanges.prefix(1) {
            let body = try #require(exchange.body)
            while body.queuedByteCount < 64 << 10, !Task.isCancelled { await Task.yield() }
            var (total, isSame) = (0, true)
            for try await piece in body {
                #expect(body.queuedByteCount <= 160 << 10)
                isSame =
                    isSame
                    && piece.enumerated().allSatisfy { index, byte in
                        byte == UInt8(truncatingIfNeeded: ((total + index) % (1 << 20)) >> 3)
                    }
                total += piece.count
            }
            #expect(total == count << 20 && isSame && body.hasEnded)
            exchange.send(Self.answer("ok"), closes: false)
        }
        #expect(await client.read { $0.hasSuffix("ok") }.hasPrefix("HTTP/1.1 200 "))
        try await fixture.stop()
    }

    @Test func anAnswerToTheHeadNeedsNoBody() async throws {
        let fixture = try ServerFixture(takesBodies: true) {
            $0.bodyByteCount = 1 << 20
        } answer: { _ in
            Self.answer("no", status: 403)
        }
        let client = try RawClient(fixture.place)
        client.send(Self.post("Content-Length: 100000\r\nExpect: 100-continue"))
        let text = await client.read()
        #expect(
            text.hasPrefix("HTTP/1.1 403 ") && text.hasSuffix("no") && text.contains("Connection: close"), "\(text)")
        try await fixture.stop()
    }

    /// Later answers wait for the end of the body, which nothing keeps.
    @Test(arguments: [false, true]) func aRefusedBodyIsReadAndDropped(isPaused: Bool) async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        let rest = Data(count: 2_000_000 - 5)
        client.send(Self.post("Content-Length: 2000000", "begin"))
        if isPaused { Self.send(rest, by: client) }
        for await exchange in fixture.exchanges.prefix(1) {
            let body = try #require(exchange.body)
            if isPaused {
                while body.queuedByteCount < 64 << 10, !Task.isCancelled { await Task.yield() }
            } else {
                for try await piece in body {
                    #expect(String(decoding: piece, as: UTF8.self) == "begin")
                    break
                }
            }
            exchange.send(Self.answer("refused", status: 415), closes: false)
            await #expect(throws: CancellationError.self) { try await Self.bytes(exchange) }
            if !isPaused { Self.send(rest, by: client) }
            let text = await client.read()
            #expect(text.hasPrefix("HTTP/1.1 415 ") && text.hasSuffix("refused"), "\(text)")
            #expect(body.queuedByteCount == 0)
        }
        try await fixture.stop()
    }

    @Test func aBodyBeyondTheLimitEndsTheConnection() async throws {
        let fixture = try fixture { $0.bodyByteCount = 50_000 }
        let client = try RawClient(fixture.place)
        client.send(Self.post("Transfer-Encoding: chunked"))
        let chunk = Data("8000\r\n".utf8) + Data(count: 0x8000) + Data("\r\n".utf8)
        client.send(chunk)
        for await exchange in fixture.exchanges.prefix(1) {
            // With its end, so that without a limit it would be whole.
            Self.send(chunk + Data("0\r\n\r\n".utf8), by: client)
            await #expect(throws: CancellationError.self) { try await Self.bytes(exchange) }
        }
        #expect(await client.read().isEmpty)
        try await fixture.stop()
    }

    @Test(arguments: [
        "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: +5",
        "Content-Length: 5, 5", "Content-Length: ", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Content-Length: 99999999999999999999999",
    ])
    func aBodyWithoutOneLengthIsRefused(fields: String) async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        client.send(Self.post(fields, "hello"))
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 4"), "\(text)")
        try await fixture.stop()
    }

    @Test func otherMethodsHaveNoBody() async throws {
        let fixture = try fixture()
        for (method, status) in [("GET", 400), ("PUT", 400), ("OPTIONS", 400)] {
            let client = try RawClient(fixture.place)
            client.send("\(method) /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            #expect(await client.status() == status, "\(method)")
        }
        try await fixture.stop()
    }

    @Test func aClientThatLeavesEndsItsBody() async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        client.send(Self.post("Content-Length: 100", "half"))
        for await exchange in fixture.exchanges.prefix(1) {
            let reading = Task { try await Self.bytes(exchange) }
            client.shut()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
        try await fixture.stop()
    }

    @Test func aSlowBodyLosesItsConnection() async throws {
        let fixture = try fixture { $0.times.body = .milliseconds(100) }
        let client = try RawClient(fixture.place)
        client.send(Self.post("Content-Length: 100", "half"))
        for await exchange in fixture.exchanges.prefix(1) {
            await #expect(throws: CancellationError.self) { try await Self.bytes(exchange) }
        }
        #expect(await client.read().isEmpty)
        try await fixture.stop()
    }

    /// Also if the server does not read the connection at the moment.
    @Test func aBodyDoesNotDelayTheEnd() async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        client.send(Self.post("Content-Length: \(64 << 20)"))
        Self.send(Data(count: 1 << 20), by: client)
        for await exchange in fixture.exchanges.prefix(1) {
            let body = try #require(exchange.body)
            while body.queuedByteCount < 64 << 10, !Task.isCancelled { await Task.yield() }
            try await fixture.stop(within: .zero)
            await #expect(throws: CancellationError.self) { try await Self.bytes(exchange) }
        }
    }
}
