internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage convert`: converts files to another size, format or quality; also rotates, blurs and tints.
struct ConvertCommand: Command {
    static let name = "convert"
    static let summary: LocalizableText = "Convert images to another size, format or quality"
    static let details = """
        The format is that of --format, or else of OUT's extension. With DIR and '-' each image keeps its format,
        or becomes PNG if that format cannot be written. OUT is written completely or not at all, and can be IN.
        With DIR the files have the names of the inputs, and no input is replaced. '-' is standard input and
        output. Folders are read with --recursive, and DIR then has the same folders.

        NAME can have {name} and {folder} of the input, {width} and {height} of the result, {format} (the
        extension) and {index} (the number of the input), as in 'small/{name}-{width}.{format}'. With --frame all
        each frame of an animation is a file, and {index} the number of the frame, as in '{name}-{index}.png'.

        Animations stay animated in GIF, PNG, WebP, AVIF and JPEG XL, with their durations; other formats get
        the first frame. --crop cuts from the original, --trim follows, then --size, then --rotate, --flip, --grayscale, --tint,
        --blur and --round, for every frame of an animation. Without --enlarge nothing is enlarged. The result is sRGB, upright, and without metadata
        unless --metadata keeps it. --metadata all also keeps the colors of an RGB profile with the profile, except in GIF, BMP, ICO and
        JPEG 2000, which are sRGB, and a gain map in JPEG and AVIF, which --crop, --trim, --size, --rotate
        by quarters and --flip change like the image; other options drop it. An option that OUT's format does not support is an error; with DIR and
        without --format it has no effect.

        --json prints an object for each image: input, path, format, width, height, frames, bytes, milliseconds,
        warning (null, or why the file is not what its name says or the image is incomplete), error (null, or code and message).
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let output: ImageOutput
    let isJSON: Bool
    let isQuiet: Bool
    /// Whether to print a line for each written image.
    let printsLines: Bool
    let size: SizeOptions.Request
    let limits: InputLimits
    /// How many images are converted at once.
    let jobCount: Int
    /// The index of an image in an icon; `nil` for the best.
    let page: Int?
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "IN OUT | IN… --output DIR|NAME", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Output"
        let directory = parser.outputOption(ofSeveral: "inputs")
        let noClobber = parser.flag("no-clobber", help: "Never replace a file; fail if it exists")
        parser.group = "Pixels"
        let sizing = SizeOptions(in: parser)
        let page = parser.option(
            "page", value: "N", help: "Read the Nth image of an icon, counting from 1; by default the best for the size"
        )
        let processing = ProcessorOptions(in: parser)
        let encoding = EncodingRequest.Declaration(in: parser, canBeProgressive: true)
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let jobs = parser.option(
            "jobs", letter: "j", value: "N", help: "Convert N images at once; as many as processors by default")
        let reports = ReportOptions(in: parser)

        var operands = try parser.parse(arguments)
        let path = try Self.path(directory, &operands, listing, parser)
        (inputs, inputFailures) = try listing.inputs(operands, parser: parser, parser.file)
        (isJSON, isQuiet) = try reports.values(from: parser)
        try parser.checkStreams(inputs: inputs.map(\.argument), output: path, printing: [("json", isJSON)])
        printsLines = path != OutputFile.standardOutput && !isJSON && !isQuiet
        size = try sizing.request(from: parser).adding(processing.processors(from: parser))
        limits = try bounds.limits(from: parser)
        jobCount = try parser.count(jobs, in: 1...256) ?? BlockingWork.processorCount
        self.page = try parser.count(page, in: 1...65_535).map { $0 - 1 }
        var request = try encoding.request(from: parser, isResized: size.changesImage)
        request.isRequired = true
        codecs = .forTool(isIsolated: isolated.isSet)
        request.codecs = codecs
        output = try ImageOutput(
            path: path, inputs: inputs, encoding: request, replaces: !noClobber.isSet,
            mayReplaceInput: true, parser: parser)
        guard output.choosesNames || output.format != nil || output.isStandardOutput else {
            throw parser.error("'\(path)' has no known extension; use --format \(ImageFormat.writableNames)")
        }
    }

    /// Returns the path of `--output`, or else takes it from the operands.
    private static func path(
        _ output: OptionParser.Option, _ operands: inout [SystemString], _ listing: InputOptions, _ parser: OptionParser
    ) throws(ArgumentError) -> SystemString {
        if let path = output.path {
            guard !operands.isEmpty || listing.areGiven else { throw parser.error("no file given") }
            return path
        }
        guard operands.count == 2, !listing.areGiven else {
            throw parser.error("convert takes two files, IN and OUT, or any number of files with --output DIR")
        }
        return operands.removeLast()
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: .withoutCache, codecs: codecs)
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: isQuiet || inputs.count == 1)
        var status = ExitStatus.success
        await runConcurrently(over: inputs.indices, atMost: jobCount) { [self] index in
            await reports(on: inputs[index], index: index, session: session)
        } onResult: { index, reports in
            bar.end(index)
            for report in reports {
                report.print(on: .standard, isJSON: isJSON, isQuiet: isQuiet, printsLine: printsLines)
                if report.error != nil { status = .failure }
            }
        }
        bar.clear()
        return status
    }

    /// Converts an image; returns a report for each file.
    private nonisolated func reports(
        on input: ImageInput, index: Int, session: LoadingSession
    ) async -> [ConversionReport] {
        let start = ContinuousClock.now
        let decoding = DecodingSettings(input: input, limits: limits, codecs: codecs, canScale: size.canDecodeSmaller)
        var report = ConversionReport(decoding: decoding, format: output.format)
        do throws(WebImageError) {
            try output.checkFile(index: index)
            // A gain map must follow what is done after decoding.
            let follows = output.keepsGainMaps
            var request = session.request(for: input, size: follows ? size.decoding : size, limits: limits)
            if let page { request.page = page }
            request.keepsColors = output.keepsColors
            let response = try await session.load(request)
            let bytes = try await session.bytes(of: response, for: request, areNeeded: output.needsBytes)
            report.damage = decoding.warning(about: response.image)
            if output.splitsFrames {
                var reports: [ConversionReport] = []
                for file in try await output.writeFrames(of: response.image, bytes: bytes, index: index) {
                    report.file = file
                    report.info = if let info = file.info { info } else { try codecs.info(of: file.data) }
                    report.duration = ContinuousClock.now - start
                    reports.append(report)
                }
                return reports
            }
            let steps = follows ? TrackedSteps(processors: size.processors, limits: limits.limits(for: input)) : nil
            let file = try await output.write(response.image, bytes: bytes, index: index, steps: steps)
            report.info = if let info = file.info { info } else { try codecs.info(of: file.data) }
            report.file = file
        } catch {
            report.error = error
        }
        report.duration = ContinuousClock.now - start
        return [report]
    }
}

/// The report of `convert` about one image.
struct ConversionReport: Sendable {
    var decoding: DecodingSettings
    /// The format on the command line, if any.
    let format: ImageFormat?
    /// The properties of the written image.
    var info: ImageInfo?
    var file: ImageOutput.WrittenFile?
    var duration = Duration.zero
    /// A description of the part that is missing in the image.
    var damage: LocalizableText?
    var error: WebImageError?

    init(decoding: DecodingSettings, format: ImageFormat?) {
        self.decoding = decoding
        self.format = format
    }

    var input: ImageInput { decoding.input }

    private var warning: LocalizableText? { damage ?? file?.warning }

    @MainActor
    func print(on console: Console, isJSON: Bool, isQuiet: Bool, printsLine: Bool) {
        if isJSON { console.print(json) }
        if let error { console.complain(error.shellText(of: decoding)) }
        if !isQuiet, let warning { console.complain("warning: \(warning)") }
        if error == nil, printsLine { console.print(line) }
    }

    private var line: String {
        let facts = [
            info?.format.name, info?.size.description, (file?.data.count).map { ByteCount($0).description },
            "\(Int(duration.milliseconds.rounded())) ms",
        ]
        return input.displayName + ": " + facts.compactMap(\.self).joined(separator: ", ")
            + (file.map { " → \($0.path)" } ?? "")
    }

    private var json: JSON {
        let paths: [(String, JSON)] = [("input", .path(input.argument))] + JSON.fields(path: file?.path)
        let facts: [(String, JSON)] = [
            ("format", .optional((info?.format ?? format)?.name)),
            ("width", .optional(info?.size.width)), ("height", .optional(info?.size.height)),
            ("frames", .optional(info?.frameCount)), ("bytes", .optional(file?.data.count)),
            ("milliseconds", .decimal(duration.milliseconds)), ("warning", .optional(warning?.english)),
            ("error", error.map { $0.json(of: decoding) } ?? .null),
        ]
        return JSON(paths + facts)
    }
}
