internal import WebImageCoding
package import WebImageCore

/// Finds the part of an image that people look at: edges, colors of skin, and saturated colors count.
///
/// The image is reduced to at most 128 by 128 pixels, which each get a score. The best part of a size has the largest
/// sum of scores, with its middle half counted twice. Of equal parts, the one closest to the center is taken.
package struct AttentionCrop {
    private let size: PixelSize
    private let grid: PixelSize
    /// The sums of the scores above and left of each corner of the grid's pixels, in rows.
    private let sums: [Double]

    private static let longestSide = 128

    /// Blocks the calling thread.
    package init(_ pixels: PixelBuffer, cancellation: Cancellation? = nil) throws(WebImageError) {
        size = pixels.size
        let limit = PixelSize(width: Self.longestSide, height: Self.longestSide)
        let small = try pixels.resampled(
            to: ResizeMode.aspectFit.size(of: pixels.size, in: limit), cancellation: cancellation)
        grid = small.size
        sums = Self.sums(of: Self.scores(of: small), in: small.size)
    }

    /// Returns the best part of a size, which is at most that of the image.
    package func rect(of part: PixelSize) -> PixelRect {
        let (across, down) = (
            Double(grid.width) / Double(size.width), Double(grid.height) / Double(size.height)
        )
        let window = PixelSize(
            width: min(grid.width, max(1, Int((Double(part.width) * across).rounded()))),
            height: min(grid.height, max(1, Int((Double(part.height) * down).rounded()))))
        let (spaceX, spaceY) = (grid.width - window.width, grid.height - window.height)
        var best = (score: -Double.infinity, distance: Int.max, x: 0, y: 0)
        for y in 0...spaceY {
            for x in 0...spaceX {
                let score = score(x, y, window)
                let distance = abs(2 * x - spaceX) + abs(2 * y - spaceY)
                // Sums of equal parts may differ in their last bits.
                let margin = 1e-6 * max(1, abs(score))
                if score > best.score + margin || score > best.score - margin && distance < best.distance {
                    best = (score, distance, x, y)
                }
            }
        }
        func offset(_ position: Int, _ gridSpace: Int, _ space: Int) -> Int {
            gridSpace == 0 ? space / 2 : Int((Double(position) * Double(space) / Double(gridSpace)).rounded())
        }
        return PixelRect(
            x: offset(best.x, spaceX, size.width - part.width), y: offset(best.y, spaceY, size.height - part.height),
            width: part.width, height: part.height)
    }

    private func score(_ x: Int, _ y: Int, _ window: PixelSize) -> Double {
        let inset = (x: window.width / 4, y: window.height / 4)
        return sum(x, y, window.width, window.height)
            + sum(x + inset.x, y + inset.y, window.width - 2 * inset.x, window.height - 2 * inset.y)
    }

    private func sum(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Double {
        let (columns, bottom, right) = (grid.width + 1, y + height, x + width)
        return sums[bottom * columns + right] - sums[y * columns + right] - sums[bottom * columns + x]
            + sums[y * columns + x]
    }

    private static func sums(of scores: [Double], in size: PixelSize) -> [Double] {
        let columns = size.width + 1
        var sums = [Double](repeating: 0, count: columns * (size.height + 1))
        for y in 0..<size.height {
            var row = 0.0
            for x in 0..<size.width {
                row += scores[y * size.width + x]
                sums[(y + 1) * columns + x + 1] = sums[y * columns + x + 1] + row
            }
        }
        return sums
    }

    private static func scores(of pixels: PixelBuffer) -> [Double] {
        let (width, height) = (pixels.width, pixels.height)
        let colors = (0..<width * height).map { index in
            let pixel = pixels[index % width, index / width]
            return SIMD3(Double(pixel.x), Double(pixel.y), Double(pixel.z)) / 255
        }
        let lumas = colors.map { 0.2126 * $0.x + 0.7152 * $0.y + 0.0722 * $0.z }
        return colors.indices.map { index in
            let (x, y) = (index % width, index / width)
            // The Laplacian, with the edge's pixels repeated.
            let around =
                lumas[y * width + max(0, x - 1)] + lumas[y * width + min(width - 1, x + 1)]
                + lumas[max(0, y - 1) * width + x] + lumas[min(height - 1, y + 1) * width + x]
            let edge = min(1, abs(4 * lumas[index] - around))
            return edge + skin(colors[index], luma: lumas[index]) + saturation(colors[index], luma: lumas[index])
        }
    }

    /// 1 for the color of skin, at any brightness; 0 for others, and for what is too dark to have a color.
    private static func skin(_ color: SIMD3<Double>, luma: Double) -> Double {
        let length = (color * color).sum().squareRoot()
        guard luma > 0.2, luma < 0.95, length > 0 else { return 0 }
        let difference = color / length - SIMD3(0.78, 0.57, 0.44)
        let likeness = 1 - (difference * difference).sum().squareRoot()
        return max(0, (likeness - 0.8) / 0.2) * 1.8
    }

    /// From 0.4, the saturation of HSL.
    private static func saturation(_ color: SIMD3<Double>, luma: Double) -> Double {
        guard luma > 0.05, luma < 0.9 else { return 0 }
        let (least, most) = (color.min(), color.max())
        let spread = most - least
        guard spread > 0 else { return 0 }
        let saturation = spread / (1 - abs(most + least - 1))
        return max(0, (saturation - 0.4) / 0.6) * 0.3
    }
}
