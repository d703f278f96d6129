internal import WebImage

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
        if let error { console.complain(error.description(about: url)) }
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
            ("path", .optional(path)), ("error", error.map(\.json) ?? .null),
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
