import WebImageGTK

/// Another image that a processor combines with the photograph, by its name in the code.
enum ProcessorOperand: String, Sendable, CaseIterable {
    /// A small round image with transparent corners.
    case badge
    /// A photograph.
    case texture
    /// White where the photograph stays, black where it vanishes.
    case mask
}

/// The other images.
struct ProcessorOperands: Sendable {
    var badge: Image
    var texture: Image
    var mask: Image

    /// Makes them from a photograph. Blocks the calling thread.
    init(from photograph: Image) throws(WebImageError) {
        texture = photograph
        badge = try photograph.processed(by: [
            .resize(toFill: .pixels(width: 112, height: 112)), .circle(border: Border(width: 4, color: .white)),
        ])
        mask = try Self.makeMask(width: 360, height: 240)
    }

    /// White in an ellipse, black outside, with a soft edge.
    private static func makeMask(width: Int, height: Int) throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        let stride = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let (dx, dy) = (Double(2 * x) / Double(width) - 1, Double(2 * y) / Double(height) - 1)
                    let level = UInt8(max(0, min(1, (1 - (dx * dx + dy * dy)) * 3)) * 255)
                    bytes.storeBytes(
                        of: SIMD4(level, level, level, 255), toByteOffset: y * stride + x * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}
