import Glibc
import WebImageGTK

/// A landscape with hills and the sun, computed for systems without photographs.
struct Landscape {
    /// The size in pixels.
    var size = PixelSize(width: 480, height: 320)
    /// The position of the sun: 0 is behind the hills at the left, 1 behind those at the right.
    var hour = 0.4
    /// The share of rotated color channels, from 0 to 1.
    var hue = 0.0

    func image() throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let color = color(x: Double(x) / Double(size.width), y: Double(y) / Double(size.height))
                    bytes.storeBytes(of: color, toByteOffset: y * stride + x * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// Returns the color at a position.
    ///
    /// - Parameters:
    ///   - x: 0 at the left edge, 1 at the right edge.
    ///   - y: 0 at the top edge, 1 at the bottom edge.
    private func color(x: Double, y: Double) -> SIMD4<UInt8> {
        var color = SIMD3(0.20 + 0.65 * y, 0.42 + 0.35 * y, 0.80 - 0.15 * y)
        let (sunX, sunY) = (0.1 + 0.8 * hour, 0.75 - 0.6 * sin(hour * .pi))
        let aspect = Double(size.width) / Double(size.height)
        let distance = hypot((x - sunX) * aspect, y - sunY)
        color += SIMD3(1.0, 0.8, 0.4) * (0.5 * exp(-distance * 5))
        if distance < 0.08 { color = SIMD3(1, 0.95, 0.75) }
        for hill in 0..<3 {
            let depth = Double(hill)
            let ridge = 0.62 + depth * 0.1 + 0.06 * sin(x * (7 + depth * 3) + depth * 2) + 0.02 * sin(x * 31 + depth)
            if y > ridge { color = SIMD3(0.28, 0.40, 0.30) * (0.95 - depth * 0.22) + 0.05 * (y - ridge) }
        }
        let turned = SIMD3(color[1], color[2], color[0]) * hue + color * (1 - hue)
        func level(_ part: Double) -> UInt8 { UInt8(max(0, min(255, part * 255))) }
        return SIMD4(level(turned[0]), level(turned[1]), level(turned[2]), 255)
    }
}
