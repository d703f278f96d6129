import WebImage
import WebImageTestSupport

/// An image in which neighbours differ, so that a blur shows.
enum NoisyPicture {
    static func image(side: Int) -> Image {
        var random = SplitMix64(seed: 1)
        // A test's sides are sizes that there is memory for.
        guard var pixels = try? MutablePixelBuffer(width: side, height: side) else { preconditionFailure() }
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                let value = UInt8(truncatingIfNeeded: random.next() >> 32)
                bytes.storeBytes(of: SIMD4(value, value, value, 255), toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// How much neighbours in a row differ, on the average.
    static func roughness(_ image: Image, rows: Range<Int>? = nil) -> Double {
        let rows = rows ?? 0..<image.height
        var sum = 0
        for y in rows {
            for x in 1..<image.width { sum += abs(Int(image.pixels[x, y].x) - Int(image.pixels[x - 1, y].x)) }
        }
        return Double(sum) / Double(rows.count * (image.width - 1))
    }
}
