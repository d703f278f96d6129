internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage animate`: makes an animation of stills.
struct AnimateCommand: Command {
    static let name = "animate"
    static let summary: LocalizableText = "Make an animation of stills"
    static let details = """
        Writes a GIF, PNG (APNG), WebP, AVIF or JPEG XL, as OUT's extension or --format says. Frames are in the
        order of the arguments, and of the names in a folder. They need one size: that of the first image, unless
        --size WxH --mode fill --enlarge brings all to another. Of an animation, the first frame is taken. Frames
        are decoded one after the other, so hundreds take no more memory than a few.

        --duration 0.5 shows each frame for half a second; --duration 2,0.1 shows the first for two, and all others
        for a tenth. 0.1 is the default. --loop says how often it plays; forever by default.

        --json prints an object: path, format, width, height, frames, bytes, error.
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let output: ImageOutput
    /// The last one is that of all further frames.
    let durations: [Duration]
    let loopCount: Int
    let size: SizeOptions.Request
    let limits: InputLimits
    let isJSON: Bool
    let isQuiet: Bool
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "IN… OUT | IN… --output OUT", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Output"
        let target = SingleOutputOptions(in: parser, ofSeveral: "frames")
        let duration = parser.option(
            "duration", value: "S[,S…]", help: "Seconds for each frame; the last number counts for all further frames")
        parser.group = "Pixels"
        let sizing = SizeOptions(in: parser)
        let processing = ProcessorOptions(in: parser)
        let encoding = EncodingRequest.Declaration(in: parser, canBeProgressive: false)
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let reports = ReportOptions(in: parser, jsonHelp: "Print a JSON object")
        let operands = try parser.parse(arguments)
        let (inputs, failures, path) = try target.filesAndPath(operands, listing: listing, from: parser)
        (self.inputs, inputFailures) = (inputs, failures)
        (isJSON, isQuiet) = try reports.values(from: parser)
        try parser.checkStreams(inputs: [], output: path, printing: [("json", isJSON)])
        if inputs.contains(where: \.isStandardInput) { throw parser.error("frames are files, not standard input") }
        durations = try Self.durations(duration, frameCount: inputs.count, parser)
        size = try sizing.request(from: parser).adding(processing.processors(from: parser))
        limits = try bounds.limits(from: parser)
        codecs = .forTool(isIsolated: isolated.isSet)
        var request = try encoding.request(from: parser, isResized: false)
        if request.frameNumber != nil || request.splitsFrames {
            throw parser.error("--frame and --first-frame write no animation")
        }
        if request.metadata == .all { throw parser.error("an animation keeps no metadata of its frames") }
        request.isRequired = true
        request.codecs = codecs
        loopCount = request.loopCount ?? 0
        output = try target.output(path: path, inputs: inputs, encoding: request, from: parser)
        guard let format = output.format, codecs.canEncodeAnimation(as: format) else {
            let names = ImageFormat.writable.filter(codecs.canEncodeAnimation).map { $0.name.uppercased() }
            let format = output.format?.name.uppercased() ?? "OUT"
            throw parser.error("\(format) has no animations; write \(names.joined(separator: ", "))")
        }
    }

    private static func durations(
        _ option: OptionParser.Option, frameCount: Int, _ parser: OptionParser
    ) throws(ArgumentError) -> [Duration] {
        guard let text = option.value else { return [.milliseconds(100)] }
        let durations = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? -1 }
        guard durations.allSatisfy({ $0 >= 0.02 && $0 <= 600 }) else {
            throw parser.error("--duration takes seconds from 0.02 to 600, such as 0.5 or 2,0.1, not '\(text)'")
        }
        guard durations.count <= frameCount else {
            let numbers: LocalizableText = .counted(
                "\(durations.count) number", "\(durations.count) numbers", durations.count)
            let frames: LocalizableText = .counted("\(frameCount) frame", "\(frameCount) frames", frameCount)
            throw parser.error("--duration has \(numbers) for \(frames)")
        }
        return durations.map { .seconds($0) }
    }

    func run() async -> ExitStatus {
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: isQuiet)
        var report = ConversionReport(decoding: decoding(of: inputs[0]), format: output.format)
        let current = LockedBox(inputs[0])
        do throws(WebImageError) {
            try output.checkFile(index: 0)
            let frames = inputs.indices.map { index in
                AnimationFrame(duration: durations[min(index, durations.count - 1)], isKeyframe: true)
            }
            let source = try await BlockingWork.run { [self] () throws(WebImageError) in
                try StillsAnimation(
                    files: inputs, frames: frames, loopCount: loopCount, size: size, limits: limits, codecs: codecs,
                    current: current
                ) { bar.end($0) }
            }
            let image = Image(pixels: source.firstFrame, animation: source)
            let file = try await output.write(image, bytes: nil, index: 0)
            report.info = try codecs.info(of: file.data)
            report.file = file
        } catch {
            report.error = error
        }
        bar.clear()
        // An error is about the frame that was being read.
        report.decoding = decoding(of: current.withLock { $0 })
        print(report)
        return report.error == nil ? .success : .failure
    }

    private func decoding(of input: ImageInput) -> DecodingSettings {
        DecodingSettings(input: input, limits: limits, codecs: codecs, canScale: size.canDecodeSmaller)
    }

    private func print(_ report: ConversionReport) {
        let console = Console.standard
        if let error = report.error {
            console.complain(error.shellText(of: report.decoding))
        } else if let info = report.info, let file = report.file, !isJSON, !isQuiet,
            file.path != OutputFile.standardOutput
        {
            let facts = "\(info.format.name), \(info.size), \(ByteCount(file.data.count)) → \(file.path)"
            let count = info.frameCount
            console.print(localized(.counted("\(count) frame: \(facts)", "\(count) frames: \(facts)", count)))
        }
        if isJSON {
            let facts: [(String, JSON)] = [
                ("format", .optional(report.info?.format.name)), ("width", .optional(report.info?.size.width)),
                ("height", .optional(report.info?.size.height)), ("frames", .optional(report.info?.frameCount)),
                ("bytes", .optional(report.file?.data.count)),
                ("error", report.error.map { $0.json(of: report.decoding) } ?? .null),
            ]
            console.print(JSON(JSON.fields(path: report.file?.path) + facts))
        }
    }
}

/// An animation whose frames are files, which are decoded when they are encoded.
final class StillsAnimation: AnimationSource {
    let identity = AnimationIdentity()
    let frames: [AnimationFrame]
    let loopCount: Int
    let firstFrame: PixelBuffer
    private let files: [ImageInput]
    private let size: SizeOptions.Request
    private let limits: InputLimits
    private let codecs: CodecRegistry
    private let onFrame: @Sendable (Int) -> Void
    /// The file that is decoded, which an error is about.
    let current: LockedBox<ImageInput>

    /// Decodes the first frame. Blocks the calling thread.
    ///
    /// - Parameter onFrame: called with the index of each frame that is decoded for encoding.
    init(
        files: [ImageInput], frames: [AnimationFrame], loopCount: Int, size: SizeOptions.Request, limits: InputLimits,
        codecs: CodecRegistry, current: LockedBox<ImageInput>, onFrame: @escaping @Sendable (Int) -> Void
    ) throws(WebImageError) {
        self.files = files
        self.frames = frames
        self.loopCount = loopCount
        self.size = size
        self.limits = limits
        self.codecs = codecs
        self.onFrame = onFrame
        self.current = current
        firstFrame = try Self.frame(of: files[0], size, limits, codecs)
    }

    var frameSize: PixelSize { firstFrame.size }
    var isComplete: Bool { true }
    var byteCount: Int { 0 }

    func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private static func frame(
        of file: ImageInput, _ size: SizeOptions.Request, _ limits: InputLimits, _ codecs: CodecRegistry
    ) throws(WebImageError) -> PixelBuffer {
        let data = try FileLoader.chosenFiles.bytesBlocking(at: file.url)
        let options = DecodingOptions(
            thumbnail: size.thumbnail, firstFrameOnly: true,
            allowsDamage: limits.damage == .allowed,
            limits: limits.limits(for: file))
        return try codecs.decode(data, options: options).processed(by: size.processors, firstFrameOnly: true).pixels
    }

    private final class Reader: AnimationFrameReader {
        private let animation: StillsAnimation

        init(_ animation: StillsAnimation) { self.animation = animation }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            defer { animation.onFrame(index) }
            if index == 0 { return animation.firstFrame }
            let file = animation.files[index]
            animation.current.withLock { $0 = file }
            let frame = try StillsAnimation.frame(of: file, animation.size, animation.limits, animation.codecs)
            guard frame.size == animation.frameSize else {
                throw .invalidFrames(reason: .size(frame.size, frame: index, expected: animation.frameSize))
            }
            return frame
        }
    }
}
