internal import CWebImageHTTPD
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageLoading
internal import WebImageService

/// A request and its answer, which may come later from any thread.
///
/// `@unchecked`: the C object has a lock of its own.
final class HTTPExchange: @unchecked Sendable {
    /// The properties that all exchanges of a server have in common.
    struct Sending: Sendable {
        /// Whether every connection ends with its first answer.
        let closesConnections: Bool
        /// Called before an answer is sent.
        let onAnswer: @Sendable (_ exchange: HTTPExchange, _ answer: ServiceAnswer) -> Void
    }

    let request: ServiceRequest
    /// `nil` for a request without one.
    let body: RequestBody?
    let connection: UInt64
    let start = ContinuousClock.now
    /// `nil` for what could not be read as a request.
    private let handle: OpaquePointer?
    private let sending: Sending
    private let state = Mutex(State())

    private struct State {
        var cancel: (@Sendable () -> Void)?
        var hasLeft = false
        var answer: ServiceAnswer?
    }

    /// Takes over a reference.
    ///
    /// - Parameter bodyLimit: the most bytes of the body; `nil` without one.
    init(_ handle: OpaquePointer, connection: UInt64, _ sending: Sending, bodyLimit: Int? = nil) {
        (self.handle, self.connection, self.sending) = (handle, connection, sending)
        body = bodyLimit.map { RequestBody(handle, byteLimit: $0) }
        let fields = (0..<cwi_request_field_count(handle)).map { index in
            let field = cwi_request_field(handle, index)
            return HTTPHeader(name: String(cString: field.name), value: String(cString: field.value))
        }
        request = ServiceRequest(
            method: String(cString: cwi_request_method(handle)), target: String(cString: cwi_request_target(handle)),
            headers: fields)
    }

    /// An exchange without a request that could be read, which libmicrohttpd has answered.
    init(unreadRequestWith status: Int, _ sending: Sending) {
        (handle, body, connection, self.sending) = (nil, nil, 0, sending)
        request = ServiceRequest(method: "-", target: "-")
        note(ServiceAnswer(status: status, headers: [], body: Data()))
    }

    deinit { if let handle { cwi_request_release(handle) } }

    /// The answer, once there is one.
    var answer: ServiceAnswer? { state.withLock { $0.answer } }

    /// Notes an answer that is sent; only the first call counts. Returns whether this is it.
    @discardableResult
    func note(_ answer: ServiceAnswer) -> Bool {
        let isFirst = state.withLock { state in
            guard state.answer == nil else { return false }
            state.answer = answer
            state.cancel = nil
            return true
        }
        if isFirst { sending.onAnswer(self, answer) }
        return isFirst
    }

    /// Longer bodies are not copied for a connection, but read while they are sent.
    private static let copiedByteCount = 32 << 10

    private final class Body: Sendable {
        let body: ServiceAnswer.Body

        init(_ body: ServiceAnswer.Body) { self.body = body }

        static func from(_ context: UnsafeMutableRawPointer?) -> Unmanaged<Body>? {
            context.map { Unmanaged<Body>.fromOpaque($0) }
        }

        var reader: cwi_reader {
            cwi_reader(
                context: Unmanaged.passRetained(self).toOpaque(),
                read: { context, position, buffer, count in
                    guard let body = Body.from(context)?.takeUnretainedValue().body, let buffer else { return false }
                    return body.read(Int(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
                }, release: { Body.from($0)?.release() })
        }
    }

    /// Sends an answer.
    ///
    /// - Parameter closes: whether the connection ends with it.
    func send(_ answer: ServiceAnswer, closes: Bool) {
        guard let handle, note(answer) else { return }
        // What is left of a body is not taken for another request.
        let closes = closes || sending.closesConnections || body?.hasEnded == false
        var texts: [UnsafeMutablePointer<CChar>] = []
        defer {
            for text in texts { free(text) }
            body?.discard()
        }
        func copy(_ text: String) -> UnsafePointer<CChar>? {
            guard let copy = strdup(text) else { return nil }
            texts.append(copy)
            return UnsafePointer(copy)
        }
        let count = answer.body.count
        var length = UInt64(count + answer.unsentByteCount)
        let fields = answer.headers.compactMap { field -> cwi_field? in
            guard !field.isNamed("Content-Length") else {
                // The server writes this one.
                length = UInt64(field.value) ?? length
                return nil
            }
            return cwi_field(name: copy(field.name), value: copy(field.value))
        }
        let status = UInt32(answer.status)
        if count <= Self.copiedByteCount, let data = answer.body.data {
            data.withUnsafeBytes { bytes in
                cwi_request_answer(
                    handle, status, fields, fields.count, bytes.baseAddress, bytes.count, nil, length, closes)
            }
        } else {
            var reader = Body(answer.body).reader
            cwi_request_answer(handle, status, fields, fields.count, nil, count, &reader, length, closes)
        }
    }

    /// Sets what ends the work for the answer.
    func onLeave(_ cancel: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            if state.answer == nil { state.cancel = cancel }
            return state.hasLeft
        }
        if hasLeft { cancel() }
    }

    /// Ends the work, because the client does not read the answer.
    func leave() {
        let cancel = state.withLock { state in
            state.hasLeft = true
            return state.cancel.take()
        }
        cancel?()
        body?.discard()
    }
}
