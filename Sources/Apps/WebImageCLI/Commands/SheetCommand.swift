internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage sheet`: makes a contact sheet of many images.
struct SheetCommand: Command {
    static let name = "sheet"
    static let summary: LocalizableText = "Make a contact sheet of images with their names"
    static let details = """
        Draws the images in rows, in the order of the arguments and of the names in folders, each in a cell of
        --size with its name below. With --mode fill the images fill their cells. Of an animation, the first frame
        is drawn. An image that cannot be read leaves its cell empty; the exit status is then 1.

        Names are drawn by 'webimage-decoder', in the system's font for sans-serif. Without that program the sheet
        has no names, and there is a warning.

        --json prints an object: path, format, width, height, images (how many are drawn), bytes, error.
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let output: ImageOutput
    let layout: SheetLayout
    let size: SizeOptions.Request
    let limits: InputLimits
    let color: Color
    let isJSON: Bool
    let isQuiet: Bool
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "IN… OUT | IN… --output OUT", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Output"
        let target = SingleOutputOptions(in: parser, ofSeveral: "images")
        parser.group = "Layout"
        let columns = parser.option(
            "columns", value: "N", help: "Images in a row; by default so many that the sheet is some 4:3")
        let gap = parser.option("gap", value: "N", help: "Pixels between cells and at the edges; 16 by default")
        let paper = parser.option(
            "sheet-color", value: "#rrggbb[aa]", help: "Color behind the images; white by default")
        let noNames = parser.flag("no-names", help: "Draw no names")
        parser.group = "Pixels"
        let sizing = SizeOptions(in: parser)
        let encoding = EncodingRequest.Declaration(in: parser, canBeProgressive: true)
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let reports = ReportOptions(in: parser, jsonHelp: "Print a JSON object")
        let operands = try parser.parse(arguments)
        let (inputs, failures, path) = try target.filesAndPath(operands, listing: listing, from: parser)
        (self.inputs, inputFailures) = (inputs, failures)
        (isJSON, isQuiet) = try reports.values(from: parser)
        try parser.checkStreams(inputs: [], output: path, printing: [("json", isJSON)])
        let box = PixelSize(width: 240, height: 180)
        size = try sizing.request(from: parser, defaultBox: box)
        let cell = try sizing.cell(from: parser) ?? box
        layout = SheetLayout(
            count: inputs.count, cell: cell,
            columns: try parser.count(columns, in: 1...1_000),
            gap: try parser.count(gap, in: 0...1_000) ?? 16, hasNames: !noNames.isSet)
        try Self.check(layout.size, parser)
        color = try parser.color(paper, mayHaveAlpha: true) ?? .white
        limits = try bounds.limits(from: parser)
        codecs = .forTool(isIsolated: isolated.isSet)
        var request = try encoding.request(from: parser, isResized: false)
        if request.frameNumber != nil || request.splitsFrames || request.loopCount != nil {
            throw parser.error("a sheet is no animation")
        }
        if request.metadata == .all { throw parser.error("a sheet keeps no metadata of its images") }
        request.isRequired = true
        request.codecs = codecs
        output = try target.output(path: path, inputs: inputs, encoding: request, from: parser)
    }

    /// Throws if programs could not read a sheet of this size.
    private static func check(_ size: PixelSize, _ parser: OptionParser) throws(ArgumentError) {
        let limit = DecodingLimits.default.pixelCount
        guard size.pixelCount <= limit, max(size.width, size.height) <= 65_535 else {
            throw parser.error(
                "the sheet would be \(size), more than \(PixelCount(limit).text) pixels; use a smaller --size")
        }
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: .withoutCache, codecs: codecs)
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: isQuiet)
        var (count, namesFailure) = (0, WebImageError?.none)
        var failure: WebImageError?
        let console = Console.standard
        do throws(WebImageError) {
            try output.checkFile(index: 0)
            var sheet = try Sheet(layout: layout, color: color)
            let labels = SheetLabels(of: layout, on: color, codecs: codecs)
            await runConcurrently(over: inputs.indices, atMost: BlockingWork.processorCount) { [self] index in
                await cell(of: inputs[index], labels: labels, session)
            } onResult: { index, cell in
                bar.end(index)
                if let error = cell.error {
                    let decoding = DecodingSettings(input: inputs[index], limits: limits, codecs: codecs)
                    console.complain(error.shellText(of: decoding))
                }
                namesFailure = namesFailure ?? cell.labelError
                if let image = cell.image { count += 1; sheet.draw(image, at: index) }
                if let label = cell.label { sheet.draw(label: label, at: index) }
            }
            bar.clear()
            let file = try await output.write(Image(pixels: try sheet.finished()), bytes: nil, index: 0)
            if isJSON {
                console.print(json(file, count: count))
            } else if !isQuiet, file.path != OutputFile.standardOutput {
                let facts = "\(layout.size), \(ByteCount(file.data.count)) → \(file.path)"
                console.print(localized(.counted("\(count) image: \(facts)", "\(count) images: \(facts)", count)))
            }
        } catch {
            bar.clear()
            failure = error
            console.complain(error.shellText())
        }
        if let namesFailure, !isQuiet {
            console.complain("warning: names are not drawn: \(namesFailure.shellText())")
        }
        return failure == nil && count == inputs.count ? .success : .failure
    }

    private func json(_ file: ImageOutput.WrittenFile, count: Int) -> JSON {
        JSON(
            JSON.fields(path: file.path) + [
                ("format", .optional(output.format?.name)), ("width", .integer(layout.size.width)),
                ("height", .integer(layout.size.height)), ("images", .integer(count)),
                ("bytes", .integer(file.data.count)), ("error", .null),
            ])
    }

    /// The content of a cell.
    private struct Cell: Sendable {
        var image: PixelBuffer?
        var label: PixelBuffer?
        var error: WebImageError?
        var labelError: WebImageError?
    }

    private nonisolated func cell(of input: ImageInput, labels: SheetLabels?, _ session: LoadingSession) async -> Cell {
        var cell = Cell()
        do throws(WebImageError) {
            var request = session.request(for: input, size: size, limits: limits)
            request.options.insert(.firstFrameOnly)
            cell.image = try await session.load(request).image.pixels
        } catch {
            cell.error = error
        }
        if let labels {
            let name = input.path.map { OutputNames.lastComponent(of: $0) } ?? input.displayName
            do throws(WebImageError) {
                cell.label = try await BlockingWork.run { () throws(WebImageError) in try labels.label(name) }
            } catch {
                cell.labelError = error
            }
        }
        return cell
    }
}
