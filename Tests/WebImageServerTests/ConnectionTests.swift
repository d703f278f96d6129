import Foundation
import Glibc
import Testing
import WebImage
import WebImageCore
import WebImageTestSupport

@testable import WebImageServer
@testable import WebImageService

/// Clients that are slow, leave, or send what no client should.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests {
    private static func answer(_ text: String, status: Int = 200) -> ServiceAnswer {
        ServiceAnswer(status: status, headers: [HTTPHeader(name: "X-Test", value: "1")], body: Data(text.utf8))
    }

    private static let get = "GET /a?b=c HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n\r\n"

    @Test func requestsArriveAsTheyWereSent() async throws {
        let directory = try TemporaryDirectory()
        for place in ["127.0.0.1:0", "unix:" + directory.path("socket")] {
            let fixture = try ServerFixture(place) { _ in
            } answer: { exchange in
                Self.answer(
                    "\(exchange.request.method) \(exchange.request.target) \(exchange.request.headers.map { "\($0.name)=\($0.value)" })"
                )
            }
            let client = try RawClient(fixture.place)
            client.send("GET /%41/%2e%2e//x?y=%20#z HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Two: a\r\nX-Two: b\r\n\r\n")
            let text = await client.read { $0.contains("]") }
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("X-Test: 1\r\n"))
            #expect(
                text.contains("GET /%41/%2e%2e//x?y=%20#z [\"Host=a\", \"X-Empty=\", \"X-Two=a\", \"X-Two=b\"]"),
                "\(text)")
            // The connection stays.
            client.send(Self.get)
            #expect(await client.read { $0.contains("]") }.contains("GET /a?b=c"))
            try await fixture.stop()
        }
    }

    @Test func answersMayComeLater() async throws {
        let fixture = try ServerFixture()
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        for await exchange in fixture.exchanges.prefix(1) {
            #expect(fixture.server.connections.workingCount == 1)
            exchange.send(Self.answer("later"), closes: true)
            // A second answer does not count.
            exchange.send(Self.answer("again"), closes: true)
        }
        let text = await client.read()
        #expect(
            text.hasSuffix("\r\n\r\nlater") && text.contains("Content-Length: 5\r\n")
                && text.contains("Connection: close\r\n"))
        try await fixture.stop()
    }

    @Test func headAndUnchangedAnswersHaveNoBody() async throws {
        let fixture = try ServerFixture { _ in
        } answer: { exchange in
            var answer = Self.answer("", status: exchange.request.method == "HEAD" ? 200 : 304)
            answer.headers.append(HTTPHeader(name: "Content-Length", value: "5000"))
            return answer
        }
        for method in ["HEAD", "GET"] {
            let client = try RawClient(fixture.place)
            client.send("\(method) / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let text = await client.read()
            #expect(text.hasSuffix("\r\n\r\n") && text.contains("Content-Length: 5000\r\n"), "\(text)")
        }
        try await fixture.stop()
    }

    @Test func aClientThatLeavesEndsItsWork() async throws {
        let fixture = try ServerFixture()
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        for await exchange in fixture.exchanges.prefix(1) {
            let (left, sink) = AsyncStream<Void>.makeStream()
            exchange.onLeave { sink.yield() }
            client.shut()
            for await _ in left.prefix(1) {}
            exchange.send(Self.answer("unread"), closes: false)
        }
        while fixture.server.connections.count > 0, !Task.isCancelled { await Task.yield() }
        try await fixture.stop()
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX:", "G"])
    func aSlowHeadLosesItsConnection(beginning: String) async throws {
        let fixture = try ServerFixture { $0.times.head = .milliseconds(300) }
        let client = try RawClient(fixture.place)
        client.send(beginning)
        let start = ContinuousClock.now
        _ = await client.read()
        #expect(start.duration(to: .now) < .seconds(3))
        try await fixture.stop()
    }

    @Test func aTricklingHeadLosesItsConnection() async throws {
        let fixture = try ServerFixture { $0.times.head = .milliseconds(300) }
        let client = try RawClient(fixture.place)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n")
        let trickle = Task {
            while !Task.isCancelled, client.send("X: a\r\n") { try await Task.sleep(for: .milliseconds(20)) }
        }
        _ = await client.read()
        trickle.cancel()
        try await fixture.stop()
    }

    @Test func anIdleConnectionIsClosed() async throws {
        let fixture = try ServerFixture {
            $0.times.idle = .milliseconds(200)
        } answer: { _ in
            Self.answer("ok")
        }
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        let start = ContinuousClock.now
        #expect(await client.read().hasSuffix("ok"))
        #expect(start.duration(to: .now) < .seconds(10))
        try await fixture.stop()
    }

    @Test func withoutATimeForTheNextRequestConnectionsClose() async throws {
        let fixture = try ServerFixture {
            $0.times.idle = .zero
        } answer: { exchange in
            Self.answer(String(repeating: "x", count: exchange.request.target == "/long" ? 8 << 20 : 3))
        }
        for (target, count) in [("/short", 3), ("/long", 8 << 20)] {
            let client = try RawClient(fixture.place)
            client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            let parts = await client.read().components(separatedBy: "\r\n\r\n")
            #expect(parts.first?.contains("Connection: close") == true)
            #expect(parts.last?.utf8.count == count)
        }
        try await fixture.stop()
    }

    @Test func aClientThatDoesNotReadLosesItsConnection() async throws {
        let fixture = try ServerFixture {
            $0.times.sending = .milliseconds(700)
            $0.times.bytesPerSecond = 1 << 30
        } answer: { exchange in
            Self.answer(exchange.request.target == "/long" ? String(repeating: "x", count: 32 << 20) : "short")
        }
        let slow = try RawClient(fixture.place)
        slow.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
        while fixture.server.connections.count == 0, !Task.isCancelled { await Task.yield() }
        // Others are served meanwhile.
        let other = try RawClient(fixture.place)
        other.send(Self.get)
        #expect(await other.read { $0.hasSuffix("short") }.hasSuffix("short"))
        other.shut()
        while fixture.server.connections.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(await slow.read().utf8.count < 32 << 20)
        try await fixture.stop()
    }

    @Test func theOldestIdleConnectionMakesPlace() async throws {
        let fixture = try ServerFixture {
            $0.connectionCount = 4
        } answer: { _ in
            Self.answer("ok")
        }
        let idle = try (0..<4).map { _ in try RawClient(fixture.place) }
        while fixture.server.connections.count < 4, !Task.isCancelled { await Task.yield() }
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        #expect(await client.status() == 200)
        #expect(await idle[0].read().isEmpty)
        try await fixture.stop()
    }

    /// Clients that have their answers are no reason to wait, either.
    @Test func theOldestConnectionWithAnAnswerMakesPlace() async throws {
        let fixture = try ServerFixture {
            $0.connectionCount = 4
        } answer: { _ in
            Self.answer("ok")
        }
        var idle: [RawClient] = []
        for _ in 0..<4 {
            let client = try RawClient(fixture.place)
            client.send(Self.get)
            #expect(await client.read { $0.hasSuffix("ok") }.hasSuffix("ok"))
            idle.append(client)
            // The client may have the answer before the server knows that it is sent.
            let deadline = ContinuousClock.now + .seconds(20)
            while fixture.server.connections.idleCount < idle.count, ContinuousClock.now < deadline {
                await Task.yield()
            }
        }
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        #expect(await client.status() == 200)
        #expect(await idle[0].read().isEmpty)
        // The others stay.
        idle[3].send(Self.get)
        #expect(await idle[3].status() == 200)
        try await fixture.stop()
    }

    /// What is sent, and the statuses of which one is the answer; 0 for none.
    private static let refused: [String: (request: String, statuses: [Int])] = [
        "a body": ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", [400]),
        "another method": ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", [405]),
        "two lengths": ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", [400]),
        "a length behind none": ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 50\r\n\r\n", [400]),
        "chunks": ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]),
        "chunks and a length": (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]
        ),
        "a negative length": ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", [400]),
        "a huge length": (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", [400, 413]
        ),
        "no host": ("GET / HTTP/1.1\r\n\r\n", [400]), "no version": ("GET /\r\n\r\n", [0, 400, 505]),
        "no text": ("\u{1}\u{2}\u{3}\r\n\r\n", [0, 400, 501, 505]),
        "an unknown version": ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", [0, 400, 505]),
        "a tunnel": ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", [400, 405]),
        "many fields": (
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 20_000) + "\r\n", [431]
        ),
        "a long field": (
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "y", count: 100_000) + "\r\n\r\n", [431]
        ),
        "a long target": (
            "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", [414, 431]
        ),
    ]

    @Test(arguments: refused.keys.sorted())
    func whatNoClientSendsIsRefused(name: String) async throws {
        let (request, statuses) = try #require(Self.refused[name])
        let fixture = try ServerFixture {
            $0.times.head = .seconds(1)
        } answer: { _ in
            Self.answer("ok")
        }
        let client = try RawClient(fixture.place)
        client.send(request)
        let status = await client.status()
        #expect(statuses.contains(status), "\(status)")
        // It still serves others.
        let other = try RawClient(fixture.place)
        other.send(Self.get)
        #expect(await other.status() == 200)
        try await fixture.stop()
    }

    @Test func refusalsAreReported() async throws {
        let socket = try ListeningSocket.open("127.0.0.1:0")
        let place = ListeningSocket.name(of: socket)
        let (counted, logged) = (LockBox<[Int]>([]), AsyncStream<String>.makeStream())
        let started = HTTPServer(sockets: [socket], limits: HTTPServer.Limits()) { _ in
        } onAnswer: { _, answer in
            counted.withLock { $0.append(answer.status) }
        } onEnd: { exchange, _ in
            logged.continuation.yield(
                "\(exchange.request.method) \(exchange.request.target) \(exchange.answer?.status ?? 0)")
        }
        let server = try #require(started)
        let long = String(repeating: "a", count: 100_000)
        let requests = [
            ("PUT /a HTTP/1.1", 405, "PUT /a 405"), ("GET /b HTTP/1.1\r\nContent-Length: 3", 400, "GET /b 400"),
            // Those that libmicrohttpd does not read have no method and no target.
            ("GET /c HTTP/1.1\r\nX: " + long, 431, "- - 431"), ("GET /" + long + " HTTP/1.1", 414, "- - 414"),
        ]
        var lines = logged.stream.makeAsyncIterator()
        for (request, status, line) in requests {
            let client = try RawClient(place)
            client.send(request + "\r\nHost: a\r\n\r\n")
            #expect(await client.status() == status)
            #expect(await lines.next() == line)
        }
        #expect(counted.withLock { $0 } == requests.map(\.1))
        try await ServerFixture.stop(server)
    }

    /// Bodies are whole and in order, whether they are copied or read while they are sent.
    @Test func longBodiesArrive() async throws {
        let text = (0..<200_000).map { "\($0) " }.joined()
        let fixture = try ServerFixture { _ in
        } answer: { exchange in
            let body = Data(text.utf8).prefix(Int(exchange.request.target.dropFirst()) ?? 0).dropFirst(1)
            return ServiceAnswer(status: 200, headers: [], body: body)
        }
        for count in [1, 2, 32 << 10, (32 << 10) + 1, (32 << 10) + 2, 1 << 20] {
            let client = try RawClient(fixture.place)
            client.send("GET /\(count) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let answer = await client.read()
            #expect(answer.contains("Content-Length: \(count - 1)\r\n"))
            #expect(answer.components(separatedBy: "\r\n\r\n").last == String(text.prefix(count).dropFirst()))
        }
        try await fixture.stop()
    }

    @Test func slowClientsTakeNoCopyOfTheBody() async throws {
        let body = Self.answer(String(repeating: "x", count: 16 << 20))
        let sent = LockBox(0)
        let fixture = try ServerFixture { _ in
        } answer: { _ in
            sent.withLock { $0 += 1 }
            return body
        }
        let before = ProcessMemory().residentByteCount
        let clients = try (0..<30).map { _ in try RawClient(fixture.place) }
        for client in clients { client.send(Self.get) }
        while sent.withLock({ $0 }) < clients.count, !Task.isCancelled { await Task.yield() }
        // 480 MB, if each had a copy.
        #expect(ProcessMemory().residentByteCount - before < 200 << 20)
        for client in clients { client.shut() }
        try await fixture.stop()
    }

    /// The service counts the bodies that are in memory.
    @Test func aBodyIsReleasedWhenItsLastClientHasLeft() async throws {
        let (text, budget) = (String(repeating: "x", count: 8 << 20), ByteBudget(byteLimit: 12 << 20))
        let fixture = try ServerFixture { _ in
        } answer: { exchange in
            var answer = Self.answer(text)
            guard let body = answer.body.counted(by: budget) else { return .stopping(exchange.request) }
            answer.body = body
            return answer
        }
        func client() throws -> RawClient {
            let client = try RawClient(fixture.place)
            client.send(Self.get)
            return client
        }
        var readers = [try client()]
        #expect(await readers[0].status() == 200)
        #expect(try await client().status() == 503)
        readers = []
        var status = 0
        while status != 200, !Task.isCancelled { status = try await client().status() }
        try await fixture.stop(within: .milliseconds(100))
    }

    @Test func aServerThatDoesNotStartServesNothing() async throws {
        let sockets = try (0..<2).map { _ in try ListeningSocket.open("127.0.0.1:0") }
        let places = sockets.map { ListeningSocket.name(of: $0) }
        let file = open("/dev/null", O_RDONLY)
        let server = HTTPServer(sockets: [sockets[0], file, sockets[1]], limits: HTTPServer.Limits()) { _ in
        } onEnd: { _, _ in
        }
        #expect(server == nil)
        for place in places { #expect(throws: (any Error).self) { try RawClient(place) } }
    }

    /// libmicrohttpd ends the process if a connection is suspended while it stops.
    @Test func noRequestBeginsAfterTheLastAnswer() async throws {
        let fixture = try ServerFixture()
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        for await exchange in fixture.exchanges.prefix(1) { exchange.send(Self.answer("first"), closes: false) }
        #expect(await client.read { $0.hasSuffix("first") }.hasPrefix("HTTP/1.1 200 "))
        await fixture.server.connections.drain(within: .seconds(5))
        // The connection is still there, and nothing answers requests that wait.
        client.send(Self.get)
        let late = await client.read()
        #expect(late.hasPrefix("HTTP/1.1 503 ") && late.contains("Connection: close\r\n"), "\(late)")
        #expect(late.contains("Retry-After: "))
        try await fixture.stop()
    }

    @Test func stoppingWaitsForAnswers() async throws {
        let directory = try TemporaryDirectory()
        for place in ["127.0.0.1:0", "unix:" + directory.path("socket")] {
            let fixture = try ServerFixture(place)
            let client = try RawClient(fixture.place)
            client.send(Self.get)
            for await exchange in fixture.exchanges.prefix(1) {
                async let stop: Void = fixture.stop(within: .seconds(20))
                // No new connections.
                while (try? RawClient(fixture.place)) != nil, !Task.isCancelled { await Task.yield() }
                exchange.send(Self.answer("last"), closes: true)
                try await stop
            }
            #expect(await client.read().hasSuffix("last"))
        }
    }

    /// As with systemd, which has the socket while a service restarts.
    @Test func connectionsToASharedSocketWaitForTheNextServer() async throws {
        let first = try ListeningSocket.open("127.0.0.1:0")
        let second = fcntl(first, F_DUPFD_CLOEXEC, 0)
        let place = ListeningSocket.name(of: first)
        func server(_ socket: Int32, _ name: String) throws -> HTTPServer {
            let server = HTTPServer(sockets: [socket], limits: HTTPServer.Limits()) { exchange in
                exchange.send(Self.answer(name), closes: true)
            } onEnd: { _, _ in
            }
            return try #require(server)
        }
        let stopped = try server(first, "first")
        var client = try RawClient(place)
        client.send(Self.get)
        #expect(await client.read().hasSuffix("first"))
        try await ServerFixture.stop(stopped)
        client = try RawClient(place)
        client.send(Self.get)
        let next = try server(second, "second")
        #expect(await client.read().hasSuffix("second"))
        try await ServerFixture.stop(next)
        #expect(throws: (any Error).self) { try RawClient(place) }
    }

    @Test func connectionsBeyondTheLimitWait() async throws {
        let fixture = try ServerFixture { $0.connectionCount = 4 }
        // Some more are accepted than count, so that one can make place. None does while its request is in progress.
        let acceptedCount = 4 + 16
        var (clients, waiting) = ([RawClient](), [HTTPExchange]())
        var exchanges = fixture.exchanges.makeAsyncIterator()
        func connect() throws {
            let client = try RawClient(fixture.place)
            client.send(Self.get)
            clients.append(client)
        }
        for _ in 0..<acceptedCount {
            try connect()
            waiting.append(try #require(await exchanges.next()))
        }
        for _ in 0..<5 { try connect() }
        for (number, client) in clients.enumerated() {
            waiting.removeFirst().send(Self.answer("ok"), closes: true)
            #expect(await client.read().hasSuffix("ok"))
            guard number + acceptedCount < clients.count else { continue }
            waiting.append(try #require(await exchanges.next()))
            #expect(fixture.server.connections.count <= acceptedCount)
        }
        try await fixture.stop()
    }

    @Test func workThatDoesNotEndIsGivenUp() async throws {
        let fixture = try ServerFixture()
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        for await exchange in fixture.exchanges.prefix(1) {
            exchange.onLeave { exchange.send(Self.answer("given up", status: 503), closes: true) }
            try await fixture.stop(within: .milliseconds(100))
        }
        #expect(await client.read().hasSuffix("given up"))
    }

    @Test func workThatIgnoresTheEndDoesNotDelayIt() async throws {
        let fixture = try ServerFixture()
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        for await exchange in fixture.exchanges.prefix(1) {
            try await fixture.stop(within: .milliseconds(100))
            // Too late.
            exchange.send(Self.answer("ignored"), closes: true)
        }
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 503 ") && text.contains("Retry-After: "), "\(text)")
    }

    @Test func aClientThatDoesNotReadDoesNotDelayTheStop() async throws {
        let fixture = try ServerFixture { _ in
        } answer: { _ in
            Self.answer(String(repeating: "x", count: 32 << 20))
        }
        let client = try RawClient(fixture.place)
        client.send(Self.get)
        // The answer has begun.
        _ = await client.read { $0.contains("\r\n\r\n") }
        let start = ContinuousClock.now
        try await fixture.stop(within: .milliseconds(200))
        #expect(start.duration(to: .now) < .seconds(5))
    }

    @Test(arguments: [
        "", "1", "a:b", "127.0.0.1:99999", "unix:", "unix:" + String(repeating: "a", count: 200), "[::1:1",
        "nowhere.invalid:1",
    ])
    func invalidPlacesAreRefused(place: String) {
        #expect(throws: StartFailure.self) { try ListeningSocket.open(place) }
    }
}
