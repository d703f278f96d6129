import Foundation
import Glibc

/// A connection: reads requests, and sends their responses, one after the other. It never blocks.
///
///     head ─► body ─► handling ─► sending ─┬─► head
///       └─ refused ──────────────────┘     └─► lingering ─► closed
///
/// A client may end its side after a request, and still gets the response. At the end, the rest of what it sends is read and
/// dropped: the kernel would otherwise reset the connection, and the client might lose the response.
final class HTTPConnection {
    enum Phase { case head, body(missing: Int), handling, sending, lingering, closed }

    let number: UInt64
    let socket: Int32
    private let limits: HTTPLimits
    private(set) var phase = Phase.head
    /// When the phase ends in any case.
    private(set) var deadline: ContinuousClock.Instant
    /// When the phase began.
    private(set) var start = ContinuousClock.now
    /// The number of the request that is handled.
    private(set) var requestNumber: UInt64 = 0
    private var request: HTTPRequest?
    private var closesAfterwards = false
    private var input: [UInt8] = []
    private var hasInputEnded = false
    /// The head and the body; the first may have been sent in part.
    private var output: [Data] = []
    private var sentByteCount = 0

    init(_ number: UInt64, socket: Int32, limits: HTTPLimits) {
        (self.number, self.socket, self.limits) = (number, socket, limits)
        deadline = .now + limits.headTime
        for (level, option, value) in [
            (Int32(IPPROTO_TCP), TCP_NODELAY, 1), (SOL_SOCKET, SO_SNDBUF, 256 << 10), (SOL_SOCKET, SO_RCVBUF, 64 << 10),
        ] {
            var value = Int32(value)
            setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// What `poll` waits for.
    var events: Int16 {
        switch phase {
        case .head, .body, .lingering: Int16(POLLIN)
        case .sending: Int16(POLLOUT)
        // Errors are reported in any case.
        case .handling, .closed: 0
        }
    }

    /// The bytes that wait for the reader.
    var outputByteCount: Int { output.reduce(-sentByteCount) { $0 + $1.count } }
    /// Whether no part of a request has arrived.
    var isIdle: Bool { if case .head = phase { input.isEmpty } else { false } }
    var isClosed: Bool { if case .closed = phase { true } else { false } }
    var isSending: Bool { if case .sending = phase { true } else { false } }
    /// Whether it waits for bytes of a request.
    var isReading: Bool {
        switch phase {
        case .head, .body, .lingering: true
        case .handling, .sending, .closed: false
        }
    }

    private func enter(_ phase: Phase, for time: Duration) {
        self.phase = phase
        start = .now
        deadline = start + time
    }

    /// Closes the connection now.
    func close() {
        guard !isClosed else { return }
        phase = .closed
        (input, output, sentByteCount) = ([], [], 0)
        _ = Glibc.close(socket)
    }

    // MARK: Reading

    /// Reads what has arrived. Returns a request to handle.
    func read() -> HTTPRequest? {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0 {
            if errno != EAGAIN, errno != EINTR { close() }
            return nil
        }
        hasInputEnded = count == 0
        if case .lingering = phase {
            if hasInputEnded { close() }
            return nil
        }
        let isFirst = isIdle
        input += buffer[..<count]
        if isFirst, !hasInputEnded { enter(.head, for: limits.headTime) }
        return advance()
    }

    /// Returns the request that the input has, if it is complete.
    private func advance() -> HTTPRequest? {
        do throws(HTTPRefusal) {
            if case .head = phase { try readHead() }
            if case .body(let missing) = phase { readBody(missing) }
        } catch {
            refuse(error)
        }
        if case .handling = phase { return request }
        // Nothing more will come.
        if hasInputEnded, isReading { close() }
        return nil
    }

    private func readHead() throws(HTTPRefusal) {
        // Empty lines before a request are ignored (RFC 9112, 2.2).
        while input.starts(with: [0x0D, 0x0A]) { input.removeFirst(2) }
        let end = input.indices.dropLast(3).first { input[$0...].starts(with: [0x0D, 0x0A, 0x0D, 0x0A]) }
        guard end ?? input.count <= limits.headByteCount else { throw .headTooLong }
        guard let end else { return }
        let request = try HTTPRequest(head: input[..<end])
        guard request.bodyByteCount <= limits.bodyByteCount else { throw .bodyTooLong }
        input.removeFirst(end + 4)
        self.request = request
        closesAfterwards = request.closesConnection
        enter(.body(missing: request.bodyByteCount), for: limits.bodyTime)
    }

    private func readBody(_ missing: Int) {
        let count = min(missing, input.count)
        input.removeFirst(count)
        guard count == missing else {
            phase = .body(missing: missing - count)
            return
        }
        requestNumber += 1
        enter(.handling, for: limits.responseTime)
    }

    /// Ends the phase, whose time is over.
    func expire() {
        switch phase {
        case .head where isIdle: close()
        case .head, .body: refuse(.tooSlow)
        case .handling: refuse(.overloaded)
        case .sending, .lingering, .closed: close()
        }
    }

    // MARK: Sending

    private func refuse(_ refusal: HTTPRefusal) {
        closesAfterwards = true
        send(refusal.response, withBody: true)
    }

    /// Sends the response of the request. Returns the next request, which may have arrived already.
    func respond(_ response: HTTPResponse, isLast: Bool) -> HTTPRequest? {
        if isLast { closesAfterwards = true }
        send(response, withBody: request?.method != "HEAD")
        return next()
    }

    private func send(_ response: HTTPResponse, withBody: Bool) {
        // Its result is not used any more.
        requestNumber += 1
        request = nil
        output = [response.encodedHead(closesConnection: closesAfterwards)] + (withBody ? [response.body] : [])
        sentByteCount = 0
        enter(.sending, for: limits.sendTime(of: outputByteCount))
        flush()
    }

    /// Continues to send. Returns the next request.
    func write() -> HTTPRequest? {
        flush()
        return next()
    }

    private func next() -> HTTPRequest? {
        if case .head = phase, !input.isEmpty || hasInputEnded { advance() } else { nil }
    }

    private func flush() {
        while let part = output.first {
            let rest = part.dropFirst(sentByteCount)
            let count = rest.withUnsafeBytes { bytes in
                let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT) | (output.count > 1 ? Int32(MSG_MORE) : 0)
                return Glibc.send(socket, bytes.baseAddress, bytes.count, flags)
            }
            guard count >= 0 else {
                if errno != EAGAIN, errno != EINTR { close() }
                return
            }
            sentByteCount += count
            guard sentByteCount == part.count else { continue }
            output.removeFirst()
            sentByteCount = 0
        }
        guard closesAfterwards else { return enter(.head, for: input.isEmpty ? limits.idleTime : limits.headTime) }
        shutdown(socket, Int32(SHUT_WR))
        enter(.lingering, for: limits.lingerTime)
        if hasInputEnded { close() }
    }
}
