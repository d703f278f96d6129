internal import CWebImageHTTPD
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageService

/// Reads requests from sockets, and sends their answers.
///
/// `@unchecked`: the C objects are set before the first request, and used from one thread at the end.
final class HTTPServer: @unchecked Sendable {
    struct Limits: Sendable {
        var threadCount = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        var connectionCount = 1024
        var headByteCount = 32 << 10
        /// The most bytes of a body: more end the connection.
        var bodyByteCount = 0
        var times = ConnectionTable.Times()
    }

    /// Called on a thread that must not be blocked. Sends an answer, or has it sent later.
    typealias Handler = @Sendable (HTTPExchange) -> Void

    let connections: ConnectionTable
    private let handler: Handler
    private let takesBody: @Sendable (_ target: String) -> Bool
    private let bodyByteCount: Int
    private let sending: HTTPExchange.Sending
    /// Called when an answer was sent, or could not be.
    private let onEnd: @Sendable (_ exchange: HTTPExchange, _ isSent: Bool) -> Void
    private var servers: [OpaquePointer] = []

    /// - Parameters:
    ///   - sockets: closed at the end, and if the server does not start.
    ///   - takesBody: whether a POST with a target may have a body. It is handled once its head is there.
    ///   - onAnswer: called before an answer is sent, by the handler or by the server itself; for counters.
    ///   - onEnd: see above; for the log.
    init?(
        sockets: [Int32], limits: Limits, handler: @escaping Handler,
        takesBody: @escaping @Sendable (_ target: String) -> Bool = { _ in false },
        onAnswer: @escaping @Sendable (_ exchange: HTTPExchange, _ answer: ServiceAnswer) -> Void = { _, _ in },
        onEnd: @escaping @Sendable (_ exchange: HTTPExchange, _ isSent: Bool) -> Void
    ) {
        connections = ConnectionTable(times: limits.times, connectionLimit: limits.connectionCount)
        sending = HTTPExchange.Sending(
            closesConnections: limits.times.idle <= .zero, onAnswer: onAnswer)
        (self.handler, self.onEnd, self.takesBody) = (handler, onEnd, takesBody)
        bodyByteCount = limits.bodyByteCount
        let settings = cwi_httpd_limits(
            thread_count: UInt32(limits.threadCount),
            // Some more than the table allows, so that it can replace the slowest.
            connection_limit: UInt32(limits.connectionCount + limits.connectionCount / 16 + 16),
            head_byte_count: limits.headByteCount, idle_seconds: Self.idleSeconds(limits.times))
        for (index, socket) in sockets.enumerated() {
            guard let server = cwi_httpd_make(socket, settings, callbacks(index)) else {
                for server in servers { cwi_httpd_stop(server) }
                for socket in sockets[(index + 1)...] { close(socket) }
                listeners = []
                return nil
            }
            servers.append(server)
        }
        for server in servers { cwi_httpd_start(server) }
    }

    /// The time after which libmicrohttpd closes a connection by itself: later than the table of connections does.
    static func idleSeconds(_ times: ConnectionTable.Times) -> UInt32 {
        let longest = max(times.head, times.idle, times.sending) / .seconds(1)
        return UInt32(min(longest, 1e9)) + 30
    }

    /// The numbers of connections of several sockets differ in their upper bits.
    private final class Listener {
        /// It is there until it has stopped: its threads call it.
        let server: HTTPServer
        let base: UInt64

        init(_ server: HTTPServer, _ index: Int) { (self.server, base) = (server, UInt64(index) << 48) }

        static func from(_ context: UnsafeMutableRawPointer?) -> Listener? {
            context.map { Unmanaged<Listener>.fromOpaque($0).takeUnretainedValue() }
        }

        func exchange(_ number: UInt64, _ request: OpaquePointer) -> HTTPExchange {
            HTTPExchange(
                request, connection: base + number, server.sending,
                bodyLimit: cwi_request_takes_body(request) ? server.bodyByteCount : nil)
        }
    }

    private var listeners: [Listener] = []

    private func callbacks(_ index: Int) -> cwi_httpd_callbacks {
        let listener = Listener(self, index)
        listeners.append(listener)
        return cwi_httpd_callbacks(
            context: Unmanaged.passUnretained(listener).toOpaque(),
            opened: { context, number, descriptor in
                guard let listener = Listener.from(context) else { return }
                listener.server.connections.open(listener.base + number, descriptor: descriptor)
            },
            closed: { context, number in
                guard let listener = Listener.from(context) else { return }
                listener.server.connections.close(listener.base + number)
            },
            takes_body: { context, target in
                guard let listener = Listener.from(context), let target else { return false }
                return listener.server.takesBody(String(cString: target))
            },
            received: { context, number, request in
                guard let listener = Listener.from(context), let request else { return }
                listener.server.receive(listener.exchange(number, request))
            },
            piece: { context, number, bytes, count in
                guard let listener = Listener.from(context), let bytes,
                    let body = listener.server.connections.exchange(of: listener.base + number)?.body
                else { return CWI_BODY_CLOSE }
                return body.add(Data(bytes: bytes, count: count))
            },
            body_ended: { context, number in
                guard let listener = Listener.from(context) else { return }
                listener.server.endBody(listener.base + number)
            },
            refused: { context, number, request, status, text in
                guard let listener = Listener.from(context), let request, let text else { return }
                listener.server.refuse(listener.exchange(number, request), Int(status), String(cString: text))
            },
            unread: { context, status in
                guard let server = Listener.from(context)?.server else { return }
                server.onEnd(HTTPExchange(unreadRequestWith: Int(status), server.sending), true)
            },
            sending: { context, number, byteCount in
                guard let listener = Listener.from(context) else { return }
                listener.server.connections.send(listener.base + number, byteCount: Int(byteCount))
            },
            finished: { context, number, isSent in
                guard let listener = Listener.from(context) else { return }
                listener.server.finish(listener.base + number, isSent: isSent)
            })
    }

    private func receive(_ exchange: HTTPExchange) {
        guard connections.begin(exchange) else {
            return exchange.send(.stopping(exchange.request), closes: true)
        }
        handler(exchange)
        // The server reads the connection until the end of a body, and notices if the client leaves.
        if exchange.answer == nil, exchange.body == nil { connections.watch(exchange) }
    }

    private func endBody(_ number: UInt64) {
        guard let exchange = connections.endBody(of: number) else { return }
        exchange.body?.end()
        if exchange.answer == nil { connections.watch(exchange) }
    }

    private func refuse(_ exchange: HTTPExchange, _ status: Int, _ text: String) {
        _ = connections.begin(exchange)
        let body = Data(text.utf8)
        exchange.note(ServiceAnswer(status: status, headers: [], body: body))
        connections.send(exchange.connection, byteCount: body.count)
    }

    private func finish(_ number: UInt64, isSent: Bool) {
        guard let exchange = connections.finish(number) else { return }
        exchange.leave()
        onEnd(exchange, isSent)
    }

    /// Accepts no more connections, waits for answers, and closes all connections.
    ///
    /// - Parameter time: after it, work in progress is cancelled, and clients that still read lose their connections.
    func stop(within time: Duration) async {
        await onThread { [self] in for server in servers { cwi_httpd_quiesce(server) } }
        await connections.drain(within: time)
        await onThread { [self] in
            for server in servers { cwi_httpd_stop(server) }
            (servers, listeners) = ([], [])
        }
    }

    /// Runs what waits for threads of the servers, so that it blocks no cooperative thread.
    private func onThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "webimage-stop").async {
                body()
                continuation.resume()
            }
        }
    }
}
