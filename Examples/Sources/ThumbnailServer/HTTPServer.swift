import Foundation
import Glibc
import Synchronization

/// A small HTTP/1.1 server. One thread reads and sends; it never blocks, so that slow clients delay nobody. Each request is
/// handled on a thread of its own, so that a handler may block: it waits for loads, and encodes images.
final class HTTPServer: Sendable {
    /// The port it listens on.
    let port: Int
    private let inbox: HTTPInbox
    private let end = DispatchSemaphore(value: 0)

    /// Starts to listen.
    init(
        address: String, port: UInt16, limits: HTTPLimits = HTTPLimits(),
        handler: @escaping @Sendable (HTTPExchange) -> HTTPResponse
    ) throws {
        var socketAddress = sockaddr_in()
        socketAddress.sin_family = sa_family_t(AF_INET)
        socketAddress.sin_port = port.bigEndian
        guard inet_pton(AF_INET, address, &socketAddress.sin_addr) == 1 else { throw POSIXError(.EADDRNOTAVAIL) }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let listener = socket(AF_INET, kind, 0)
        var isReused = Int32(1)
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let size = length
        let status = withUnsafeMutablePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 512) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard status else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        self.port = Int(UInt16(bigEndian: socketAddress.sin_port))
        inbox = HTTPInbox()
        Thread { [inbox, end] in
            HTTPLoop(listener: listener, inbox: inbox, limits: limits, handler: handler).run()
            end.signal()
        }.start()
    }

    /// Accepts no more connections, and returns when those in progress have got their responses, or the time is over.
    func stop(within limit: Duration) {
        inbox.stop()
        _ = end.wait(timeout: .now() + Double(limit.components.seconds))
    }
}

/// A request that waits for its response.
struct HTTPExchange: Sendable {
    let request: HTTPRequest
    fileprivate let state: State

    fileprivate final class State: Sendable {
        let isAbandoned = Atomic(false)
    }

    /// Whether nobody waits for the response any more: the connection broke, or the time is over.
    ///
    /// A client that has only ended its side still waits.
    var isAbandoned: Bool { state.isAbandoned.load(ordering: .relaxed) }
}

/// What other threads tell the server's.
private final class HTTPInbox: Sendable {
    struct Result: Sendable {
        let connection, request: UInt64
        let response: HTTPResponse
    }

    /// A pipe; its first end becomes readable with each message.
    private let ends: (read: Int32, write: Int32)
    private let state = Mutex<(results: [Result], isStopping: Bool)>(([], false))

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "There is no descriptor for the server.")
        ends.forEach(makeNonBlocking)
        self.ends = (ends[0], ends[1])
    }

    var descriptor: Int32 { ends.read }

    func put(_ result: Result) {
        state.withLock { $0.results.append(result) }
        wake()
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        wake()
    }

    func take() -> (results: [Result], isStopping: Bool) {
        var buffer = [UInt8](repeating: 0, count: 512)
        while read(ends.read, &buffer, buffer.count) == buffer.count {}
        return state.withLock { state in
            defer { state.results = [] }
            return state
        }
    }

    private func wake() {
        // A full pipe is readable already.
        var byte: UInt8 = 1
        _ = write(ends.write, &byte, 1)
    }
}

private func makeNonBlocking(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

/// The server's thread.
private final class HTTPLoop {
    private var listener: Int32
    private let inbox: HTTPInbox
    private let limits: HTTPLimits
    private let handler: @Sendable (HTTPExchange) -> HTTPResponse
    private var connections: [UInt64: HTTPConnection] = [:]
    private var lastNumber: UInt64 = 0
    /// Requests without a thread, oldest first.
    private var waiting: [(connection: HTTPConnection, request: UInt64, exchange: HTTPExchange)] = []
    /// The exchanges in progress, by connection.
    private var exchanges: [UInt64: (request: UInt64, exchange: HTTPExchange)] = [:]
    private var handlerCount = 0
    private var isStopping = false
    /// No connection is accepted before, because the process has no descriptors.
    private var acceptTime = ContinuousClock.now

    init(
        listener: Int32, inbox: HTTPInbox, limits: HTTPLimits,
        handler: @escaping @Sendable (HTTPExchange) -> HTTPResponse
    ) {
        (self.listener, self.inbox, self.limits, self.handler) = (listener, inbox, limits, handler)
    }

    func run() {
        while !isStopping || !connections.isEmpty {
            wait()
            expire()
            boundOutput()
            removeClosed()
            startHandlers()
        }
    }

    private func wait() {
        let all = Array(connections.values)
        let accepts = !isStopping && acceptTime <= .now
        var descriptors = [pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0)]
        descriptors.append(pollfd(fd: accepts ? listener : -1, events: Int16(POLLIN), revents: 0))
        descriptors += all.map { pollfd(fd: $0.socket, events: $0.events, revents: 0) }
        var deadline = all.map(\.deadline).min()
        if !accepts, !isStopping { deadline = min(deadline ?? acceptTime, acceptTime) }
        let timeout = deadline.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) }
        guard
            poll(
                &descriptors, nfds_t(descriptors.count),
                timeout.map { Int32(max(0, min(60_000, $0.rounded(.up)))) } ?? -1) > 0
        else { return }
        if descriptors[0].revents != 0 { receive() }
        for (connection, descriptor) in zip(all, descriptors.dropFirst(2)) where descriptor.revents != 0 {
            advance(connection, descriptor.revents)
        }
        if descriptors[1].revents != 0 { accept() }
    }

    private func advance(_ connection: HTTPConnection, _ events: Int16) {
        guard !connection.isClosed else { return }
        if Int32(events) & POLLIN != 0, connection.isReading {
            handle(connection.read(), of: connection)
        } else if Int32(events) & POLLOUT != 0, connection.isSending {
            handle(connection.write(), of: connection)
        } else if Int32(events) & (POLLERR | POLLHUP | POLLNVAL) != 0 {
            connection.close()
        }
    }

    private func accept() {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else {
                // Out of descriptors: some are free soon.
                if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) { acceptTime = .now + .milliseconds(50) }
                return
            }
            makeNonBlocking(socket)
            if connections.count >= limits.connectionCount, !makeSpace() {
                close(socket)
                return
            }
            lastNumber += 1
            connections[lastNumber] = HTTPConnection(lastNumber, socket: socket, limits: limits)
        }
    }

    /// Closes the connection that has been reading for the longest; returns `false` if there is none.
    private func makeSpace() -> Bool {
        removeClosed()
        if connections.count < limits.connectionCount { return true }
        guard let oldest = connections.values.filter(\.isReading).min(by: { $0.start < $1.start }) else { return false }
        oldest.close()
        removeClosed()
        return true
    }

    // MARK: Handling

    private func handle(_ request: HTTPRequest?, of connection: HTTPConnection) {
        guard let request else { return }
        let exchange = HTTPExchange(request: request, state: HTTPExchange.State())
        exchanges[connection.number] = (connection.requestNumber, exchange)
        waiting.append((connection, connection.requestNumber, exchange))
    }

    private func startHandlers() {
        waiting.removeAll { $0.exchange.isAbandoned }
        while handlerCount < limits.handlerCount, !waiting.isEmpty {
            let (connection, request, exchange) = waiting.removeFirst()
            handlerCount += 1
            let number = connection.number
            Thread { [handler, inbox] in
                let response = handler(exchange)
                inbox.put(HTTPInbox.Result(connection: number, request: request, response: response))
            }.start()
        }
    }

    /// Sends responses of handlers.
    private func receive() {
        let message = inbox.take()
        if message.isStopping, !isStopping { stop() }
        handlerCount -= message.results.count
        for result in message.results {
            guard let connection = connections[result.connection], !connection.isClosed,
                connection.requestNumber == result.request
            else { continue }
            exchanges[connection.number] = nil
            handle(connection.respond(result.response, isLast: isStopping), of: connection)
            // Before the next response is taken.
            boundOutput(keeping: connection)
        }
    }

    private func stop() {
        isStopping = true
        close(listener)
        for connection in connections.values where connection.isReading { connection.close() }
    }

    // MARK: Limits

    private func expire() {
        let now = ContinuousClock.now
        for connection in connections.values where connection.deadline <= now { connection.expire() }
        if isStopping {
            for connection in connections.values where connection.isIdle { connection.close() }
        }
    }

    /// Closes the connections that have been sending for the longest, until the rest is within the limit.
    private func boundOutput(keeping latest: HTTPConnection? = nil) {
        var total = connections.values.reduce(0) { $0 + $1.outputByteCount }
        guard total > limits.outputByteCount else { return }
        for connection in connections.values.filter(\.isSending).sorted(by: { $0.start < $1.start })
        where connection !== latest && total > limits.outputByteCount {
            total -= connection.outputByteCount
            connection.close()
        }
    }

    private func removeClosed() {
        for (number, (request, exchange)) in exchanges {
            guard let connection = connections[number], !connection.isClosed, connection.requestNumber == request else {
                exchange.state.isAbandoned.store(true, ordering: .relaxed)
                exchanges[number] = nil
                continue
            }
        }
        connections = connections.filter { !$0.value.isClosed }
    }
}
