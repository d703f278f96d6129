internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage

/// `webimage info`: prints the properties of files.
struct InfoCommand: Command {
    static let name = "info"
    static let summary: LocalizableText = "Describe images"
    static let details = """
        Prints a line for each image, in the order of the arguments. With --json the line is an object: url,
        format, type (MIME), width, height (upright, in pixels), pages (images in an icon or TIFF), frames,
        loopCount (0 is forever, null is not animated), durations (milliseconds), bitDepth (of a channel), hdr,
        gainMap, alpha, orientation (EXIF, 1 to 8), colorProfile, colorProfileName (null without a name), exif (null,
        or camera, lens, date, zone such as +02:00, exposureTime in seconds, aperture, iso, focalLength and
        focalLengthOnFilm in millimeters, software, latitude and longitude in degrees, altitude in meters), bytes,
        error (null, or code and message).

        --csv prints the same as a table (RFC 4180) with a line of names: file, format, type, width, height and so
        on to colorProfile (its name), bytes, error (its message), without durations and exif. It is for spreadsheets.

        --explain prints which process read each file, and what its sandbox keeps out; with --json this is in
        isolation: isolated (whether it was another process), program, problem (why there is none), layers,
        missing (layer and reason).

        URLs are loaded and cached as by 'webimage get'. Files are not decoded. '-' is standard input. With
        --quiet only the exit status tells whether all are images.
        """

    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let isJSON: Bool
    /// Whether to print a table for spreadsheets.
    let isCSV: Bool
    let isQuiet: Bool
    let explains: Bool
    let source: SourceOptions
    let limits: InputLimits
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "FILE|URL…", completion: .file)
        let listing = InputOptions(in: parser)
        let source = SourceOptions.Declaration(in: parser)
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser, limitsPixels: false)
        parser.group = "Reports"
        let explain = parser.flag("explain", help: "Explain which process read the files, and in what sandbox")
        let reports = ReportOptions(in: parser)
        let csv = parser.flag("csv", help: "Print a table of comma-separated values")
        let operands = try parser.parse(arguments)
        guard !operands.isEmpty || listing.areGiven else { throw parser.error("no file or URL given") }
        (isJSON, isQuiet) = try reports.values(from: parser)
        explains = explain.isSet
        if isQuiet, explains { throw parser.error("--quiet and --explain cannot be used together") }
        isCSV = csv.isSet
        if isCSV, isJSON || isQuiet || explains {
            throw parser.error("--csv cannot be used with --json, --quiet or --explain")
        }
        (inputs, inputFailures) = try listing.inputs(operands, parser: parser, parser.input)
        try parser.checkStreams(inputs: inputs.map(\.argument), output: nil, printing: [])
        self.source = try source.options(from: parser)
        limits = try bounds.limits(from: parser)
        codecs = .forTool(isIsolated: isolated.isSet)
    }

    func run() async -> ExitStatus {
        let session = LoadingSession(options: source, codecs: codecs)
        var status = ExitStatus.success
        if isCSV { Console.standard.print(CSV.line(InfoReport.columns)) }
        for input in inputs {
            var report = InfoReport(input: input)
            var isIsolated: Bool?
            do throws(WebImageError) {
                let data = try await bytes(of: input, session: session)
                report.byteCount = data.count
                let limits = limits.limits(for: input)
                // Only JSON has EXIF, for which a decoder process gets another request.
                let properties =
                    isJSON
                    ? try codecs.properties(of: data, limits: limits)
                    : ImageProperties(info: try codecs.info(of: data, limits: limits), byteCount: data.count)
                report.properties = properties
                isIsolated = codecs.isIsolated(properties.info.format)
            } catch {
                report.error = error
                status = .failure
            }
            if explains { report.isolation = IsolationReport(isIsolated: isIsolated) }
            report.print(on: .standard, isJSON: isJSON, isCSV: isCSV, isQuiet: isQuiet)
        }
        if explains, !isJSON {
            for line in IsolationReport(isIsolated: nil).statusLines { Console.standard.print(line) }
        }
        await session.finish()
        return status
    }

    private func bytes(of input: ImageInput, session: LoadingSession) async throws(WebImageError) -> Data {
        if input.isStandardInput { return try await StandardInput.bytes() }
        if input.isFile { return try await FileLoader.chosenFiles.bytes(at: input.url) }
        let request = session.request(for: input)
        let response = try await session.load(request)
        return try await session.bytes(of: response, for: request, areNeeded: true) ?? Data()
    }
}

/// The report of `info` about one image.
struct InfoReport {
    let input: ImageInput
    var properties: ImageProperties?
    /// Also of bytes that are no image.
    var byteCount: Int?
    var error: WebImageError?
    /// How the file was read, if it is to be printed.
    var isolation: IsolationReport?

    init(input: ImageInput) { self.input = input }

    private var info: ImageInfo? { properties?.info }

    @MainActor
    func print(on console: Console, isJSON: Bool, isCSV: Bool, isQuiet: Bool) {
        if isJSON { console.print(json) }
        if isCSV { console.print(CSV.line(values)) }
        if let error {
            console.complain(error.shellText(about: input.argument.description))
        } else if let info, !isJSON, !isCSV, !isQuiet {
            console.print("\(input.displayName): " + localized(.joined(facts(of: info), by: ", ")))
            if let line = isolation?.line { console.print("  " + localized(line)) }
        }
    }

    private func facts(of info: ImageInfo) -> [LocalizableText] {
        var facts: [LocalizableText] = ["\(info.format.name)", "\(info.size)"]
        if info.frameCount > 1 { facts.append(frames(info.frameDurations, count: info.frameCount)) }
        if let loopCount = info.loopCount {
            facts.append(
                loopCount == 0
                    ? "plays forever" : .counted("plays once", "plays \(loopCount) times", loopCount))
        }
        if info.pageCount > 1 { facts.append("the largest of \(info.pageCount) images") }
        if info.bitDepth != 8 { facts.append("\(info.bitDepth) bits a channel") }
        if info.isHDR { facts.append("HDR") }
        if info.hasGainMap { facts.append("gain map") }
        if info.hasAlpha { facts.append("alpha") }
        if info.orientation != .up { facts.append("orientation \(info.orientation.rawValue)") }
        if info.hasColorProfile {
            facts.append(info.colorProfileName.map { "color profile \($0)" } ?? "color profile")
        }
        if let byteCount { facts.append("\(ByteCount(byteCount))") }
        return facts
    }

    /// Returns the number of frames, and the duration of each if all are equal, otherwise the shortest, the longest and the sum.
    private func frames(_ durations: [Duration], count: Int) -> LocalizableText {
        func seconds(_ duration: Duration) -> String { "\(duration.milliseconds.rounded() / 1000) s" }
        guard let shortest = durations.min().map(seconds), let longest = durations.max().map(seconds) else {
            return "\(count) frames"
        }
        let sum = seconds(durations.reduce(.zero, +))
        return shortest == longest
            ? "\(count) frames of \(shortest), \(sum) in total"
            : "\(count) frames of \(shortest) to \(longest), \(sum) in total"
    }

    /// The names of ``values``.
    static let columns = [
        "file", "format", "type", "width", "height", "pages", "frames", "loopCount", "bitDepth", "hdr", "gainMap",
        "alpha", "orientation", "colorProfile", "bytes", "error",
    ]

    private var values: [String] {
        func text(_ value: (some CustomStringConvertible)?) -> String { value?.description ?? "" }
        return [
            input.reportedName, text(info?.format.name), text(info?.format.mimeType), text(info?.size.width),
            text(info?.size.height), text(info?.pageCount), text(info?.frameCount), text(info?.loopCount),
            text(info?.bitDepth), text(info?.isHDR), text(info?.hasGainMap), text(info?.hasAlpha),
            text(info?.orientation.rawValue),
            info.map { $0.colorProfileName ?? ($0.hasColorProfile ? "unnamed" : "") } ?? "",
            text(byteCount), text(error?.shellDescription(about: input.argument.description)),
        ]
    }

    private var json: JSON {
        var fields: [(String, JSON)] = [
            ("url", .string(input.reportedName)), ("format", .optional(info?.format.name)),
            ("type", .optional(info?.format.mimeType)), ("width", .optional(info?.size.width)),
            ("height", .optional(info?.size.height)), ("pages", .optional(info?.pageCount)),
            ("frames", .optional(info?.frameCount)), ("loopCount", .optional(info?.loopCount)),
            ("durations", info.map { .array($0.frameDurations.map { .decimal($0.milliseconds) }) } ?? .null),
            ("bitDepth", .optional(info?.bitDepth)), ("hdr", info.map { .bool($0.isHDR) } ?? .null),
            ("gainMap", info.map { .bool($0.hasGainMap) } ?? .null),
            ("alpha", info.map { .bool($0.hasAlpha) } ?? .null), ("orientation", .optional(info?.orientation.rawValue)),
            ("colorProfile", info.map { .bool($0.hasColorProfile) } ?? .null),
            ("colorProfileName", .optional(info?.colorProfileName)), ("exif", properties?.exif?.json ?? .null),
            ("bytes", .optional(byteCount)),
            ("error", error.map { $0.json(about: input.argument.description) } ?? .null),
        ]
        if let isolation { fields += [("isolation", isolation.json)] }
        return JSON(fields)
    }
}

extension EXIFFields {
    fileprivate var json: JSON {
        func number(_ value: Double?) -> JSON { value.map(JSON.precise) ?? .null }
        return [
            "camera": .optional(camera), "lens": .optional(lens), "date": .optional(date?.description),
            "zone": .optional(date?.zone), "exposureTime": number(exposureTime.map { $0 / .seconds(1) }),
            "aperture": number(aperture), "iso": .optional(isoSensitivity),
            "focalLength": number(focalLengthInMillimeters),
            "focalLengthOnFilm": .optional(focalLengthOnFilmInMillimeters), "software": .optional(software),
            "latitude": number(coordinates?.latitude), "longitude": number(coordinates?.longitude),
            "altitude": number(coordinates?.altitudeInMeters),
        ]
    }
}

extension EXIFFields.DateTime {
    /// Such as `+02:00`.
    fileprivate var zone: String? {
        utcOffset.map { offset in
            let minutes = abs(Int(offset.components.seconds)) / 60
            func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return (offset < .zero ? "-" : "+") + digits(minutes / 60) + ":" + digits(minutes % 60)
        }
    }
}
