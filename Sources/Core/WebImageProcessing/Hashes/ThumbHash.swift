internal import CWebImageKernels
internal import FoundationEssentials
internal import Glibc
internal import WebImageCoding
public import WebImageCore

/// A placeholder for an image in about 25 bytes: more detail than a ``BlurHash`` of that size, with transparency and
/// approximate proportions.
///
/// ```swift
/// let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
/// let placeholder = try hash.image()
/// ```
///
/// Compatible with evanw.github.io/thumbhash.
public struct ThumbHash: Sendable, Hashable {
    /// The bytes of the hash.
    public let bytes: [UInt8]
    private let layout: ThumbHashLayout

    /// Parses a hash in base64, also in the URL-safe alphabet and without padding.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    public init(_ base64: String) throws(WebImageError) {
        do throws(PlaceholderHashFailure) {
            try self.init(checking: Self.bytes(inBase64: base64))
        } catch {
            throw error.error(about: base64, format: "ThumbHash")
        }
    }

    /// Parses a hash.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    public init(bytes: [UInt8]) throws(WebImageError) {
        do throws(PlaceholderHashFailure) {
            try self.init(checking: bytes)
        } catch {
            throw error.error(about: Data(bytes.prefix(100)).base64EncodedString(), format: "ThumbHash")
        }
    }

    private init(checking bytes: [UInt8]) throws(PlaceholderHashFailure) {
        layout = try ThumbHashLayout(of: bytes)
        self.bytes = bytes
    }

    init(bytes: [UInt8], layout: ThumbHashLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    /// The hash in base64.
    public var base64: String { Data(bytes).base64EncodedString() }

    /// Whether the image has transparent pixels.
    public var hasAlpha: Bool { layout.hasAlpha }

    /// The width divided by the height, approximately: from 1/7 to 7.
    public var aspectRatio: Double { layout.aspectRatio }

    /// The average color of the image, with its transparency.
    public var averageColor: Color {
        let average = coefficients.average
        return Self.color(luminance: average.luminance, yellow: average.yellow, red: average.red, alpha: average.alpha)
    }

    var luminanceWaves: [(x: Int, y: Int)] { layout.luminance.waves }
    var coefficients: ThumbHashCoefficients { ThumbHashCoefficients(bytes, layout: layout) }

    /// The color of a luminance and two differences, clamped.
    static func color(luminance: Double, yellow: Double, red: Double, alpha: Double) -> Color {
        let blue = luminance - yellow * 2 / 3
        let redLight = (3 * luminance - blue + red) / 2
        func inside(_ value: Double) -> Double { max(0, min(1, value)) }
        return Color(
            red: inside(redLight), green: inside(redLight - red), blue: inside(blue), alpha: inside(alpha))
    }

    private static func bytes(inBase64 text: String) throws(PlaceholderHashFailure) -> [UInt8] {
        guard text.utf8.count <= maximumTextLength else {
            throw .wrongLength(byteCount: text.utf8.count, expected: maximumTextLength)
        }
        let digitCount = text.utf8.prefix(while: Base64.isDigit).count
        let padding = text.utf8.dropFirst(digitCount)
        guard padding.count <= 2, padding.allSatisfy({ $0 == Base64.padding }), let bytes = Base64.bytes(in: text)
        else { throw .invalidCharacter(offset: digitCount) }
        return bytes
    }

    /// Longer than any hash in base64.
    private static let maximumTextLength = 64
}

extension ThumbHash {
    /// Returns the placeholder, with approximately the proportions of the image.
    ///
    /// - Parameter longestSide: in pixels; 32 by default, which is enough at any display size.
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)``,
    ///   ``WebImageError/LimitFailure/pixels(size:limit:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    public func image(longestSide: Int = 32, cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        guard (1...PixelSize.maximumDimension).contains(longestSide) else {
            throw .limitExceeded(reason: .side(width: longestSide, height: longestSide))
        }
        let short = max(1, Int((Double(longestSide) * min(aspectRatio, 1 / aspectRatio)).rounded()))
        let size =
            aspectRatio > 1
            ? PixelSize(width: longestSide, height: short) : PixelSize(width: short, height: longestSide)
        try DecodingLimits.default.check(size)
        return Image(pixels: try pixels(size, cancellation: cancellation))
    }

    private func pixels(_ size: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let coefficients = coefficients
        let average = coefficients.average
        let across = Self.cosines(length: size.width)
        let down = Self.cosines(length: size.height)
        let channels = [
            (waves: luminanceWaves, values: coefficients.luminance),
            (waves: ThumbHashLayout.color.waves, values: coefficients.yellow),
            (waves: ThumbHashLayout.color.waves, values: coefficients.red),
            (waves: hasAlpha ? ThumbHashLayout.alpha.waves : [], values: coefficients.alpha),
        ]
        let start = SIMD4(average.luminance, average.yellow, average.red, average.alpha)

        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let isOpaque = try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            let pixels = bytes.bindMemory(to: SIMD4<UInt8>.self)
            for y in 0..<size.height {
                try cancellation?.check()
                // The waves down are the same for the whole row.
                var row = [SIMD4<Double>](repeating: .zero, count: Self.waveLimit)
                row[0] = start
                for (channel, content) in channels.enumerated() {
                    for (wave, value) in zip(content.waves, content.values) {
                        row[wave.x][channel] += 2 * value * down[wave.y * size.height + y]
                    }
                }
                for x in 0..<size.width {
                    var sum = SIMD4<Double>.zero
                    for wave in 0..<Self.waveLimit { sum += row[wave] * across[wave * size.width + x] }
                    pixels[y * size.width + x] = Self.straightBytes(sum)
                }
            }
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return true }
            return cwi_premultiply(start, size.pixelCount)
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// The reference drops fractions.
    private static func straightBytes(_ sum: SIMD4<Double>) -> SIMD4<UInt8> {
        let color = color(luminance: sum.x, yellow: sum.y, red: sum.z, alpha: sum.w)
        return SIMD4(
            UInt8(color.red * 255), UInt8(color.green * 255), UInt8(color.blue * 255), UInt8(color.alpha * 255))
    }

    /// The largest number of waves of a channel in each direction.
    static let waveLimit = 7

    /// The value of each wave at the center of each of `length` pixels.
    static func cosines(length: Int) -> [Double] {
        (0..<waveLimit).flatMap { wave in
            (0..<length).map { (pixel: Int) -> Double in
                let angle: Double = .pi / Double(length) * (Double(pixel) + 0.5) * Double(wave)
                return cos(angle)
            }
        }
    }
}

extension ThumbHash {
    /// Makes the hash of an image. Images with more than 100 pixels per side are downscaled first, as in the reference.
    ///
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public init(of image: Image, cancellation: Cancellation? = nil) throws(WebImageError) {
        let limit = PixelSize(width: 100, height: 100)
        let size = ResizeMode.aspectFit.size(of: image.pixels.size, in: limit)
        let pixels = try image.pixels.resampled(to: size, cancellation: cancellation)
        let channels = Channels(pixels)
        let layout = ThumbHashLayout(size: size, hasAlpha: channels.hasAlpha)
        self.init(bytes: channels.bytes(layout), layout: layout)
    }
}

/// Luminance, color differences and alpha of each pixel, over the image's average color.
private struct Channels {
    private let size: PixelSize
    private var luminance: [Double] = []
    private var yellow: [Double] = []
    private var red: [Double] = []
    private var alpha: [Double] = []
    let hasAlpha: Bool

    init(_ pixels: PixelBuffer) {
        size = pixels.size
        var sum = SIMD4<Int>.zero
        for y in 0..<size.height {
            for x in 0..<size.width { sum &+= SIMD4<Int>(truncatingIfNeeded: pixels[x, y]) }
        }
        hasAlpha = sum.w < 255 * size.pixelCount
        // Premultiplied colors are weighted by alpha already.
        let average = sum.w == 0 ? .zero : SIMD3(Double(sum.x), Double(sum.y), Double(sum.z)) / Double(sum.w)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let pixel = SIMD4<Double>(SIMD4<Int>(truncatingIfNeeded: pixels[x, y]))
                let opacity = pixel.w / 255
                let color = average * (1 - opacity) + SIMD3(pixel.x, pixel.y, pixel.z) * (1 / 255)
                luminance.append((color.x + color.y + color.z) / 3)
                yellow.append((color.x + color.y) / 2 - color.z)
                red.append(color.x - color.y)
                alpha.append(opacity)
            }
        }
    }

    func bytes(_ layout: ThumbHashLayout) -> [UInt8] {
        func waves(_ channel: [Double], _ triangle: WaveTriangle) -> Waves {
            Waves(of: channel, size: size, triangle: triangle)
        }
        let luminance = waves(luminance, layout.luminance)
        let yellow = waves(yellow, ThumbHashLayout.color)
        let red = waves(red, ThumbHashLayout.color)
        let alpha = hasAlpha ? waves(alpha, ThumbHashLayout.alpha) : nil

        func bits(_ value: Double) -> Int { Int(value.rounded()) }
        let header =
            bits(63 * luminance.average) | bits(31.5 + 31.5 * yellow.average) << 6
            | bits(31.5 + 31.5 * red.average) << 12 | bits(31 * luminance.largest) << 18 | (hasAlpha ? 1 << 23 : 0)
        let rest =
            layout.shortCount | bits(63 * yellow.largest) << 3 | bits(63 * red.largest) << 9
            | (layout.isLandscape ? 1 << 15 : 0)
        var bytes = [header, header >> 8, header >> 16, rest, rest >> 8].map { UInt8(truncatingIfNeeded: $0) }
        if let alpha { bytes.append(UInt8(bits(15 * alpha.average) | bits(15 * alpha.largest) << 4)) }

        let levels = [luminance, yellow, red, alpha].compactMap(\.self).flatMap(\.levels)
        for index in stride(from: 0, to: levels.count, by: 2) {
            bytes.append(levels[index] | (index + 1 < levels.count ? levels[index + 1] << 4 : 0))
        }
        return bytes
    }
}

/// The waves of one channel.
private struct Waves {
    let average: Double
    /// Without the average.
    let values: [Double]
    let largest: Double

    /// Sums in the order of the reference: rounding decides the sign of waves that are almost 0, and so their level.
    init(of channel: [Double], size: PixelSize, triangle: WaveTriangle) {
        func cosines(count: Int, length: Int) -> [[Double]] {
            (0..<count).map { wave in
                (0..<length).map { (pixel: Int) -> Double in
                    let angle: Double = .pi / Double(length) * Double(wave) * (Double(pixel) + 0.5)
                    return cos(angle)
                }
            }
        }
        let across = cosines(count: triangle.x, length: size.width)
        let down = cosines(count: triangle.y, length: size.height)
        func value(x wave: Int, y waveDown: Int) -> Double {
            var sum = 0.0
            for y in 0..<size.height {
                for x in 0..<size.width {
                    sum += channel[y * size.width + x] * across[wave][x] * down[waveDown][y]
                }
            }
            return sum / Double(size.pixelCount)
        }
        average = value(x: 0, y: 0)
        values = triangle.waves.map { value(x: $0.x, y: $0.y) }
        largest = values.reduce(0) { max($0, abs($1)) }
    }

    /// 4 bits each.
    var levels: [UInt8] {
        values.map { UInt8((15 * (largest > 0 ? 0.5 + 0.5 / largest * $0 : 0)).rounded()) }
    }
}

/// The numbers in a ``ThumbHash``: the average and waves of luminance, two color differences and alpha.
struct ThumbHashCoefficients {
    /// Luminance and alpha are from 0 to 1, yellow minus blue and red minus green from -1 to 1.
    struct Average {
        var luminance: Double
        var yellow: Double
        var red: Double
        var alpha: Double
    }

    let average: Average
    let luminance: [Double]
    let yellow: [Double]
    let red: [Double]
    /// Empty without alpha.
    let alpha: [Double]

    /// - Parameter bytes: as many as `layout` needs.
    init(_ bytes: [UInt8], layout: ThumbHashLayout) {
        let header = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
        let rest = Int(bytes[3]) | Int(bytes[4]) << 8
        average = Average(
            luminance: Double(header & 63) / 63, yellow: Double(header >> 6 & 63) / 31.5 - 1,
            red: Double(header >> 12 & 63) / 31.5 - 1, alpha: layout.hasAlpha ? Double(bytes[5] & 15) / 15 : 1)

        var position = (layout.hasAlpha ? 6 : 5) * 2
        func waves(_ triangle: WaveTriangle, largest: Double) -> [Double] {
            triangle.waves.map { _ in
                let bits = bytes[position / 2] >> (position % 2 * 4) & 15
                position += 1
                return (Double(bits) / 7.5 - 1) * largest
            }
        }
        luminance = waves(layout.luminance, largest: Double(header >> 18 & 31) / 31)
        // Rounding to so few bits reduces saturation; the reference adds a quarter.
        yellow = waves(ThumbHashLayout.color, largest: Double(rest >> 3 & 63) / 63 * 1.25)
        red = waves(ThumbHashLayout.color, largest: Double(rest >> 9 & 63) / 63 * 1.25)
        alpha = layout.hasAlpha ? waves(ThumbHashLayout.alpha, largest: Double(bytes[5] >> 4) / 15) : []
    }
}

/// The waves of a ``ThumbHash``, from its first five bytes.
///
///     bits of bytes 0 to 2            6 luminance, 6 yellow to blue, 6 red to green, 5 largest wave of luminance, 1 alpha
///     bits of bytes 3 and 4           3 waves along the short side, 6 and 6 largest waves of the colors, 1 landscape
///     byte 5, with alpha              4 alpha, 4 largest wave of alpha
///     4 bits a wave                   luminance, yellow to blue, red to green, alpha
struct ThumbHashLayout: Sendable, Hashable {
    let hasAlpha: Bool
    let isLandscape: Bool
    /// The number of waves of luminance along the short side, at most ``longCount``.
    let shortCount: Int

    init(size: PixelSize, hasAlpha: Bool) {
        self.hasAlpha = hasAlpha
        isLandscape = size.width > size.height
        let short = Double(min(size.width, size.height)) / Double(max(size.width, size.height))
        shortCount = max(1, Int((Double(Self.longCount(hasAlpha: hasAlpha)) * short).rounded()))
    }

    init(of bytes: [UInt8]) throws(PlaceholderHashFailure) {
        guard bytes.count >= Self.headerLength else {
            throw .wrongLength(byteCount: bytes.count, expected: Self.headerLength)
        }
        hasAlpha = bytes[2] & 0x80 != 0
        isLandscape = bytes[4] & 0x80 != 0
        shortCount = Int(bytes[3] & 7)
        guard (1...Self.longCount(hasAlpha: hasAlpha)).contains(shortCount) else { throw .valueOutOfRange(offset: 3) }
        guard bytes.count == byteCount else { throw .wrongLength(byteCount: bytes.count, expected: byteCount) }
    }

    var aspectRatio: Double {
        let ratio = Double(Self.longCount(hasAlpha: hasAlpha)) / Double(shortCount)
        return isLandscape ? ratio : 1 / ratio
    }

    /// Waves of luminance, of each color difference, and of alpha.
    var luminance: WaveTriangle {
        let (long, short) = (Self.longCount(hasAlpha: hasAlpha), max(3, shortCount))
        return isLandscape ? WaveTriangle(x: long, y: short) : WaveTriangle(x: short, y: long)
    }
    static let color = WaveTriangle(x: 3, y: 3)
    static let alpha = WaveTriangle(x: 5, y: 5)

    private var byteCount: Int {
        let waveCount =
            luminance.waves.count + 2 * Self.color.waves.count + (hasAlpha ? Self.alpha.waves.count : 0)
        return Self.headerLength + (hasAlpha ? 1 : 0) + (waveCount + 1) / 2
    }

    private static let headerLength = 5

    /// The number of waves of luminance along the long side.
    private static func longCount(hasAlpha: Bool) -> Int { hasAlpha ? 5 : 7 }
}

/// The waves below the diagonal of a rectangle.
struct WaveTriangle {
    let x: Int
    let y: Int

    /// The numbers of each wave across and down, without the average, in the stored order.
    var waves: [(x: Int, y: Int)] {
        (0..<y).flatMap { down in
            (0..<x).filter { $0 * y < x * (y - down) && $0 + down > 0 }.map { (x: $0, y: down) }
        }
    }
}
