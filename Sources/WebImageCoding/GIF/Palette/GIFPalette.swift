internal import FoundationEssentials

/// The colours of a GIF's table.
struct GIFPalette: Sendable {
    /// Red in the lowest byte; at most 256, the transparent one not among them.
    let colors: [UInt32]
    /// Where each colour is, if they are all there are: then nothing is lost.
    let exact: ColorSet?
    /// The index behind the colours that stands for clear pixels, if there is room.
    let transparentIndex: UInt8?

    /// - Parameters:
    ///   - limit: the most colours, the transparent one included.
    ///   - mayHaveHoles: whether a transparent index is wanted if it costs no colour, not only for clear pixels.
    init(for histogram: ColorHistogram, limit: Int, mayHaveHoles: Bool) {
        let room = histogram.hasClearPixels ? limit - 1 : limit
        if let exact = histogram.exact, exact.colors.count <= room {
            self.exact = exact
            colors = exact.colors
        } else {
            exact = nil
            colors = PaletteMaker(histogram).colors(count: room)
        }
        let wantsIndex = histogram.hasClearPixels || mayHaveHoles && colors.count < limit
        transparentIndex = wantsIndex ? UInt8(colors.count) : nil
    }

    /// The same with the colours of another frame behind its own, so that indices stay; `nil` if they are too many to keep
    /// each.
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

    /// Bits of an index: 1 to 8.
    var bitCount: Int {
        let count = colors.count + (transparentIndex == nil ? 0 : 1)
        return max(1, Int.bitWidth - max(count - 1, 1).leadingZeroBitCount)
    }

    /// The table as the file has it: three bytes a colour, black up to a power of two.
    var table: [UInt8] {
        var table = colors.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8 & 0xFF), UInt8($0 >> 16 & 0xFF)] }
        table += [UInt8](repeating: 0, count: (3 << bitCount) - table.count)
        return table
    }

    /// Whether it has every colour that was counted, and an index for clear pixels if there were some.
    func holds(_ histogram: ColorHistogram) -> Bool {
        guard let exact, let wanted = histogram.exact, !histogram.hasClearPixels || transparentIndex != nil else {
            return false
        }
        return wanted.colors.allSatisfy { exact.index(of: $0) != nil }
    }
}
