internal import FoundationEssentials
internal import WebImage

/// `webimage get`: loads pictures, as many at once as asked for, and writes them out if asked to.
struct GetCommand: Command {
    static let name = "get"
    static let summary = "Load pictures into the cache, or into files"

    let inputs: [String]
    let isJSON: Bool
    let explains: Bool
    let thumbnail: Thumbnail?
    let source: SourceOptions
    let output: PictureOutput?

    init(_ arguments: [String]) throws(ArgumentError) {
        let parser = OptionParser(
            command: "webimage get", summary: Self.summary + ".", operands: "URL|FILE…",
            details: """
                Each picture gives a line on standard output as soon as it is there, not in the order of the
                arguments; with --json an object: url, source (memory, disk, network, file, data or none), format,
                width, height, frames, bytes (of the file as it came), milliseconds, path, error (null, or code and
                message).

                With --output the file's bytes are written as they came; with --size, --format or another option of
                encoding (see 'webimage convert --help') the picture is encoded anew: in the format given, or that of
                FILE's extension, or its own, or PNG (JPEG with --quality) where that won't do. Where that format does
                not have the option and no FILE or --format told so before, it has no effect. A file appears whole or
                not at all.

                --policy http goes by the server's word on how long a picture is good, and asks whether it still is;
                refresh asks each time; reload loads each time; cacheOnly takes whatever is stored; offline takes what
                the server does not forbid. With --explain lines follow that say what happened when, and why; with
                --json they are in trace: stage, start and duration in milliseconds, message.
                """)
        let output = parser.option(
            "output", letter: "o", value: "FILE|DIR",
            help: "Write to FILE, or into DIR (if it exists, ends with / or there are several pictures)")
        let size = parser.option("size", value: "WxH", help: "Decode at this size in pixels, never larger than it is")
        let mode = parser.option("mode", value: "fit|fill|stretch", help: "How it meets the size; fit unless given")
        let encodingOptions = EncodingRequest.Declaration(in: parser, canBeProgressive: false)
        let source = SourceOptions.Declaration(in: parser)
        let concurrency = parser.option("concurrency", value: "N", help: "Load so many at once; 6 unless given")
        let explain = parser.flag("explain", help: "Tell what happened, stage by stage, and why")
        let json = parser.flag("json", help: "Print one JSON object a line")

        inputs = try parser.parse(arguments)
        guard !inputs.isEmpty else { throw parser.error("no URL or file given") }
        isJSON = json.isSet
        explains = explain.isSet
        thumbnail = try parser.thumbnail(size: size, mode: mode)
        var options = try source.options(from: parser)
        options.concurrency = try parser.count(concurrency, named: "concurrency", in: 1...256) ?? options.concurrency
        self.source = options
        var encoding = try encodingOptions.request(from: parser, isResized: thumbnail != nil)
        if let path = output.value {
            self.output = try PictureOutput(path: path, inputs: inputs, encoding: encoding, parser: parser)
        } else {
            encoding.isResized = false
            if encoding.isNeeded { throw parser.error("--format and other options of encoding need --output") }
            self.output = nil
        }
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: source)
        let bar = ProgressBar(count: inputs.count, console: .standard)
        var status = ExitStatus.success
        await withTaskGroup(of: (Int, LoadReport).self) { group in
            var waiting = inputs.indices.makeIterator()
            func startNext() {
                guard let index = waiting.next() else { return }
                let input = inputs[index]
                group.addTask { [self] in
                    (index, await report(on: input, index: index, session: session, bar: bar))
                }
            }
            for _ in 0..<source.concurrency { startNext() }
            for await (index, report) in group {
                bar.end(index)
                report.print(on: .standard, isJSON: isJSON)
                if report.error != nil { status = .failure }
                startNext()
            }
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
        let trace = Lock(LoadTrace())
        do throws(WebImageError) {
            let input = try ImageInput(input)
            let request = session.request(for: input, thumbnail: thumbnail)
            let response = try await session.load(
                request, progress: { bar.update(index, received: $0, expected: $1) }, trace: trace)
            let data = try await session.bytes(of: response, for: request, areNeeded: output?.writesBytes ?? false)
            report.note(response, byteCount: data?.count, sourceName: input.sourceName)
            report.path = try await output?.write(response.image, bytes: data, index: index)
        } catch {
            report.error = error
        }
        report.duration = ContinuousClock.now - start
        if explains { report.trace = trace.withLock { $0 } }
        return report
    }
}
