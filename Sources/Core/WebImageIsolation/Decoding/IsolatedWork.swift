internal import CWebImageIsolation
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// A request to a decoder process, with everything that is true of all of them: a process is found, is given one more try, and what it
/// returns is checked.
struct IsolatedWork: Sendable {
    let isolation: IsolatedDecoding
    let format: ImageFormat
    let policy: IsolationPolicy

    /// Returns the same under a further policy. Processes other than the shared ones were chosen by the program, and stay.
    func applying(_ other: IsolationPolicy, in processes: IsolatedDecoding) -> IsolatedWork {
        IsolatedWork(
            isolation: isolation === IsolatedDecoding.shared ? processes : isolation, format: format,
            policy: other.requiring(policy.layers))
    }

    /// Whether the program is installed, and the process that was started last has the layers of the sandbox that the policy requires. No
    /// process is started for this.
    var isAvailable: Bool {
        guard isolation.hasProgram else { return false }
        return isolation.pool.latestReport.map { policy.layers.isSubset(of: $0.layers) } ?? true
    }

    /// The limits and the priority of a request.
    struct Terms {
        /// With the time that it may take; `nil` for encoding, which takes as long as the program's options make it.
        var limits: DecodingLimits?
        var priority = LoadPriority.normal
        var cancellation: Cancellation?

        init(_ limits: DecodingLimits?, priority: LoadPriority = .normal, cancellation: Cancellation? = nil) {
            self.limits = limits
            self.priority = priority
            self.cancellation = cancellation
        }

        init(_ options: DecodingOptions) {
            self.init(options.limits, priority: options.priority, cancellation: options.cancellation)
        }
    }

    /// A file that stays open for several requests.
    struct OpenFile {
        /// The process that has it open.
        let process: DecoderProcess?
        /// Opens it in another process.
        let open: (DecoderProcess, WaitLimit) throws -> Void
    }

    /// A result, and the process that has it in its memory, and perhaps the file open.
    struct Response {
        let reply: DecoderReply
        let process: DecoderProcess

        /// Checks limits of the program. A decoder that gets around them was taken over.
        func check(_ body: () throws(WebImageError) -> Void) throws(WebImageError) {
            do throws(WebImageError) {
                try body()
            } catch {
                process.endWithoutWaiting()
                throw error
            }
        }
    }

    /// Runs `body`, which sends requests. Without a process this is an error: nothing is done in this process instead.
    func isolated<Result>(_ body: () throws -> Result) throws(WebImageError) -> Result {
        do {
            return try body()
        } catch let error as WebImageError {
            throw error
        } catch {
            throw .isolation(
                format: format, reason: (error as? UnavailableDecoder)?.failure ?? .unavailable("\(error)"))
        }
    }

    /// Sends the request to a process, and once more to a new one if the first had worked on other images before it failed.
    ///
    /// - Parameter result: takes the result out of the memory of the process, which no other thread uses meanwhile. It throws
    ///   ``InvalidMessage`` for what cannot be the result; the process is ended then.
    /// - Throws: ``UnavailableDecoder``, or a ``WebImageError``.
    func response<Result>(
        _ request: ProcessRequest, _ terms: Terms, of file: OpenFile? = nil, result: (Response) throws -> Result
    ) throws -> Result {
        let time = terms.limits == nil ? Self.longestEncoding : isolation.configuration.timePerImage
        let limit = WaitLimit(deadline: Channel.Limit.now + time.inExactSeconds, cancellation: terms.cancellation)
        var (wasNew, place) = (false, DecoderPool.Place.usual)
        while true {
            do {
                return try isolation.pool.withProcess(
                    file?.process, kind: DecoderKind(for: format), priority: terms.priority, place: place,
                    mayLeavePlace: terms.limits != nil, within: limit
                ) { process in
                    try check(process.report)
                    wasNew = process.imageCount == 0
                    return try process.checkingResult {
                        let reply = try reply(
                            to: request, terms, of: file, in: process, limit.limited(by: terms.limits))
                        return try result(Response(reply: reply, process: process))
                    }
                }
            } catch DecoderProcess.Failure.cancelled {
                throw WebImageError.cancelled
            } catch DecoderProcess.Failure.evicted {
                place = .slow
            } catch let failure as DecoderProcess.Failure {
                isolation.pool.count { $0.failures[format, default: 0] += 1 }
                if limit.isCancelled { throw WebImageError.cancelled }
                // Earlier images of the process may be the cause. Time and memory are not given twice.
                guard !wasNew, !failure.isOfLimit, limit.deadline > Channel.Limit.now else {
                    throw error(of: failure, terms.limits, isLate: limit.deadline <= Channel.Limit.now)
                }
            }
        }
    }

    /// Returns the reply of a process, which opens the file first if it does not have it.
    private func reply(
        to request: ProcessRequest, _ terms: Terms, of file: OpenFile?, in process: DecoderProcess, _ limit: WaitLimit
    ) throws -> DecoderReply {
        var request = request
        request.limits = terms.limits
        request.arrivingRows?.removeAll()
        request.spoolByteLimit = terms.limits.map(Self.spoolByteLimit) ?? 0
        request.supply = request.supply.map { lending(process, $0) }
        if let file, file.process !== process { try file.open(process, limit) }
        var reply = try process.reply(to: request, within: limit)
        if case .noSession = reply, let file {
            // It has too many files open, and has closed this one.
            try file.open(process, limit)
            reply = try process.reply(to: request, within: limit)
        }
        return try success(reply, limit)
    }

    /// Returns a reply that is no failure.
    private func success(_ reply: DecoderReply, _ limit: WaitLimit) throws -> DecoderReply {
        guard case .failure(let failure) = reply else { return reply }
        let error = failure.error
        if error == .cancelled, !limit.isCancelled { throw InvalidMessage("it was not cancelled") }
        throw error
    }

    /// Returns `supply`, during which `process` only waits.
    private func lending(
        _ process: DecoderProcess, _ supply: @escaping (Int) throws(WebImageError) -> (PixelLayout, SharedMemory)
    ) -> (Int) throws(WebImageError) -> (PixelLayout, SharedMemory) {
        { [isolation] (index) throws(WebImageError) in
            try isolation.pool.suspending(process) { () throws(WebImageError) in try supply(index) }
        }
    }

    /// The maximum wall-clock time for encoding: an hour.
    private static let longestEncoding = Duration.seconds(3600)

    /// - Parameter isLate: whether the time for an image is over, with the wait for a process.
    private func error(
        of failure: DecoderProcess.Failure, _ limits: DecodingLimits?, isLate: Bool
    ) -> WebImageError {
        let timedOut = WebImageError.isolation(
            format: format, reason: .timedOut(after: isolation.configuration.timePerImage))
        return switch failure {
        case .cancelled, .evicted: .cancelled
        case .noPlace: timedOut
        case .timedOut where isLate: timedOut
        case .timedOut, .ended(SIGXCPU):
            limits?.processorTime.map { .limitExceeded(reason: .processorTime(limit: $0)) } ?? timedOut
        case .ended(let signal?): .isolation(format: format, reason: .crashed(signal: signal))
        case .ended(nil): .isolation(format: format, reason: .ended)
        case .invalid(let detail): .isolation(format: format, reason: .invalidReply(detail))
        }
    }

    private func check(_ report: SandboxReport) throws(WebImageError) {
        let missing = policy.layers.subtracting(report.layers)
        guard !missing.isEmpty else { return }
        throw .isolation(format: format, reason: .missingLayers(missing.map(\.rawValue)))
    }

    /// Returns a file as the input of a request. The longest are in memory that all processes share, those in place are where they are.
    func input(_ data: Data) throws(UnavailableDecoder) -> RequestInput {
        let isShort = data.count <= KeptMemory.leastByteCount && MappedFile.file(of: data) == nil
        return isShort ? .bytes(data) : .memory(try memory(of: data))
    }

    /// Returns memory with a file, which a process keeps for as long as it has the file open.
    func memory(of data: Data) throws(UnavailableDecoder) -> SharedMemory {
        do throws(RegularFile.Failure) {
            return try isolation.files.memory(of: data)
        } catch {
            throw UnavailableDecoder(sharingMemory: error)
        }
    }

    /// The output for pixels: what decoding may take, and room for the result.
    static func outputByteCount(_ limits: DecodingLimits) -> Int {
        // Only what is written takes memory. A process has no more than that.
        min(max(limits.memoryByteCount, 0), 2 << 30) + (64 << 20)
    }

    /// The longest file that a decoder needs besides memory: coefficients of 2 bytes of up to 4 components, and of blocks at the edges.
    private static func spoolByteLimit(_ limits: DecodingLimits) -> Int {
        min(max(limits.pixelCount, 0), 1 << 32) * 8 + (64 << 20)
    }

    /// Sends a request of which only success is a reply.
    func perform(_ request: ProcessRequest, in process: DecoderProcess, _ limit: WaitLimit) throws {
        switch try success(process.reply(to: request, within: limit), limit) {
        case .done, .arrived: return
        default: throw InvalidMessage("it is not what was requested")
        }
    }
}

// MARK: - Results

extension IsolatedWork {
    /// Returns an image as the decoder describes it, after checking that it is possible.
    ///
    /// - Parameter rows: those that have arrived.
    func image(
        _ decoded: DecodedImage, _ response: Response, _ options: DecodingOptions, rows: ArrivingRows? = nil
    ) throws -> Image {
        try response.check { () throws(WebImageError) in try options.limits.check(decoded.pixels.size) }
        let pixels = try (rows ?? ArrivingRows(options.limits)).finish(decoded, from: response.process, isLast: true)
        isolation.pool.count { $0.imageCount += 1 }
        return Image(
            pixels: pixels, scale: options.scale, format: format, frameCount: decoded.frameCount,
            isPartial: decoded.isPartial, isThumbnail: decoded.isThumbnail)
    }

    /// Returns an animation as the decoder describes it, after checking that it is allowed.
    func animation(
        _ description: AnimationDescription, _ data: Data, _ response: Response, _ options: DecodingOptions,
        identity: AnimationIdentity = AnimationIdentity()
    ) throws(WebImageError) -> IsolatedAnimation {
        try response.check { () throws(WebImageError) in
            try options.limits.check(frameCount: description.frameCount)
            try options.limits.check(description.frameSize)
        }
        return IsolatedAnimation(description, data, work: self, options: options, identity: identity)
    }

    /// Copies the parts that a reply describes.
    func parts(_ response: Response, count: Int) throws -> [Data?] {
        guard case .parts(let parts) = response.reply, parts.count == count else { throw InvalidMessage("no parts") }
        return try parts.map { (part) throws -> Data? in
            guard let byteCount = part.byteCount else { return nil }
            let limit = response.process.outputByteCount
            guard part.offset <= limit - byteCount else {
                throw InvalidMessage("the bytes are outside the memory")
            }
            var data = Data(count: byteCount)
            try data.withUnsafeMutableBytes { try response.process.read(at: part.offset, into: $0, isLast: false) }
            return data
        }
    }
}

extension DecoderProcess.Failure {
    /// Whether the request took too much time or memory, as it would again.
    fileprivate var isOfLimit: Bool {
        switch self {
        case .timedOut: true
        // The kernel sends SIGKILL when it is short of memory.
        case .ended(let signal): signal == SIGXCPU || signal == SIGKILL
        default: false
        }
    }
}

extension WaitLimit {
    /// Returns the limit for a request that begins now: at most twice its processor time and a second, because other processes work, too.
    fileprivate func limited(by limits: DecodingLimits?) -> WaitLimit {
        guard let time = limits?.processorTime else { return self }
        var limit = self
        limit.deadline = min(deadline, Channel.Limit.now + time.inExactSeconds * 2 + 1)
        return limit
    }
}
