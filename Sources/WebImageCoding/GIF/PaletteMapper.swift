internal import WebImageCore

/// Maps pixels to palette indices. The nearest color is computed once for each box of 4 levels a side.
struct PaletteMapper {
    private let palette: GIFPalette
    private let dithering: EncodingOptions.Dithering
    private let nearest: NearestColor
    /// An index plus 1 for each box; 0 if not yet computed.
    private var indexCache: [UInt16]

    init(_ palette: GIFPalette, dithering: EncodingOptions.Dithering) {
        self.palette = palette
        self.dithering = palette.exact == nil ? dithering : .none
        nearest = NearestColor(palette.colors)
        indexCache = [UInt16](repeating: 0, count: palette.exact == nil ? 1 << 18 : 0)
    }

    /// Returns one index per pixel; the pixels are opaque or transparent.
    ///
    /// - Parameters:
    ///   - left: the column of the first pixel in the whole image, to align patterns.
    ///   - top: the row of the first pixel.
    mutating func indices(
        of pixels: PixelBuffer, left: Int = 0, top: Int = 0, cancellation: Cancellation?
    ) throws(WebImageError) -> [UInt8] {
        var indices: [UInt8] = []
        indices.reserveCapacity(pixels.size.pixelCount)
        switch dithering {
        case .none: try pixels.forEachWordBatch(cancellation: cancellation) { appendNearest($0, to: &indices) }
        case .ordered: try appendOrdered(pixels, left: left, top: top, to: &indices, cancellation: cancellation)
        case .floydSteinberg: try appendDiffused(pixels, to: &indices, cancellation: cancellation)
        }
        return indices
    }

    private var clearIndex: UInt8 { palette.transparentIndex ?? 0 }

    private mutating func appendNearest(_ words: UnsafeBufferPointer<UInt32>, to indices: inout [UInt8]) {
        var (last, lastIndex): (UInt32, UInt8) = (0, clearIndex)
        for word in words {
            if word != last {
                lastIndex = word == 0 ? clearIndex : palette.exact?.index(of: word) ?? index(of: word)
                last = word
            }
            indices.append(lastIndex)
        }
    }

    private mutating func index(of color: UInt32) -> UInt8 {
        let (red, green, blue) = (color >> 2 & 0x3F, color >> 4 & 0xFC0, color >> 6 & 0x3_F000)
        let box = Int(red | green | blue)
        if indexCache[box] == 0 {
            let middle = color & 0xFC_FCFC | 0x02_0202
            indexCache[box] = UInt16(nearest.index(of: middle) + 1)
        }
        return UInt8(indexCache[box] - 1)
    }

    // MARK: Ordered

    private mutating func appendOrdered(
        _ pixels: PixelBuffer, left: Int, top: Int, to indices: inout [UInt8], cancellation: Cancellation?
    ) throws(WebImageError) {
        let offsets = Self.pattern.map { (Int32($0) * 2 - 63) * spread / 128 }
        var row = top
        try pixels.forEachWordBatch(cancellation: cancellation) { words in
            for (column, word) in words.enumerated() {
                let offset = offsets[(row & 7) << 3 | (left + column) & 7]
                indices.append(word == 0 ? clearIndex : index(of: Self.shifted(word, by: SIMD3(repeating: offset))))
            }
            row += 1
        }
    }

    /// The distance between neighboring palette colors, in levels of a channel.
    private var spread: Int32 {
        let colors = palette.colors.map { SIMD3(Int32($0 & 0xFF), Int32($0 >> 8 & 0xFF), Int32($0 >> 16 & 0xFF)) }
        let distances = colors.indices.map { index in
            colors.indices.reduce(Int32.max) { least, other in
                let difference = colors[index] &- colors[other]
                return other == index ? least : min(least, (difference &* difference).wrappedSum())
            }
        }
        // The median, so that a few outliers don't cause noise.
        let median = distances.sorted()[distances.count / 2]
        return Int32((Double(min(median, 3 * 255 * 255)) / 3).squareRoot().rounded()) * 2
    }

    /// Bayer's matrix.
    private static let pattern: [UInt8] = (0..<64).map { place in
        let (x, y) = (place & 7, place >> 3)
        return (0..<3).reduce(0) { number, bit in
            let (a, b) = (UInt8(x >> bit & 1), UInt8(y >> bit & 1))
            return number | ((a ^ b) << 1 | b) << UInt8((2 - bit) * 2)
        }
    }

    // MARK: Diffused

    /// Every second row runs backward, so that patterns don't slant.
    private mutating func appendDiffused(
        _ pixels: PixelBuffer, to indices: inout [UInt8], cancellation: Cancellation?
    ) throws(WebImageError) {
        let width = pixels.width
        // Sixteenths of errors carried to this row and the next, with a margin of one pixel.
        var owed = [SIMD3<Int32>](repeating: .zero, count: width + 2)
        var below = owed
        var line = [UInt8](repeating: 0, count: width)
        var isBackward = false
        try pixels.forEachWordBatch(cancellation: cancellation) { words in
            let step = isBackward ? -1 : 1
            var column = isBackward ? width - 1 : 0
            for _ in 0..<width {
                let word = words[column]
                if word == 0 {
                    line[column] = clearIndex
                } else {
                    let wanted = Self.shifted(word, by: (owed[column + 1] &+ 8) &>> 4)
                    let index = index(of: wanted)
                    line[column] = index
                    let error = Self.levels(wanted) &- Self.levels(palette.colors[Int(index)])
                    owed[column + 1 + step] &+= error &* 7
                    below[column + 1 - step] &+= error &* 3
                    below[column + 1] &+= error &* 5
                    below[column + 1 + step] &+= error
                }
                column += step
            }
            indices += line
            swap(&owed, &below)
            for place in below.indices { below[place] = .zero }
            isBackward.toggle()
        }
    }

    private static func levels(_ color: UInt32) -> SIMD3<Int32> {
        SIMD3(Int32(color & 0xFF), Int32(color >> 8 & 0xFF), Int32(color >> 16 & 0xFF))
    }

    /// Returns the color with an offset, clamped.
    private static func shifted(_ color: UInt32, by offset: SIMD3<Int32>) -> UInt32 {
        let sum = (levels(color) &+ offset).clamped(
            lowerBound: .zero, upperBound: SIMD3(repeating: 255))
        return UInt32(sum.x) | UInt32(sum.y) << 8 | UInt32(sum.z) << 16 | 0xFF00_0000
    }
}
