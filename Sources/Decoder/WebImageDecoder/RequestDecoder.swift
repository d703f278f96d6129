internal import CWebImageSandbox
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
internal import WebImageCore
internal import WebImageIsolation

/// Performs requests. Used by one thread.
final class RequestDecoder {
    private let registry: CodecRegistry
    private let service: DecoderService
    private var sessions = OpenFiles()
    /// The file of a request that has no input of its own.
    private var input: SharedMemory.Mapping?
    private var output: OutputMemory?

    init(_ registry: CodecRegistry, service: DecoderService) {
        self.registry = registry
        self.service = service
        UnnamedFile.source.withLock { $0 = Self.spoolSource(service) }
    }

    /// `nil` for requests without a reply.
    func reply(to request: IncomingRequest, cancellation: Cancellation) -> DecoderReply? {
        do throws(WebImageError) {
            return try reply(request, cancellation)
        } catch {
            return .failure(DecoderFailure(error))
        }
    }

    private func reply(
        _ request: IncomingRequest, _ cancellation: Cancellation
    ) throws(WebImageError) -> DecoderReply? {
        switch request.content {
        case .info(let format): return try info(format, request)
        case .probe(let format): return try probe(format, request)
        case .metadata(let format): return try metadata(format, request)
        case .profile(let format): return try profile(format, request)
        case .gainMap(let format): return try gainMap(format, request)
        case .decode(let format, let sent): return try image(format, sent.options, request, cancellation)
        case .animation(let format, let sent): return try animation(format, sent.options, request, cancellation)
        case .openFrames(let session, let format, let sent):
            return try openFrames(session, format, sent.options, request)
        case .frame(let session, let index): return try frame(session, index, cancellation)
        case .openIncremental(let session, let format, let sent):
            return try openIncremental(session, format, sent.options)
        case .append(let session): return try append(session, request)
        case .preview(let session): return try preview(session)
        case .finish(let session): return try finish(session)
        case .encode(let format, let sent, let layout):
            return try encoded(format, sent.options, cancellation) { () throws(WebImageError) in
                .still(Image(pixels: try pixels(layout, request.memory.first)))
            }
        case .encodeAnimation(let format, let sent, let size, let isOpaque, let loopCount, let durations):
            return try encoded(format, sent.options, cancellation) { () throws(WebImageError) in
                let frames = RequestedFrames(size: size, loopCount: loopCount, durations: durations) {
                    [self] (index) throws(WebImageError) in try requestedFrame(index)
                }
                var animation = EncodableAnimation(frames)
                animation.isOpaque = isOpaque
                return .animation(animation)
            }
        case .keepInput:
            input = nil
            input = request.memory.first?.mapped(.reading)
        case .keepOutput:
            output = nil
            output = request.memory.first.flatMap(OutputMemory.init)
        case .rest: rest()
        case .close(let session): sessions.close(session)
        // These go elsewhere.
        case .encodedFrame, .spool, .noSpool, .cancel: break
        }
        return nil
    }

    // MARK: Properties of a file

    private func info(_ format: ImageFormat, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        var info = try decoder(of: format).info(of: input(request))
        info.frames = AnimationDescription.sent(info.frames)
        return .info(info)
    }

    private func probe(_ format: ImageFormat, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        return .probe(try decoder(of: format).probe(input(request)))
    }

    private func metadata(_ format: ImageFormat, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        let metadata = try (decoder(of: format) as? any MetadataDecoder)?.metadata(of: input(request))
        return try parts([metadata?.exif, metadata?.xmp].map { $0.map(Array.init) })
    }

    private func profile(_ format: ImageFormat, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        let profile = try (decoder(of: format) as? any ProfileDecoder)?.colorProfile(of: input(request))
        return try parts([profile?.bytes])
    }

    private func gainMap(_ format: ImageFormat, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        let map = try (decoder(of: format) as? any GainMapDecoder)?.gainMap(of: input(request))
        return try parts([map.map { Array($0.file) }, map?.metadataBytes, map?.colors?.bytes])
    }

    // MARK: Whole files

    private func image(
        _ format: ImageFormat, _ options: DecodingOptions, _ request: IncomingRequest, _ cancellation: Cancellation
    ) throws(WebImageError) -> DecoderReply {
        var options = options
        options.cancellation = cancellation
        output?.reportRows { [service] layout, count in
            service.send(.rows(layout, count: count), number: request.number)
        }
        defer { output?.reportRows(to: nil) }
        return .image(
            try decoded { () throws(WebImageError) in
                try decoder(of: format).decodeRegion(input(request), options: options)
            })
    }

    private func animation(
        _ format: ImageFormat, _ options: DecodingOptions, _ request: IncomingRequest, _ cancellation: Cancellation
    ) throws(WebImageError) -> DecoderReply {
        var options = options
        options.cancellation = cancellation
        return .animation(
            try decoder(of: format).animation(of: input(request), options: options).map { AnimationDescription($0) })
    }

    // MARK: Frames

    private func openFrames(
        _ session: Int, _ format: ImageFormat, _ options: DecodingOptions, _ request: IncomingRequest
    ) throws(WebImageError) -> DecoderReply {
        guard let source = try decoder(of: format).animation(of: input(request), options: options) else {
            throw format.corrupt("no animation")
        }
        sessions.open(session, .frames(source.makeFrameReader(), source.frames.count, format))
        return .done
    }

    private func frame(
        _ session: Int, _ index: Int, _ cancellation: Cancellation
    ) throws(WebImageError) -> DecoderReply {
        guard case .frames(let reader, let count, let format)? = sessions[session] else {
            return .noSession
        }
        guard (0..<count).contains(index) else { throw format.corrupt("no such frame") }
        return .image(
            try decoded { () throws(WebImageError) in
                Image(pixels: try reader.frame(at: index, cancellation: cancellation))
            })
    }

    // MARK: Files that arrive

    private func openIncremental(
        _ session: Int, _ format: ImageFormat, _ options: DecodingOptions
    ) throws(WebImageError) -> DecoderReply {
        guard let decoder = try decoder(of: format).makeIncrementalDecoder(options: options) else {
            throw format.unsupported("parts of files")
        }
        sessions.open(session, .incremental(decoder))
        return .done
    }

    private func append(_ session: Int, _ request: IncomingRequest) throws(WebImageError) -> DecoderReply {
        guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
        // A decoder may keep the bytes, and the input is not kept as it is.
        try decoder.append(Data(Array(input(request))))
        // Sent again with each piece of the file, so without what only differs from frame to frame.
        return .arrived(decoder.probe, decoder.animation.map { AnimationDescription($0, hasParts: false) })
    }

    private func preview(_ session: Int) throws(WebImageError) -> DecoderReply {
        guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
        return .preview(
            try decoder.preview().map { (image) throws(WebImageError) in try decoded(image) })
    }

    private func finish(_ session: Int) throws(WebImageError) -> DecoderReply {
        guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
        let image = try decoder.finish()
        sessions.close(session)
        return .image(try decoded(image))
    }

    // MARK: Encoding

    private enum Content {
        case still(Image)
        case animation(EncodableAnimation)
    }

    private func encoded(
        _ format: ImageFormat, _ options: EncodingOptions, _ cancellation: Cancellation,
        _ content: () throws(WebImageError) -> Content
    ) throws(WebImageError) -> DecoderReply {
        var options = options
        options.cancellation = cancellation
        switch try content() {
        case .still(let image): return try parts([Array(try registry.encode(image, as: format, options: options))])
        case .animation(let animation):
            return try parts([Array(try registry.encode(animation, as: format, options: options))])
        }
    }

    private func decoder(of format: ImageFormat) throws(WebImageError) -> any ImageDecoder {
        guard let decoder = registry.decoder(of: format) else { throw .decoding(format: format, reason: .noDecoder) }
        return decoder
    }

    // MARK: Input

    private func input(_ request: IncomingRequest) throws(WebImageError) -> Data {
        let isKept = request.inputByteCount > 0
        guard let mapping = isKept ? input : request.memory.first?.mapped(.reading),
            request.inputByteCount <= mapping.byteCount
        else { throw .outOfResources(reason: .memory(byteCount: request.inputByteCount)) }
        return Data(
            bytesNoCopy: mapping.address, count: isKept ? request.inputByteCount : mapping.byteCount,
            deallocator: .custom { _, _ in withExtendedLifetime(mapping) {} })
    }

    private func pixels(_ layout: PixelLayout, _ memory: SharedMemory?) throws(WebImageError) -> PixelBuffer {
        let byteCount = layout.bytesPerRow * layout.size.height
        guard let memory, layout.byteCount <= memory.byteCount, let mapping = memory.mapped(.copying) else {
            throw .outOfResources(reason: .memory(byteCount: byteCount))
        }
        return mapping.buffer(
            at: mapping.address, size: layout.size, bytesPerRow: layout.bytesPerRow, isOpaque: layout.isOpaque)
    }

    private func requestedFrame(_ index: Int) throws(WebImageError) -> PixelBuffer {
        let answer = try service.response(to: .needsFrame(index))
        guard case .encodedFrame(let layout) = answer.content else { throw .cancelled }
        return try pixels(layout, answer.memory.first)
    }

    /// Files for what does not fit in memory. This process can create none.
    private static func spoolSource(
        _ service: DecoderService
    ) -> @Sendable (Int) throws(WebImageError) -> UnnamedFile? {
        { (byteCount) throws(WebImageError) in
            let answer = try service.response(to: .needsSpool(byteCount: byteCount))
            switch answer.content {
            case .spool(let directory):
                return answer.memory.first.flatMap { UnnamedFile(copyOf: $0.descriptor, in: directory) }
            case .noSpool(let failure): throw failure.error
            default: throw .cancelled
            }
        }
    }

    // MARK: Output

    /// Decodes to the output.
    private func decoded(_ body: () throws(WebImageError) -> Image) throws(WebImageError) -> DecodedImage {
        output?.discardGaps(from: OutputMemory.keptByteCount)
        PixelBufferPool.shared.setSource(output)
        defer { PixelBufferPool.shared.setSource(nil) }
        return try decoded(body())
    }

    /// Returns an image that is in the output, or is copied there.
    private func decoded(_ image: Image) throws(WebImageError) -> DecodedImage {
        guard let output, let layout = output.layout(of: image.pixels) else {
            throw .outOfResources(reason: .memory(byteCount: image.pixels.byteCount))
        }
        return DecodedImage(image, layout, finishedRowCount: output.finishedRowCount(of: layout))
    }

    private func parts(_ parts: [[UInt8]?]) throws(WebImageError) -> DecoderReply {
        guard let offset = output?.write(parts) else {
            throw .outOfResources(reason: .memory(byteCount: parts.reduce(0) { $0 + ($1?.count ?? 0) }))
        }
        var next = offset
        return .parts(
            parts.map { part in
                defer { next += part?.count ?? 0 }
                return OutputPart(offset: next, byteCount: part?.count)
            })
    }

    /// Gives back what earlier images took.
    private func rest() {
        output?.discardGaps(from: 0)
        PixelBufferPool.shared.removeAll()
        cwi_sandbox_release_memory()
    }
}

extension DecodedImage {
    init(_ image: Image, _ layout: PixelLayout, finishedRowCount: Int) {
        self.init(
            pixels: layout, frameCount: image.frameCount, isPartial: image.isPartial, isThumbnail: image.isThumbnail,
            animation: image.animation.map { AnimationDescription($0) }, finishedRowCount: finishedRowCount)
    }
}

/// The files that are open for several requests. The program can open them again, so that the number is limited.
private struct OpenFiles {
    enum File {
        case frames(any AnimationFrameReader, Int, ImageFormat)
        case incremental(any IncrementalImageDecoder)
    }

    /// The file used last is at the end.
    private var files: [(session: Int, file: File)] = []

    private static let countLimit = 16

    mutating func open(_ session: Int, _ file: File) {
        close(session)
        if files.count >= Self.countLimit { files.removeFirst() }
        files.append((session, file))
    }

    mutating func close(_ session: Int) { files.removeAll { $0.session == session } }

    subscript(session: Int) -> File? {
        mutating get {
            guard let index = files.firstIndex(where: { $0.session == session }) else { return nil }
            let entry = files.remove(at: index)
            files.append(entry)
            return entry.file
        }
    }
}

/// The frames of an animation to be encoded, which the program has.
private final class RequestedFrames: AnimationSource, @unchecked Sendable {
    // `@unchecked`: the thread that encodes is the only one that uses it.
    let identity = AnimationIdentity()
    let frameSize: PixelSize
    let frames: [AnimationFrame]
    let loopCount: Int
    var isComplete: Bool { true }
    var byteCount: Int { 0 }
    private let request: (Int) throws(WebImageError) -> PixelBuffer

    init(
        size: PixelSize, loopCount: Int, durations: [Duration],
        request: @escaping (Int) throws(WebImageError) -> PixelBuffer
    ) {
        frameSize = size
        self.loopCount = loopCount
        frames = durations.map { AnimationFrame(duration: $0, isKeyframe: true) }
        self.request = request
    }

    func makeFrameReader() -> any AnimationFrameReader { Reader(request) }

    private final class Reader: AnimationFrameReader {
        private let request: (Int) throws(WebImageError) -> PixelBuffer

        init(_ request: @escaping (Int) throws(WebImageError) -> PixelBuffer) { self.request = request }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            try cancellation?.check()
            return try request(index)
        }
    }
}
