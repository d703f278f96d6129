internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Decodes one format in another process.
struct IsolatedDecoder: ExternalCodec, RegionDecoder, OwnDecoder, MetadataDecoder, ProfileDecoder, GainMapDecoder {
    private let work: IsolatedWork
    /// For everything but pixels.
    private var terms = IsolatedWork.Terms(.default)

    init(_ format: ImageFormat, isolation: IsolatedDecoding, policy: IsolationPolicy) {
        self.init(IsolatedWork(isolation: isolation, format: format, policy: policy))
    }

    private init(_ work: IsolatedWork) { self.work = work }

    func applying(_ policy: IsolationPolicy, in isolation: IsolatedDecoding) -> IsolatedDecoder {
        IsolatedDecoder(work.applying(policy, in: isolation))
    }

    var format: ImageFormat { work.format }

    func limited(to limits: DecodingLimits, cancellation: Cancellation?) -> IsolatedDecoder {
        var decoder = self
        decoder.terms = IsolatedWork.Terms(limits, cancellation: cancellation)
        return decoder
    }

    var isAvailable: Bool { work.isAvailable }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        try work.isolated { () throws in
            try work.response(ProcessRequest(.info(format), input: work.input(data)), terms) { response in
                guard case .info(let info) = response.reply, info.format == format else {
                    throw InvalidMessage("no info")
                }
                return info
            }
        }
    }

    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        try work.isolated { () throws in
            let prefix = prefix.prefix(ImageProbe.byteLimit)
            guard !prefix.isEmpty else { return nil }
            let request = ProcessRequest(.probe(format), input: try work.input(prefix))
            return try work.response(request, terms) { response in
                guard case .probe(let probe) = response.reply, probe?.format ?? format == format else {
                    throw InvalidMessage("no probe")
                }
                return probe
            }
        }
    }

    func metadata(of data: Data) throws(WebImageError) -> ImageMetadata {
        try work.isolated { () throws in
            let parts = try parts(.metadata(format), count: 2, of: data)
            return ImageMetadata(exif: parts[0], xmp: parts[1])
        }
    }

    func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? {
        try work.isolated { () throws in
            try parts(.profile(format), count: 1, of: data)[0].flatMap { ColorProfile(Array($0)) }
        }
    }

    func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap? {
        try work.isolated { () throws in
            let parts = try parts(.gainMap(format), count: 3, of: data)
            return parts[0].flatMap { file in
                parts[1].flatMap {
                    StoredGainMap(file: file, metadataBytes: Array($0), colors: parts[2].map(Array.init))
                }
            }
        }
    }

    private func parts(_ request: DecoderRequest, count: Int, of data: Data) throws -> [Data?] {
        let request = ProcessRequest(request, input: try work.input(data), outputByteCount: data.count + (1 << 20))
        return try work.response(request, terms) { try work.parts($0, count: count) }
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try work.isolated { () throws in
            var request = ProcessRequest(
                .decode(format, SentDecodingOptions(options)), input: try work.input(data),
                outputByteCount: IsolatedWork.outputByteCount(options.limits))
            let rows = ArrivingRows(options.limits)
            request.arrivingRows = rows
            return try work.response(request, .init(options)) { response in
                guard case .image(let decoded) = response.reply else { throw InvalidMessage("no image") }
                var image = try work.image(decoded, response, options, rows: rows)
                if let description = decoded.animation {
                    guard !options.firstFrameOnly, description.frameSize == image.pixels.size else {
                        throw InvalidMessage("an animation of another size")
                    }
                    image.animation = try work.animation(description, data, response, options)
                }
                return image
            }
        }
    }

    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        try work.isolated { () throws -> (any AnimationSource)? in
            let request = ProcessRequest(.animation(format, SentDecodingOptions(options)), input: try work.input(data))
            return try work.response(request, .init(options)) { response in
                guard case .animation(let description) = response.reply else { throw InvalidMessage("no animation") }
                return try description.map { try work.animation($0, data, response, options) }
            }
        }
    }

    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        guard format.decodesIncrementally else { return nil }
        return IsolatedIncrementalDecoder(work: work, options: options)
    }
}

extension ImageFormat {
    /// Whether there can be previews before the file is complete.
    fileprivate var decodesIncrementally: Bool {
        [.jpeg, .png, .gif, .webp, .jpegXL].contains(self)
    }
}
