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
    }

    /// `nil` for requests without a reply.
    func reply(to request: IncomingRequest, cancellation: Cancellation) -> DecoderReply? {
        do throws(WebImageError) {
            return try result(of: request, cancellation)
        } catch {
            return .failure(error)
        }
    }

    private func result(
        of request: IncomingRequest, _ cancellation: Cancellation
    ) throws(WebImageError) -> DecoderReply? {
        switch request.content {
        case .keepInput:
            input = nil
            input = request.memory.first?.mapped(.reading)
        case .keepOutput:
            output = nil
            output = request.memory.first.flatMap(OutputMemory.init)
        case .rest: rest()
        case .info(let format):
            return .info(try decoder(of: format).info(of: input(request)))
        case .probe(let format):
            return .probe(try decoder(of: format).probe(input(request)))
        case .metadata(let format):
            let metadata = try (decoder(of: format) as? any MetadataDecoder)?.metadata(of: input(request))
            return try parts([metadata?.exif, metadata?.xmp].map { $0.map(Array.init) })
        case .profile(let format):
            let profile = try (decoder(of: format) as? any ProfileDecoder)?.colorProfile(of: input(request))
            return try parts([profile?.bytes])
        case .gainMap(let format):
            let map = try (decoder(of: format) as? any GainMapDecoder)?.gainMap(of: input(request))
            return try parts([map.map { Array($0.file) }, map?.metadataBytes, map?.colors?.bytes])
        case .decode(let format, var options):
            options.cancellation = cancellation
            options.spoolSource = spoolSource
            return .image(
                try decoded { () throws(WebImageError) in
                    try decoder(of: format).decode(input(request), options: options)
                })
        case .animation(let format, var options):
            options.cancellation = cancellation
            return .animation(
                try decoder(of: format).animation(of: input(request), options: options).map(AnimationDescription.init))
        case .openFrames(let session, let format, let options):
            guard let source = try decoder(of: format).animation(of: input(request), options: options) else {
                throw format.corrupt("no animation")
            }
            sessions.open(session, .frames(source.makeFrameReader(), source.frames.count, format))
            return .done
        case .frame(let session, let index):
            guard case .frames(let reader, let count, let format)? = sessions[session] else {
                return .noSession
            }
            guard (0..<count).contains(index) else { throw format.corrupt("no such frame") }
            return .image(
                try decoded { () throws(WebImageError) in
                    Image(pixels: try reader.frame(at: index, cancellation: cancellation))
                })
        case .openIncremental(let session, let format, var options):
            options.cancellation = nil
            options.spoolSource = spoolSource
            guard let decoder = try decoder(of: format).makeIncrementalDecoder(options: options) else {
                throw format.unsupported("parts of files")
            }
            sessions.open(session, .incremental(decoder))
            return .done
        case .append(let session):
            guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
            // A decoder may keep the bytes, and the input is not kept as it is.
            try decoder.append(Data(Array(input(request))))
            return .arrived(decoder.probe, decoder.animation.map(AnimationDescription.init))
        case .preview(let session):
            guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
            guard let image = try decoder.preview() else { return .preview(nil) }
            return .preview(try decoded(image))
        case .finish(let session):
            guard case .incremental(let decoder)? = sessions[session] else { return .noSession }
            let image = try decoder.finish()
            sessions.close(session)
            return .image(try decoded(image))
        case .close(let session): sessions.close(session)
        case .encode(let format, var options, let layout):
            options.cancellation = cancellation
            let pixels = try pixels(layout, request.memory.first)
            return try parts([Array(try registry.encode(Image(pixels: pixels), as: format, options: options))])
        case .encodeAnimation(let format, var options, let size, let isOpaque, let loopCount, let durations):
            options.cancellation = cancellation
            let frames = RequestedFrames(
                size: size, loopCount: loopCount, durations: durations,
                request: { [self] (index) throws(WebImageError) in try requestedFrame(index) })
            var animation = EncodableAnimation(frames)
            animation.isOpaque = isOpaque
            return try parts([Array(try registry.encode(animation, as: format, options: options))])
        // These go elsewhere.
        case .encodedFrame, .spool, .noSpool, .cancel: break
        }
        return nil
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
        return PixelBuffer(
            mapping.address, size: layout.size, bytesPerRow: layout.bytesPerRow, isOpaque: layout.isOpaque,
            source: mapping)
    }

    private func requestedFrame(_ index: Int) throws(WebImageError) -> PixelBuffer {
        let answer = try service.response(to: .needsFrame(index))
        guard case .encodedFrame(let layout) = answer.content else { throw .cancelled }
        return try pixels(layout, answer.memory.first)
    }

    /// Files for what does not fit in memory. This process can create none.
    private var spoolSource: @Sendable (Int) throws(WebImageError) -> UnnamedFile? {
        { [service] (byteCount) throws(WebImageError) in
            let answer = try service.response(to: .needsSpool(byteCount: byteCount))
            switch answer.content {
            case .spool(let directory):
                return answer.memory.first.flatMap { UnnamedFile(copyOf: $0.descriptor, in: directory) }
            case .noSpool(let error): throw error
            default: throw .cancelled
            }
        }
    }

    // MARK: Output

    /// Decodes to the output.
    private func decoded(_ body: () throws(WebImageError) -> Image) throws(WebImageError) -> DecodedImage {
        output?.discardGaps(from: Self.keptOutputByteCount)
        PixelBufferPool.shared.setSource(output)
        defer { PixelBufferPool.shared.setSource(nil) }
        return try decoded(body())
    }

    /// Pages behind this are given back with the next image: 16 megapixels.
    private static let keptOutputByteCount = 64 << 20

    /// Returns an image that is in the output, or is copied there.
    private func decoded(_ image: Image) throws(WebImageError) -> DecodedImage {
        guard let layout = output?.layout(of: image.pixels) else {
            throw .outOfResources(reason: .memory(byteCount: image.pixels.byteCount))
        }
        return DecodedImage(image, layout)
    }

    private func parts(_ parts: [[UInt8]?]) throws(WebImageError) -> DecoderReply {
        guard let offset = output?.write(parts) else {
            throw .outOfResources(reason: .memory(byteCount: parts.reduce(0) { $0 + ($1?.count ?? 0) }))
        }
        return .parts(offset: offset, parts.map { $0?.count })
    }

    /// Gives back what earlier images took.
    private func rest() {
        output?.discardGaps(from: 0)
        PixelBufferPool.shared.removeAll()
        cwi_sandbox_release_memory()
    }
}

extension DecodedImage {
    init(_ image: Image, _ layout: PixelLayout) {
        self.init(
            pixels: layout, scale: image.scale, frameCount: image.frameCount, isPartial: image.isPartial,
            isThumbnail: image.isThumbnail, animation: image.animation.map(AnimationDescription.init))
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
        size: PixelSize, loopCount: Int, durations: [Double],
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
