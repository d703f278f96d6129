internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore
internal import WebImageIsolation

/// Reads requests and answers them.
///
///     channel ──▶ this thread ──▶ requests ──▶ decoding thread ──▶ channel
///                      ├────────▶ answers to its questions ─┘ (only while it waits for one)
///                      └────────▶ cancels at once
///
/// The process ends with its channel, also in the middle of an image.
final class DecoderService: Sendable {
    private let registry: CodecRegistry
    private let report: SandboxReport
    private let channel = Channel.inDecoder
    private let requests = MessageQueue()
    private let answers = MessageQueue()
    private let state = Lock(State())

    private struct State {
        /// The request in progress.
        var current: (number: Int, cancellation: Cancellation)?
        /// The last request that was cancelled, perhaps before it was in progress.
        var cancelled = 0
    }

    init(_ registry: CodecRegistry, report: SandboxReport) {
        self.registry = registry
        self.report = report
    }

    func run() -> Never {
        // Libraries recurse into files; 8 MiB is what a main thread has.
        guard PlatformThread.start(name: "decode", { [self] in work() }) else { exit(1) }
        send(.ready(version: LibraryVersion.text, report), number: 0)
        while true {
            guard let message = try? channel.receive(), let request = try? IncomingRequest(message) else { _exit(0) }
            switch request.content {
            case .cancel:
                let isCurrent = state.withLock { state in
                    state.cancelled = request.number
                    guard let current = state.current, current.number == request.number else { return false }
                    current.cancellation.cancel()
                    return true
                }
                if isCurrent { answers.append(request) }
            case .encodedFrame, .spool, .noSpool:
                if state.withLock({ $0.current?.number == request.number }) { answers.append(request) }
            default: requests.append(request)
            }
        }
    }

    /// Sends a request to the program, and waits for the response.
    ///
    /// - Throws: ``WebImageError/cancelled``.
    func response(to request: DecoderReply) throws(WebImageError) -> IncomingRequest {
        guard let (number, cancellation) = state.withLock({ $0.current }) else { throw .cancelled }
        try cancellation.check()
        send(request, number: number)
        while true {
            let answer = answers.next()
            try cancellation.check()
            // Others came too late.
            if answer.number == number { return answer }
        }
    }

    private func work() {
        let decoder = RequestDecoder(registry, service: self)
        while true {
            let request = requests.next()
            let cancellation = Cancellation()
            state.withLock { state in
                state.current = (request.number, cancellation)
                if state.cancelled == request.number { cancellation.cancel() }
            }
            DecodingQueue.limitThreads(to: request.threadCount)
            let reply = decoder.reply(to: request, cancellation: cancellation)
            state.withLock { $0.current = nil }
            answers.removeAll()
            if let reply { send(reply, number: request.number) }
        }
    }

    func send(_ reply: DecoderReply, number: Int) {
        do {
            try channel.send(MessageEncoder.bytes(of: NumberedReply(number: number, reply: reply)))
        } catch {
            _exit(0)
        }
    }
}

/// Messages from the thread that receives to the thread that decodes.
private struct MessageQueue: ~Copyable, Sendable {
    private let messages = Lock<[IncomingRequest]>([])
    private let arrival = DispatchSemaphore(value: 0)

    func append(_ message: IncomingRequest) {
        messages.withLock { $0.append(message) }
        arrival.signal()
    }

    /// Waits for the next message.
    func next() -> IncomingRequest {
        while true {
            arrival.wait()
            if let message = messages.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return message }
        }
    }

    func removeAll() { messages.withLock { $0 = [] } }
}

/// A request, and the memory that came with it.
struct IncomingRequest: Sendable {
    let number: Int
    let threadCount: Int
    /// The length of the file in the kept input, or 0.
    let inputByteCount: Int
    let content: DecoderRequest
    /// The input, if it is not the kept one.
    let memory: [SharedMemory]

    init(_ message: Channel.Message) throws {
        let request: NumberedRequest = try MessageDecoder.value(of: message.bytes, from: .program)
        (number, threadCount, inputByteCount) = (request.number, request.threadCount, request.inputByteCount)
        content = request.content
        memory = message.memory
    }
}
