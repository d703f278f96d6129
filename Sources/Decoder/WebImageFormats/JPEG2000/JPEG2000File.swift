internal import WebImageCoding
internal import WebImageCore

/// The properties of a JPEG 2000 file besides its image data (ISO/IEC 15444-1, annex I), read without the library.
///
///     jP │ ftyp │ jp2h: ihdr, colr: colors; pclr, cmap: palette; cdef: order and alpha │ jp2c: code stream
///
/// A file may also be a code stream alone. The colors are converted here too, because OpenJPEG applies palettes and
/// tells color spaces and profiles only after decoding, and differently in each version.
struct JPEG2000File: Sendable {
    let codestream: Codestream
    /// Where the code stream begins.
    let codestreamOffset: Int
    /// The channels in the order of the file: components, or columns of the palette.
    private(set) var channels: [Channel] = []
    private(set) var colorSpace = ColorSpace.unspecified
    /// The bytes of the color profile.
    private(set) var profile: Range<Int>?
    private(set) var definitions: [Definition] = []

    struct Channel: Sendable {
        var component: Int
        /// In bits.
        var depth: Int
        var isSigned: Bool
        /// The values that the component's are indices of, from 0 to 65535.
        var palette: [UInt16]?
    }

    /// The purpose of a channel (I.5.3.6).
    struct Definition: Sendable {
        var channel: Int
        /// 0 for color, 1 for alpha, 2 for alpha with which the colors were multiplied.
        var type: Int
        /// 0 for the whole image, else the number of a color.
        var association: Int
    }

    enum ColorSpace: Sendable, Equatable {
        case unspecified
        case cmyk
        case ycc
        /// e-sYCC.
        case extendedYCC
        case lab(LabRanges?)
    }

    /// The ranges and offsets of CIELab (ISO/IEC 15444-2, M.11.7.4.1).
    struct LabRanges: Sendable, Equatable {
        var range: [Double]
        var offset: [Double]
    }

    /// - Parameter isPrefix: whether more bytes may follow.
    init(_ bytes: RawSpan, isPrefix: Bool = false) throws(WebImageError) {
        if bytes.integer(at: 0, count: 2, isBigEndian: true) == 0xFF4F {
            codestream = try Codestream(bytes, at: 0, isPrefix: isPrefix)
            codestreamOffset = 0
            channels = componentChannels
            return
        }
        let (boxes, offset) = try HeaderBoxes.read(bytes)
        codestream = try Codestream(bytes, at: offset, isPrefix: isPrefix)
        codestreamOffset = offset
        channels = componentChannels
        if let color = boxes.color { readColors(color, in: bytes) }
        if let palette = boxes.palette, let mapping = boxes.mapping {
            channels = try mapped(palette, mapping, in: bytes)
        }
        if let definitions = boxes.definitions { readDefinitions(definitions, in: bytes) }
    }

    private var componentChannels: [Channel] {
        codestream.components.enumerated().map { index, component in
            Channel(component: index, depth: component.depth, isSigned: component.isSigned)
        }
    }

    /// The first color specification that can be read counts, as in OpenJPEG.
    private mutating func readColors(_ range: Range<Int>, in bytes: RawSpan) {
        var cursor = ByteCursor(offset: range.lowerBound, end: range.upperBound)
        guard let method = cursor.number(1, in: bytes), cursor.number(2, in: bytes) != nil else { return }
        if method == 2 {
            profile = cursor.offset..<range.upperBound
            return
        }
        switch cursor.number(4, in: bytes) {
        case 12: colorSpace = .cmyk
        case 18: colorSpace = .ycc
        case 24: colorSpace = .extendedYCC
        case 14:
            let numbers = (0..<6).compactMap { _ in cursor.number(4, in: bytes) }
            // The illuminant is the last field; like OpenJPEG, white becomes white whichever it is.
            let isComplete = numbers.count == 6 && cursor.count == 4
            colorSpace = .lab(
                isComplete
                    ? LabRanges(
                        range: [numbers[0], numbers[2], numbers[4]].map(Double.init),
                        offset: [numbers[1], numbers[3], numbers[5]].map(Double.init)) : nil)
        default: break
        }
    }

    /// Returns the channels that a palette makes of the components (I.5.3.4, I.5.3.5).
    private func mapped(
        _ range: Range<Int>, _ mapping: Range<Int>, in bytes: RawSpan
    ) throws(WebImageError) -> [Channel] {
        let format = ImageFormat.jpeg2000
        guard let palette = Palette(range, in: bytes) else { throw format.corrupt("a palette") }
        var cursor = ByteCursor(offset: mapping.lowerBound, end: mapping.upperBound)
        var entries: [(component: Int, type: Int, column: Int)] = []
        for _ in palette.depths {
            guard let component = cursor.number(2, in: bytes), let type = cursor.number(1, in: bytes),
                let column = cursor.number(1, in: bytes), component < codestream.components.count, type <= 1,
                column < palette.depths.count
            else { throw format.corrupt("a component mapping") }
            entries.append((component, type, column))
        }
        // Some programs write zeros instead of a mapping.
        if codestream.components.count == 1, Set(entries.map(\.column)).count < entries.count {
            for index in entries.indices { entries[index] = (0, 1, index) }
        }
        return entries.map { entry in
            let component = codestream.components[entry.component]
            guard entry.type == 1 else {
                return Channel(component: entry.component, depth: component.depth, isSigned: component.isSigned)
            }
            return Channel(
                component: entry.component, depth: palette.depths[entry.column], isSigned: false,
                palette: palette.levels(ofColumn: entry.column, in: bytes))
        }
    }

    /// Definitions of channels that do not exist are ignored.
    private mutating func readDefinitions(_ range: Range<Int>, in bytes: RawSpan) {
        var cursor = ByteCursor(offset: range.lowerBound, end: range.upperBound)
        guard let count = cursor.number(2, in: bytes) else { return }
        for _ in 0..<count {
            guard let channel = cursor.number(2, in: bytes), let type = cursor.number(2, in: bytes),
                let association = cursor.number(2, in: bytes)
            else { return }
            guard channel < channels.count else { continue }
            definitions.append(Definition(channel: channel, type: type, association: association))
        }
    }
}

/// The boxes that tell about colors, without their headers.
private struct HeaderBoxes {
    var color: Range<Int>?
    var palette: Range<Int>?
    var mapping: Range<Int>?
    var definitions: Range<Int>?

    /// Reads the boxes before the code stream; also returns where that begins.
    static func read(_ bytes: RawSpan) throws(WebImageError) -> (boxes: HeaderBoxes, codestream: Int) {
        let format = ImageFormat.jpeg2000
        var (boxes, hasHeader) = (HeaderBoxes(), false)
        for box in Box.list(in: bytes, 0..<bytes.byteCount, isPrefix: true) {
            switch box.type {
            case "jp2c":
                guard hasHeader else { throw format.corrupt("an image without a header") }
                return (boxes, box.content.lowerBound)
            case "jp2h":
                guard box.isWhole else { throw format.truncated }
                let parts = Box.list(in: bytes, box.content, isPrefix: true)
                guard parts.contains(where: { $0.type == "ihdr" }) else { throw format.corrupt("no image header") }
                for part in parts where part.isWhole { boxes.add(part, in: bytes) }
                hasHeader = true
            default:
                // Some programs write these parts behind the header.
                if hasHeader, box.isWhole { boxes.add(box, in: bytes) }
            }
        }
        throw format.truncated
    }

    private mutating func add(_ box: Box, in bytes: RawSpan) {
        switch box.type {
        case "colr":
            guard let method = bytes.byte(at: box.content.lowerBound), [1, 2].contains(method) else { return }
            color = color ?? box.content
        case "pclr": palette = palette ?? box.content
        case "cmap": mapping = mapping ?? box.content
        case "cdef": definitions = definitions ?? box.content
        default: break
        }
    }
}

/// A palette of up to 1,024 entries with up to 255 columns.
private struct Palette {
    let depths: [Int]
    private let isSigned: [Bool]
    private let entryCount: Int
    private let start: Int
    private let end: Int

    init?(_ range: Range<Int>, in bytes: RawSpan) {
        var cursor = ByteCursor(offset: range.lowerBound, end: range.upperBound)
        guard let entryCount = cursor.number(2, in: bytes), (1...1024).contains(entryCount),
            let columnCount = cursor.number(1, in: bytes), columnCount > 0
        else { return nil }
        var (depths, isSigned): ([Int], [Bool]) = ([], [])
        for _ in 0..<columnCount {
            guard let depth = cursor.number(1, in: bytes), depth & 0x7F < 38 else { return nil }
            depths.append(depth & 0x7F + 1)
            isSigned.append(depth & 0x80 != 0)
        }
        (self.depths, self.isSigned, self.entryCount) = (depths, isSigned, entryCount)
        (start, end) = (cursor.offset, range.upperBound)
        guard cursor.count >= entryCount * entryLength else { return nil }
    }

    private var entryLength: Int { depths.reduce(0) { $0 + Self.length($1) } }

    private static func length(_ depth: Int) -> Int { (depth + 7) / 8 }

    /// The values of a column, from 0 to 65535.
    func levels(ofColumn column: Int, in bytes: RawSpan) -> [UInt16] {
        let length = Self.length(depths[column])
        let offset = depths[..<column].reduce(start) { $0 + Self.length($1) }
        let highest = 1 << depths[column] - 1
        let bias = isSigned[column] ? 1 << (depths[column] - 1) : 0
        return (0..<entryCount).map { index in
            let stored = bytes.integer(at: offset + index * entryLength, count: length, isBigEndian: true) ?? 0
            let level = isSigned[column] ? (stored + bias) & highest : min(stored, highest)
            return UInt16(clamping: (level * 65_535 + highest / 2) / highest)
        }
    }
}
