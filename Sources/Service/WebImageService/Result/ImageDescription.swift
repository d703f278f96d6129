internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore
internal import WebImageProcessing

/// The content of a source's description by `/info`, beside its size and format.
struct ImageDescription: Sendable, Hashable {
    var exif = false
    var blurHash = false, thumbHash = false, perceptualHash = false
    /// How many.
    var dominantColors = 0
    /// Anything: it makes another description of the same source.
    var cacheBuster = KeyText("")

    /// Reads an option.
    mutating func read(_ text: Substring, separator: String, _ delivery: inout Delivery) throws(Refusal) {
        let words = text.split(separator: separator, omittingEmptySubsequences: false)
        let arguments = OptionArguments(String(words[0]), words.dropFirst())
        try arguments.checkCount(1...1)
        func flag() throws(Refusal) -> Bool { try arguments.flag(0) ?? false }
        switch arguments.name {
        case "exif": exif = try flag()
        case "blurhash", "bh": blurHash = try flag()
        case "thumbhash", "th": thumbHash = try flag()
        case "phash", "ph": perceptualHash = try flag()
        case "dominant_colors", "dc": dominantColors = try arguments.integer(0, in: 0...16) ?? 0
        case "cachebuster", "cb": cacheBuster = KeyText(arguments.text(0) ?? "")
        case "expires", "exp": delivery.expires = try arguments.integer(0, in: 1...Int(Int32.max) * 1000)
        default: throw .invalid("A description has no option '\(arguments.name)'.")
        }
    }

    private var needsPixels: Bool { blurHash || thumbHash || perceptualHash || dominantColors > 0 }

    private struct Output: Encodable {
        var format, mimeType: String
        var width, height: Int
        var byteCount: Int
        var orientation = 1
        var frameCount: Int
        var hasAlpha: Bool
        var exif: [String: String]?
        var blurHash, thumbHash, perceptualHash: String?
        var dominantColors: [String]?
    }

    /// Returns the description. Blocks the calling thread.
    func json(
        of data: Data, _ info: ImageInfo, _ codecs: CodecRegistry, limits: DecodingLimits, cancellation: Cancellation
    ) throws(WebImageError) -> Data {
        var output = Output(
            format: info.format.name, mimeType: info.format.mimeType, width: info.size.width, height: info.size.height,
            byteCount: data.count, frameCount: info.frameCount, hasAlpha: info.hasAlpha)
        let fields = try codecs.metadata(of: data, limits: limits, cancellation: cancellation).exifFields
        output.orientation = fields?.orientation?.rawValue ?? 1
        if exif { output.exif = fields.map(Self.texts) ?? [:] }
        if needsPixels {
            // Hashes and colors need no more.
            let options = DecodingOptions(
                thumbnail: Thumbnail(.pixels(width: 256, height: 256)), firstFrameOnly: true, allowsDamage: false,
                limits: limits, cancellation: cancellation)
            let image = try codecs.decode(data, options: options)
            if blurHash { output.blurHash = try BlurHash(of: image, cancellation: cancellation).string }
            if thumbHash { output.thumbHash = try ThumbHash(of: image, cancellation: cancellation).base64 }
            if perceptualHash {
                output.perceptualHash = try PerceptualHash(of: image, cancellation: cancellation).description
            }
            if dominantColors > 0 { output.dominantColors = image.palette(count: dominantColors).map(Self.text) }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(output)) ?? Data()
    }

    private static func texts(_ fields: EXIFFields) -> [String: String] {
        let values: [(String, String?)] = [
            ("camera", fields.camera), ("lens", fields.lens), ("date", fields.date?.description),
            ("software", fields.software), ("exposureTime", fields.exposureTime.map { "\($0 / .seconds(1))" }),
            ("aperture", fields.aperture.map { "\($0)" }), ("sensitivity", fields.isoSensitivity.map { "\($0)" }),
            ("focalLength", fields.focalLengthInMillimeters.map { "\($0)" }),
            ("focalLengthOnFilm", fields.focalLengthOnFilmInMillimeters.map { "\($0)" }),
        ]
        return Dictionary(uniqueKeysWithValues: values.compactMap { name, value in value.map { (name, $0) } })
    }

    private static func text(_ color: Color) -> String {
        "#"
            + [color.red, color.green, color.blue].map { value in
                let digits = String(Int((value * 255).rounded()), radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
    }
}
