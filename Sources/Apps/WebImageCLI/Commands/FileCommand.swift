internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage

/// `webimage file`: prints the paths of files with images, for programs that take a path.
struct FileCommand: Command {
    static let name = "file"
    static let summary: LocalizableText = "Print the path of a file with an image"
    static let details = """
        Loads what the cache does not have, as 'webimage get' does, and prints the path of a file with each image on a
        line of its own, in the order of the arguments. With --uri it prints file:// addresses. With --json the line is
        an object: url, path, uri, format, bytes, error (null, or code and message).

        Without --size, --format and the like, the file has the original bytes. Otherwise the image is encoded: in the
        named format, else in its own, or as PNG or JPEG where that cannot be written. The same image at the same size
        is the same file; if it is not animated, it is not encoded again.

        The files are in the folder 'files' of the disk cache. Each stays until nothing has asked for it for 7 days, or
        until all together take more than 256 MiB, when the least recently used are removed; 'webimage cache clear'
        removes all. A program that shows a file for longer asks again, and gets the same path. Do not change the files.
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let isJSON: Bool
    let printsURI: Bool
    let format: ImageFormat?
    let quality: Double
    let size: SizeOptions.Request
    let limits: InputLimits
    let source: SourceOptions
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "URL|FILE…", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Pixels"
        let sizing = SizeOptions(in: parser)
        parser.group = "Encoding"
        let format = parser.option(
            "format", value: "NAME", completion: .words(ImageFormat.writable.map(\.name)),
            help: "Encode as \(ImageFormat.writableNames)")
        let quality = parser.option(
            "quality", value: "0…100", help: "Quality of lossy formats where the image is encoded; 85 by default")
        let source = SourceOptions.Declaration(in: parser, needsCache: true)
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser, takesDamaged: false)
        parser.group = "Reports"
        let uri = parser.flag("uri", help: "Print file:// addresses instead of paths")
        let json = parser.flag("json", help: "Print one JSON object per line")

        let operands = try parser.parse(arguments)
        guard !operands.isEmpty || listing.areGiven else { throw parser.error("no URL or file given") }
        (isJSON, printsURI) = (json.isSet, uri.isSet)
        if isJSON, printsURI { throw parser.error("--json and --uri cannot be used together") }
        (inputs, inputFailures) = try listing.inputs(operands, parser: parser, parser.input)
        try parser.checkStreams(inputs: inputs.map(\.argument), output: nil, printing: [])
        self.format = try parser.writableFormat(format)
        self.quality = try parser.percentage(quality) ?? 0.85
        size = try sizing.request(from: parser)
        limits = try bounds.limits(from: parser)
        self.source = try source.options(from: parser)
        codecs = .forTool(isIsolated: isolated.isSet)
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: source, codecs: codecs)
        var status = ExitStatus.success
        for input in inputs {
            let request = session.request(for: input, size: size, limits: limits)
            do throws(WebImageError) {
                let file = try await session.file(for: request, format: format, quality: quality)
                report(input, file, nil)
            } catch {
                report(input, nil, error)
                status = .failure
            }
        }
        await session.finish()
        return status
    }

    private func report(_ input: ImageInput, _ file: CachedFile?, _ error: WebImageError?) {
        let decoding = DecodingSettings(
            input: input, limits: limits, codecs: codecs, canScale: size.canDecodeSmaller)
        if let error { Console.standard.complain(error.shellText(of: decoding)) }
        if isJSON {
            Console.standard.print([
                "url": .string(input.reportedName), "path": .optional(file?.path),
                "uri": .optional(file?.url.absoluteString), "format": .optional(file?.format.name),
                "bytes": .optional(file?.byteCount), "error": error.map { $0.json(of: decoding) } ?? .null,
            ])
        } else if let file {
            Console.standard.print(printsURI ? file.url.absoluteString : file.path)
        }
    }
}
