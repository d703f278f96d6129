internal import Glibc
internal import WebImageCoding
public import WebImageCore

/// How much two images of one size differ.
///
/// ```swift
/// let comparison = try ImageComparison(original, compressed)
/// if comparison.structuralSimilarity < 0.95 { print("visibly worse: \(comparison.peakSignalToNoiseRatio) dB") }
/// ```
///
/// Premultiplied colors are compared, as they are seen on black. Of animations, the first frames are compared.
public struct ImageComparison: Sendable {
    /// Whether all pixels are equal.
    public var isEqual: Bool { differingPixelCount == 0 }
    /// The number of pixels that differ.
    public let differingPixelCount: Int
    /// The largest difference of a component: red, green, blue or alpha, 0 to 255.
    public let largestDifference: Int
    /// The peak signal-to-noise ratio in decibels, over red, green and blue, and alpha unless both images are opaque;
    /// infinite for equal images. Above 40 differences are hardly visible.
    public let peakSignalToNoiseRatio: Double
    /// The structural similarity (SSIM), -1 to 1; 1 for equal images.
    ///
    /// The mean over blocks of 8 by 8 pixels, every 4 pixels, of luma (Rec. 601). Images with a shorter side have lower
    /// blocks.
    public let structuralSimilarity: Double

    private let first: PixelBuffer
    private let second: PixelBuffer

    /// Compares two images. Blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` if their sizes differ,
    ///   ``WebImageError/cancelled``.
    public init(_ first: Image, _ second: Image, cancellation: Cancellation? = nil) throws(WebImageError) {
        guard first.pixels.size == second.pixels.size else {
            throw .processing(
                identifier: "comparison",
                reason: .invalidParameter(name: "size", value: "\(first.pixels.size) and \(second.pixels.size)"))
        }
        (self.first, self.second) = (first.pixels, second.pixels)
        var (count, largest) = (0, 0)
        var squares = SIMD4<Int>.zero
        for y in 0..<first.height {
            try cancellation?.check()
            let rows = (UnsafeRawPointer(first.pixels.row(y)), UnsafeRawPointer(second.pixels.row(y)))
            if memcmp(rows.0, rows.1, first.width * 4) == 0 { continue }
            for x in 0..<first.width {
                let difference = Self.difference(rows.0, rows.1, x)
                guard difference != .zero else { continue }
                count += 1
                largest = max(largest, Int(difference.max()))
                squares &+= SIMD4<Int>(truncatingIfNeeded: difference &* difference)
            }
        }
        differingPixelCount = count
        largestDifference = largest
        let componentCount = first.pixels.isOpaque && second.pixels.isOpaque ? 3 : 4
        let mean = Double(squares.wrappedSum()) / Double(first.pixels.size.pixelCount * componentCount)
        peakSignalToNoiseRatio = mean == 0 ? .infinity : 10 * log10(255 * 255 / mean)
        structuralSimilarity =
            count == 0 ? 1 : try StructuralSimilarity(first.pixels, second.pixels).mean(cancellation: cancellation)
    }

    /// Returns an opaque image of the differences: the first image, faint and gray, and red where the second differs, the
    /// more, the stronger. Blocks the calling thread.
    ///
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    public func differenceImage(cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        var output = try MutablePixelBuffer(width: first.width, height: first.height)
        let (width, height) = (first.width, first.height)
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            for y in 0..<height {
                try cancellation?.check()
                let rows = (UnsafeRawPointer(first.row(y)), UnsafeRawPointer(second.row(y)))
                for x in 0..<width {
                    let difference = Int(Self.difference(rows.0, rows.1, x).max())
                    let gray = 192 + StructuralSimilarity.luma(rows.0, x) / 6
                    // From a trace of red for a difference of 1 to all red from 64.
                    let red = difference == 0 ? 0 : 24 + min(difference, 64) * 231 / 64
                    let rest = UInt8(gray * (255 - red) / 255)
                    let color = SIMD4<UInt8>(UInt8((gray * (255 - red) + 230 * red) / 255), rest, rest, 255)
                    bytes.storeBytes(of: color, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: output.freeze(isOpaque: true))
    }

    /// The differences of a pixel's components, without sign.
    private static func difference(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer, _ x: Int) -> SIMD4<Int32> {
        let (a, b) = (
            first.load(fromByteOffset: x * 4, as: SIMD4<UInt8>.self),
            second.load(fromByteOffset: x * 4, as: SIMD4<UInt8>.self)
        )
        let (low, high) = (pointwiseMin(a, b), pointwiseMax(a, b))
        return SIMD4<Int32>(truncatingIfNeeded: high &- low)
    }
}

/// The mean SSIM of two images of one size.
struct StructuralSimilarity {
    private let first: PixelBuffer
    private let second: PixelBuffer
    private static let blockSide = 8
    private static let step = 4

    init(_ first: PixelBuffer, _ second: PixelBuffer) { (self.first, self.second) = (first, second) }

    func mean(cancellation: Cancellation?) throws(WebImageError) -> Double {
        let size = PixelSize(
            width: min(Self.blockSide, first.width), height: min(Self.blockSide, first.height))
        var (sum, count) = (0.0, 0)
        for y in stride(from: 0, through: first.height - size.height, by: Self.step) {
            try cancellation?.check()
            for x in stride(from: 0, through: first.width - size.width, by: Self.step) {
                sum += similarity(x, y, size)
                count += 1
            }
        }
        return sum / Double(count)
    }

    private func similarity(_ left: Int, _ top: Int, _ size: PixelSize) -> Double {
        var (sums, squares, product) = (SIMD2<Int>.zero, SIMD2<Int>.zero, 0)
        for y in top..<top + size.height {
            let rows = (UnsafeRawPointer(first.row(y)), UnsafeRawPointer(second.row(y)))
            for x in left..<left + size.width {
                let lumas = SIMD2(Self.luma(rows.0, x), Self.luma(rows.1, x))
                sums &+= lumas
                squares &+= lumas &* lumas
                product &+= lumas.x &* lumas.y
            }
        }
        let count = Double(size.pixelCount)
        let means = SIMD2<Double>(sums) / count
        let variances = SIMD2<Double>(squares) / count - means * means
        let covariance = Double(product) / count - means.x * means.y
        // The constants of the definition (Wang et al., 2004), for 8 bits.
        let (c1, c2) = (0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255)
        return (2 * means.x * means.y + c1) * (2 * covariance + c2)
            / ((means * means).sum() + c1) / (variances.sum() + c2)
    }

    /// The luma of a pixel (Rec. 601), 0 to 255.
    static func luma(_ row: UnsafeRawPointer, _ x: Int) -> Int {
        let pixel = row.load(fromByteOffset: x * 4, as: SIMD4<UInt8>.self)
        return (Int(pixel.x) * 77 + Int(pixel.y) * 150 + Int(pixel.z) * 29) >> 8
    }
}
