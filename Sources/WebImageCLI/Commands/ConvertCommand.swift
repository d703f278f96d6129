internal import FoundationEssentials
internal import WebImage

/// `webimage convert`: one file into another, in another size, format or quality.
struct ConvertCommand: Command {
    static let name = "convert"
    static let summary = "Write a picture in another size, format or quality"

    let input: ImageInput
    let outputPath: String
    let isJSON: Bool
    let thumbnail: Thumbnail?
    let encoding: EncodingRequest

    init(_ arguments: [String]) throws(ArgumentError) {
        let parser = OptionParser(
            command: "webimage convert", summary: Self.summary + ".", operands: "IN OUT",
            details: """
                OUT's extension tells the format unless --format does. OUT appears whole or not at all, and may be IN.
                With --json an object: path, format, width, height, bytes, milliseconds, error (null, or code and
                message).
                """)
        let size = parser.option("size", value: "WxH", help: "Scale to this size in pixels, never larger than it is")
        let mode = parser.option("mode", value: "fit|fill|stretch", help: "How it meets the size; fit unless given")
        let format = parser.option("format", value: "NAME", help: "Write \(ImageFormat.writableNames)")
        let quality = parser.option("quality", value: "0…100", help: "For lossy formats; 85 unless given")
        let json = parser.flag("json", help: "Print a JSON object")

        let operands = try parser.parse(arguments)
        guard operands.count == 2 else { throw parser.error("it takes two files, IN and OUT") }
        guard let input = try? ImageInput(operands[0]), input.isFile else {
            throw parser.error("\(operands[0]) is no file; 'webimage get URL --output FILE' converts what it loads")
        }
        self.input = input
        outputPath = operands[1]
        isJSON = json.isSet
        thumbnail = try parser.thumbnail(size: size, mode: mode)
        guard let format = try parser.writableFormat(format) ?? ImageFormat(fileName: outputPath) else {
            throw parser.error("'\(outputPath)' does not tell the format; use --format \(ImageFormat.writableNames)")
        }
        guard ImageFormat.writable.contains(format) else {
            throw parser.error("\(format) can't be written, only \(ImageFormat.writableNames)")
        }
        encoding = EncodingRequest(format: format, quality: try parser.quality(quality))
        if encoding.quality != nil, format == .png {
            throw parser.error("--quality is for lossy formats; PNG loses nothing")
        }
    }

    func run() async -> ExitStatus {
        let start = ContinuousClock.now
        var image: Image?
        var byteCount: Int?
        var failure: WebImageError?
        do throws(WebImageError) {
            let session = LoadingSession(options: .withoutCache)
            let decoded = try await session.load(session.request(for: input, thumbnail: thumbnail)).image
            image = decoded
            byteCount = try await BlockingWork.run { [encoding, outputPath] () throws(WebImageError) -> Int in
                let data = try encoding.encode(decoded)
                try OutputFile.write(data, to: outputPath)
                return data.count
            }
        } catch {
            failure = error
            Console.standard.complain(error.description(about: input.text))
        }
        if isJSON {
            let json: JSON = [
                "path": failure == nil ? .string(outputPath) : .null, "format": .optional(encoding.format?.name),
                "width": .optional(image?.width), "height": .optional(image?.height), "bytes": .optional(byteCount),
                "milliseconds": .decimal((ContinuousClock.now - start).milliseconds),
                "error": failure.map(\.json) ?? .null,
            ]
            Console.standard.print(json.text)
        }
        return failure == nil ? .success : .failure
    }
}
