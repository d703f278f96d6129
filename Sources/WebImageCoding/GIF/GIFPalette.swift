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
    ///   - limit: the most colors, including the transparent one.
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
        let wantsIndex = histogram.hasClearPixels || mayBeTransparent && colors.count < limit
        transparentIndex = wantsIndex ? UInt8(colors.count) : nil
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
