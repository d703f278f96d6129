import Foundation
import Glibc
import Testing
import WebImageCore
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// Stops servers under load, again and again: each answer that has begun is complete, and the process survives.
@Suite(.timeLimit(.minutes(3)))
struct StopStressTests {
    /// `WEBIMAGE_STRESS_STOPS` sets another number.
    private static let stopCount =
        ProcessInfo.processInfo.environment["WEBIMAGE_STRESS_STOPS"].flatMap { Int($0) } ?? 30

    @Test func aLoadedServerStops() async throws {
        let directory = try TemporaryDirectory()
        for round in 0..<Self.stopCount where !Task.isCancelled {
            // The stop comes at another moment of the load each time.
            let load = try Load(directory, answerCount: 20 + round % 7)
            try await load.answers.wait()
            try await ServerFixture.stop(load.server, within: .seconds(20))
            for place in load.places { #expect(throws: (any Error).self) { try RawClient(place) } }
            #expect(load.server.connections.count == 0)
            for client in load.clients {
                for await problem in client { Issue.record("\(problem)") }
            }
        }
    }
}

/// Clients that send requests to a server until it takes no more, each to a socket of its own.
private struct Load {
    let server: HTTPServer
    let places: [String]
    let answers: Countdown
    /// What was wrong, of each client, until it has ended.
    let clients: [AsyncStream<String>]

    private static let targets = ["/now": 5, "/later": 7, "/long": 200_000]

    init(_ directory: TemporaryDirectory, answerCount: Int) throws {
        let sockets = try (0..<8).map { number in
            try ListeningSocket.open(number % 4 == 0 ? "unix:" + directory.path("\(number)") : "127.0.0.1:0")
        }
        let places = sockets.map(ListeningSocket.name)
        var limits = HTTPServer.Limits()
        limits.threadCount = 4
        let started = HTTPServer(sockets: sockets, limits: limits) { exchange in
            let target = exchange.request.target
            let body = Data(repeating: UInt8(ascii: "x"), count: Self.targets[target] ?? 0)
            let answer = ServiceAnswer(status: 200, headers: [], body: body)
            if target == "/later" {
                Task { exchange.send(answer, closes: false) }
            } else {
                exchange.send(answer, closes: false)
            }
        } onEnd: { _, _ in
        }
        server = try #require(started)
        let answers = Countdown(answerCount)
        clients = places.enumerated().map { number, place in
            let (stream, sink) = AsyncStream<String>.makeStream()
            let isStarted = PlatformThread.start(name: "test-load") {
                if let problem = Self.run(place, number, answers) { sink.yield(problem) }
                sink.finish()
            }
            if !isStarted { sink.finish() }
            return stream
        }
        (self.places, self.answers) = (places, answers)
    }

    /// Makes connections for one request or for several, until none can be made. Returns what is wrong with an answer.
    private static func run(_ place: String, _ number: Int, _ answers: Countdown) -> String? {
        let targets = targets.keys.sorted()
        var count = number
        while let client = try? RawClient(place) {
            for _ in 0..<(number % 3 == 0 ? 20 : 1) {
                let target = targets[count % targets.count]
                client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                let bytes = client.readAnswer()
                // A server that stops need not read a request.
                guard !bytes.isEmpty else { break }
                let text = String(decoding: bytes, as: UTF8.self)
                guard text.hasPrefix("HTTP/1.1 200 ") || text.hasPrefix("HTTP/1.1 503 "),
                    RawClient.missingByteCount(text) == 0
                else { return "\(target): \(bytes.count) bytes, \(text.prefix(200))" }
                count += 1
                answers.signal()
            }
        }
        return nil
    }
}

extension RawClient {
    /// Reads one answer, or what comes of it before the end of the connection. Blocks.
    fileprivate func readAnswer() -> [UInt8] {
        var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while Self.missingByteCount(String(decoding: all, as: UTF8.self)) != 0 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        return all
    }

    /// How much of an answer is missing behind its head; `nil` without all of that.
    fileprivate static func missingByteCount(_ text: String) -> Int? {
        guard let head = text.firstRange(of: "\r\n\r\n"),
            let field = text[..<head.lowerBound].firstRange(of: "\r\nContent-Length: "),
            let length = Int(text[field.upperBound...].prefix { $0.isNumber })
        else { return nil }
        return length - text[head.upperBound...].utf8.count
    }
}
