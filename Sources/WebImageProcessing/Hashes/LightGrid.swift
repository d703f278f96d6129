internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

/// How much light falls on each block of a picture: what a ``BlurHash`` needs of it, found in one reading.
///
///     pixels, w × h ──▶ sums of linear light, at most 128 × 128 ──▶ waves
///
/// Light is summed, not bytes, as the reference does it: fine black and white patterns are as bright as they look. A block's
/// place in a wave is the mean of its pixels' places, so that a picture of any size has the waves it has at full size.
struct LightGrid {
    private let size: PixelSize
    /// The pixels of each block, across and down.
    private let columns: [Range<Int>]
    private let rows: [Range<Int>]
    /// Sums of light times ``unit``, row by row.
    private var sums: [SIMD3<Double>]

    /// The most blocks each way: 14 for the shortest of 9 waves, so that it keeps more than 99 % of its height.
    private static let maximumCount = 128

    /// - Parameter background: what lies behind transparent pixels.
    /// - Throws: ``WebImageError/cancelled``.
    init(_ pixels: PixelBuffer, background: Color, cancellation: Cancellation?) throws(WebImageError) {
        size = pixels.size
        columns = Self.blocks(of: size.width)
        rows = Self.blocks(of: size.height)
        sums = []
        sums.reserveCapacity(columns.count * rows.count)

        let behind = background.opaqueBytes
        var line = [UInt8](repeating: 0, count: pixels.isOpaque ? 0 : size.width * 4)
        // 32 bits hold the light of a row of any block, of which none has more than 512 columns.
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

    /// The waves of linear light in the picture, rows of `components.x`; the first is its average.
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

    /// For each of `count` waves, its mean over each block.
    private static func meanCosines(count: Int, of blocks: [Range<Int>], length: Int) -> [[Double]] {
        (0..<count).map { wave in
            blocks.map { block in
                let sum = block.reduce(0) { $0 + cos(.pi * Double(wave * $1) / Double(length)) }
                return sum / Double(block.count)
            }
        }
    }

    private static func blocks(of length: Int) -> [Range<Int>] {
        let count = min(length, maximumCount)
        return (0..<count).map { $0 * length / count..<($0 + 1) * length / count }
    }

    /// What full light counts.
    private static let unit = Double(1 << 22)
    private static let light = SRGB.light.map { UInt32((Double($0) * unit).rounded()) }
}

extension Color {
    /// Red, green and blue as bytes, whatever the opacity; what is outside 0 to 1, or no number, is brought inside.
    fileprivate var opaqueBytes: SIMD3<UInt8> {
        func byte(_ value: Double) -> UInt8 { UInt8((max(0, min(1, value.isNaN ? 0 : value)) * 255).rounded()) }
        return SIMD3(byte(red), byte(green), byte(blue))
    }
}
