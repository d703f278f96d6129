internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage

/// `webimage get`: loads images, several concurrently, and optionally writes them to files.
struct GetCommand: Command {
    static let name = "get"
    static let summary: LocalizableText = "Load images into the cache or into files"
    static let details = """
        Prints a line for each image as soon as it is loaded, not in the order of the arguments. With --json
        the line is an object: url, source (memory, disk, network, file, data, stdin or none), format, width,
        height, frames, bytes (of the original file), milliseconds, path, warning (null, or why the file is not
        what its name says or the image is incomplete), error (null, or code and message). '-' is standard input, and with --output
        standard output.

        --output FILE writes the format that FILE's extension names: the original bytes if they have that
        format, otherwise the image is converted. --format takes precedence, with a warning if the extension
        names another format. If there is neither, as with DIR, the original bytes are written; an extension
        that names no format gets a warning.

        With --size, --format or another encoding option (see 'webimage convert --help') the image is encoded in
        any case. Without a named format it keeps its own, or becomes PNG (JPEG with --quality), and an option
        that the format does not support has no effect. A file is written completely or not at all.

        --policy http follows the server's rules for caching and revalidates stale images; refresh always
        revalidates; reload always loads; cacheOnly uses cached images of any age; offline uses cached images
        unless the server forbids it. --explain prints what happened, when and why; with --json this is in
        trace: stage, start and duration in milliseconds, message.
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let isJSON: Bool
    let isQuiet: Bool
    let explains: Bool
    let size: SizeOptions.Request
    let limits: InputLimits
    let source: SourceOptions
    let output: ImageOutput?
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "URL|FILE…", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Output"
        let output = parser.outputOption(ofSeveral: "images")
        let noClobber = parser.flag("no-clobber", help: "Never replace a file; fail if it exists")
        parser.group = "Pixels"
        let sizing = SizeOptions(in: parser)
        let encodingOptions = EncodingRequest.Declaration(in: parser, canBeProgressive: false)
        let source = SourceOptions.Declaration(in: parser)
        let concurrency = parser.option(
            "concurrency", alias: "jobs", letter: "j", value: "N",
            help: "Number of concurrent loads; 6 by default (also --jobs)")
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let explain = parser.flag("explain", help: "Explain each stage of the load")
        let quiet = parser.flag("quiet", letter: "q", help: "Print errors only")
        let json = parser.flag("json", help: "Print one JSON object per line")

        let operands = try parser.parse(arguments)
        guard !operands.isEmpty || listing.areGiven else { throw parser.error("no URL or file given") }
        (isJSON, explains, isQuiet) = (json.isSet, explain.isSet, quiet.isSet)
        if isQuiet, isJSON || explains { throw parser.error("--quiet cannot be used with --json or --explain") }
        (inputs, inputFailures) = try listing.inputs(operands, parser: parser, parser.input)
        try parser.checkStreams(
            inputs: inputs.map(\.argument), output: output.path, printing: [("json", isJSON), ("explain", explains)])
        size = try sizing.request(from: parser)
        limits = try bounds.limits(from: parser)
        var options = try source.options(from: parser)
        options.concurrency = try parser.count(concurrency, in: 1...256) ?? options.concurrency
        self.source = options
        codecs = .forTool(isIsolated: isolated.isSet)
        var encoding = try encodingOptions.request(from: parser, isResized: size.changesImage)
        if encoding.splitsFrames { throw parser.error("--frame all is for 'webimage convert'") }
        encoding.codecs = codecs
        guard let path = output.path else {
            self.output = nil
            let unused = parser.givenNames.first(where: ([noClobber.name] + encodingOptions.names).contains)
            if let unused { throw parser.error("--\(unused) needs --output") }
            return
        }
        self.output = try ImageOutput(
            path: path, inputs: inputs, encoding: encoding, replaces: !noClobber.isSet, parser: parser)
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: source, codecs: codecs)
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: isQuiet)
        var status = ExitStatus.success
        await runConcurrently(over: inputs.indices, atMost: source.concurrency) { [self] index in
            await report(on: inputs[index], index: index, session: session, bar: bar)
        } onResult: { index, report in
            bar.end(index)
            report.print(
                on: .standard, isJSON: isJSON, isQuiet: isQuiet, printsLine: output?.isStandardOutput != true)
            if report.error != nil { status = .failure }
        }
        bar.clear()
        await session.finish()
        return status
    }

    private nonisolated func report(
        on input: ImageInput, index: Int, session: LoadingSession, bar: ProgressBar
    ) async -> LoadReport {
        let start = ContinuousClock.now
        var report = LoadReport(
            decoding: DecodingSettings(input: input, limits: limits, codecs: codecs, canScale: size.canDecodeSmaller))
        if explains { report.trace = [] }
        do throws(WebImageError) {
            try output?.checkFile(index: index)
            var request = session.request(for: input, size: size, limits: limits)
            request.keepsColors = output?.keepsColors == true
            let (result, trace) = await session.outcome(of: request) { bar.update(index, received: $0, expected: $1) }
            if explains { report.trace = trace.entries }
            let response = try result.get()
            let data = try await session.bytes(of: response, for: request, areNeeded: output?.needsBytes ?? false)
            report.note(response, byteCount: data?.count, sourceName: input.sourceName)
            report.damage = report.decoding.warning(about: response.image)
            let steps =
                output?.keepsGainMaps == true && size.processors.isEmpty
                ? TrackedSteps(processors: [], limits: limits.limits(for: input)) : nil
            report.file = try await output?.write(response.image, bytes: data, index: index, steps: steps)
        } catch {
            report.error = error
        }
        report.duration = ContinuousClock.now - start
        return report
    }
}

/// The report of `get` about one image.
struct LoadReport: Sendable {
    let decoding: DecodingSettings
    /// `memory`, `disk`, `network`, `file`, `data`, `stdin`, or `none` without an image.
    var source = "none"
    var format: ImageFormat?
    var size: PixelSize?
    var frameCount: Int?
    var byteCount: Int?
    var duration = Duration.zero
    /// The written file, if any.
    var file: ImageOutput.WrittenFile?
    /// A description of the part that is missing in the image.
    var damage: LocalizableText?
    var error: WebImageError?
    /// The trace of the load, if it is to be printed.
    var trace: [LoadTrace.Entry]?

    init(decoding: DecodingSettings) { self.decoding = decoding }

    var input: ImageInput { decoding.input }

    private var warning: LocalizableText? { damage ?? file?.warning }

    mutating func note(_ response: WebImageResponse, byteCount: Int?, sourceName: String) {
        source =
            switch response.origin {
            case .memoryCacheFast, .memoryCache: "memory"
            case .diskCache: "disk"
            case .remote: sourceName
            }
        format = response.image.format
        size = response.image.pixels.size
        frameCount = response.image.frameCount
        self.byteCount = byteCount
    }

    @MainActor
    func print(on console: Console, isJSON: Bool, isQuiet: Bool, printsLine: Bool) {
        if isJSON { console.print(json) }
        if let error { console.complain(error.shellText(of: decoding)) }
        if isQuiet { return }
        if let warning { console.complain("warning: \(warning)") }
        if !printsLine { return }
        if error == nil, !isJSON { console.print(line) }
        if !isJSON, let trace { for entry in trace { console.print("  \(entry)") } }
    }

    /// The name of the source for people.
    private var sourceText: LocalizableText {
        switch source {
        case "memory": "memory"
        case "disk": "disk"
        case "network": "network"
        case "file": "file"
        default: LocalizableText(verbatim: source)
        }
    }

    private var line: String {
        var facts = [format.map(\.name), size.map(\.description), byteCount.map { ByteCount($0).description }]
        facts.append(localized(sourceText))
        facts.append("\(Int(duration.milliseconds.rounded())) ms")
        return input.displayName + ": "
            + facts.compactMap(\.self).joined(separator: ", ") + (file.map { " → \($0.path)" } ?? "")
    }

    private var json: JSON {
        var facts: [(String, JSON)] = [
            ("url", .string(input.reportedName)), ("source", .string(source)), ("format", .optional(format?.name)),
            ("width", .optional(size?.width)), ("height", .optional(size?.height)), ("frames", .optional(frameCount)),
            ("bytes", .optional(byteCount)), ("milliseconds", .decimal(duration.milliseconds)),
        ]
        facts += JSON.fields(path: file?.path)
        facts += [
            ("warning", .optional(warning?.english)),
            ("error", error.map { $0.json(of: decoding) } ?? .null),
        ]
        if let trace { facts += [("trace", .array(trace.map(\.json)))] }
        return JSON(facts)
    }
}

extension LoadTrace.Entry {
    fileprivate var json: JSON {
        [
            "stage": .string(stage.rawValue), "start": .decimal(start.milliseconds),
            "duration": .decimal(duration.milliseconds), "message": .string(message),
        ]
    }
}
