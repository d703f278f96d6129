internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage compare`: tells how much two images differ.
struct CompareCommand: Command {
    static let name = "compare"
    static let summary: LocalizableText = "Tell how much two images differ"
    static let details = """
        Prints whether all pixels are equal, the size, how many pixels differ and by how much (0 to 255), the peak
        signal-to-noise ratio (PSNR; differences above 40 dB are hardly visible), the structural similarity (SSIM;
        1 is equal), and the distance of the perceptual hashes (up to 10 of 64 bits, the images are probably
        versions of one another). Of animations, all frames are compared, and the worst frame is shown. Metadata
        and formats do not count.

        The exit status is 0 if the images are equal, 1 if they differ, and 2 if they cannot be compared, as that
        of cmp. Images of several sizes differ; they have a distance of hashes, but no other numbers.

        --output writes the first frame of A, faint, with differences in red. --json prints an object: first,
        second, equal, width, height, frames, differingPixels, largestDifference, psnr (null if equal), ssim,
        hashDistance, path, error.

        A and B are files or URLs, which are cached as by 'webimage get'; '-' is standard input.
        """

    let inputs: [ImageInput]
    let output: ImageOutput?
    let limits: InputLimits
    let isJSON: Bool
    let isQuiet: Bool
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "A B", completion: .file)
        parser.group = "Output"
        let output = parser.option(
            "output", letter: "o", value: "FILE", completion: .file, help: "Write an image of the differences")
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let reports = ReportOptions(
            in: parser, quietHelp: "Print errors only; the exit status tells the result",
            jsonHelp: "Print a JSON object")
        let operands = try parser.parse(arguments)
        guard operands.count == 2 else { throw parser.error("compare takes two images, A and B") }
        (isJSON, isQuiet) = try reports.values(from: parser)
        try parser.checkStreams(inputs: operands, output: nil, printing: [])
        if output.path == OutputFile.standardOutput {
            throw parser.error(
                "the result is printed to standard output; name a file for the image of the differences")
        }
        inputs = try operands.map { (argument) throws(ArgumentError) in try parser.input(argument) }
        limits = try bounds.limits(from: parser)
        codecs = .forTool(isIsolated: isolated.isSet)
        var encoding = EncodingRequest()
        encoding.isRequired = true
        encoding.codecs = codecs
        if let path = output.path {
            self.output = try parser.singleOutput(path: path, inputs: inputs, encoding: encoding, replaces: true)
        } else {
            self.output = nil
        }
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: SourceOptions(), codecs: codecs)
        var report = ComparisonReport(inputs: inputs)
        var current = inputs[0]
        do throws(WebImageError) {
            var images: [Image] = []
            for input in inputs {
                current = input
                let request = session.request(for: input, size: SizeOptions.Request(), limits: limits)
                images.append(try await session.load(request).image)
            }
            let (first, second) = (images[0], images[1])
            report = try await BlockingWork.run { [inputs] () throws(WebImageError) in
                try ComparisonReport(inputs: inputs, first, second)
            }
            if let output, report.comparison != nil {
                let picture = try await BlockingWork.run { () throws(WebImageError) in
                    try ImageComparison(first, second).differenceImage()
                }
                report.path = try await output.write(picture, bytes: nil, index: 0).path
            }
        } catch {
            report.error = error
        }
        let decoding = DecodingSettings(input: current, limits: limits, codecs: codecs)
        report.print(on: .standard, decoding: decoding, isJSON: isJSON, isQuiet: isQuiet)
        await session.finish()
        if report.error == nil, output != nil, report.comparison == nil {
            Console.standard.complain("there is no image of the differences: the sizes differ")
            return .trouble
        }
        if report.error != nil { return .trouble }
        return report.isEqual ? .success : .failure
    }
}

/// The report of `compare`.
struct ComparisonReport: Sendable {
    let inputs: [ImageInput]
    private(set) var isEqual = false
    private(set) var sizes: [PixelSize] = []
    private(set) var frameCounts: [Int] = []
    /// That of the worst frame; `nil` if the sizes differ.
    private(set) var comparison: ImageComparison?
    private(set) var hashDistance: Int?
    /// The picture of the differences.
    var path: SystemString?
    var error: WebImageError?

    init(inputs: [ImageInput]) { self.inputs = inputs }

    /// Compares two images. Blocks the calling thread.
    init(inputs: [ImageInput], _ first: Image, _ second: Image) throws(WebImageError) {
        self.inputs = inputs
        sizes = [first.pixels.size, second.pixels.size]
        frameCounts = [first, second].map { $0.animation?.frameCount ?? 1 }
        hashDistance = try PerceptualHash(of: first).distance(to: PerceptualHash(of: second))
        guard sizes[0] == sizes[1] else { return }
        var worst = try ImageComparison(first, second)
        var isEqual = worst.isEqual && frameCounts[0] == frameCounts[1]
        if let readers = [first, second].map({ $0.animation?.makeFrameReader() }) as? [any AnimationFrameReader] {
            for index in 1..<max(1, frameCounts.min() ?? 1) {
                let frames = try readers.map { (reader) throws(WebImageError) in
                    Image(pixels: try reader.frame(at: index, cancellation: nil))
                }
                let comparison = try ImageComparison(frames[0], frames[1])
                isEqual = isEqual && comparison.isEqual
                if comparison.peakSignalToNoiseRatio < worst.peakSignalToNoiseRatio { worst = comparison }
            }
        }
        comparison = worst
        self.isEqual = isEqual
    }

    @MainActor
    func print(on console: Console, decoding: DecodingSettings, isJSON: Bool, isQuiet: Bool) {
        if isJSON { console.print(json(decoding)) }
        if let error { return console.complain(error.shellText(of: decoding)) }
        if !isJSON, !isQuiet { for line in lines { console.print(localized(line)) } }
    }

    private var lines: [LocalizableText] {
        func pair<Value: Equatable & CustomStringConvertible>(_ values: [Value]) -> LocalizableText {
            Set(values.map(\.description)).count == 1 ? "\(values[0])" : .allOf(values.map(\.description))
        }
        var lines: [LocalizableText] = [isEqual ? "equal: yes" : "equal: no", "size: \(pair(sizes))"]
        if frameCounts != [1, 1] { lines.append("frames: \(pair(frameCounts))") }
        if let comparison {
            let pixelCount = sizes[0].pixelCount
            let percent = Double(comparison.differingPixelCount) / Double(pixelCount) * 100
            let ratio = comparison.peakSignalToNoiseRatio
            lines += [
                "differing pixels: \(comparison.differingPixelCount) of \(pixelCount) (\(Self.rounded(percent, 2)) %)",
                "largest difference: \(comparison.largestDifference) of 255",
                ratio.isFinite ? "PSNR: \(Self.rounded(ratio, 2)) dB" : "PSNR: infinite",
                "SSIM: \(Self.rounded(comparison.structuralSimilarity, 5))",
            ]
        }
        if let hashDistance { lines.append("hash distance: \(hashDistance) of 64") }
        if let path { lines.append("differences: \(path)") }
        return lines
    }

    private func json(_ decoding: DecodingSettings) -> JSON {
        let size = sizes.first.flatMap { $0 == sizes.last ? $0 : nil }
        let facts: [(String, JSON)] = [
            ("first", .string(inputs[0].reportedName)), ("second", .string(inputs[1].reportedName)),
            ("equal", error == nil ? .bool(isEqual) : .null), ("width", .optional(size?.width)),
            ("height", .optional(size?.height)),
            ("frames", .optional(frameCounts.first.flatMap { $0 == frameCounts.last ? $0 : nil })),
            ("differingPixels", .optional(comparison?.differingPixelCount)),
            ("largestDifference", .optional(comparison?.largestDifference)),
            ("psnr", comparison.map { .precise($0.peakSignalToNoiseRatio) } ?? .null),
            ("ssim", comparison.map { .precise($0.structuralSimilarity) } ?? .null),
            ("hashDistance", .optional(hashDistance)),
        ]
        return JSON(
            facts + JSON.fields(path: path)
                + [("error", error.map { $0.json(of: decoding) } ?? .null)])
    }

    /// A number with that many decimal digits, without zeros at the end.
    private static func rounded(_ value: Double, _ digits: Int) -> String {
        let factor = pow(10, Double(digits))
        return "\((value * factor).rounded() / factor)"
    }
}
