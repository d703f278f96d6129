internal import FoundationEssentials
internal import WebImage

/// `webimage get`: loads images, several concurrently, and optionally writes them to files.
struct GetCommand: Command {
    static let name = "get"
    static let summary = "Load images into the cache or into files"

    let inputs: [String]
    let isJSON: Bool
    let isQuiet: Bool
    let explains: Bool
    let thumbnail: Thumbnail?
    let source: SourceOptions
    let output: ImageOutput?

    init(_ arguments: [String]) throws(ArgumentError) {
        let parser = OptionParser(
            command: Self.name, summary: Self.summary, operands: "URL|FILE…", completion: .file,
            details: """
                Prints a line for each image as soon as it is loaded, not in the order of the arguments. With --json
                the line is an object: url, source (memory, disk, network, file, data, stdin or none), format, width,
                height, frames, bytes (of the original file), milliseconds, path, error (null, or code and message).
                '-' is standard input, and with --output standard output.

                --output writes the original bytes. With --size, --format or another encoding option (see 'webimage
                convert --help') the image is encoded again. The format is that of --format, of FILE's extension, or
                the image's own, or else PNG (JPEG with --quality). If the format is not known beforehand, an option
                that it does not support has no effect. A file is written completely or not at all.

                --policy http follows the server's rules for caching and revalidates stale images; refresh always
                revalidates; reload always loads; cacheOnly uses cached images of any age; offline uses cached images
                unless the server forbids it. --explain prints what happened, when and why; with --json this is in
                trace: stage, start and duration in milliseconds, message.
                """)
        parser.group = "Output"
        let output = parser.option(
            "output", letter: "o", value: "FILE|DIR", completion: .file,
            help: "Write to FILE, or into DIR (if it exists, ends with / or there are several images)")
        let noClobber = parser.flag("no-clobber", help: "Never replace a file; fail if it exists")
        let size = parser.option(
            "size", value: "WxH",
            help: "Decode at this size in pixels (640x480, or 640x or x480 for one side); never enlarges")
        let mode = parser.option(
            "mode", words: ["fit", "fill", "stretch"], help: "How to fit the size; fit by default")
        let encodingOptions = EncodingRequest.Declaration(in: parser, canBeProgressive: false)
        let source = SourceOptions.Declaration(in: parser)
        let concurrency = parser.option("concurrency", value: "N", help: "Number of concurrent loads; 6 by default")
        parser.group = "Reports"
        let explain = parser.flag("explain", help: "Explain each stage of the load")
        let quiet = parser.flag("quiet", letter: "q", help: "Print errors only")
        let json = parser.flag("json", help: "Print one JSON object per line")

        inputs = try parser.parse(arguments)
        guard !inputs.isEmpty else { throw parser.error("no URL or file given") }
        isJSON = json.isSet
        explains = explain.isSet
        isQuiet = quiet.isSet
        if isQuiet, isJSON || explains { throw parser.error("--quiet cannot be used with --json or --explain") }
        try parser.checkStreams(
            inputs: inputs, output: output.value, printing: [("json", isJSON), ("explain", explains)])
        thumbnail = try parser.thumbnail(size: size, mode: mode)
        var options = try source.options(from: parser)
        options.concurrency = try parser.count(concurrency, named: "concurrency", in: 1...256) ?? options.concurrency
        self.source = options
        let encoding = try encodingOptions.request(from: parser, isResized: thumbnail != nil)
        if let path = output.value {
            self.output = try ImageOutput(
                path: path, inputs: inputs, encoding: encoding, replaces: !noClobber.isSet, parser: parser)
        } else {
            if noClobber.isSet { throw parser.error("--no-clobber needs --output") }
            if let name = parser.givenNames.first(where: encodingOptions.names.contains) {
                throw parser.error("--\(name) needs --output")
            }
            self.output = nil
        }
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: source)
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: isQuiet)
        var status = ExitStatus.success
        await runConcurrently(over: inputs.indices, atMost: source.concurrency) { [self] index in
            await report(on: inputs[index], index: index, session: session, bar: bar)
        } onResult: { index, report in
            bar.end(index)
            report.print(on: .standard, isJSON: isJSON, isQuiet: isQuiet || output?.isStandardOutput == true)
            if report.error != nil { status = .failure }
        }
        bar.clear()
        await session.finish()
        return status
    }

    private nonisolated func report(
        on input: String, index: Int, session: LoadingSession, bar: ProgressBar
    ) async -> LoadReport {
        let start = ContinuousClock.now
        var report = LoadReport(url: input)
        let trace = LockBox(LoadTrace())
        do throws(WebImageError) {
            let input = try ImageInput(input)
            try output?.checkFile(index: index)
            let request = session.request(for: input, thumbnail: thumbnail)
            let response = try await session.load(
                request, progress: { bar.update(index, received: $0, expected: $1) }, trace: trace)
            let data = try await session.bytes(of: response, for: request, areNeeded: output?.needsBytes ?? false)
            report.note(response, byteCount: data?.count, sourceName: input.sourceName)
            report.path = try await output?.write(response.image, bytes: data, index: index).path
        } catch {
            report.error = error
        }
        report.duration = ContinuousClock.now - start
        if explains { report.trace = trace.withLock { $0 } }
        return report
    }
}

/// The report of `get` about one image.
struct LoadReport: Sendable {
    /// The text on the command line.
    let url: String
    /// `memory`, `disk`, `network`, `file`, `data`, `stdin`, or `none` without an image.
    var source = "none"
    var format: ImageFormat?
    var size: PixelSize?
    var frameCount: Int?
    var byteCount: Int?
    var duration = Duration.zero
    var path: String?
    var error: WebImageError?
    /// The trace of the load, if it is to be printed.
    var trace: LoadTrace?

    init(url: String) { self.url = url }

    mutating func note(_ response: WebImageResponse, byteCount: Int?, sourceName: String) {
        source =
            switch response.origin {
            case .none: "none"
            case .memoryCacheFast, .memoryCache: "memory"
            case .diskCache: "disk"
            case .remote: sourceName
            }
        format = response.image.format
        size = PixelSize(width: response.image.width, height: response.image.height)
        frameCount = response.image.frameCount
        self.byteCount = byteCount
    }

    @MainActor
    func print(on console: Console, isJSON: Bool, isQuiet: Bool) {
        if isJSON { console.print(json.text) }
        if let error { console.complain(error.shellDescription(about: url)) }
        if isQuiet { return }
        if error == nil, !isJSON { console.print(line) }
        if !isJSON, let trace { for entry in trace.entries { console.print("  \(entry)") } }
    }

    private var line: String {
        var facts = [format.map(\.name), size.map(\.description), byteCount.map { ByteCount($0).description }]
        facts.append(source)
        facts.append("\(Int(duration.milliseconds.rounded())) ms")
        return ImageInput.displayName(of: url) + ": "
            + facts.compactMap(\.self).joined(separator: ", ") + (path.map { " → \($0)" } ?? "")
    }

    private var json: JSON {
        let facts: [(String, JSON)] = [
            ("url", .string(url)), ("source", .string(source)), ("format", .optional(format?.name)),
            ("width", .optional(size?.width)), ("height", .optional(size?.height)), ("frames", .optional(frameCount)),
            ("bytes", .optional(byteCount)), ("milliseconds", .decimal(duration.milliseconds)),
            ("path", .optional(path)), ("error", error.map { $0.json(about: url) } ?? .null),
        ]
        return .object((facts + (trace.map { [("trace", $0.json)] } ?? [])).map { JSON.Field(name: $0.0, value: $0.1) })
    }
}

extension LoadTrace {
    fileprivate var json: JSON {
        .array(
            entries.map { entry in
                [
                    "stage": .string(entry.stage.rawValue), "start": .decimal(entry.start * 1000),
                    "duration": .decimal(entry.duration * 1000), "message": .string(entry.message),
                ]
            })
    }
}
