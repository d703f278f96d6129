internal import WebImageCoding
internal import WebImageCore

/// Finds the part of an image that people look at: edges, colors of skin, and strong colors count, as in libvips.
///
/// The image is reduced to at most 128 by 128 pixels, which each get a score. The part is around the place with the
/// highest scores, and inside the image. Of equal places, the one closest to the center is taken.
struct AttentionCrop {
    private let size: PixelSize
    private let grid: PixelSize
    /// The sums of the scores above and left of each corner of the grid's pixels, in rows.
    private let sums: [Double]

    private static let longestSide = 128

    /// Blocks the calling thread.
    init(_ pixels: PixelBuffer, cancellation: Cancellation? = nil) throws(WebImageError) {
        size = pixels.size
        let limit = PixelSize(width: Self.longestSide, height: Self.longestSide)
        let small = try pixels.resampled(
            to: ResizeMode.aspectFit.size(of: pixels.size, in: limit), cancellation: cancellation)
        grid = small.size
        sums = Self.sums(of: Self.scores(of: small), in: small.size)
    }

    /// Returns the best part of a size, which is at most that of the image.
    func rect(of part: PixelSize) -> PixelRect {
        let (across, down) = (
            Double(grid.width) / Double(size.width), Double(grid.height) / Double(size.height)
        )
        let window = PixelSize(
            width: min(grid.width, max(1, Int((Double(part.width) * across).rounded()))),
            height: min(grid.height, max(1, Int((Double(part.height) * down).rounded()))))
        let (x, y) = focus(
            side: max(1, Int(Double(window.width * window.width + window.height * window.height).squareRoot() / 4)))
        func offset(_ center: Double, _ scale: Double, _ length: Int, _ space: Int) -> Int {
            min(max(Int((center / scale - Double(length) / 2).rounded()), 0), space)
        }
        return PixelRect(
            x: offset(x, across, part.width, size.width - part.width),
            y: offset(y, down, part.height, size.height - part.height), width: part.width, height: part.height)
    }

    /// The center of the square with the highest scores, in pixels of the grid.
    private func focus(side: Int) -> (x: Double, y: Double) {
        let square = PixelSize(width: min(side, grid.width), height: min(side, grid.height))
        let (spaceX, spaceY) = (grid.width - square.width, grid.height - square.height)
        var best = (score: -Double.infinity, distance: Int.max, x: 0, y: 0)
        for y in 0...spaceY {
            for x in 0...spaceX {
                let score = sum(x, y, square.width, square.height)
                let distance = abs(2 * x - spaceX) + abs(2 * y - spaceY)
                // Sums of equal parts may differ in their last bits.
                let margin = 1e-6 * max(1, abs(score))
                if score > best.score + margin || score > best.score - margin && distance < best.distance {
                    best = (score, distance, x, y)
                }
            }
        }
        return (Double(best.x) + Double(square.width) / 2, Double(best.y) + Double(square.height) / 2)
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
            // Pixels that are too dark have no color.
            guard lumas[index] > 0.05 else { return edge }
            return edge + skin(colors[index]) + colors[index].max() - colors[index].min()
        }
    }

    /// 1 for the color of skin, at any brightness, and less for others; gray has 0.75.
    private static func skin(_ color: SIMD3<Double>) -> Double {
        let difference = color / (color * color).sum().squareRoot() - SIMD3(0.78, 0.57, 0.44)
        return 1 - (difference * difference).sum().squareRoot()
    }
}
