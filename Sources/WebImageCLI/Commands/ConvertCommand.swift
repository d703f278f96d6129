internal import FoundationEssentials
internal import WebImage

/// `webimage convert`: one file into another, in another size, format or quality, turned, blurred or tinted.
struct ConvertCommand: Command {
    static let name = "convert"
    static let summary = "Write a picture in another size, format or quality"

    let input: ImageInput
    let outputPath: String
    let isJSON: Bool
    let thumbnail: Thumbnail?
    let processors: [any ImageProcessor]
    let encoding: EncodingRequest

    init(_ arguments: [String]) throws(ArgumentError) {
        let parser = OptionParser(
            command: "webimage convert", summary: Self.summary + ".", operands: "IN OUT",
            details: """
                OUT's extension tells the format unless --format does. OUT appears whole or not at all, and may be IN.
                An animation stays one in GIF, PNG and WebP, with its durations; in JPEG it becomes the first frame.
                Scaling comes first, then --rotate, --flip, --grayscale, --tint, --blur and --round, of an animation in
                every frame. What is written is sRGB, stands upright and has no metadata. An option that OUT's format
                does not have is an error.

                With --json an object: path, format, width, height, frames, bytes, milliseconds, error (null, or code and
                message).
                """)
        let size = parser.option("size", value: "WxH", help: "Scale to this size in pixels, never larger than it is")
        let mode = parser.option("mode", value: "fit|fill|stretch", help: "How it meets the size; fit unless given")
        let processing = ProcessorOptions(in: parser)
        let encoding = EncodingRequest.Declaration(in: parser, canBeProgressive: true)
        let json = parser.flag("json", help: "Print a JSON object")

        let operands = try parser.parse(arguments)
        guard operands.count == 2 else { throw parser.error("it takes two files, IN and OUT") }
        guard let input = try? ImageInput(operands[0]), input.isFile else {
            throw parser.error("\(operands[0]) is no file; 'webimage get URL --output FILE' converts what it loads")
        }
        self.input = input
        outputPath = operands[1]
        isJSON = json.isSet
        thumbnail = try parser.thumbnail(size: size, mode: mode)
        processors = try processing.processors(from: parser)
        var request = try encoding.request(from: parser, isResized: thumbnail != nil)
        guard let format = request.format ?? ImageFormat(fileName: outputPath) else {
            throw parser.error("'\(outputPath)' does not tell the format; use --format \(ImageFormat.writableNames)")
        }
        guard ImageFormat.writable.contains(format) else {
            throw parser.error("\(format) can't be written, only \(ImageFormat.writableNames)")
        }
        try request.check(for: format, parser: parser)
        request.format = format
        self.encoding = request
    }

    func run() async -> ExitStatus {
        let start = ContinuousClock.now
        var written: (info: ImageInfo, byteCount: Int)?
        var failure: WebImageError?
        do throws(WebImageError) {
            let session = LoadingSession(options: .withoutCache)
            var request = session.request(for: input, thumbnail: thumbnail)
            request.processors = processors
            let image = try await session.load(request).image
            written = try await BlockingWork.run { [encoding, outputPath] () throws(WebImageError) in
                let data = try encoding.encode(image)
                let info = try CodecRegistry.shared.info(of: data)
                try OutputFile.write(data, to: outputPath)
                return (info, data.count)
            }
        } catch {
            failure = error
            Console.standard.complain(error.description(about: input.text))
        }
        if isJSON {
            let json: JSON = [
                "path": failure == nil ? .string(outputPath) : .null, "format": .optional(encoding.format?.name),
                "width": .optional(written?.info.size.width), "height": .optional(written?.info.size.height),
                "frames": .optional(written?.info.frameCount), "bytes": .optional(written?.byteCount),
                "milliseconds": .decimal((ContinuousClock.now - start).milliseconds),
                "error": failure.map(\.json) ?? .null,
            ]
            Console.standard.print(json.text)
        }
        return failure == nil ? .success : .failure
    }
}
