internal import Glibc
internal import WebImageCoding
public import WebImageCore

extension BlurHash {
    /// The placeholder: opaque, of any proportions, since the hash does not know the picture's.
    ///
    /// A picture of 32 by 32 pixels, shown larger, looks no worse than a larger one.
    ///
    /// - Parameters:
    ///   - width: pixels across.
    ///   - height: pixels down.
    ///   - punch: how much stronger than stored the contrasts are; 1, the default, leaves them, 0 leaves the average alone.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for a negative punch or one that is not finite,
    ///   ``WebImageError/invalidSize(width:height:)``, ``WebImageError/imageTooLarge(size:pixelLimit:)``,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
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
        // As the reference has it, waves begin at the first pixel's edge and not at its centre.
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

    /// For each of `count` waves, its value at each of `length` pixels.
    static func cosines(count: Int, length: Int) -> [Float] {
        (0..<count).flatMap { wave in
            (0..<length).map { Float(cos(.pi * Double(wave * $0) / Double(length))) }
        }
    }
}
