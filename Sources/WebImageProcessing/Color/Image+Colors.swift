internal import CWebImageKernels
public import WebImageCore

extension Image {
    /// The colour of a pixel, counted from the top left; `nil` outside the picture.
    ///
    /// Its alpha is straight: what is stored premultiplied is divided by it, so a nearly clear pixel's colour is a rough one.
    public func color(atX x: Int, y: Int) -> Color? {
        guard (0..<pixels.width).contains(x), (0..<pixels.height).contains(y) else { return nil }
        return Color(sum: SIMD4(truncatingIfNeeded: pixels[x, y]), pixelCount: 1)
    }

    /// The colours in a rectangle of pixels, row after row; `nil` unless all of it lies in the picture.
    public func colors(in rect: PixelRect) -> [Color]? {
        guard let area = rect.clamped(to: pixels.size), area == rect else { return nil }
        return (area.y..<area.y + area.height).flatMap { y in
            (area.x..<area.x + area.width).map { x in
                Color(sum: SIMD4(truncatingIfNeeded: pixels[x, y]), pixelCount: 1)
            }
        }
    }

    /// The mean of all pixels. Each colour counts as much as it covers; the alpha is the mean alpha.
    public var averageColor: Color {
        averageColor(in: PixelRect(x: 0, y: 0, width: pixels.width, height: pixels.height)) ?? .clear
    }

    /// The mean of the pixels in the part of a rectangle that lies in the picture; `nil` if none does.
    public func averageColor(in rect: PixelRect) -> Color? {
        guard let area = rect.clamped(to: pixels.size) else { return nil }
        var sum = SIMD4<UInt64>()
        for y in area.y..<area.y + area.height {
            var rowSum = SIMD4<UInt32>()
            withUnsafeMutableBytes(of: &rowSum) { sums in
                cwi_sum(pixels.row(y) + area.x * 4, area.width, sums.bindMemory(to: UInt32.self).baseAddress)
            }
            sum &+= SIMD4(truncatingIfNeeded: rowSum)
        }
        return Color(sum: sum, pixelCount: area.size.pixelCount)
    }

    /// The colour of which there is most, counting similar ones together; `nil` where every pixel is clear.
    ///
    /// Straight colours are counted in boxes of 8 levels a side, each pixel by its alpha; the place around which 3 × 3 × 3
    /// boxes hold the most gives the mean of their pixels. Of a picture with more than 262,144 pixels, those of an even grid
    /// are looked at. The same picture always gives the same colour, which is opaque.
    public func dominantColor() -> Color? { ColorHistogram(of: pixels).dominantColor }

    /// Up to `count` colours that stand for the picture's, those of the most pixels first; none where all are clear.
    ///
    /// The colours are counted as for ``dominantColor()``, and those that differ most are parted at their mean again and
    /// again (Wan, Wong and Prusinkiewicz, "An Algorithm for Multidimensional Data Clustering", 1988). There are fewer
    /// than `count` where the picture has fewer. They are opaque.
    public func palette(count: Int) -> [Color] { ColorHistogram(of: pixels).palette(count: count) }
}

extension Color {
    /// The mean of premultiplied pixels, with straight alpha.
    init(sum: SIMD4<UInt64>, pixelCount: Int) {
        let alpha = Double(sum.w)
        guard alpha > 0 else {
            self = .clear
            return
        }
        // Colour above alpha, which no premultiplied pixel should have, counts as alpha.
        func straight(_ value: UInt64) -> Double { min(Double(value) / alpha, 1) }
        self.init(
            red: straight(sum.x), green: straight(sum.y), blue: straight(sum.z),
            alpha: alpha / (255 * Double(pixelCount)))
    }
}
