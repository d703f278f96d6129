internal import CWebImageKernels
internal import Glibc
internal import WebImageCoding
public import WebImageCore

/// A placeholder for an image in about 30 characters: a few waves of color.
///
/// ```swift
/// let hash = try BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj")
/// let placeholder = try hash.image(width: 32, height: 32)
/// ```
///
/// Compatible with github.com/woltapp/blurhash.
public struct BlurHash: Sendable, Hashable {
    /// The ASCII characters.
    public let string: String
    private let digits: Base83Digits

    /// Parses a hash.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    public init(_ string: String) throws(WebImageError) {
        do throws(PlaceholderHashFailure) {
            digits = try Base83Digits(string)
            try Self.check(digits)
        } catch {
            throw error.error(about: string, format: "BlurHash")
        }
        self.string = string
    }

    /// The number of waves across and down, 1 to 9 each.
    public var components: (x: Int, y: Int) { Self.components(of: digits) }

    /// The image's average color, opaque. It is stored without loss.
    public var averageColor: Color {
        let bytes = averageBytes
        return Color(red: Double(bytes.x) / 255, green: Double(bytes.y) / 255, blue: Double(bytes.z) / 255)
    }

    // The layout: the number of components, the largest of them, the average, then two digits for each other component.
    static let headerLength = 6

    private static func components(of digits: Base83Digits) -> (x: Int, y: Int) {
        let counts = digits.value(at: 0, count: 1)
        return (counts % maximumCount + 1, counts / maximumCount + 1)
    }

    /// Validates everything, so that decoding cannot fail later.
    private static func check(_ digits: Base83Digits) throws(PlaceholderHashFailure) {
        guard digits.count >= headerLength else {
            throw .wrongLength(byteCount: digits.count, expected: headerLength)
        }
        guard digits.value(at: 0, count: 1) < maximumCount * maximumCount else { throw .valueOutOfRange(offset: 0) }
        let components = components(of: digits)
        let length = 4 + 2 * components.x * components.y
        guard digits.count == length else { throw .wrongLength(byteCount: digits.count, expected: length) }
        guard digits.value(at: 2, count: 4) < 1 << 24 else { throw .valueOutOfRange(offset: 2) }
        for offset in stride(from: headerLength, to: length, by: 2) {
            let isInRange = digits.value(at: offset, count: 2) < levelCount * levelCount * levelCount
            guard isInRange else { throw .valueOutOfRange(offset: offset) }
        }
    }

    /// The largest number of waves in each direction.
    static let maximumCount = 9
    /// The number of values of one color of a component; the middle one is 0.
    static let levelCount = 19

    private var averageBytes: SIMD3<UInt8> {
        let value = digits.value(at: 2, count: 4)
        return SIMD3(truncatingIfNeeded: SIMD3(value >> 16, value >> 8, value))
    }

    /// The amplitude of each wave in linear sRGB, in rows of `components.x`; the first is the average.
    ///
    /// - Parameter punch: the factor for all but the average.
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

extension BlurHash {
    /// Returns the placeholder, which is opaque. 32 by 32 pixels are enough at any display size.
    ///
    /// - Parameters:
    ///   - width: in pixels.
    ///   - height: in pixels. The hash does not contain the proportions of the image.
    ///   - punch: the strength of contrasts; 1 by default, 0 for the average color only.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for a negative or infinite punch,
    ///   ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/LimitFailure/pixels(size:limit:)``,
    ///   ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public func image(
        width: Int, height: Int, punch: Double = 1, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        guard punch >= 0, punch.isFinite else {
            throw .processing(
                identifier: "blurHash", reason: .invalidParameter(name: "punch", value: punch.description))
        }
        try DecodingLimits.default.check(PixelSize(width: width, height: height))
        var output = try MutablePixelBuffer(width: width, height: height)
        let waves = waves(punch: Float(punch))
        // As in the reference, waves begin at the edge of the first pixel, not at its center.
        let across = Self.cosines(count: components.x, length: width)
        let down = Self.cosines(count: components.y, length: height)

        let (columns, rows) = components
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            let pixels = bytes.bindMemory(to: SIMD4<UInt8>.self)
            var row = [SIMD3<Float>](repeating: .zero, count: columns)
            for y in 0..<height {
                try cancellation?.check()
                // The waves down are the same for the whole row.
                for i in 0..<columns {
                    row[i] = (0..<rows).reduce(.zero) { $0 + waves[$1 * columns + i] * down[$1 * height + y] }
                }
                for x in 0..<width {
                    var light = SIMD3<Float>.zero
                    for i in 0..<columns { light += row[i] * across[i * width + x] }
                    pixels[y * width + x] = SIMD4(
                        SRGB.byte(light.x), SRGB.byte(light.y), SRGB.byte(light.z), 255)
                }
            }
        }
        return Image(pixels: output.freeze(isOpaque: true))
    }

    /// The value of each of `count` waves at each of `length` pixels.
    static func cosines(count: Int, length: Int) -> [Float] {
        (0..<count).flatMap { wave in
            (0..<length).map { Float(cos(.pi * Double(wave * $0) / Double(length))) }
        }
    }
}

extension BlurHash {
    /// Makes the hash of an image.
    ///
    /// The pixels are read once, into at most 128 by 128 blocks. Up to that size, the hash equals that of the
    /// reference; above, it looks the same.
    ///
    /// - Parameters:
    ///   - components: waves across and down, 1 to 9 each; 4 by 3 by default, for landscapes. Each takes 2 characters.
    ///   - background: shows through transparent pixels, since a BlurHash is opaque; white by default.
    ///   - cancellation: checked every row.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for other numbers of components,
    ///   ``WebImageError/cancelled``.
    public init(
        of image: Image, components: (x: Int, y: Int) = (4, 3), background: Color = .white,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        let range = 1...Self.maximumCount
        guard range.contains(components.x), range.contains(components.y) else {
            throw .processing(
                identifier: "blurHash",
                reason: .invalidParameter(name: "components", value: "\(components.x)×\(components.y)"))
        }
        let grid = try LightGrid(image.pixels, background: background, cancellation: cancellation)
        digits = Self.digits(of: grid.waves(components), components: components)
        string = digits.string
    }

    private static func digits(of waves: [SIMD3<Double>], components: (x: Int, y: Int)) -> Base83Digits {
        var digits = Base83Digits()
        digits.append(components.x - 1 + (components.y - 1) * maximumCount, count: 1)

        let others = waves.dropFirst()
        let largest = others.reduce(0) { max($0, abs($1.x), abs($1.y), abs($1.z)) }
        let largestLevel = Int(min(max((largest * 166 - 0.5).rounded(.down), 0), 82))
        digits.append(others.isEmpty ? 0 : largestLevel, count: 1)

        let average = SIMD3<Float>(waves[0])
        let bytes = SIMD3<Int>(
            truncatingIfNeeded: SIMD3(SRGB.byte(average.x), SRGB.byte(average.y), SRGB.byte(average.z)))
        digits.append(bytes.x << 16 | bytes.y << 8 | bytes.z, count: 4)

        let unit = Double(largestLevel + 1) / 166
        for wave in others {
            let levels = [wave.x, wave.y, wave.z].map { level(of: $0 / unit) }
            digits.append(levels.reduce(0) { $0 * levelCount + $1 }, count: 2)
        }
        return digits
    }

    /// Square roots give faint waves more levels.
    private static func level(of value: Double) -> Int {
        let half = Double(levelCount / 2)
        let root = value < 0 ? -(-value).squareRoot() : value.squareRoot()
        return Int(min(max((root * half + half + 0.5).rounded(.down), 0), Double(levelCount - 1)))
    }
}

/// The base-83 digits of a ``BlurHash``, each 0 to 82, the most significant first.
struct Base83Digits: Sendable, Hashable {
    private(set) var values: [UInt8] = []

    init() {}

    init(_ string: String) throws(PlaceholderHashFailure) {
        values.reserveCapacity(string.utf8.count)
        for (offset, byte) in string.utf8.enumerated() {
            // Longer than the longest hash.
            guard offset < Self.maximumCount else {
                throw .wrongLength(byteCount: string.utf8.count, expected: Self.maximumCount)
            }
            let value = Self.values[Int(byte)]
            guard value >= 0 else { throw .invalidCharacter(offset: offset) }
            values.append(UInt8(value))
        }
    }

    var count: Int { values.count }

    var string: String { String(decoding: values.map { Self.characters[Int($0)] }, as: UTF8.self) }

    /// The number in `count` digits from `offset`.
    func value(at offset: Int, count: Int) -> Int {
        values[offset..<offset + count].reduce(0) { $0 * 83 + Int($1) }
    }

    /// Appends a number in `count` digits.
    mutating func append(_ value: Int, count: Int) {
        var digits: [UInt8] = []
        var rest = value
        for _ in 0..<count {
            digits.append(UInt8(rest % 83))
            rest /= 83
        }
        values += digits.reversed()
    }

    /// The digits of a hash with 9 by 9 components.
    private static let maximumCount = 4 + 2 * 81

    private static let characters = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

    /// The value of each byte, or -1.
    private static let values: [Int8] = {
        var values = [Int8](repeating: -1, count: 256)
        for (value, byte) in characters.enumerated() { values[Int(byte)] = Int8(value) }
        return values
    }()
}

/// The light of each block of an image, read once, from which the waves of a ``BlurHash`` are computed.
///
///     pixels, w × h ──▶ sums of linear light, at most 128 × 128 ──▶ waves
///
/// Linear light is summed, as in the reference, so that fine black and white patterns keep their brightness. The
/// position of a block in a wave is the mean of the positions of its pixels, so that the waves do not depend on the
/// number of blocks.
struct LightGrid {
    private let size: PixelSize
    /// The pixels of each block, across and down.
    private let columns: [Range<Int>]
    private let rows: [Range<Int>]
    /// Sums of light, row by row.
    private var sums: [SIMD3<Double>]

    /// Blocks per direction at most: 14 for the shortest of 9 waves, which keeps more than 99 % of its height.
    private static let maximumCount = 128

    /// - Parameter background: shows through transparent pixels.
    /// - Throws: ``WebImageError/cancelled``.
    init(_ pixels: PixelBuffer, background: Color, cancellation: Cancellation?) throws(WebImageError) {
        size = pixels.size
        columns = Self.blocks(of: size.width)
        rows = Self.blocks(of: size.height)
        sums = []
        sums.reserveCapacity(columns.count * rows.count)

        let behind = background.opaqueBytes
        var line = [UInt8](repeating: 0, count: pixels.isOpaque ? 0 : size.width * 4)
        // 32 bits hold the light of a row of any block, which has at most 512 columns.
        var band = [SIMD3<UInt64>](repeating: .zero, count: columns.count)
        for block in rows {
            for index in band.indices { band[index] = .zero }
            for y in block {
                try cancellation?.check()
                let row = pixels.row(y)
                if pixels.isOpaque {
                    add(row, to: &band)
                } else {
                    line.withUnsafeMutableBufferPointer { line in
                        guard let start = line.baseAddress else { return }
                        cwi_flatten(row, start, size.width, behind.x, behind.y, behind.z)
                        add(start, to: &band)
                    }
                }
            }
            sums += band.map { SIMD3($0) / Self.unit }
        }
    }

    private func add(_ row: UnsafePointer<UInt8>, to band: inout [SIMD3<UInt64>]) {
        Self.light.withUnsafeBufferPointer { light in
            band.withUnsafeMutableBufferPointer { band in
                for (index, block) in columns.enumerated() {
                    var (red, green, blue): (UInt32, UInt32, UInt32) = (0, 0, 0)
                    var pixel = row + block.lowerBound * 4
                    for _ in block {
                        red &+= light[Int(pixel[0])]
                        green &+= light[Int(pixel[1])]
                        blue &+= light[Int(pixel[2])]
                        pixel += 4
                    }
                    band[index] &+= SIMD3(UInt64(red), UInt64(green), UInt64(blue))
                }
            }
        }
    }

    /// Returns the waves of linear light in the image, in rows of `components.x`; the first is the average.
    func waves(_ components: (x: Int, y: Int)) -> [SIMD3<Double>] {
        let across = Self.meanCosines(count: components.x, of: columns, length: size.width)
        let down = Self.meanCosines(count: components.y, of: rows, length: size.height)
        var waves = [SIMD3<Double>](repeating: .zero, count: components.x * components.y)
        for y in rows.indices {
            for i in 0..<components.x {
                var sum = SIMD3<Double>.zero
                for x in columns.indices { sum += sums[y * columns.count + x] * across[i][x] }
                for j in 0..<components.y { waves[j * components.x + i] += sum * down[j][y] }
            }
        }
        let pixelCount = Double(size.width) * Double(size.height)
        return waves.enumerated().map { $1 * (($0 == 0 ? 1 : 2) / pixelCount) }
    }

    /// The mean of each of `count` waves over each block.
    private static func meanCosines(count: Int, of blocks: [Range<Int>], length: Int) -> [[Double]] {
        (0..<count).map { wave in
            blocks.map { block in
                var sum = 0.0
                for pixel in block { sum += cos(Double.pi * Double(wave * pixel) / Double(length)) }
                return sum / Double(block.count)
            }
        }
    }

    private static func blocks(of length: Int) -> [Range<Int>] {
        let count = min(length, maximumCount)
        return (0..<count).map { $0 * length / count..<($0 + 1) * length / count }
    }

    /// The number that stands for full light.
    private static let unit = Double(1 << 22)
    private static let light = SRGB.light.map { UInt32((Double($0) * unit).rounded()) }
}

extension Color {
    /// Red, green and blue as bytes, clamped; alpha is ignored and NaN is 0.
    fileprivate var opaqueBytes: SIMD3<UInt8> {
        func byte(_ value: Double) -> UInt8 { UInt8((max(0, min(1, value.isNaN ? 0 : value)) * 255).rounded()) }
        return SIMD3(byte(red), byte(green), byte(blue))
    }
}

/// The transfer curve of sRGB (IEC 61966-2-1).
enum SRGB {
    /// The light of each byte, 0 to 1.
    static let light: [Float] = (0...255).map { byte in
        let value = Double(byte) / 255
        return Float(value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
    }

    /// The byte nearest to an amount of light, clamped.
    static func byte(_ light: Float) -> UInt8 {
        let light = min(max(light, 0), 1)
        let value = light <= 0.0031308 ? light * 12.92 : 1.055 * powf(light, 1 / 2.4) - 0.055
        return UInt8(value * 255 + 0.5)
    }
}
