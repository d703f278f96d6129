internal import CWebImageHTTPD
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore
internal import WebImageLoading
internal import WebImageService

/// A request and its answer, which may come later from any thread.
///
/// `@unchecked`: the C object has a lock of its own.
final class HTTPExchange: @unchecked Sendable {
    let request: ServiceRequest
    let connection: UInt64
    let start = ContinuousClock.now
    private let handle: OpaquePointer
    private let state = Lock(State())

    private struct State {
        var cancel: (@Sendable () -> Void)?
        var hasLeft = false
        var answer: ServiceAnswer?
    }

    /// Takes over a reference.
    init(_ handle: OpaquePointer, connection: UInt64) {
        (self.handle, self.connection) = (handle, connection)
        let fields = (0..<cwi_request_field_count(handle)).map { index in
            let field = cwi_request_field(handle, index)
            return HTTPField(name: String(cString: field.name), value: String(cString: field.value))
        }
        request = ServiceRequest(
            method: String(cString: cwi_request_method(handle)), target: String(cString: cwi_request_target(handle)),
            headers: fields)
    }

    deinit { cwi_request_release(handle) }

    /// The answer, once there is one.
    var answer: ServiceAnswer? { state.withLock { $0.answer } }

    /// Notes an answer that was sent already.
    func note(_ answer: ServiceAnswer) { state.withLock { $0.answer = answer } }

    /// Longer bodies are not copied for a connection, but read while they are sent: slow clients take no memory.
    private static let copiedByteCount = 32 << 10

    private final class Body: Sendable {
        let data: Data

        init(_ data: Data) { self.data = data }

        static func from(_ context: UnsafeMutableRawPointer?) -> Unmanaged<Body>? {
            context.map { Unmanaged<Body>.fromOpaque($0) }
        }
    }

    private static func reader(of data: Data) -> cwi_reader {
        cwi_reader(
            context: Unmanaged.passRetained(Body(data)).toOpaque(),
            read: { context, position, buffer, count in
                guard let data = Body.from(context)?.takeUnretainedValue().data, let buffer else { return }
                let start = data.startIndex + Int(position)
                data.copyBytes(
                    to: UnsafeMutableRawBufferPointer(start: buffer, count: count), from: start..<start + count)
            }, release: { Body.from($0)?.release() })
    }

    /// Sends an answer.
    ///
    /// - Parameter closes: whether the connection ends with it.
    func send(_ answer: ServiceAnswer, closes: Bool) {
        state.withLock { state in
            state.answer = answer
            state.cancel = nil
        }
        var texts: [UnsafeMutablePointer<CChar>] = []
        defer { for text in texts { free(text) } }
        func copy(_ text: String) -> UnsafePointer<CChar>? {
            guard let copy = strdup(text) else { return nil }
            texts.append(copy)
            return UnsafePointer(copy)
        }
        var length = UInt64(answer.body.count + answer.unsentByteCount)
        let fields = answer.headers.compactMap { field -> cwi_field? in
            guard !field.isNamed("Content-Length") else {
                // The server writes this one.
                length = UInt64(field.value) ?? length
                return nil
            }
            return cwi_field(name: copy(field.name), value: copy(field.value))
        }
        guard answer.body.count <= Self.copiedByteCount else {
            var reader = Self.reader(of: answer.body)
            return cwi_request_answer(
                handle, UInt32(answer.status), fields, fields.count, nil, answer.body.count, &reader, length, closes)
        }
        answer.body.withUnsafeBytes { body in
            cwi_request_answer(
                handle, UInt32(answer.status), fields, fields.count, body.baseAddress, body.count, nil, length, closes)
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

    /// Ends the work, because nobody reads the answer.
    func leave() {
        let cancel = state.withLock { state in
            state.hasLeft = true
            return state.cancel.take()
        }
        cancel?()
    }
}
