internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Decodes an image while its bytes arrive, in another process. The bytes so far are kept, so that a new process can continue.
final class IsolatedIncrementalDecoder: ProbingIncrementalDecoder {
    private let work: IsolatedWork
    private let options: DecodingOptions
    private let session = SessionNumber.next()
    private let identity = AnimationIdentity()
    private var process: DecoderProcess?
    private var data = Data()
    private(set) var probe: ImageProbe?
    private var description: AnimationDescription?
    /// The bytes that the animation so far is made of.
    private var describedByteCount = 0

    init(work: IsolatedWork, options: DecodingOptions) {
        self.work = work
        self.options = options
    }

    deinit { process?.leave(session: session) }

    var animation: (any AnimationSource)? {
        return description.flatMap {
            try? IsolatedAnimation(
                $0, data.prefix(describedByteCount), work: work, options: options,
                identity: identity)
        }
    }

    func append(_ bytes: Data) throws(WebImageError) {
        guard !bytes.isEmpty else { return }
        let known = data
        data.append(bytes)
        try work.isolated { () throws in
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
        }
    }

    func preview() throws(WebImageError) -> Image? {
        try work.isolated { () throws in
            try work.response(
                .preview(session: session), outputByteCount: IsolatedWork.outputByteCount(options.limits),
                limits: options.limits, in: process, cancellation: options.cancellation, open: opening(data)
            ) { response in
                process = response.process
                guard case .preview(let decoded) = response.reply else { throw work.invalid("no preview") }
                return try decoded.map { try work.image($0, response, options) }
            }
        }
    }

    func finish() throws(WebImageError) -> Image {
        try work.isolated { () throws in
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
                        description, data, work: work, options: options, identity: identity)
                }
                return image
            }
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
}
