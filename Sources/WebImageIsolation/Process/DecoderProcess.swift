internal import CWebImageIsolation
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// A decoder process, as the program sees it. Used by one thread at a time, which has leased it from the ``DecoderPool``.
final class DecoderProcess: @unchecked Sendable {
    // `@unchecked`: the pool leases it to one thread at a time.
    private var process: cwi_decoder_process
    private let channel: Channel
    /// What the process says about its sandbox.
    let report: SandboxReport
    /// The number of images that it has worked on.
    private(set) var imageCount = 0
    private var lastNumber = 0
    /// How many threads it may use now.
    var threadCount = 1
    private(set) var hasEnded = false
    /// Sessions that nothing refers to any more. They are closed with the next request.
    private let leftSessions = Lock<[Int]>([])
    /// When it last had work.
    var idleSince = Duration.zero

    private var input = KeptMemory()
    private var output = KeptMemory()
    /// Whether it has given the memory of earlier images back.
    private(set) var isRested = true

    /// Called once for a request that takes long, by the thread that waits. Set by the pool.
    var onSlow: (() -> Void)?
    private let slowPeriod: Double
    /// Whether it has left its place to another; under the pool's lock.
    var isSlow = false
    private(set) var hasLowPriority = false

    /// Why a request has no reply.
    enum Failure: Error {
        /// The caller cancelled. The process may have ended.
        case cancelled
        /// The process did not come to an end in time, and was ended.
        case timedOut
        /// The process has ended.
        case ended(signal: Int32?)
        /// The process returned something else than a reply, and was ended.
        case invalid(String)
    }

    /// Starts a process and waits until it is in its sandbox.
    ///
    /// - Parameter slowPeriod: after how long a request takes long.
    /// - Throws: why there is none.
    init(path: String, slowPeriod: Duration) throws(UnavailableDecoder) {
        self.slowPeriod = slowPeriod.inExactSeconds
        var process = cwi_decoder_process()
        let error = cwi_decoder_start(path, &process)
        guard error == 0 else {
            throw UnavailableDecoder("\(path) cannot be started (\(WebImageError.systemMessage(error)))")
        }
        channel = Channel(descriptor: process.channel)
        do {
            guard let message = try channel.receive(milliseconds: Self.startMilliseconds) else {
                throw UnavailableDecoder("\(path) does not respond")
            }
            var reader = MessageReader(message.bytes)
            guard case .ready(let version, let report) = try DecoderReply(from: &reader) else {
                throw UnavailableDecoder("\(path) is no decoder of this library")
            }
            guard version == LibraryVersion.text else {
                throw UnavailableDecoder(
                    "\(path) has version \(version.prefix(20)), the program \(LibraryVersion.text)")
            }
            self.report = report
            self.process = process
        } catch let error as UnavailableDecoder {
            cwi_decoder_end(&process, 0)
            throw error
        } catch {
            let exit = cwi_decoder_end(&process, Self.exitMilliseconds)
            throw UnavailableDecoder("\(path) \(exit.text)")
        }
    }

    deinit { if !hasEnded { end() } }

    /// Long, because a busy machine must not lose isolation.
    private static let startMilliseconds: Int32 = 10_000
    /// The time for a process to end by itself after its channel has closed: it has crashed.
    private static let exitMilliseconds: Int32 = 200

    /// Lets all other threads of the system take precedence, until the process ends.
    func lowerPriority() {
        guard !hasEnded, !hasLowPriority else { return }
        hasLowPriority = true
        cwi_decoder_lower_priority(&process)
    }

    func end() {
        hasEnded = true
        cwi_decoder_end(&process, 0)
    }

    /// Closes what belongs to the parent of this process, which has forked.
    func forget() {
        hasEnded = true
        cwi_decoder_forget(&process)
    }

    /// Sends a request and waits for the reply.
    ///
    /// - Parameters:
    ///   - outputByteCount: the room for the result, which ``read(at:into:isLast:)`` returns.
    ///   - limits: the kernel enforces its memory and time; `nil` for those of the process.
    ///   - deadline: in seconds of the monotonic clock.
    ///   - spoolByteLimit: the longest file that the decoder may request.
    ///   - supply: returns the frames that the decoder requests.
    /// - Throws: ``Failure``, ``UnavailableDecoder``, or a ``WebImageError``.
    func reply(
        to request: DecoderRequest, input: RequestInput = .none, outputByteCount: Int = 0, limits: DecodingLimits?,
        deadline: Double, cancellation: Cancellation?, spoolByteLimit: Int = 0,
        supply: ((Int) throws(WebImageError) -> (PixelLayout, SharedMemory))? = nil
    ) throws -> DecoderReply {
        do {
            for session in leftSessions.withLock({ sessions in
                defer { sessions = [] }
                return sessions
            }) { try send(.close(session: session), []) }
            isRested = false
            imageCount += 1
            lastNumber += 1
            try limit(limits)
            try send(request, input, outputByteCount: outputByteCount)
            var spools: [UnnamedFile] = []
            var rest = spoolByteLimit
            // The process may keep its descriptors.
            defer { for spool in spools { spool.clear() } }
            while true {
                let reply = try waitForReply(deadline: deadline, cancellation: cancellation)
                switch reply {
                case .needsFrame(let index):
                    guard let supply else { throw InvalidMessage("it requests a frame") }
                    let (layout, pixels) = try supply(index)
                    try send(.encodedFrame(layout), [pixels])
                case .needsSpool(let byteCount):
                    rest -= byteCount
                    guard rest >= 0 else { throw InvalidMessage("it requests too long a file") }
                    if let spool = try sendSpool(byteCount) { spools.append(spool) }
                default: return reply
                }
            }
        } catch let failure as Channel.Failure {
            throw failed(failure)
        } catch let failure as RegularFile.Failure {
            throw UnavailableDecoder(sharingMemory: failure)
        } catch let error as InvalidMessage {
            end()
            throw Failure.invalid(error.reason)
        } catch let error as WebImageError {
            // A frame cannot be had. The decoder waits for it in vain.
            end()
            throw error
        }
    }

    private func limit(_ limits: DecodingLimits?) throws(Channel.Failure) {
        let seconds = limits?.seconds.map { $0 < 1e9 ? UInt64(max(0, $0)) : .max }
        let byteCount = limits.map { UInt64(max(0, $0.memoryByteCount)) }
        guard cwi_decoder_limit(&process, byteCount ?? .max, seconds ?? .max, Self.limitMilliseconds) else {
            throw .closed
        }
    }

    /// Long, because a busy machine must not lose processes.
    private static let limitMilliseconds: Int32 = 10_000

    /// Sends a file, or why there is none.
    private func sendSpool(_ byteCount: Int) throws -> UnnamedFile? {
        do {
            let file = try UnnamedFile.onDisk(byteCount: byteCount)
            try send(
                .spool(directory: file?.directory ?? ""),
                file.map { [try SharedMemory(copyOf: $0.descriptor)] } ?? [])
            return file
        } catch let error as WebImageError {
            try send(.noSpool(error), [])
            return nil
        }
    }

    /// Closes a session with the next request. May be called by any thread.
    func leave(session: Int) { leftSessions.withLock { $0.append(session) } }

    private func failed(_ failure: Channel.Failure) -> Failure {
        hasEnded = true
        switch failure {
        case .closed:
            let exit = cwi_decoder_end(&process, Self.exitMilliseconds)
            return .ended(signal: exit.is_known && exit.signal != 0 ? exit.signal : nil)
        case .invalid(let message):
            cwi_decoder_end(&process, 0)
            return .invalid(message.reason)
        case .system(let errno):
            cwi_decoder_end(&process, 0)
            return .invalid(WebImageError.systemMessage(errno))
        }
    }

    /// Sends a request, after the memory that it needs.
    private func send(_ request: DecoderRequest, _ content: RequestInput, outputByteCount: Int) throws {
        if outputByteCount > 0, let new = try output.reserve(byteCount: outputByteCount, isMapped: true) {
            try send(.keepOutput, [new])
        }
        switch content {
        case .none: try send(request, [])
        case .memory(let memory): try send(request, [memory])
        case .bytes(let data):
            if let new = try input.reserve(byteCount: data.count, isMapped: false) { try send(.keepInput, [new]) }
            let memory = input.memory
            try data.withUnsafeBytes { try memory?.write($0) }
            try send(request, [], inputByteCount: data.count)
        }
    }

    /// Copies a part of the result of the last request.
    ///
    /// - Parameter isLast: whether the process does not need that part any more either.
    /// - Throws: ``UnavailableDecoder`` if the program has closed the memory.
    func read(
        at offset: Int, into bytes: UnsafeMutableRawBufferPointer, isLast: Bool
    ) throws(UnavailableDecoder) {
        do throws(RegularFile.Failure) {
            try output.read(at: offset, into: bytes, isLast: isLast)
        } catch {
            end()
            throw UnavailableDecoder("its memory cannot be read (\(WebImageError.systemMessage(error.errno)))")
        }
    }

    /// The size of the memory for results, in bytes.
    var outputByteCount: Int { output.memory?.byteCount ?? 0 }

    /// Gives back the memory that earlier images took, and lets the process do so.
    func rest() {
        isRested = true
        do {
            try send(.rest, [])
            input.clear()
        } catch {
            end()
        }
    }

    private func send(_ request: DecoderRequest, _ memory: [SharedMemory], inputByteCount: Int = 0) throws {
        guard cwi_decoder_has_channel(&process) else { throw Channel.Failure.closed }
        var message = MessageWriter()
        message.write(RequestHeader(number: lastNumber, threadCount: threadCount, inputByteCount: inputByteCount))
        message.write(request)
        try channel.send(message.bytes, memory: memory)
    }

    private func waitForReply(deadline: Double, cancellation: Cancellation?) throws -> DecoderReply {
        let start = Self.now
        while true {
            let now = Self.now
            let rest = deadline - now
            guard rest > 0 else {
                end()
                throw Failure.timedOut
            }
            if now - start >= slowPeriod, let onSlow {
                self.onSlow = nil
                onSlow()
            }
            if let cancellation, cancellation.isCancelled {
                try stop()
                throw Failure.cancelled
            }
            let next = onSlow == nil ? rest : min(rest, start + slowPeriod - now)
            let limit = cancellation == nil ? min(next * 1000, 1000) : Self.pollMilliseconds
            guard let message = try channel.receive(milliseconds: Int32(max(1, limit.rounded(.up)))) else { continue }
            guard let reply = try reply(in: message) else { continue }
            return reply
        }
    }

    /// Requests that the process stops, and ends it if it does not do so at once.
    private func stop() throws {
        try send(.cancel, [])
        let deadline = Self.now + Self.pollMilliseconds / 1000
        while Self.now < deadline {
            guard let message = try channel.receive(milliseconds: 2) else { continue }
            switch try reply(in: message) {
            // It sent the request before it was told to stop.
            case nil, .needsFrame, .needsSpool: continue
            default: return
            }
        }
        end()
    }

    /// `nil` for the reply to a request that was abandoned.
    private func reply(in message: Channel.Message) throws -> DecoderReply? {
        var reader = MessageReader(message.bytes)
        let number = try reader.int()
        guard number == lastNumber else {
            guard number < lastNumber, number > 0 else { throw InvalidMessage("there was no request \(number)") }
            return nil
        }
        return try DecoderReply(from: &reader)
    }

    /// A cancellation is a flag, so it is polled.
    private static let pollMilliseconds = 4.0

    /// The monotonic clock, in seconds.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Why no decoder process can be had.
struct UnavailableDecoder: Error, Sendable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    init(sharingMemory failure: RegularFile.Failure) {
        self.init("memory cannot be shared (\(WebImageError.systemMessage(failure.errno)))")
    }
}

extension cwi_exit {
    fileprivate var text: String {
        guard is_known else { return "has ended" }
        return signal != 0 ? "was ended by signal \(signal)" : "has ended with status \(status)"
    }
}
