internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCore

/// The color table of a GIF.
struct GIFPalette: Sendable {
    /// Red in the lowest byte; at most 256, without the transparent color.
    let colors: [UInt32]
    /// The index of each color, if the palette has all colors and so is lossless.
    let exact: ColorSet?
    /// The index of the transparent color, after all others; `nil` if there is none.
    let transparentIndex: UInt8?

    /// - Parameters:
    ///   - limit: the maximum number of colors, including the transparent one.
    ///   - mayBeTransparent: whether to add a transparent index even without transparent pixels, if it costs no color.
    init(for histogram: ColorHistogram, limit: Int, mayBeTransparent: Bool) {
        let colorLimit = histogram.hasClearPixels ? limit - 1 : limit
        if let exact = histogram.exact, exact.colors.count <= colorLimit {
            self.exact = exact
            colors = exact.colors
        } else {
            exact = nil
            colors = PaletteMaker(histogram).colors(count: colorLimit)
        }
        let needsIndex = histogram.hasClearPixels || mayBeTransparent && colors.count < limit
        transparentIndex = needsIndex ? UInt8(colors.count) : nil
    }

    /// Returns this palette with the colors of another frame appended; `nil` if they are too many.
    func extended(for histogram: ColorHistogram, limit: Int) -> GIFPalette? {
        guard var exact, let others = histogram.exact else { return nil }
        for color in others.colors where !exact.insert(color) { return nil }
        guard exact.colors.count <= (histogram.hasClearPixels ? limit - 1 : limit) else { return nil }
        return GIFPalette(exact, limit: limit)
    }

    private init(_ exact: ColorSet, limit: Int) {
        self.exact = exact
        colors = exact.colors
        transparentIndex = colors.count < limit ? UInt8(colors.count) : nil
    }

    /// The bits of an index: 1 to 8.
    var bitCount: Int {
        let count = colors.count + (transparentIndex == nil ? 0 : 1)
        return max(1, Int.bitWidth - max(count - 1, 1).leadingZeroBitCount)
    }

    /// The stored table: three bytes per color, padded with black to a power of two.
    var table: [UInt8] {
        var table = colors.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8 & 0xFF), UInt8($0 >> 16 & 0xFF)] }
        table += [UInt8](repeating: 0, count: (3 << bitCount) - table.count)
        return table
    }

    /// Whether it has every counted color, and a transparent index if needed.
    func holds(_ histogram: ColorHistogram) -> Bool {
        guard let exact, let wanted = histogram.exact, !histogram.hasClearPixels || transparentIndex != nil else {
            return false
        }
        return wanted.colors.allSatisfy { exact.index(of: $0) != nil }
    }
}

/// The frequency of colors in boxes of 8 levels a side, and the exact colors while there are few.
struct ColorHistogram {
    /// The exact colors; `nil` once there are more than 256.
    private(set) var exact: ColorSet? = ColorSet()
    /// Whether there was a transparent pixel.
    private(set) var hasClearPixels = false
    /// For each box, the number of pixels and the sums of their red, green and blue.
    private(set) var boxes = [SIMD4<Double>](repeating: .zero, count: side * side * side)

    static let side = 32

    /// Counts pixels, which are opaque or transparent.
    mutating func add(_ pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) {
        try pixels.forEachWordBatch(cancellation: cancellation) { words in
            var last: UInt32 = 0
            for word in words {
                guard word != 0 else {
                    hasClearPixels = true
                    continue
                }
                if exact != nil, word != last, exact?.insert(word) == false { exact = nil }
                last = word
                let (red, green, blue) = (word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF)
                boxes[Int((red & 0xF8) << 7 | (green & 0xF8) << 2 | blue >> 3)] +=
                    SIMD4(1, Double(red), Double(green), Double(blue))
            }
        }
    }
}

extension PixelBuffer {
    /// Calls `body` with each row of pixels, red in the lowest byte.
    func forEachWordBatch(
        cancellation: Cancellation?, _ body: (UnsafeBufferPointer<UInt32>) -> Void
    ) throws(WebImageError) {
        try size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) { rows in
            for row in rows {
                let start = (baseAddress + row * bytesPerRow).assumingMemoryBound(to: UInt32.self)
                body(UnsafeBufferPointer(start: start, count: width))
            }
        }
    }
}

/// A hash set of up to 256 colors, with an index for each, in insertion order.
struct ColorSet: Sendable {
    private(set) var colors: [UInt32] = []
    /// A color's index plus 1 near its hash; 0 if empty.
    private var slots = [UInt16](repeating: 0, count: 1024)

    /// Inserts a color; returns `false` if the set is full.
    mutating func insert(_ color: UInt32) -> Bool {
        let slot = slot(of: color)
        if slots[slot] != 0 { return true }
        guard colors.count < 256 else { return false }
        colors.append(color)
        slots[slot] = UInt16(colors.count)
        return true
    }

    func index(of color: UInt32) -> UInt8? {
        let entry = slots[slot(of: color)]
        return entry == 0 ? nil : UInt8(entry - 1)
    }

    /// The slot of the color, or where it would be.
    private func slot(of color: UInt32) -> Int {
        var slot = Int((color &* 0x9E37_79B1) >> 22)
        while slots[slot] != 0, colors[Int(slots[slot]) - 1] != color { slot = (slot + 1) & 1023 }
        return slot
    }
}

/// Chooses the colors that represent a histogram with the least squared error.
///
/// It repeatedly splits the part of the color cube where a split removes most of the error (Wu, "Efficient Statistical
/// Computations for Optimal Color Quantization", Graphics Gems II, 1991). Then each color moves to the mean of those
/// nearest to it, a few times (Lloyd, 1982).
struct PaletteMaker {
    private let histogram: ColorHistogram
    /// Sums over all boxes from the origin to each, so that a cuboid's sum takes eight of them.
    private var sums: [SIMD4<Double>]

    init(_ histogram: ColorHistogram) {
        self.histogram = histogram
        sums = [SIMD4<Double>](repeating: .zero, count: Self.side * Self.side * Self.side)
        for red in 1..<Self.side {
            var plane = [SIMD4<Double>](repeating: .zero, count: Self.side)
            for green in 1..<Self.side {
                var line = SIMD4<Double>.zero
                for blue in 1..<Self.side {
                    let box: Int = (red - 1) << 10 | (green - 1) << 5 | (blue - 1)
                    line += histogram.boxes[box]
                    plane[blue] += line
                    sums[Self.place(red, green, blue)] = sums[Self.place(red - 1, green, blue)] + plane[blue]
                }
            }
        }
    }

    /// Returns at most `count` opaque colors, red in the lowest byte.
    func colors(count: Int) -> [UInt32] {
        var parts = [part(Cuboid())]
        while parts.count < count {
            guard let index = parts.indices.max(by: { parts[$0].gain < parts[$1].gain }), let cut = parts[index].cut
            else { break }
            parts[index] = part(cut.0)
            parts.append(part(cut.1))
        }
        return refined(parts.map { Self.mean(sum(of: $0.cuboid)) })
    }

    /// The boxes above the lower and up to the upper bound.
    private struct Cuboid {
        var lower = SIMD3<Int>(repeating: 0)
        var upper = SIMD3<Int>(repeating: ColorHistogram.side)
    }

    private struct Part {
        let cuboid: Cuboid
        /// The best split, and how much error it removes.
        var cut: (Cuboid, Cuboid)?
        var gain = 0.0
    }

    private func part(_ cuboid: Cuboid) -> Part {
        var part = Part(cuboid: cuboid)
        let whole = sum(of: cuboid)
        guard whole[0] > 0 else { return part }
        for axis in 0..<3 {
            for place in cuboid.lower[axis] + 1..<max(cuboid.upper[axis], cuboid.lower[axis] + 1) {
                var (low, high) = (cuboid, cuboid)
                low.upper[axis] = place
                high.lower[axis] = place
                let lowSum = sum(of: low)
                let highSum = whole - lowSum
                guard lowSum[0] > 0, highSum[0] > 0 else { continue }
                let gain = Self.weight(lowSum) + Self.weight(highSum) - Self.weight(whole)
                if gain > part.gain { (part.gain, part.cut) = (gain, (low, high)) }
            }
        }
        return part
    }

    private func sum(of cuboid: Cuboid) -> SIMD4<Double> {
        let (low, high) = (cuboid.lower, cuboid.upper)
        func at(_ red: Int, _ green: Int, _ blue: Int) -> SIMD4<Double> { sums[Self.place(red, green, blue)] }
        /// The sum up to a plane of red.
        func sum(upTo red: Int) -> SIMD4<Double> {
            let outer: SIMD4<Double> = at(red, high[1], high[2]) - at(red, high[1], low[2])
            return outer - at(red, low[1], high[2]) + at(red, low[1], low[2])
        }
        return sum(upTo: high[0]) - sum(upTo: low[0])
    }

    /// The error removed by choosing the mean.
    private static func weight(_ sum: SIMD4<Double>) -> Double {
        (sum[1] * sum[1] + sum[2] * sum[2] + sum[3] * sum[3]) / sum[0]
    }

    private static func mean(_ sum: SIMD4<Double>) -> UInt32 {
        func level(_ channel: Int) -> UInt32 { UInt32(min(max((sum[channel] / sum[0]).rounded(), 0), 255)) }
        return level(1) | level(2) << 8 | level(3) << 16 | 0xFF00_0000
    }

    private func refined(_ colors: [UInt32]) -> [UInt32] {
        var colors = colors
        let occupied = histogram.boxes.filter { $0[0] > 0 }
        for _ in 0..<Self.refinementCount {
            let palette = NearestColor(colors)
            var sums = [SIMD4<Double>](repeating: .zero, count: colors.count)
            for box in occupied { sums[palette.index(of: Self.mean(box))] += box }
            for index in colors.indices where sums[index][0] > 0 { colors[index] = Self.mean(sums[index]) }
        }
        return colors
    }

    private static func place(_ red: Int, _ green: Int, _ blue: Int) -> Int { (red * side + green) * side + blue }

    private static let side = ColorHistogram.side + 1
    /// Each refinement brings less than the previous one.
    private static let refinementCount = 3
}

/// Finds the nearest color by comparing all.
struct NearestColor {
    /// All reds, then all greens, then all blues.
    private let levels: [Int16]
    private let count: Int

    init(_ colors: [UInt32]) {
        count = colors.count
        levels = [0, 8, 16].flatMap { shift in colors.map { Int16($0 >> shift & 0xFF) } }
    }

    /// Returns the first of the nearest colors.
    func index(of color: UInt32) -> Int {
        cwi_nearest_color(levels, count, Int32(color & 0xFF), Int32(color >> 8 & 0xFF), Int32(color >> 16 & 0xFF))
    }
}

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
        let spread = spread
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
        // The median, so that a few outliers do not cause noise.
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

    /// Every second row runs backward, so that patterns do not slant.
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
