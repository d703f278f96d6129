internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Decodes an image while its bytes arrive, in another process. The bytes so far are kept, so that a new process can continue.
final class IsolatedIncrementalDecoder: IncrementalImageDecoder {
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
        description.map {
            IsolatedAnimation(
                $0, data.prefix(describedByteCount), work: work, options: options, identity: identity)
        }
    }

    func append(_ bytes: Data) throws(WebImageError) {
        guard !bytes.isEmpty else { return }
        let known = data
        data.append(bytes)
        try work.isolated { () throws in
            let request = ProcessRequest(.append(session: session), input: try work.input(bytes))
            try work.response(request, .init(options), of: file(with: known)) { response in
                process = response.process
                guard case .arrived(let probe, let description) = response.reply else {
                    throw InvalidMessage("no state of the file")
                }
                if let probe { try response.check { () throws(WebImageError) in try options.limits.check(probe.size) } }
                self.probe = probe ?? self.probe
                guard let description else { return }
                _ = try work.animation(description, Data(), response, options)
                (self.description, describedByteCount) = (description, data.count)
            }
        }
    }

    func preview() throws(WebImageError) -> Image? {
        try work.isolated { () throws in
            try work.response(request(.preview(session: session)), .init(options), of: file(with: data)) { response in
                process = response.process
                guard case .preview(let decoded) = response.reply else { throw InvalidMessage("no preview") }
                return try decoded.map { try work.image($0, response, options) }
            }
        }
    }

    func finish() throws(WebImageError) -> Image {
        try work.isolated { () throws in
            try work.response(request(.finish(session: session)), .init(options), of: file(with: data)) { response in
                process = response.process
                guard case .image(let decoded) = response.reply else { throw InvalidMessage("no image") }
                var image = try work.image(decoded, response, options)
                if let description = decoded.animation {
                    image.animation = try work.animation(description, data, response, options, identity: identity)
                }
                return image
            }
        }
    }

    private func request(_ content: DecoderRequest) -> ProcessRequest {
        ProcessRequest(content, outputByteCount: IsolatedWork.outputByteCount(options.limits))
    }

    /// The file with the bytes that a process should have.
    private func file(with known: Data) -> IsolatedWork.OpenFile {
        IsolatedWork.OpenFile(process: process) { [self] process, limit in
            let request = DecoderRequest.openIncremental(session: session, work.format, SentDecodingOptions(options))
            try work.perform(ProcessRequest(request, limits: options.limits), in: process, limit)
            guard !known.isEmpty else { return }
            let append = ProcessRequest(
                .append(session: session), input: try work.input(known), limits: options.limits)
            try work.perform(append, in: process, limit)
        }
    }
}
