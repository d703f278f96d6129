internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage hash`: prints short descriptions of images, and draws them.
struct HashCommand: Command {
    static let name = "hash"
    static let summary: LocalizableText = "Print hashes for placeholders and for finding duplicates"
    static let details = """
        Prints a line for each image with three hashes: phash, 16 hexadecimal digits of which similar images have
        most bits in common; thumbhash, in base64, and blurhash, from which a blurred placeholder can be drawn.
        Of an animation, the first frame counts. With --only a line is the hash, two spaces and the name, as that
        of sha256sum. With --json it is an object: url, phash, thumbhash, blurhash, error.

        --similar prints the names of images that look alike, a group after the other, with an empty line
        between them; with --json, an object for each group: files. Images that are alike through others are in
        one group.

        URLs are loaded and cached as by 'webimage get'. '-' is standard input.
        """

    enum Kind: String, CaseIterable {
        case phash
        case thumbhash
        case blurhash
    }

    /// The work of the command.
    private enum Work {
        /// Prints hashes: all kinds, or one.
        case printing(only: Kind?)
        /// Prints groups of similar images.
        case grouping(distance: Int)
        /// Writes the picture of a hash.
        case drawing(Image, ImageOutput)
    }

    private let work: Work
    let inputs: [ImageInput]
    let inputFailures: [WebImageError]
    let components: (x: Int, y: Int)
    let limits: InputLimits
    let isJSON: Bool
    let codecs: CodecRegistry

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "FILE|URL… | --decode HASH --output FILE", completion: .file)
        let listing = InputOptions(in: parser)
        parser.group = "Hashes"
        let only = parser.option("only", words: Kind.allCases.map(\.rawValue), help: "Print only this hash")
        let components = parser.option(
            "components", value: "XxY", help: "Waves of a BlurHash across and down, 1 to 9; 4x3 by default")
        let similar = parser.option(
            "similar", value: "N", help: "Print groups of images whose phash differs in at most N of 64 bits; try 10")
        let decode = parser.option(
            "decode", value: "HASH", help: "Draw the image of this BlurHash or ThumbHash; needs --output")
        let size = parser.option(
            "size", value: "N|WxH", help: "The size of that image; N is the longer side of a ThumbHash; 32 by default"
        )
        let output = parser.option(
            "output", letter: "o", value: "FILE", completion: .file,
            help: "Write the image of --decode to FILE; - is a PNG on standard output")
        let isolated = parser.isolatedFlag()
        let bounds = InputLimits.Declaration(in: parser)
        parser.group = "Reports"
        let json = parser.flag("json", help: "Print one JSON object per line")
        let operands = try parser.parse(arguments)
        isJSON = json.isSet
        codecs = .forTool(isIsolated: isolated.isSet)
        limits = try bounds.limits(from: parser)
        let kind: Kind? = try parser.choice(only)
        self.components = try Self.components(components, kind: kind, parser)
        let distance = try parser.count(similar, in: 0...64)
        if let text = decode.value {
            if !operands.isEmpty || listing.areGiven || distance != nil || components.value != nil || isJSON {
                throw parser.error("--decode takes no image, only --only, --size and --output")
            }
            guard let path = output.path else { throw parser.error("--decode needs --output") }
            let picture = try Self.picture(of: text, kind: kind, size: size, parser)
            work = .drawing(picture, try Self.output(path, codecs, parser))
            (inputs, inputFailures) = ([], [])
            return
        }
        if size.value != nil || output.path != nil { throw parser.error("--size and --output need --decode") }
        guard !operands.isEmpty || listing.areGiven else { throw parser.error("no file or URL given") }
        (inputs, inputFailures) = try listing.inputs(operands, parser: parser, parser.input)
        try parser.checkStreams(inputs: inputs.map(\.argument), output: nil, printing: [])
        if kind != nil, distance != nil { throw parser.error("--similar and --only cannot be used together") }
        work = distance.map { .grouping(distance: $0) } ?? .printing(only: kind)
    }

    /// Returns the destination of the image of a hash.
    private static func output(
        _ path: SystemString, _ codecs: CodecRegistry, _ parser: OptionParser
    ) throws(ArgumentError) -> ImageOutput {
        try parser.checkStreams(inputs: [], output: path, printing: [])
        var encoding = EncodingRequest()
        encoding.isRequired = true
        encoding.codecs = codecs
        // A pipe has no extension.
        if path == OutputFile.standardOutput { encoding.format = .png }
        return try parser.singleOutput(path: path, inputs: [], encoding: encoding, replaces: true)
    }

    private static func components(
        _ option: OptionParser.Option, kind: Kind?, _ parser: OptionParser
    ) throws(ArgumentError) -> (x: Int, y: Int) {
        guard let text = option.value else { return (4, 3) }
        if let kind, kind != .blurhash { throw parser.error("--components is for a BlurHash") }
        guard let match = text.wholeMatch(of: /([1-9])x([1-9])/), let x = Int(match.1), let y = Int(match.2) else {
            throw parser.error("--components takes numbers from 1 to 9, such as 4x3, not '\(text)'")
        }
        return (x, y)
    }

    /// Draws a hash whose kind is given, or else the one that it is valid for.
    private static func picture(
        of text: String, kind: Kind?, size: OptionParser.Option, _ parser: OptionParser
    ) throws(ArgumentError) -> Image {
        let sides = (size.value ?? "32").split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard sides.count <= 2, sides.allSatisfy({ (1...4_096).contains($0) }) else {
            throw parser.error("--size takes N or WIDTHxHEIGHT in pixels, each at most 4096, not '\(size.value ?? "")'")
        }
        if kind == .phash { throw parser.error("no image can be made of a phash") }
        if kind != .thumbhash, let hash = try? BlurHash(text) {
            return try drawing(parser) { () throws(WebImageError) in
                try hash.image(width: sides[0], height: sides[sides.count - 1])
            }
        }
        if kind == .blurhash { throw parser.error("'\(text)' is no BlurHash") }
        guard let hash = try? ThumbHash(text) else {
            throw parser.error(
                kind == nil ? "'\(text)' is neither a BlurHash nor a ThumbHash" : "'\(text)' is no ThumbHash")
        }
        guard sides.count == 1 else {
            throw parser.error("--size takes the longer side of a ThumbHash, which has its own proportions")
        }
        return try drawing(parser) { () throws(WebImageError) in try hash.image(longestSide: sides[0]) }
    }

    private static func drawing(
        _ parser: OptionParser, _ draw: () throws(WebImageError) -> Image
    ) throws(ArgumentError) -> Image {
        do throws(WebImageError) {
            return try draw()
        } catch {
            throw parser.error(error.shellText())
        }
    }

    func run() async -> ExitStatus {
        if case .drawing(let picture, let output) = work {
            do throws(WebImageError) {
                let file = try await output.write(picture, bytes: nil, index: 0)
                if file.path != OutputFile.standardOutput {
                    Console.standard.print("\(picture.pixels.size), \(ByteCount(file.data.count)) → \(file.path)")
                }
                return .success
            } catch {
                Console.standard.complain(error.shellText())
                return .failure
            }
        }
        let session = LoadingSession(options: SourceOptions(), codecs: codecs)
        var status = ExitStatus.success
        var reports: [Int: HashReport] = [:]
        var next = 0
        let bar = ProgressBar(count: inputs.count, console: .standard, isHidden: inputs.count == 1)
        await runConcurrently(over: inputs.indices, atMost: BlockingWork.processorCount) { [self] index in
            await report(on: inputs[index], session)
        } onResult: { index, report in
            bar.end(index)
            reports[index] = report
            if report.error != nil { status = .failure }
            guard case .printing(let only) = work else {
                if let error = report.error { Console.standard.complain(report.text(of: error)) }
                return
            }
            // In the order of the arguments.
            while let report = reports.removeValue(forKey: next) {
                report.print(on: .standard, only: only, isJSON: isJSON)
                next += 1
            }
        }
        bar.clear()
        if case .grouping(let distance) = work {
            let found = reports.sorted { $0.key < $1.key }.map(\.value).filter { $0.error == nil }
            print(
                HashGroups(of: found.compactMap(\.phash), distance: distance).groups.map { $0.map { found[$0].input } })
        }
        await session.finish()
        return status
    }

    private func print(_ groups: [[ImageInput]]) {
        for (number, group) in groups.enumerated() {
            if isJSON {
                Console.standard.print(["files": .array(group.map { .string($0.reportedName) })] as JSON)
                continue
            }
            if number > 0 { Console.standard.print("") }
            for input in group { Console.standard.print(input.displayName) }
        }
    }

    private nonisolated func report(on input: ImageInput, _ session: LoadingSession) async -> HashReport {
        var report = HashReport(decoding: DecodingSettings(input: input, limits: limits, codecs: codecs))
        do throws(WebImageError) {
            // Hashes are made of fewer pixels than that.
            let size = SizeOptions.Request(thumbnail: Thumbnail(.pixels(width: 512, height: 512)))
            let image = try await session.load(session.request(for: input, size: size, limits: limits)).image
            let components = components
            (report.phash, report.thumbhash, report.blurhash) = try await BlockingWork.run {
                () throws(WebImageError) in
                (
                    try PerceptualHash(of: image), try ThumbHash(of: image).base64,
                    try BlurHash(of: image, components: components).string
                )
            }
        } catch {
            report.error = error
        }
        return report
    }
}

/// The report of `hash` about one image.
struct HashReport: Sendable {
    let decoding: DecodingSettings
    var phash: PerceptualHash?
    var thumbhash: String?
    var blurhash: String?
    var error: WebImageError?

    init(decoding: DecodingSettings) { self.decoding = decoding }

    var input: ImageInput { decoding.input }

    func text(of error: WebImageError) -> LocalizableText { error.shellText(of: decoding) }

    @MainActor
    func print(on console: Console, only: HashCommand.Kind?, isJSON: Bool) {
        if isJSON { console.print(json(only: only)) }
        if let error { return console.complain(text(of: error)) }
        guard !isJSON, let phash, let thumbhash, let blurhash else { return }
        switch only {
        case .phash: console.print("\(phash)  \(input.displayName)")
        case .thumbhash: console.print("\(thumbhash)  \(input.displayName)")
        case .blurhash: console.print("\(blurhash)  \(input.displayName)")
        case nil: console.print("\(input.displayName): phash \(phash) thumbhash \(thumbhash) blurhash \(blurhash)")
        }
    }

    private func json(only: HashCommand.Kind?) -> JSON {
        let hashes: [(HashCommand.Kind, String?)] = [
            (.phash, phash?.description), (.thumbhash, thumbhash), (.blurhash, blurhash),
        ]
        return JSON(
            [("url", .string(input.reportedName))]
                + hashes.filter { only == nil || only == $0.0 }.map { ($0.0.rawValue, .optional($0.1)) }
                + [("error", error.map { $0.json(of: decoding) } ?? .null)])
    }
}

/// Images whose hashes are close to each other.
struct HashGroups {
    /// The indices of groups with at least two members, in order.
    let groups: [[Int]]

    init(of hashes: [PerceptualHash], distance: Int) {
        var parents = Array(hashes.indices)
        func root(_ index: Int) -> Int {
            var index = index
            while parents[index] != index {
                parents[index] = parents[parents[index]]
                index = parents[index]
            }
            return index
        }
        for second in hashes.indices {
            for first in 0..<second where hashes[first].distance(to: hashes[second]) <= distance {
                let (a, b) = (root(first), root(second))
                // The first member leads, so that groups are in order.
                parents[max(a, b)] = min(a, b)
            }
        }
        groups = Dictionary(grouping: hashes.indices, by: root).sorted { $0.key < $1.key }.map(\.value)
            .filter { $0.count > 1 }
    }
}
