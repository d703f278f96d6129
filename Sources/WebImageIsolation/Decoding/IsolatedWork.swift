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

    /// A result, and the memory that it is in.
    struct Answer {
        let reply: DecoderReply
        let output: SharedMemory?
        /// The process that has the file open.
        let process: DecoderProcess
    }

    /// Thrown when there is no process, and none is required.
    private struct Unavailable: Error {
        let reason: String
    }

    /// Runs `body`; if there is no process and none is required, `fallback`.
    ///
    /// - Parameters:
    ///   - original: the codec of this process; `nil` if the program is built without it.
    ///   - fallback: does the same with the codec of this process.
    func isolated<Codec, Result>(
        original: Codec?, _ body: () throws -> Result, orElse fallback: (Codec) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        do {
            return try body()
        } catch let error as WebImageError {
            throw error
        } catch {
            let reason = (error as? Unavailable)?.reason ?? "\(error)"
            guard let original else { throw .isolation(format: format, reason: .unavailable(reason)) }
            isolation.warnOfFallback(reason)
            return try fallback(original)
        }
    }

    /// Asks a process, and once more a new one if the first had worked on other images before it failed.
    ///
    /// - Parameters:
    ///   - outputByteCount: the size of the output; `nil` for none.
    ///   - limits: with the time that it may take; `nil` for no limit, since encoding takes as long as the program's options make it.
    ///   - process: the one that has the file open.
    ///   - open: opens the file in another process.
    /// - Throws: ``Unavailable``, or a ``WebImageError``.
    func answer(
        _ request: DecoderRequest, input: SharedMemory? = nil, outputByteCount: Int? = nil, limits: DecodingLimits?,
        in process: DecoderProcess? = nil, priority: LoadPriority = .normal, cancellation: Cancellation?,
        open: ((DecoderProcess, _ deadline: Double) throws -> Void)? = nil,
        supply: ((Int) throws(WebImageError) -> (PixelLayout, SharedMemory))? = nil
    ) throws -> Answer {
        let deadline = DecoderProcess.now + (limits.map(seconds) ?? .infinity)
        var wasNew = false
        while true {
            do {
                return try isolation.pool.withProcess(
                    process, priority: priority, mayLeavePlace: limits != nil, cancellation: cancellation
                ) { leased in
                    try check(leased.report)
                    wasNew = leased.imageCount == 0
                    let output = try outputByteCount.map { (count) throws(WebImageError) in try memory(count) }
                    func reply() throws -> DecoderReply {
                        try leased.reply(
                            to: request, memory: [input, output].compactMap(\.self), deadline: deadline,
                            cancellation: cancellation, spoolByteLimit: limits.map(Self.spoolByteLimit) ?? 0,
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
                    return Answer(reply: answer, output: output, process: leased)
                }
            } catch let error as UnavailableDecoder {
                guard policy.layers == nil else {
                    throw WebImageError.isolation(format: format, reason: .unavailable(error.reason))
                }
                throw Unavailable(reason: error.reason)
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

    /// The most wall-clock time for an image.
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
        guard let missing = policy.layers?.subtracting(report.layers), !missing.isEmpty else { return }
        throw .isolation(format: format, reason: .missingLayers(missing.map(\.rawValue)))
    }

    /// Creates memory for a result.
    private func memory(_ byteCount: Int) throws(WebImageError) -> SharedMemory {
        do throws(RegularFile.Failure) {
            return try SharedMemory(byteCount: byteCount)
        } catch {
            throw .isolation(format: format, reason: .unavailable(Self.text(error)))
        }
    }

    /// Returns memory with a file, which a process gets.
    func input(_ data: Data) throws -> SharedMemory {
        do throws(RegularFile.Failure) {
            return try isolation.files.memory(of: data)
        } catch {
            let reason = Self.text(error)
            guard policy.layers == nil else {
                throw WebImageError.isolation(format: format, reason: .unavailable(reason))
            }
            throw Unavailable(reason: reason)
        }
    }

    private static func text(_ failure: RegularFile.Failure) -> String {
        "memory can't be shared (\(WebImageError.systemMessage(failure.errno)))"
    }

    /// The output for pixels: what decoding may take, and room for the result.
    static func outputByteCount(_ limits: DecodingLimits) -> Int {
        // Only what is written takes memory.
        let (sum, overflows) = limits.memoryByteCount.addingReportingOverflow(64 << 20)
        return overflows ? 1 << 36 : min(max(sum, 64 << 20), 1 << 36)
    }

    /// The longest file that a decoder needs besides memory: coefficients of 2 bytes of up to 4 components, and of blocks at the edges.
    private static func spoolByteLimit(_ limits: DecodingLimits) -> Int {
        min(max(limits.pixelCount, 0), 1 << 32) * 8 + (64 << 20)
    }

    /// Sends a request of which only success is a reply.
    func perform(
        _ request: DecoderRequest, input: SharedMemory?, in process: DecoderProcess, deadline: Double,
        cancellation: Cancellation?
    ) throws {
        let reply = try process.reply(
            to: request, memory: [input].compactMap(\.self), deadline: deadline, cancellation: cancellation)
        switch reply {
        case .done, .arrived: return
        case .failure(let error): throw error
        default: throw invalid("not what was asked for")
        }
    }

    func invalid(_ detail: String) -> WebImageError {
        .isolation(format: format, reason: .invalidReply(detail))
    }
}

// MARK: - Results

extension IsolatedWork {
    /// Returns an image as the decoder describes it, after checking that it is possible.
    func image(_ decoded: DecodedImage, _ answer: Answer, _ options: DecodingOptions) throws(WebImageError) -> Image {
        // A decoder that was taken over must not get around the limits of the program.
        try options.limits.check(decoded.pixels.size)
        let pixels = try pixels(decoded.pixels, answer.output, isReleased: decoded.isReleased)
        isolation.pool.count { $0.imageCount += 1 }
        return Image(
            pixels: pixels, scale: decoded.scale, format: format, frameCount: decoded.frameCount,
            isPartial: decoded.isPartial, isThumbnail: decoded.isThumbnail)
    }

    /// Returns the pixels in the output: in place if no process can change them any more, or a copy.
    func pixels(
        _ layout: PixelLayout, _ output: SharedMemory?, isReleased: Bool
    ) throws(WebImageError) -> PixelBuffer {
        guard let output, layout.offset + layout.bytesPerRow * layout.size.height <= output.byteCount else {
            throw invalid("the pixels are outside the memory")
        }
        let range = layout.offset..<layout.offset + layout.bytesPerRow * layout.size.height
        let isConstant = layout.byteCount >= Self.inPlaceByteCount && isReleased && output.makeConstant()
        guard let mapping = output.mapped(isConstant ? .copying : .reading, range) else {
            throw .outOfResources(reason: .memory(byteCount: layout.byteCount))
        }
        if isConstant {
            return PixelBuffer(
                mapping.address, size: layout.size, bytesPerRow: layout.bytesPerRow, isOpaque: layout.isOpaque,
                source: mapping)
        }
        var copy = try MutablePixelBuffer(width: layout.size.width, height: layout.size.height)
        let rowByteCount = copy.bytesPerRow
        copy.withUnsafeMutableBytes { bytes in
            guard let destination = bytes.baseAddress else { return }
            for row in 0..<layout.size.height {
                memcpy(destination + row * rowByteCount, mapping.address + row * layout.bytesPerRow, rowByteCount)
            }
        }
        return copy.freeze(isOpaque: layout.isOpaque)
    }

    /// Below it, pixels are copied: a process can have 65,530 mappings, and a copy takes 50 µs.
    private static let inPlaceByteCount = 1 << 20

    /// Returns the parts of the output that a reply describes.
    func parts(_ lengths: [Int?], of output: SharedMemory?) throws(WebImageError) -> [Data?] {
        let byteCount = lengths.reduce(0) { $0 + ($1 ?? 0) }
        guard let output, byteCount <= output.byteCount else { throw invalid("the bytes are outside the memory") }
        guard byteCount > 0 else { return lengths.map { $0 == nil ? nil : Data() } }
        guard let mapping = output.mapped(.reading, 0..<byteCount) else {
            throw .outOfResources(reason: .memory(byteCount: byteCount))
        }
        var offset = 0
        return lengths.map { length in
            guard let length else { return nil }
            defer { offset += length }
            return Data(mapping.bytes[offset..<offset + length])
        }
    }
}
