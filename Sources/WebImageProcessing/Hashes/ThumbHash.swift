internal import FoundationEssentials
public import WebImageCore

/// A picture's placeholder in about 25 bytes: more detail than a ``BlurHash`` of that size, with transparency and, roughly,
/// the picture's proportions.
///
/// ```swift
/// let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
/// let placeholder = try hash.image()
/// ```
///
/// It follows evanw.github.io/thumbhash; hashes can be exchanged with every program that does.
public struct ThumbHash: Sendable, Hashable, CustomStringConvertible {
    /// The hash itself.
    public let bytes: [UInt8]
    private let layout: ThumbHashLayout

    /// Reads a hash written in base64, the usual way to keep one; the alphabet for URLs will do, and the `=` at the end may
    /// be missing.
    ///
    /// - Throws: ``WebImageError/invalidPlaceholderHash(_:reason:)`` for anything but a whole one.
    public init(_ base64: String) throws(WebImageError) {
        do throws(WebImageError.PlaceholderHashFailure) {
            try self.init(checking: Self.bytes(inBase64: base64))
        } catch {
            throw .invalidPlaceholderHash(base64, reason: error)
        }
    }

    /// Reads a hash.
    ///
    /// - Throws: ``WebImageError/invalidPlaceholderHash(_:reason:)`` for anything but a whole one.
    public init(bytes: [UInt8]) throws(WebImageError) {
        do throws(WebImageError.PlaceholderHashFailure) {
            try self.init(checking: bytes)
        } catch {
            throw .invalidPlaceholderHash(Data(bytes.prefix(100)).base64EncodedString(), reason: error)
        }
    }

    private init(checking bytes: [UInt8]) throws(WebImageError.PlaceholderHashFailure) {
        layout = try ThumbHashLayout(of: bytes)
        self.bytes = bytes
    }

    init(bytes: [UInt8], layout: ThumbHashLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    /// The hash in base64.
    public var base64: String { Data(bytes).base64EncodedString() }

    /// Whether the picture has transparent pixels.
    public var hasAlpha: Bool { layout.hasAlpha }

    /// The picture's width divided by its height, to about a seventh: from 1/7 to 7.
    public var aspectRatio: Double { layout.aspectRatio }

    /// The picture's average colour.
    public var averageColor: Color {
        let average = coefficients.average
        return Self.color(luminance: average.luminance, yellow: average.yellow, red: average.red, alpha: average.alpha)
    }

    /// The hash in base64.
    public var description: String { base64 }

    /// Whether both have the same bytes.
    public static func == (first: ThumbHash, second: ThumbHash) -> Bool { first.bytes == second.bytes }
    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    var luminanceWaves: [(x: Int, y: Int)] { layout.luminance.waves }
    var coefficients: ThumbHashCoefficients { ThumbHashCoefficients(bytes, layout: layout) }

    /// The colour of a luminance and its two differences, brought inside 0 to 1.
    static func color(luminance: Double, yellow: Double, red: Double, alpha: Double) -> Color {
        let blue = luminance - yellow * 2 / 3
        let redLight = (3 * luminance - blue + red) / 2
        func inside(_ value: Double) -> Double { max(0, min(1, value)) }
        return Color(
            red: inside(redLight), green: inside(redLight - red), blue: inside(blue), alpha: inside(alpha))
    }

    private static func bytes(inBase64 text: String) throws(WebImageError.PlaceholderHashFailure) -> [UInt8] {
        var standard: [UInt8] = []
        for (offset, byte) in text.utf8.enumerated() {
            guard offset < maximumTextLength else {
                throw .wrongLength(byteCount: text.utf8.count, expected: maximumTextLength)
            }
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                standard.append(byte)
            default: throw .invalidCharacter(offset: offset)
            }
        }
        let digitCount = standard.firstIndex(of: UInt8(ascii: "=")) ?? standard.count
        if standard[digitCount...].contains(where: { $0 != UInt8(ascii: "=") }) || standard.count - digitCount > 2 {
            throw .invalidCharacter(offset: digitCount)
        }
        standard.removeSubrange(digitCount...)
        standard += Array(repeating: UInt8(ascii: "="), count: (4 - digitCount % 4) % 4)
        guard let data = Data(base64Encoded: Data(standard)) else { throw .invalidCharacter(offset: digitCount) }
        return [UInt8](data)
    }

    /// More than any hash has in base64.
    private static let maximumTextLength = 64
}

extension ThumbHash: Codable {
    /// Reads base64.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes base64.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(base64)
    }
}
