import Foundation
import Glibc
import Synchronization

/// A small HTTP/1.1 server with a thread for each connection.
///
/// The threads are its own, so that a handler may block: it waits for loads, and encodes images.
final class HTTPServer: Sendable {
    /// The port it listens on.
    let port: Int
    private let listener: Int32
    private let handler: @Sendable (HTTPExchange) -> HTTPResponse
    private let connections = Mutex<(open: Set<Int32>, isStopping: Bool)>(([], false))
    private let slots = DispatchSemaphore(value: HTTPServer.connectionLimit)

    /// Further connections wait in the kernel's queue.
    private static let connectionLimit = 256
    private static let headByteLimit = 16 << 10
    /// How long a client may be silent, in seconds.
    private static let idleLimit = 30

    /// Starts to listen.
    init(address: String, port: UInt16, handler: @escaping @Sendable (HTTPExchange) -> HTTPResponse) throws {
        self.handler = handler
        var socketAddress = sockaddr_in()
        socketAddress.sin_family = sa_family_t(AF_INET)
        socketAddress.sin_port = port.bigEndian
        guard inet_pton(AF_INET, address, &socketAddress.sin_addr) == 1 else { throw POSIXError(.EADDRNOTAVAIL) }
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        Self.set(SO_REUSEADDR, to: Int32(1), of: listener)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, size) = (listener, length)
        let status = withUnsafeMutablePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && listen(descriptor, 512) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard status else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        self.port = Int(UInt16(bigEndian: socketAddress.sin_port))
        Thread { self.accept() }.start()
    }

    /// Accepts no more connections, and returns when those in progress have got their responses, or the time is over.
    func stop(within limit: Duration) {
        let idle = connections.withLock { state in
            state.isStopping = true
            return state.open
        }
        shutdown(listener, Int32(SHUT_RD))
        // Connections without a request see an end; the others finish first.
        for socket in idle { shutdown(socket, Int32(SHUT_RD)) }
        let deadline = ContinuousClock.now + limit
        while connections.withLock({ !$0.open.isEmpty }), ContinuousClock.now < deadline { usleep(10_000) }
    }

    private var isStopping: Bool { connections.withLock { $0.isStopping } }

    private func accept() {
        while true {
            slots.wait()
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else {
                slots.signal()
                if isStopping { return }
                // Out of descriptors: some are free soon.
                if errno != EINTR, errno != ECONNABORTED { usleep(50_000) }
                continue
            }
            let isOpen = connections.withLock { state in
                if !state.isStopping { state.open.insert(socket) }
                return !state.isStopping
            }
            guard isOpen else {
                close(socket)
                slots.signal()
                continue
            }
            Thread { self.serve(socket) }.start()
        }
    }

    private func serve(_ socket: Int32) {
        let idle = timeval(tv_sec: Self.idleLimit, tv_usec: 0)
        Self.set(SO_RCVTIMEO, to: idle, of: socket)
        Self.set(SO_SNDTIMEO, to: idle, of: socket)
        var noDelay = Int32(1)
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        var received = Data()
        // Bytes of the next request may follow.
        while answer(socket, &received) {}
        connections.withLock { _ = $0.open.remove(socket) }
        close(socket)
        slots.signal()
    }

    /// Answers one request; returns whether another may follow.
    private func answer(_ socket: Int32, _ received: inout Data) -> Bool {
        let end = Data("\r\n\r\n".utf8)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while received.range(of: end) == nil {
            guard received.count <= Self.headByteLimit else {
                return send(.text(431, "The head of the request is too long."), to: socket)
            }
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            received.append(contentsOf: buffer[..<count])
        }
        guard let range = received.range(of: end),
            let request = HTTPRequest(head: String(decoding: received[..<range.lowerBound], as: UTF8.self))
        else { return send(.text(400, "This is no HTTP request."), to: socket) }
        received.removeSubrange(..<range.upperBound)
        guard ["GET", "HEAD"].contains(request.method) else {
            return send(.text(405, "Only GET and HEAD are served."), to: socket)
        }
        let response = handler(HTTPExchange(request: request, socket: socket) { [self] in isStopping })
        return send(
            response, to: socket, withBody: request.method == "GET",
            closesConnection: request.closesConnection || isStopping)
    }

    /// Returns whether another request may follow.
    private func send(
        _ response: HTTPResponse, to socket: Int32, withBody: Bool = true, closesConnection: Bool = true
    ) -> Bool {
        let data = response.encoded(withBody: withBody, closesConnection: closesConnection)
        var sent = 0
        while sent < data.count {
            let count = data.withUnsafeBytes { bytes in
                Glibc.send(
                    socket, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return !closesConnection
    }

    private static func set<Value>(_ option: Int32, to value: Value, of socket: Int32) {
        withUnsafePointer(to: value) {
            _ = setsockopt(socket, SOL_SOCKET, option, $0, socklen_t(MemoryLayout<Value>.size))
        }
    }
}

/// A request that waits for its response.
struct HTTPExchange {
    let request: HTTPRequest
    fileprivate let socket: Int32
    fileprivate let isStopping: () -> Bool

    init(request: HTTPRequest, socket: Int32, isStopping: @escaping () -> Bool) {
        (self.request, self.socket, self.isStopping) = (request, socket, isStopping)
    }

    /// Whether the client has closed the connection.
    var isAbandoned: Bool {
        // Stopping closes the receiving side too.
        guard !isStopping() else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }
}
