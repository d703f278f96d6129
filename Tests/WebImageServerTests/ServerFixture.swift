import WebImageService
import WebImageTestSupport
import Testing

@testable import WebImageServer

/// A server whose requests a test answers.
struct ServerFixture {
    let server: HTTPServer
    let place: String
    let exchanges: AsyncStream<HTTPExchange>

    init(
        _ place: String = "127.0.0.1:0", takesBodies: Bool = false,
        _ change: (inout HTTPServer.Limits) -> Void = { _ in },
        answer: (@Sendable (HTTPExchange) -> ServiceAnswer?)? = nil
    ) throws {
        var limits = HTTPServer.Limits()
        change(&limits)
        let socket = try ListeningSocket.open(place)
        self.place = ListeningSocket.name(of: socket)
        let (stream, sink) = AsyncStream<HTTPExchange>.makeStream()
        exchanges = stream
        let server = HTTPServer(sockets: [socket], limits: limits) { exchange in
            if let answer = answer?(exchange) { exchange.send(answer, closes: false) } else { sink.yield(exchange) }
        } takesBody: { _ in
            takesBodies
        } onEnd: { _, _ in
        }
        self.server = try #require(server)
    }

    /// Throws if the server does not stop, so that the tests end.
    func stop(within time: Duration = .seconds(5)) async throws { try await Self.stop(server, within: time) }

    /// Throws if a server does not stop.
    static func stop(_ server: HTTPServer, within time: Duration = .seconds(5)) async throws {
        let ended = Countdown()
        Task {
            await server.stop(within: time)
            ended.signal()
        }
        try await ended.wait(atMost: time + .seconds(10))
    }
}
