internal import Glibc
internal import WebImageCoding
public import WebImageCore

/// A number of 64 bits that is similar for images that look similar: the signs of an image's slowest waves.
///
/// ```swift
/// let distance = try PerceptualHash(of: photo).distance(to: PerceptualHash(of: copy))
/// let isProbablyTheSame = distance <= 10
/// ```
///
/// Scaling, compression and small changes of color alter a few bits; unrelated images differ in about 32. Computed as by
/// `phash` of Python's ImageHash: 32 by 32 gray pixels, their cosine transform, and for each of the 8 by 8 lowest
/// frequencies whether it exceeds the median.
public struct PerceptualHash: Sendable, Hashable {
    /// The bits, in rows of 8 from the lowest frequency, which is the most significant bit.
    public let value: UInt64

    /// Creates a hash of its bits.
    public init(_ value: UInt64) { self.value = value }

    /// Makes the hash of an image, or of an animation's first frame. Blocks the calling thread.
    ///
    /// - Parameter background: shows through transparent pixels; white by default.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public init(
        of image: Image, background: Color = .white, cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        let side = Self.pixelSide
        let pixels = try image.pixels.resampled(
            to: PixelSize(width: side, height: side), cancellation: cancellation)
        let behind = SIMD3(background.red, background.green, background.blue) * 255
        let weights = SIMD3(0.299, 0.587, 0.114)
        var lumas = [Double]()
        for y in 0..<side {
            for x in 0..<side {
                let pixel = SIMD4<Double>(SIMD4<Int>(truncatingIfNeeded: pixels[x, y]))
                let color = SIMD3(pixel.x, pixel.y, pixel.z) + behind * (1 - pixel.w / 255)
                lumas.append((color * weights).sum())
            }
        }
        let waves = Self.waves(of: lumas)
        let sorted = waves.sorted()
        let median = (sorted[waves.count / 2 - 1] + sorted[waves.count / 2]) / 2
        // Errors of rounding must not decide about the bits of a plain image.
        value = waves.reduce(0) { $0 << 1 | ($1 > median + 1e-6 ? 1 : 0) }
    }

    /// Returns in how many bits the hashes differ, 0 to 64. Up to 10 the images are probably versions of one another.
    public func distance(to other: PerceptualHash) -> Int { (value ^ other.value).nonzeroBitCount }

    private static let pixelSide = 32
    private static let waveSide = 8

    /// The cosine transform of the 8 by 8 lowest frequencies, in rows.
    private static func waves(of lumas: [Double]) -> [Double] {
        // The types are written out because finding them takes the compiler most of a second.
        let cosines = (0..<waveSide).map { (wave: Int) -> [Double] in
            (0..<pixelSide).map { (x: Int) -> Double in cos(.pi * Double(wave) * (Double(x) + 0.5) / Double(pixelSide))
            }
        }
        // Of each row, the waves across.
        let rows = (0..<pixelSide).map { (y: Int) -> [Double] in
            cosines.map { (cosine: [Double]) -> Double in
                (0..<pixelSide).reduce(0.0) { $0 + lumas[y * pixelSide + $1] * cosine[$1] }
            }
        }
        return cosines.flatMap { (cosine: [Double]) -> [Double] in
            (0..<waveSide).map { (across: Int) -> Double in
                (0..<pixelSide).reduce(0.0) { $0 + rows[$1][across] * cosine[$1] }
            }
        }
    }
}

extension PerceptualHash: CustomStringConvertible {
    /// 16 hexadecimal digits, such as `8f373714acfcf4d0`.
    public var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Reads 16 hexadecimal digits; `nil` for another text.
    public init?(_ description: String) {
        guard description.utf8.count == 16, description.allSatisfy(\.isHexDigit),
            let value = UInt64(description, radix: 16)
        else { return nil }
        self.value = value
    }
}
