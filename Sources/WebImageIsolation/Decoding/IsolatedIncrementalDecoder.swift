internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Decodes an image while its bytes arrive, in another process. The bytes so far are kept, so that a new process can continue.
final class IsolatedIncrementalDecoder: ProbingIncrementalDecoder {
    private let work: IsolatedWork
    private let options: DecodingOptions
    private let original: CodecRegistry?
    private let session = SessionNumber.next()
    private let identity = AnimationIdentity()
    private var process: DecoderProcess?
    private var data = Data()
    private(set) var probe: ImageProbe?
    private var description: AnimationDescription?
    /// The bytes that the animation so far is made of.
    private var describedByteCount = 0
    /// Decodes in this process, since there is no other.
    private var fallback: (any IncrementalImageDecoder)?

    init(work: IsolatedWork, options: DecodingOptions, original: CodecRegistry?) {
        self.work = work
        self.options = options
        self.original = original
    }

    deinit { process?.leave(session: session) }

    var animation: (any AnimationSource)? {
        if let fallback { return fallback.animation }
        return description.flatMap {
            try? IsolatedAnimation(
                $0, data.prefix(describedByteCount), work: work, options: options, original: original,
                identity: identity)
        }
    }

    func append(_ bytes: Data) throws(WebImageError) {
        guard !bytes.isEmpty else { return }
        if let fallback {
            try fallback.append(bytes)
            probe = fallback.probe
            return
        }
        let known = data
        data.append(bytes)
        try isolated { () throws in
            try work.response(
                .append(session: session), input: work.input(bytes), limits: options.limits, in: process,
                cancellation: options.cancellation, open: opening(known)
            ) { response in
                process = response.process
                guard case .arrived(let probe, let description) = response.reply else {
                    throw work.invalid("no state of the file")
                }
                if let probe { try options.limits.check(probe.size) }
                self.probe = probe ?? self.probe
                if let description { (self.description, describedByteCount) = (description, data.count) }
            }
        } orElse: { (fallback) throws(WebImageError) in
            probe = fallback.probe
        }
    }

    func preview() throws(WebImageError) -> Image? {
        if let fallback { return try fallback.preview() }
        return try isolated { () throws in
            try work.response(
                .preview(session: session), outputByteCount: IsolatedWork.outputByteCount(options.limits),
                limits: options.limits, in: process, cancellation: options.cancellation, open: opening(data)
            ) { response in
                process = response.process
                guard case .preview(let decoded) = response.reply else { throw work.invalid("no preview") }
                return try decoded.map { try work.image($0, response, options) }
            }
        } orElse: { (fallback) throws(WebImageError) in
            try fallback.preview()
        }
    }

    func finish() throws(WebImageError) -> Image {
        if let fallback { return try fallback.finish() }
        return try isolated { () throws in
            try work.response(
                .finish(session: session), outputByteCount: IsolatedWork.outputByteCount(options.limits),
                limits: options.limits, in: process, priority: options.priority, cancellation: options.cancellation,
                open: opening(data)
            ) { response in
                process = response.process
                guard case .image(let decoded) = response.reply else { throw work.invalid("no image") }
                var image = try work.image(decoded, response, options)
                if let description = decoded.animation {
                    image.animation = try IsolatedAnimation(
                        description, data, work: work, options: options, original: original, identity: identity)
                }
                return image
            }
        } orElse: { (fallback) throws(WebImageError) in
            try fallback.finish()
        }
    }

    /// Opens the file in a process that does not have it.
    private func opening(_ known: Data) -> (DecoderProcess, Double) throws -> Void {
        { [self] process, deadline in
            try work.perform(
                .openIncremental(session: session, work.format, options), input: .none, limits: options.limits,
                in: process,
                deadline: deadline, cancellation: options.cancellation)
            guard !known.isEmpty else { return }
            try work.perform(
                .append(session: session), input: work.input(known), limits: options.limits, in: process,
                deadline: deadline, cancellation: options.cancellation)
        }
    }

    /// Runs `body`; if there is no process and none is required, continues in this one.
    private func isolated<Result>(
        _ body: () throws -> Result, orElse continuing: (any IncrementalImageDecoder) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try work.isolated(original: original, body) { (original) throws(WebImageError) in
            guard let started = try original.makeIncrementalDecoder(startingWith: data, options: options) else {
                throw .isolation(format: work.format, reason: .unavailable("no decoder for parts of files"))
            }
            fallback = started
            return try continuing(started)
        }
    }
}
