internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore
internal import WebImageIsolation

/// Reads requests and answers them.
///
///     channel ──▶ this thread: cancels at once, queues the rest ──▶ decoding thread ──▶ channel
///
/// The process ends with its channel, also in the middle of an image.
final class DecoderService: Sendable {
    private let registry: CodecRegistry
    private let report: SandboxReport
    private let channel = Channel.inDecoder
    private let waiting = Lock<[IncomingRequest]>([])
    private let arrival = DispatchSemaphore(value: 0)
    /// Of the request in progress.
    private let cancellation = Lock<(number: Int, flag: Cancellation)?>(nil)

    init(_ registry: CodecRegistry, report: SandboxReport) {
        self.registry = registry
        self.report = report
    }

    func run() -> Never {
        // Libraries recurse into files; 8 MiB is what a main thread has.
        guard PlatformThread.start(name: "decode", { [self] in work() }) else { exit(1) }
        send(.ready(version: LibraryVersion.text, report), number: nil)
        while true {
            guard let message = try? channel.receive(milliseconds: -1),
                let request = try? IncomingRequest(message)
            else { _exit(0) }
            if case .cancel = request.content {
                cancellation.withLock { current in
                    if let current, current.number == request.number { current.flag.cancel() }
                }
                continue
            }
            waiting.withLock { $0.append(request) }
            arrival.signal()
        }
    }

    /// Waits for the next request.
    func next() -> IncomingRequest {
        arrival.wait()
        return waiting.withLock { $0.removeFirst() }
    }

    private func work() {
        let decoder = RequestDecoder(registry, service: self)
        while true {
            let request = next()
            let flag = Cancellation()
            cancellation.withLock { $0 = (request.number, flag) }
            let reply = decoder.reply(to: request, cancellation: flag)
            cancellation.withLock { $0 = nil }
            if let reply { send(reply, number: request.number) }
        }
    }

    func send(_ reply: DecoderReply, number: Int?) {
        var message = MessageWriter()
        if let number { message.write(number) }
        message.write(reply)
        do {
            try channel.send(message.bytes)
        } catch {
            _exit(0)
        }
    }
}

/// A request, and the memory that came with it.
struct IncomingRequest: Sendable {
    let number: Int
    let content: DecoderRequest
    /// The input, the output, or both in this order.
    let memory: [SharedMemory]

    init(_ message: Channel.Message) throws {
        var reader = MessageReader(message.bytes)
        number = try reader.int()
        content = try DecoderRequest(from: &reader)
        memory = message.memory
    }
}
