internal import CWebImageIsolation
internal import Glibc
internal import Synchronization
internal import WebImageCoding
internal import WebImageCore

/// A decoder process, as the program sees it. Used by one thread at a time, which has leased it from the ``DecoderPool``.
final class DecoderProcess: @unchecked Sendable {
    // `@unchecked`: the pool leases it to one thread at a time. What others use is atomic, or under a lock.
    private(set) var process: cwi_decoder_process
    private let channel: Channel
    /// Ends the wait for a reply.
    private let interruption: Interruption
    let kind: DecoderKind
    /// The process's report about its sandbox.
    let report: SandboxReport
    /// The number of images that it has worked on.
    private(set) var imageCount = 0
    private var lastNumber = 0
    /// How many threads it may use now.
    var threadCount = 1
    private let ended = Atomic(false)
    private let evicted = Atomic(false)
    /// Sessions that nothing refers to any more. They are closed with the next request.
    private let leftSessions = Lock<[Int]>([])
    /// When it last had work.
    var idleSince = Duration.zero

    private var input = KeptMemory()
    private var output = KeptMemory()
    /// Whether it has given the memory of earlier images back.
    private(set) var isRested = true

    /// Called for a request that takes long, by the thread that waits, again and again until it returns `true`. Set by the pool.
    var onSlow: (() -> Bool)?
    private let slowPeriod: Double
    /// Whether it has left its place to another; under the pool's lock.
    var isSlow = false
    private(set) var hasLowPriority = false
    /// Whether it was ended because its request was cancelled.
    private(set) var wasCancelled = false

    /// Why a request has no reply.
    enum Failure: Error {
        /// The caller cancelled. The process may have ended.
        case cancelled
        /// The process did not come to an end in time, and was ended.
        case timedOut
        /// The process had to leave its place to another, and was ended.
        case evicted
        /// No process was free in time.
        case noPlace
        /// The process has ended.
        case ended(signal: Int32?)
        /// The process broke a rule, and was ended.
        case invalid(String)
    }

    /// Starts a process and waits until it is in its sandbox.
    ///
    /// - Parameters:
    ///   - slowPeriod: after how long a request takes long.
    ///   - startPeriod: how long to wait for the process.
    /// - Throws: why there is none.
    init(
        _ kind: DecoderKind = .core, path: String, slowPeriod: Duration,
        startPeriod: Duration = DecoderProcess.startPeriod
    ) throws(UnavailableDecoder) {
        self.kind = kind
        self.slowPeriod = slowPeriod.inExactSeconds
        guard let interruption = Interruption() else {
            throw UnavailableDecoder("there are no descriptors (\(systemMessage(errno)))")
        }
        self.interruption = interruption
        var process = cwi_decoder_process()
        let error = cwi_decoder_start(path, kind.library?.name ?? "", &process)
        guard error == 0 else {
            throw UnavailableDecoder("\(path) cannot be started (\(systemMessage(error)))")
        }
        channel = Channel(descriptor: process.channel)
        do {
            let deadline = Channel.Limit.now + startPeriod.inExactSeconds
            guard let message = try channel.receive(until: deadline, within: Channel.Limit(deadline: deadline)) else {
                throw UnavailableDecoder(after: startPeriod)
            }
            guard case .ready(let version, let report) = try DecoderReply(message, to: 0) else {
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
        } catch let error as InvalidMessage {
            cwi_decoder_end(&process, 0)
            throw UnavailableDecoder("\(path) is no decoder of this version (\(error.reason))")
        } catch {
            let exit = cwi_decoder_end(&process, Self.exitMilliseconds)
            throw UnavailableDecoder("\(path) \(exit.text)")
        }
    }

    deinit { if !hasEnded { end() } }

    /// Long, because a busy machine must not lose isolation.
    private static let startPeriod = Duration.seconds(10)
    /// The time for a process to end by itself after its channel has closed: it has crashed. A busy machine may need long for that.
    private static let exitMilliseconds: Int32 = 1000
    /// The time for a process to answer after its request was cancelled.
    private static let stopSeconds = 0.004

    /// Lets all other threads of the system take precedence, until the process ends.
    func lowerPriority() {
        guard !hasEnded, !hasLowPriority else { return }
        hasLowPriority = true
        cwi_decoder_lower_priority(&process)
    }

    // MARK: Ending

    var hasEnded: Bool { ended.load(ordering: .relaxed) }

    func end() {
        ended.store(true, ordering: .relaxed)
        cwi_decoder_end(&process, 0)
    }

    /// Ends the process on another thread: the system takes milliseconds to give its memory back.
    func endWithoutWaiting() {
        ended.store(true, ordering: .relaxed)
        let ending = process
        process = Self.none
        let isStarted = PlatformThread.start(name: "webimage-end") {
            var process = ending
            cwi_decoder_end(&process, 0)
        }
        if isStarted { return }
        process = ending
        end()
    }

    private static let none: cwi_decoder_process = {
        var process = cwi_decoder_process()
        (process.pid, process.pidfd, process.channel, process.control) = (-1, -1, -1, -1)
        return process
    }()

    /// Closes what belongs to the parent of this process, which has forked.
    func forget() {
        ended.store(true, ordering: .relaxed)
        cwi_decoder_forget(&process)
    }

    /// Whether the process has to leave its place at once. May be set by any thread.
    var isEvicted: Bool {
        get { evicted.load(ordering: .relaxed) }
        set {
            evicted.store(newValue, ordering: .relaxed)
            if newValue { interruption.signal() }
        }
    }

    /// Closes a session with the next request. May be called by any thread.
    func leave(session: Int) { leftSessions.withLock { $0.append(session) } }

    // MARK: Requests

    /// Sends a request and waits for the reply.
    ///
    /// - Throws: ``Failure``, ``UnavailableDecoder``, or a ``WebImageError``.
    func reply(to request: ProcessRequest, within limit: WaitLimit) throws -> DecoderReply {
        if limit.isCancelled { throw Failure.cancelled }
        isRested = false
        imageCount += 1
        lastNumber += 1
        do {
            return try limit.withHandler({ [interruption] in interruption.signal() }) {
                try exchange(request, within: limit)
            }
        } catch let failure as Channel.Failure {
            throw failed(failure, limit)
        } catch let error as InvalidMessage {
            endWithoutWaiting()
            throw Failure.invalid(error.reason)
        } catch let error as Failure {
            throw error
        } catch {
            // The process waits for an answer to a request of its own, which cannot be given.
            endWithoutWaiting()
            throw error
        }
    }

    /// Calls `body`, which takes a result out of replies. If it throws ``InvalidMessage``, the process is ended.
    func checkingResult<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as InvalidMessage {
            endWithoutWaiting()
            throw Failure.invalid(error.reason)
        }
    }

    private func exchange(_ request: ProcessRequest, within limit: WaitLimit) throws -> DecoderReply {
        let channelLimit = channelLimit(limit)
        let left = leftSessions.withLock { sessions in
            defer { sessions = [] }
            return sessions
        }
        for session in left { try send(.close(session: session), [], channelLimit) }
        try setLimits(request.limits, limit)
        try send(request, channelLimit)
        var spools = Spools(byteLimit: request.spoolByteLimit)
        // The process may keep its descriptors.
        defer { spools.clear() }
        let start = Channel.Limit.now
        while true {
            let reply = try waitForReply(since: start, limit, channelLimit)
            switch reply {
            case .needsFrame(let index):
                guard let supply = request.supply else { throw InvalidMessage("it requests a frame") }
                let (layout, pixels) = try supply(index)
                try send(.encodedFrame(layout), [pixels], channelLimit)
            case .needsSpool(let byteCount):
                let (answer, memory) = try spools.answer(byteCount)
                try send(answer, memory, channelLimit)
            case .rows(let layout, let count):
                guard let rows = request.arrivingRows else { throw InvalidMessage("it sends rows") }
                try rows.copy(upTo: count, of: layout, from: self)
            default: return reply
            }
        }
    }

    private func setLimits(_ limits: DecodingLimits?, _ limit: WaitLimit) throws(Channel.Failure) {
        let seconds = limits?.processorTime.map { UInt64(clamping: $0.components.seconds) }
        let byteCount = limits.map { UInt64(max(0, $0.memoryByteCount)) }
        // Long, because a busy machine must not lose processes.
        let milliseconds = Int32(min(10, max(0.001, limit.deadline - Channel.Limit.now)) * 1000)
        guard cwi_decoder_limit(&process, byteCount ?? .max, seconds ?? .max, milliseconds) else {
            throw Channel.Limit.now < limit.deadline ? .closed : .interrupted
        }
    }

    private func channelLimit(_ limit: WaitLimit) -> Channel.Limit {
        interruption.clear()
        return Channel.Limit(deadline: limit.deadline, interruption: interruption) { [self] in
            limit.isCancelled || isEvicted
        }
    }

    private func waitForReply(
        since start: Double, _ limit: WaitLimit, _ channelLimit: Channel.Limit
    ) throws -> DecoderReply {
        var nextSlow = start + slowPeriod
        while true {
            interruption.clear()
            if limit.isCancelled { try stop() }
            if channelLimit.isOver() || Channel.Limit.now >= limit.deadline { throw Channel.Failure.interrupted }
            if let onSlow, Channel.Limit.now >= nextSlow {
                if onSlow() { self.onSlow = nil }
                nextSlow = Channel.Limit.now + slowPeriod
            }
            let message = try channel.receive(until: onSlow == nil ? .infinity : nextSlow, within: channelLimit)
            if let message { return try DecoderReply(message, to: lastNumber) }
        }
    }

    /// Requests that the process stops. It goes on living if it does so at once.
    private func stop() throws -> Never {
        let limit = Channel.Limit(deadline: Channel.Limit.now + Self.stopSeconds)
        try send(.cancel, [], limit)
        while let message = try channel.receive(until: limit.deadline, within: limit) {
            switch try DecoderReply(message, to: lastNumber) {
            // It sent the request before it was told to stop.
            case .needsFrame, .needsSpool, .rows: continue
            default: throw Failure.cancelled
            }
        }
        throw Channel.Failure.interrupted
    }

    private func failed(_ failure: Channel.Failure, _ limit: WaitLimit) -> Failure {
        switch failure {
        case .closed:
            ended.store(true, ordering: .relaxed)
            let exit = cwi_decoder_end(&process, Self.exitMilliseconds)
            return .ended(signal: exit.is_known && exit.signal != 0 ? exit.signal : nil)
        case .interrupted:
            wasCancelled = limit.isCancelled
            endWithoutWaiting()
            return wasCancelled ? .cancelled : isEvicted ? .evicted : .timedOut
        case .invalid(let message):
            endWithoutWaiting()
            return .invalid(message.reason)
        case .system(let errno):
            endWithoutWaiting()
            return .invalid(systemMessage(errno))
        }
    }

    /// Sends a request, after the memory that it needs.
    private func send(_ request: ProcessRequest, _ limit: Channel.Limit) throws {
        if request.outputByteCount > 0,
            let new = try output.reserved(byteCount: request.outputByteCount, isMapped: true)
        {
            try send(.keepOutput, [new], limit)
        }
        switch request.input {
        case .none: try send(request.content, [], limit)
        case .memory(let memory): try send(request.content, [memory], limit)
        case .bytes(let data):
            if let new = try input.reserved(byteCount: data.count, isMapped: false) {
                try send(.keepInput, [new], limit)
            }
            do throws(RegularFile.Failure) {
                try input.write(data)
            } catch {
                // The process has access to it.
                throw InvalidMessage("its memory cannot be written (\(systemMessage(error.errno)))")
            }
            try send(request.content, [], limit, inputByteCount: data.count)
        }
    }

    private func send(
        _ content: DecoderRequest, _ memory: [SharedMemory], _ limit: Channel.Limit, inputByteCount: Int = 0
    ) throws {
        guard !hasEnded, cwi_decoder_has_channel(&process) else { throw Channel.Failure.closed }
        let request = NumberedRequest(
            number: lastNumber, threadCount: threadCount, inputByteCount: inputByteCount, content: content)
        try channel.send(MessageEncoder.bytes(of: request), memory: memory, within: limit)
    }

    // MARK: Results

    /// Copies a part of the result of the last request.
    ///
    /// - Parameter isLast: whether the process does not need that part any more either.
    /// - Throws: ``Failure`` if the memory cannot be read, as when the program has closed its descriptors.
    func read(at offset: Int, into bytes: UnsafeMutableRawBufferPointer, isLast: Bool) throws(Failure) {
        do throws(RegularFile.Failure) {
            try output.read(at: offset, into: bytes, isLast: isLast)
        } catch {
            endWithoutWaiting()
            throw .invalid("its memory cannot be read (\(systemMessage(error.errno)))")
        }
    }

    /// Copies rows of the result to where they are in a buffer without gaps, on several processors if that pays. The process can change
    /// them at any time.
    ///
    /// - Parameters:
    ///   - pixels: the first row of the buffer.
    ///   - isLast: whether the process does not need them any more, as it may need a frame for the next.
    func read(
        _ rows: Range<Int>, of layout: PixelLayout, into pixels: UnsafeMutableRawPointer, isLast: Bool
    ) throws {
        guard layout.offset <= outputByteCount - layout.byteCount else {
            throw InvalidMessage("the pixels are outside the memory")
        }
        let rowByteCount = layout.size.width * 4
        if let mapping = output.mapping, layout.byteCount < KeptMemory.leastByteCount {
            // Bands do not overlap, and the buffer outlives this call.
            nonisolated(unsafe) let pixels = pixels
            return try DecodingQueue.forEachBand(
                ofRows: rows.count, bandHeight: max(1, Self.bandByteCount / rowByteCount),
                isShared: rows.count * rowByteCount >= Self.sharedByteCount, cancellation: nil
            ) { band in
                let first = rows.lowerBound + band.lowerBound
                for row in first..<first + band.count {
                    memcpy(
                        pixels + row * rowByteCount, mapping.address + layout.offset + row * layout.bytesPerRow,
                        rowByteCount)
                }
            }
        }
        let rowsTogether = layout.bytesPerRow == rowByteCount ? rows.count : 1
        for row in stride(from: rows.lowerBound, to: rows.upperBound, by: max(1, rowsTogether)) {
            let destination = UnsafeMutableRawBufferPointer(
                start: pixels + row * rowByteCount, count: rowsTogether * rowByteCount)
            try read(at: layout.offset + row * layout.bytesPerRow, into: destination, isLast: isLast)
        }
    }

    /// Copied by one thread at a time.
    private static let bandByteCount = 1 << 18
    /// From this on, another thread helps: it takes 0.1 ms otherwise, and waking a thread takes half of that.
    private static let sharedByteCount = 1 << 20

    /// The size of the memory for results, in bytes.
    var outputByteCount: Int { output.memory?.byteCount ?? 0 }

    /// Gives back the memory that earlier images took, and lets the process do so.
    func rest() {
        isRested = true
        do {
            try send(.rest, [], Channel.Limit(deadline: Channel.Limit.now))
            input.clear()
        } catch {
            end()
        }
    }
}

/// Why no decoder process can be had.
struct UnavailableDecoder: Error, Sendable {
    let failure: WebImageError.IsolationFailure

    init(_ reason: String) { failure = .unavailable(reason) }

    /// A process was not ready in time.
    init(after period: Duration) { failure = .startTimedOut(after: period) }

    /// The sentence about it, without its end.
    var reason: String {
        switch failure {
        case .unavailable(let reason): reason
        default: failure.problem.english
        }
    }

    init(sharingMemory failure: RegularFile.Failure) {
        self.init("memory cannot be shared (\(systemMessage(failure.errno)))")
    }
}

extension cwi_exit {
    fileprivate var text: String {
        guard is_known else { return "has ended" }
        return signal != 0 ? "was ended by signal \(signal)" : "has ended with status \(status)"
    }
}
