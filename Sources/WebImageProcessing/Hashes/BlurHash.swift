public import WebImageCore

/// A picture's placeholder in about 30 characters: a few waves of colour, to be shown until the picture is there.
///
/// ```swift
/// let hash = try BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj")
/// let placeholder = try hash.image(width: 32, height: 32)
/// ```
///
/// It follows the public description at github.com/woltapp/blurhash (Algorithm.md); hashes can be exchanged with every
/// program that does.
public struct BlurHash: Sendable, Hashable, CustomStringConvertible {
    /// The characters: digits to base 83, all of them ASCII.
    public let string: String
    /// How many waves there are across and down, 1 to 9 each.
    public let components: (x: Int, y: Int)
    /// The digits' values.
    private let digits: Base83Digits

    /// Reads a hash.
    ///
    /// - Throws: ``WebImageError/invalidPlaceholderHash(_:reason:)`` for anything but a whole one.
    public init(_ string: String) throws(WebImageError) {
        do throws(WebImageError.PlaceholderHashFailure) {
            let digits = try Base83Digits(string)
            components = try Self.components(of: digits)
            self.digits = digits
        } catch {
            throw .invalidPlaceholderHash(string, reason: error)
        }
        self.string = string
    }

    init(components: (x: Int, y: Int), digits: Base83Digits) {
        string = digits.string
        self.components = components
        self.digits = digits
    }

    /// The picture's average colour, opaque; it stands in the hash as it is.
    public var averageColor: Color {
        let bytes = averageBytes
        return Color(red: Double(bytes.x) / 255, green: Double(bytes.y) / 255, blue: Double(bytes.z) / 255)
    }

    /// The hash.
    public var description: String { string }

    /// Whether both have the same characters.
    public static func == (first: BlurHash, second: BlurHash) -> Bool { first.string == second.string }
    /// Hashes the characters.
    public func hash(into hasher: inout Hasher) { hasher.combine(string) }

    // The layout: the number of components, the largest of them, the average, then two digits for each other component.
    static let headerLength = 6

    /// Checks everything that could be wrong, so that what reads a hash afterwards can't fail.
    private static func components(
        of digits: Base83Digits
    ) throws(WebImageError.PlaceholderHashFailure) -> (x: Int, y: Int) {
        guard digits.count >= headerLength else {
            throw .wrongLength(byteCount: digits.count, expected: headerLength)
        }
        let counts = digits.value(at: 0, count: 1)
        guard counts < maximumCount * maximumCount else { throw .valueOutOfRange(offset: 0) }
        let components = (x: counts % maximumCount + 1, y: counts / maximumCount + 1)
        let length = 4 + 2 * components.x * components.y
        guard digits.count == length else { throw .wrongLength(byteCount: digits.count, expected: length) }
        guard digits.value(at: 2, count: 4) < 1 << 24 else { throw .valueOutOfRange(offset: 2) }
        for offset in stride(from: headerLength, to: length, by: 2) {
            let isInRange = digits.value(at: offset, count: 2) < levelCount * levelCount * levelCount
            guard isInRange else { throw .valueOutOfRange(offset: offset) }
        }
        return components
    }

    /// The most waves each way.
    static let maximumCount = 9
    /// How many values a component of one colour has; the middle one is 0.
    static let levelCount = 19

    private var averageBytes: SIMD3<UInt8> {
        let value = digits.value(at: 2, count: 4)
        return SIMD3(truncatingIfNeeded: SIMD3(value >> 16, value >> 8, value))
    }

    /// What each wave adds to the light, in linear sRGB, rows of `components.x`; the first is the average.
    ///
    /// - Parameter punch: what all but the average are multiplied by.
    func waves(punch: Float) -> [SIMD3<Float>] {
        let largest = Float(digits.value(at: 1, count: 1) + 1) / 166 * punch
        let average = averageBytes
        var waves = [SIMD3(SRGB.light[Int(average.x)], SRGB.light[Int(average.y)], SRGB.light[Int(average.z)])]
        for index in 1..<max(1, components.x * components.y) {
            let value = digits.value(at: 4 + 2 * index, count: 2)
            let levels = SIMD3(value / (Self.levelCount * Self.levelCount), value / Self.levelCount, value)
            let steps = SIMD3<Float>(levels % Self.levelCount &- Self.levelCount / 2) / Float(Self.levelCount / 2)
            waves.append(steps * SIMD3(abs(steps.x), abs(steps.y), abs(steps.z)) * largest)
        }
        return waves
    }
}

extension BlurHash: Codable {
    /// Reads the characters.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the characters.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}
