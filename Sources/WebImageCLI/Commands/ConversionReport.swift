internal import WebImage

/// The report of `convert` about one image.
struct ConversionReport: Sendable {
    /// The text on the command line.
    let input: String
    /// The format on the command line, if any.
    let format: ImageFormat?
    /// The properties of the written image.
    var info: ImageInfo?
    var byteCount: Int?
    var path: String?
    var duration = Duration.zero
    var error: WebImageError?

    init(input: String, format: ImageFormat?) {
        self.input = input
        self.format = format
    }

    @MainActor
    func print(on console: Console, isJSON: Bool, printsLine: Bool) {
        if isJSON { console.print(json.text) }
        if let error { console.complain(error.description(about: input)) }
        if error == nil, printsLine { console.print(line) }
    }

    private var line: String {
        let facts = [
            info?.format.name, info?.size.description, byteCount.map { ByteCount($0).description },
            "\(Int(duration.milliseconds.rounded())) ms",
        ]
        return ImageInput.displayName(of: input) + ": " + facts.compactMap(\.self).joined(separator: ", ")
            + (path.map { " → \($0)" } ?? "")
    }

    private var json: JSON {
        [
            "input": .string(input), "path": .optional(path), "format": .optional((info?.format ?? format)?.name),
            "width": .optional(info?.size.width), "height": .optional(info?.size.height),
            "frames": .optional(info?.frameCount), "bytes": .optional(byteCount),
            "milliseconds": .decimal(duration.milliseconds), "error": error.map(\.json) ?? .null,
        ]
    }
}
