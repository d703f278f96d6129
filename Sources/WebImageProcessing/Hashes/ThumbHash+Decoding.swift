internal import CWebImageKernels
internal import Glibc
internal import WebImageCoding
public import WebImageCore

extension ThumbHash {
    /// The placeholder, with about the picture's proportions.
    ///
    /// - Parameter longestSide: of the result, in pixels; 32 by default, as in the reference. Shown larger, that looks no
    ///   worse than a larger one.
    /// - Throws: ``WebImageError/invalidSize(width:height:)``, ``WebImageError/imageTooLarge(size:pixelLimit:)``,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    public func image(longestSide: Int = 32, cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        guard (1...MutablePixelBuffer.maximumDimension).contains(longestSide) else {
            throw .invalidSize(width: longestSide, height: longestSide)
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

    /// More waves than any channel has each way.
    static let waveLimit = 7

    /// For each wave, its value at the centre of each of `length` pixels.
    static func cosines(length: Int) -> [Double] {
        (0..<waveLimit).flatMap { wave in
            (0..<length).map { cos(.pi / Double(length) * (Double($0) + 0.5) * Double(wave)) }
        }
    }
}
