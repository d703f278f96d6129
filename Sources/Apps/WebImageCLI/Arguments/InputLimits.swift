internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// The limits of a command on images.
///
/// Servers choose what a URL brings, so pixels are limited. Users choose files, whose pixels are not limited without the
/// option, only the memory of decoding.
struct InputLimits: Sendable {
    /// The declaration in a parser.
    struct Declaration {
        /// `nil` for a command that decodes no pixels, or only as many as it needs.
        private let pixels: OptionParser.Option?
        private let time: OptionParser.Option
        /// Where pixels are decoded.
        private let damage: OptionParser.Flag?

        /// - Parameter takesDamaged: whether there is an option for damaged images, where pixels are decoded.
        init(in parser: OptionParser, limitsPixels: Bool = true, takesDamaged: Bool = true) {
            parser.group = "Safety"
            pixels =
                limitsPixels
                ? parser.option(
                    InputLimits.optionName, value: "N",
                    help:
                        "Refuse more pixels than N (such as 250M); 100M by default for URLs, and for files what 1 GiB of memory can decode"
                ) : nil
            time = parser.option(
                InputLimits.timeOptionName, value: "SECONDS",
                help: "The processor time for reading an image; 60 by default for files, 10 for URLs")
            damage =
                limitsPixels && takesDamaged
                ? parser.flag(
                    InputLimits.damageOptionName,
                    help: "Take what there is of incomplete and damaged images, with a warning; the rest is transparent"
                )
                : nil
        }

        func limits(from parser: OptionParser) throws(ArgumentError) -> InputLimits {
            var limits = InputLimits()
            limits.damage = damage.map { $0.isSet ? .allowed : .refused } ?? .notDecoded
            limits.processorTime = try parser.seconds(time, atMost: 300)
            guard let text = pixels?.value else { return limits }
            guard let count = PixelCount(text), (1...PixelCount.largest).contains(count.value) else {
                throw parser.error(
                    "--\(InputLimits.optionName) takes a number of pixels such as 250M, at most 4G, not '\(text)'")
            }
            limits.count = count.value
            return limits
        }
    }

    /// The treatment of damaged images.
    enum Damage: Sendable {
        /// The command has no option for them.
        case notDecoded
        case refused, allowed
    }

    static let damageOptionName = "allow-damage"
    static let optionName = "max-pixels"
    static let timeOptionName = "max-decode-time"

    /// The value of the option for pixels.
    var count: Int?
    /// The value of the option for time.
    var processorTime: Duration?
    var damage = Damage.notDecoded

    /// Decoding, color conversion and rotation take 4 bytes a pixel each, and the format's decoder some more.
    private static let bytesPerPixel = 12
    private static let processorTimeForFiles = Duration.seconds(60)
    private static let workingByteCount = DecodingLimits.default.memoryByteCount / 8

    /// The value of the option that allows decoding to take so much memory.
    static func count(forMemory byteCount: Int) -> Int {
        let rest = max(byteCount, workingByteCount) - workingByteCount
        return rest / bytesPerPixel + (rest % bytesPerPixel > 0 ? 1 : 0)
    }

    /// Returns the limits for an input.
    func limits(for input: ImageInput) -> DecodingLimits {
        var limits = DecodingLimits.default
        if let count {
            limits.pixelCount = count
            limits.memoryByteCount = max(limits.memoryByteCount, count * Self.bytesPerPixel + Self.workingByteCount)
            limits.animationByteCount = max(limits.animationByteCount, count * 4)
        } else if input.isFile || input.isStandardInput {
            limits.pixelCount = PixelCount.largest
        }
        if let processorTime {
            limits.processorTime = processorTime
        } else if input.isFile || input.isStandardInput {
            limits.processorTime = Self.processorTimeForFiles
        }
        return limits
    }
}

/// A number of pixels in readable form: `240 million`, `12.5 million`, `20,000`.
struct PixelCount {
    let value: Int

    /// That of an image with the longest sides.
    static let largest = PixelSize.maximumDimension * PixelSize.maximumDimension

    init(_ value: Int) { self.value = value }

    /// Parses `250000000`, `250M`, `1.5G` or `900K`; the units are decimal.
    init?(_ text: String) {
        let units: [Character: Double] = ["K": 1e3, "M": 1e6, "G": 1e9]
        let unit = text.uppercased().last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits),
            number * (unit ?? 1) < 1e15
        else { return nil }
        value = Int((number * (unit ?? 1)).rounded())
    }

    var text: LocalizableText {
        guard value >= 1_000_000 else { return "\(Self.grouped(value))" }
        let tenths = Int((Double(value) / 1e5).rounded())
        let number = Self.grouped(tenths / 10) + (tenths % 10 == 0 ? "" : ".\(tenths % 10)")
        return .counted("\(number) million", "\(number) million", tenths == 10 ? 1 : 2)
    }

    /// The value of an option that allows so many: `250M`.
    var sufficientLimit: String {
        guard value > 1_000_000 else { return "\(value)" }
        let step = value > 50_000_000 ? 50 : 1
        let millions = value / 1_000_000 + (value % 1_000_000 > 0 ? 1 : 0)
        return "\((millions + step - 1) / step * step)M"
    }

    /// For example `20,000`.
    static func grouped(_ number: Int) -> String {
        var (text, digits) = ("", String(number))
        while digits.count > 3 {
            text = "," + digits.suffix(3) + text
            digits.removeLast(3)
        }
        return digits + text
    }
}
