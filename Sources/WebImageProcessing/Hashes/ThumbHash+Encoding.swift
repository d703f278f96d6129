internal import Glibc
internal import WebImageCoding
public import WebImageCore

extension ThumbHash {
    /// The hash of a picture. One above 100 pixels a side is made smaller first, as the reference wants it.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public init(of image: Image, cancellation: Cancellation? = nil) throws(WebImageError) {
        let limit = PixelSize(width: 100, height: 100)
        let size = ResizeMode.aspectFit.size(of: image.pixels.size, in: limit)
        let pixels = try image.pixels.resampled(to: size, cancellation: cancellation)
        let channels = Channels(pixels)
        // The proportions are the picture's own, not those that rounding to pixels has left.
        let layout = ThumbHashLayout(size: size, hasAlpha: channels.hasAlpha)
        self.init(bytes: channels.bytes(layout), layout: layout)
    }
}

/// Luminance, differences of colours and alpha of each pixel, laid over the picture's average colour.
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
        // Premultiplied colours, weighed by alpha as they are.
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

    /// Sums in the reference's order: a wave that is not there is next to nothing, and its sign decides between two levels.
    init(of channel: [Double], size: PixelSize, triangle: WaveTriangle) {
        func cosines(count: Int, length: Int) -> [[Double]] {
            (0..<count).map { wave in
                (0..<length).map { cos(.pi / Double(length) * Double(wave) * (Double($0) + 0.5)) }
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
