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

    /// A result, and the process that has it in its memory, and perhaps the file open.
    struct Response {
        let reply: DecoderReply
        let process: DecoderProcess
    }

    /// Runs `body`, which sends requests. Without a process this is an error: nothing is done in this process instead.
    func isolated<Result>(_ body: () throws -> Result) throws(WebImageError) -> Result {
        do {
            return try body()
        } catch let error as WebImageError {
            throw error
        } catch {
            throw .isolation(
                format: format, reason: .unavailable((error as? UnavailableDecoder)?.reason ?? "\(error)"))
        }
    }

    /// Sends the request to a process, and once more to a new one if the first had worked on other images before it failed.
    ///
    /// - Parameters:
    ///   - outputByteCount: the room for the result, in bytes.
    ///   - limits: with the time that it may take; `nil` for no limit, since encoding takes as long as the program's options make it.
    ///   - process: the one that has the file open.
    ///   - open: opens the file in another process.
    ///   - result: takes the result out of the memory of the process, which no other thread uses meanwhile.
    /// - Throws: ``UnavailableDecoder``, or a ``WebImageError``.
    func response<Result>(
        _ request: DecoderRequest, input: RequestInput = .none, outputByteCount: Int = 0, limits: DecodingLimits?,
        in process: DecoderProcess? = nil, priority: LoadPriority = .normal, cancellation: Cancellation?,
        open: ((DecoderProcess, _ deadline: Double) throws -> Void)? = nil,
        supply: ((Int) throws(WebImageError) -> (PixelLayout, SharedMemory))? = nil,
        result: (Response) throws -> Result
    ) throws -> Result {
        let deadline = DecoderProcess.now + (limits.map(seconds) ?? .infinity)
        var wasNew = false
        while true {
            do {
                return try isolation.pool.withProcess(
                    process, priority: priority, mayLeavePlace: limits != nil, cancellation: cancellation
                ) { leased in
                    try check(leased.report)
                    wasNew = leased.imageCount == 0
                    func reply() throws -> DecoderReply {
                        try leased.reply(
                            to: request, input: input, outputByteCount: outputByteCount, limits: limits,
                            deadline: deadline, cancellation: cancellation,
                            spoolByteLimit: limits.map(Self.spoolByteLimit) ?? 0,
                            supply: supply.map { supply in lending(leased, supply) })
                    }
                    if leased !== process { try open?(leased, deadline) }
                    var answer = try reply()
                    if case .noSession = answer, let open {
                        // It has too many files open, and has closed this one.
                        try open(leased, deadline)
                        answer = try reply()
                    }
                    if case .failure(let error) = answer { throw error }
                    return try result(Response(reply: answer, process: leased))
                }
            } catch let failure as DecoderProcess.Failure {
                if case .cancelled = failure { throw WebImageError.cancelled }
                let error = error(of: failure, limits: limits)
                isolation.pool.count { $0.failures[format, default: 0] += 1 }
                // What the earlier images left in the process may be the cause. Time is not given twice.
                guard !wasNew, deadline > DecoderProcess.now else { throw error }
            }
        }
    }

    /// Returns `supply`, during which `process` only waits.
    private func lending(
        _ process: DecoderProcess, _ supply: @escaping (Int) throws(WebImageError) -> (PixelLayout, SharedMemory)
    ) -> (Int) throws(WebImageError) -> (PixelLayout, SharedMemory) {
        { [isolation] (index) throws(WebImageError) in
            try isolation.pool.suspending(process) { () throws(WebImageError) in try supply(index) }
        }
    }

    /// The maximum wall-clock time for an image.
    private func seconds(_ limits: DecodingLimits) -> Double {
        let longest = isolation.configuration.secondsPerImage
        return limits.seconds.map { min($0 * 2 + 1, longest) } ?? longest
    }

    private func error(of failure: DecoderProcess.Failure, limits: DecodingLimits?) -> WebImageError {
        switch failure {
        case .cancelled: .cancelled
        case .timedOut, .ended(SIGXCPU):
            if let seconds = limits?.seconds {
                .limitExceeded(reason: .processorTime(seconds: seconds))
            } else {
                .isolation(format: format, reason: .timedOut(seconds: isolation.configuration.secondsPerImage))
            }
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

    /// Returns a file as the input of a request. The longest are in memory that all processes share.
    func input(_ data: Data) throws(UnavailableDecoder) -> RequestInput {
        data.count <= KeptMemory.leastByteCount ? .bytes(data) : .memory(try memory(of: data))
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
    func perform(
        _ request: DecoderRequest, input: RequestInput, limits: DecodingLimits, in process: DecoderProcess,
        deadline: Double, cancellation: Cancellation?
    ) throws {
        let reply = try process.reply(
            to: request, input: input, limits: limits, deadline: deadline, cancellation: cancellation)
        switch reply {
        case .done, .arrived: return
        case .failure(let error): throw error
        default: throw invalid("not what was requested")
        }
    }

    func invalid(_ detail: String) -> WebImageError {
        .isolation(format: format, reason: .invalidReply(detail))
    }
}

// MARK: - Results

extension IsolatedWork {
    /// Returns an image as the decoder describes it, after checking that it is possible.
    func image(_ decoded: DecodedImage, _ response: Response, _ options: DecodingOptions) throws -> Image {
        // A decoder that was taken over must not get around the limits of the program.
        try options.limits.check(decoded.pixels.size)
        let pixels = try pixels(decoded.pixels, response.process, isLast: true)
        isolation.pool.count { $0.imageCount += 1 }
        return Image(
            pixels: pixels, scale: decoded.scale, format: format, frameCount: decoded.frameCount,
            isPartial: decoded.isPartial, isThumbnail: decoded.isThumbnail)
    }

    /// Copies pixels out of the memory of a process, which can change it at any time.
    ///
    /// - Parameter isLast: whether the process does not need them any more, as it may need a frame for the next.
    func pixels(_ layout: PixelLayout, _ process: DecoderProcess, isLast: Bool) throws -> PixelBuffer {
        let (size, byteCount) = (layout.size, layout.byteCount)
        guard byteCount <= process.outputByteCount, layout.offset <= process.outputByteCount - byteCount else {
            throw invalid("the pixels are outside the memory")
        }
        var copy = try MutablePixelBuffer(width: size.width, height: size.height)
        let rowByteCount = copy.bytesPerRow
        let rowsTogether = layout.bytesPerRow == rowByteCount ? size.height : 1
        try copy.withUnsafeMutableBytes { bytes in
            for row in stride(from: 0, to: size.height, by: rowsTogether) {
                let destination = bytes[row * rowByteCount..<(row + rowsTogether) * rowByteCount]
                try process.read(
                    at: layout.offset + row * layout.bytesPerRow,
                    into: UnsafeMutableRawBufferPointer(rebasing: destination), isLast: isLast)
            }
        }
        return copy.freeze(isOpaque: layout.isOpaque)
    }

    /// Copies the parts that a reply describes.
    func parts(_ response: Response, count: Int) throws -> [Data?] {
        guard case .parts(var offset, let lengths) = response.reply, lengths.count == count else {
            throw invalid("no parts")
        }
        return try lengths.map { (length) throws -> Data? in
            guard let length else { return nil }
            guard length <= response.process.outputByteCount, offset <= response.process.outputByteCount - length else {
                throw invalid("the bytes are outside the memory")
            }
            var data = Data(count: length)
            try data.withUnsafeMutableBytes { try response.process.read(at: offset, into: $0, isLast: false) }
            offset += length
            return data
        }
    }
}
