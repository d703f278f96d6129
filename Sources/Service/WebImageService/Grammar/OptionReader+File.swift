internal import FoundationEssentials
internal import WebImageCore

extension OptionReader {
    /// The options for the file, and how it is sent.
    static let fileOptions: [([String], Option)] = [
        (
            ["preset", "pr"],
            { reader, arguments throws(Refusal) in
                try reader.apply(presets: (0..<arguments.count).compactMap { arguments.text($0).map { $0[...] } })
            }
        ),
        (["quality", "q"], integer(\.quality, 0...100)),
        (
            ["format_quality", "fq"],
            { reader, arguments throws(Refusal) in
                guard arguments.count > 0, arguments.count.isMultiple(of: 2) else { throw arguments.invalid(0) }
                for index in stride(from: 0, to: arguments.count, by: 2) {
                    guard let name = arguments.text(index), let format = OutputFormats.named(name),
                        let quality = try arguments.integer(index + 1, in: 0...100)
                    else { throw arguments.invalid(index) }
                    // 0 is the quality of the service.
                    reader.recipe.formatQualities[format.name] = quality == 0 ? nil : quality
                }
            }
        ),
        (
            ["autoquality", "aq"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...5)
                switch arguments.text(0) {
                case "none": reader.recipe.qualityBound = nil
                case nil where arguments.count == 1: break
                // The only method, so it need not be named.
                case "dssim", nil:
                    var bound = reader.recipe.qualityBound ?? reader.qualityBound
                    bound.dissimilarity = try arguments.number(1, in: 0...1) ?? bound.dissimilarity
                    let lowest = try arguments.integer(2, in: 1...100) ?? bound.qualities.lowerBound
                    let highest = try arguments.integer(3, in: 1...100) ?? max(lowest, bound.qualities.upperBound)
                    guard lowest <= highest else { throw arguments.invalid(3) }
                    bound.qualities = lowest...highest
                    if arguments.text(2) != nil || arguments.text(3) != nil { bound.formatQualities = [:] }
                    bound.allowedError = try arguments.number(4, in: 0...1) ?? bound.allowedError
                    reader.recipe.qualityBound = bound
                default: throw arguments.invalid(0)
                }
            }
        ),
        (["max_bytes", "mb"], integer(\.byteLimit, 0...1 << 30)),
        (
            ["format", "f", "ext"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                if let name = arguments.text(0) { try reader.setOutput(named: name) }
            }
        ),
        (
            ["skip_processing", "skp", "skip"],
            { reader, arguments throws(Refusal) in
                for index in 0..<arguments.count {
                    guard let name = arguments.text(index) else { continue }
                    guard let format = OutputFormats.named(name) ?? OutputFormats.sourceOnly[name] else {
                        throw arguments.invalid(index)
                    }
                    reader.recipe.skippedFormats.insert(format.name)
                }
            }
        ),
        (["raw"], flag(\.isRaw)),
        (["strip_metadata", "sm"], flag(\.stripsMetadata)),
        (["keep_copyright", "kcr"], flag(\.keepsCopyright)),
        (["strip_color_profile", "scp"], flag(\.stripsProfile)),
        (["gain_map", "gm"], flag(\.keepsGainMap)),
        (
            ["preserve_hdr", "ph"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                guard try arguments.flag(0) != true else {
                    throw .invalid(
                        "Results have 8 bits for each component; gain maps of HDR photographs are kept without 'preserve_hdr'."
                    )
                }
            }
        ),
        (
            ["cachebuster", "cb"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                reader.recipe.cacheBuster = arguments.text(0) ?? ""
            }
        ),
        (
            ["expires", "exp"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                if let time = try arguments.integer(0, in: 0...Int(Int32.max) * 1000) {
                    reader.delivery.expires = time == 0 ? nil : time
                }
            }
        ),
        (
            ["filename", "fn"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...2)
                guard let text = arguments.text(0) else { return }
                let bytes = try arguments.flag(1) ?? false ? Base64.bytes(in: text) : SourceText.unescaped(text[...])
                guard let bytes, let name = String(validating: bytes, as: UTF8.self) else { throw arguments.invalid(0) }
                reader.delivery.fileName = name
            }
        ),
        (
            ["return_attachment", "att"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                if let isAttachment = try arguments.flag(0) { reader.delivery.isAttachment = isAttachment }
            }
        ),
    ]

    /// Sets the format that an option or an extension names.
    mutating func setOutput(named name: String) throws(Refusal) {
        if name == "best" {
            recipe.output = .best
        } else {
            guard let format = OutputFormats.named(name) else {
                throw .invalid("The format '\(name)' cannot be written.")
            }
            recipe.output = .format(format)
        }
    }
}
