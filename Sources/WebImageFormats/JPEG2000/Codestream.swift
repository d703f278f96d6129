internal import WebImageCoding
internal import WebImageCore

/// The headers of a JPEG 2000 code stream (ISO/IEC 15444-1, annex A), read without the library.
///
///     SOC │ SIZ: image, tiles, components │ COD, COC: resolutions, precincts │ SOT … SOD: a part of a tile │ SOT … │ EOC
///
/// OpenJPEG allocates what they tell before it looks at any image data. It therefore gets only bytes that were read
/// here, and only after ``structureByteCount(reduction:)`` was compared with the limits.
struct Codestream: Sendable {
    /// The image on the reference grid, of which each component has every `dx`th column and every `dy`th row.
    let columns: Range<Int>
    let rows: Range<Int>
    private(set) var components: [Component] = []
    /// How each component is coded, unless a tile has its own style.
    private(set) var styles: [Style] = []
    private(set) var tileStyles: Set<TileStyle> = []
    private(set) var layerCount = 1
    private(set) var hasProgressionChanges = false
    /// Whether packet headers are stored away from their packets.
    private(set) var hasPackedHeaders = false
    private(set) var transforms = ComponentTransforms()
    /// What was found of the tiles.
    private(set) var parts = TileParts()
    /// The first tile on the reference grid; the others follow to the right and below.
    let tileOrigin: Point
    let tileSize: PixelSize

    struct Point: Sendable {
        var x: Int
        var y: Int
    }

    struct Component: Sendable, Hashable {
        /// In bits, 1 to 31.
        var depth: Int
        var isSigned: Bool
        var dx: Int
        var dy: Int
    }

    /// How a component is coded (A.6.1).
    struct Style: Sendable, Hashable {
        /// Each has half the sides of the one before; 1 to 33.
        var resolutionCount = 1
        /// The sides of code blocks, as exponents of 2.
        var blockWidth = 6
        var blockHeight = 6
        /// Whether a code block has many segments: each coding pass or every few ends one.
        var hasManySegments = false
        /// The sides of the precincts of each resolution, as exponents of 2; the smallest resolution first.
        var precincts: [Precinct] = []
    }

    struct Precinct: Sendable, Hashable {
        var width = 15
        var height = 15
    }

    /// A style that a tile has for one component, or for all.
    struct TileStyle: Sendable, Hashable {
        var component: Int?
        var style: Style
    }

    /// The transforms between components of part 2, which OpenJPEG copies for each tile.
    struct ComponentTransforms: Sendable {
        var byteCount = 0
        var matrixCount = 0
        var tileMatrixCount = 0
    }

    /// The tile parts that are there.
    struct TileParts: Sendable {
        /// The end of what was read, from the start of the code stream; OpenJPEG gets no byte behind it.
        var end = 0
        /// Whether the last part ends with the code stream's end marker, or reaches to the end as it says.
        var isComplete = false
        /// The number of parts that a tile says it has, and the number of those found.
        var counts: [(claimed: Int, found: Int)] = []
        /// The last part if it is longer than what is there: where its length is stored, and its length here.
        var cut: (offset: Int, length: Int)?

        var tileCount: Int { counts.count { $0.found > 0 } }
    }

    /// Tiles with styles of their own differ in one or two ways.
    private static let tileStyleLimit = 64

    /// Reads the code stream that starts at `start` and ends where `bytes` do.
    ///
    /// - Parameter isPrefix: whether more bytes may follow: then tile parts are not read.
    /// - Throws: ``WebImageError/DecodingFailure/truncated`` if the main header is not complete, or an error that says
    ///   what is wrong with it.
    init(_ bytes: RawSpan, at start: Int, isPrefix: Bool) throws(WebImageError) {
        let format = ImageFormat.jpeg2000
        var cursor = ByteCursor(offset: start, end: bytes.byteCount)
        guard let mark = cursor.number(2, in: bytes), let next = cursor.number(2, in: bytes) else {
            throw format.truncated
        }
        guard mark == Marker.start.rawValue, next == Marker.size.rawValue else {
            throw format.corrupt("a code stream that does not begin with the size")
        }
        var segment = try Self.segment(&cursor, in: bytes)
        guard segment.count >= 36, (segment.count - 36) % 3 == 0 else { throw format.corrupt("a size marker") }
        let numbers = try Self.numbers(&segment, [2, 4, 4, 4, 4, 4, 4, 4, 4, 2], in: bytes)
        let (right, bottom, left, top) = (numbers[1], numbers[2], numbers[3], numbers[4])
        tileSize = PixelSize(width: numbers[5], height: numbers[6])
        tileOrigin = Point(x: numbers[7], y: numbers[8])
        guard left < right, top < bottom else { throw format.corrupt("an empty image") }
        // OpenJPEG calculates with 32 bits.
        guard right <= Int32.max, bottom <= Int32.max else { throw format.unsupported("positions over 2³¹") }
        (columns, rows) = (left..<right, top..<bottom)
        guard tileSize.width > 0, tileSize.height > 0, tileOrigin.x <= left, tileOrigin.y <= top,
            tileOrigin.x + tileSize.width > left, tileOrigin.y + tileSize.height > top
        else { throw format.corrupt("tiles beside the image") }
        guard (1...16_384).contains(numbers[9]), segment.count == 3 * numbers[9] else {
            throw format.corrupt("\(numbers[9]) components")
        }
        for _ in 0..<numbers[9] {
            let numbers = try Self.numbers(&segment, [1, 1, 1], in: bytes)
            let depth = numbers[0] & 0x7F + 1
            guard numbers[1] > 0, numbers[2] > 0 else { throw format.corrupt("a component without columns or rows") }
            guard depth <= 31 else { throw format.unsupported("\(depth) bits a channel") }
            components.append(
                Component(depth: depth, isSigned: numbers[0] & 0x80 != 0, dx: numbers[1], dy: numbers[2]))
        }
        guard tileColumnCount <= 65_535 / tileRowCount else {
            throw format.corrupt("\(tileColumnCount) × \(tileRowCount) tiles")
        }
        try readMainHeader(&cursor, in: bytes)
        if !isPrefix { readTileParts(cursor, in: bytes, from: start) }
    }

    var tileColumnCount: Int { (columns.upperBound - tileOrigin.x + tileSize.width - 1) / tileSize.width }
    var tileRowCount: Int { (rows.upperBound - tileOrigin.y + tileSize.height - 1) / tileSize.height }
    var tileCount: Int { tileColumnCount * tileRowCount }

    /// Whether nothing is missing: the end is there, or else all parts of all tiles. Some programs leave tiles out.
    var isComplete: Bool {
        parts.isComplete || parts.cut == nil && parts.counts.allSatisfy { $0.found > 0 && $0.found >= $0.claimed }
    }

    /// The resolutions that all components of all tiles have.
    var resolutionCount: Int {
        let counts = styles.lazy.map(\.resolutionCount)
        return min(counts.min() ?? 1, tileStyles.lazy.map(\.style.resolutionCount).min() ?? .max)
    }

    /// The columns or rows of a component.
    static func span(_ range: Range<Int>, every step: Int) -> Range<Int> {
        (range.lowerBound + step - 1) / step..<(range.upperBound + step - 1) / step
    }
}

// MARK: - Markers

extension Codestream {
    fileprivate enum Marker: Int {
        case start = 0xFF4F
        case size = 0xFF51
        case style = 0xFF52
        case componentStyle = 0xFF53
        case tileParts = 0xFF55
        case packetsInMainHeader = 0xFF57
        case packetLengths = 0xFF58
        case quantization = 0xFF5C
        case componentQuantization = 0xFF5D
        case region = 0xFF5E
        case progression = 0xFF5F
        case packedHeaders = 0xFF60
        case packedTileHeaders = 0xFF61
        case registration = 0xFF63
        case comment = 0xFF64
        case transform = 0xFF74
        case transformCollection = 0xFF75
        case transformOrder = 0xFF77
        case definedDepths = 0xFF78
        case capabilities = 0xFF50
        case profile = 0xFF59
        case tilePart = 0xFF90
        case packetStart = 0xFF91
        case data = 0xFF93
        case end = 0xFFD9

        /// Where OpenJPEG accepts it; it skips unknown ones in the main header.
        var isOfMainHeader: Bool {
            switch self {
            case .style, .componentStyle, .quantization, .componentQuantization, .region, .progression, .comment,
                .transform, .transformCollection, .transformOrder, .tileParts, .packetsInMainHeader, .packedHeaders,
                .registration, .definedDepths, .capabilities, .profile, .tilePart:
                true
            default: false
            }
        }

        var isOfTileHeader: Bool {
            switch self {
            case .style, .componentStyle, .quantization, .componentQuantization, .region, .progression, .comment,
                .transform, .transformCollection, .transformOrder, .packetLengths, .packedTileHeaders:
                true
            default: false
            }
        }

        /// Whether OpenJPEG has no segment of that name.
        var isSkipped: Bool { [.start, .data, .end].contains(self) }
    }

    /// Returns the content of the segment whose length is next.
    private static func segment(_ cursor: inout ByteCursor, in bytes: RawSpan) throws(WebImageError) -> ByteCursor {
        guard let length = cursor.number(2, in: bytes) else { throw ImageFormat.jpeg2000.truncated }
        guard length >= 2 else { throw ImageFormat.jpeg2000.corrupt("a marker of \(length) bytes") }
        guard let segment = cursor.part(length - 2) else { throw ImageFormat.jpeg2000.truncated }
        return segment
    }

    private static func numbers(_ cursor: inout ByteCursor, _ lengths: [Int], in bytes: RawSpan) throws(WebImageError)
        -> [Int]
    {
        var numbers: [Int] = []
        for length in lengths {
            guard let number = cursor.number(length, in: bytes) else { throw ImageFormat.jpeg2000.truncated }
            numbers.append(number)
        }
        return numbers
    }

    /// Reads to the first tile part.
    private mutating func readMainHeader(_ cursor: inout ByteCursor, in bytes: RawSpan) throws(WebImageError) {
        let format = ImageFormat.jpeg2000
        var hasStyle = false
        styles = Array(repeating: Style(), count: components.count)
        while true {
            guard var code = cursor.number(2, in: bytes) else { throw format.truncated }
            guard code >= 0xFF00 else { throw format.corrupt("a marker \(code)") }
            var marker = Marker(rawValue: code)
            while marker == nil || marker?.isSkipped == true {
                guard let next = cursor.number(2, in: bytes) else { throw format.truncated }
                code = next
                marker = Marker(rawValue: code)
            }
            guard let marker, marker.isOfMainHeader else { throw format.corrupt("a marker \(code) in the wrong place") }
            if marker == .tilePart { break }
            let segment = try Self.segment(&cursor, in: bytes)
            guard let style = read(marker, segment, in: bytes) else { throw format.corrupt("a marker \(code)") }
            switch style {
            case .all(let style):
                styles = Array(repeating: style, count: components.count)
                hasStyle = true
            case .one(let index, let style): styles[index] = style
            case .other: break
            }
            if marker == .transformOrder { transforms.matrixCount += 1 }
        }
        guard hasStyle else { throw format.corrupt("no coding style") }
        cursor.offset -= 2
    }

    /// Notes what each tile has. Stops where OpenJPEG would, or where the file is damaged.
    private mutating func readTileParts(_ cursor: ByteCursor, in bytes: RawSpan, from start: Int) {
        var cursor = cursor
        let total = bytes.byteCount
        parts.counts = Array(repeating: (0, 0), count: tileCount)
        parts.end = cursor.offset - start
        while true {
            let first = cursor.offset
            guard let code = cursor.number(2, in: bytes) else { return }
            if code == Marker.end.rawValue {
                (parts.end, parts.isComplete) = (cursor.offset - start, true)
                return
            }
            guard code == Marker.tilePart.rawValue, cursor.number(2, in: bytes) == 10,
                let tile = cursor.number(2, in: bytes),
                let length = cursor.number(4, in: bytes), let index = cursor.number(1, in: bytes),
                let count = cursor.number(1, in: bytes),
                tile < tileCount, parts.counts[tile].found == index, count == 0 || index <= count,
                count == 0 || parts.counts[tile].claimed == 0 || parts.counts[tile].claimed == count,
                readTileHeader(&cursor, in: bytes)
            else { return }
            let dataStart = cursor.offset
            guard length == 0 || first + length >= dataStart else { return }
            let end = length == 0 ? total : first + length
            // OpenJPEG 2.5.0 reads out of bounds if no byte of a part with data is there.
            guard end == dataStart || dataStart < total else { return }
            parts.counts[tile] = (max(parts.counts[tile].claimed, count), index + 1)
            if end > total {
                parts.cut = (first + 6 - start, total - first)
                parts.end = total - start
                return
            }
            parts.end = end - start
            if length == 0 {
                parts.isComplete = true
                return
            }
            cursor.offset = end
        }
    }

    /// Reads from behind a tile part's first marker to its data. Returns `false` where OpenJPEG stops.
    private mutating func readTileHeader(_ cursor: inout ByteCursor, in bytes: RawSpan) -> Bool {
        while true {
            guard let code = cursor.number(2, in: bytes), let marker = Marker(rawValue: code) else { return false }
            if marker == .data { return true }
            guard marker.isOfTileHeader, let segment = try? Self.segment(&cursor, in: bytes),
                let style = read(marker, segment, in: bytes)
            else { return false }
            switch style {
            case .all(let style): tileStyles.insert(TileStyle(component: nil, style: style))
            case .one(let index, let style): tileStyles.insert(TileStyle(component: index, style: style))
            case .other: break
            }
            if marker == .transformOrder { transforms.tileMatrixCount += 1 }
            guard tileStyles.count <= Self.tileStyleLimit else { return false }
        }
    }

    private enum ReadStyle {
        case all(Style)
        case one(Int, Style)
        case other
    }

    /// Reads what a segment tells about memory; `nil` if it is invalid.
    private mutating func read(_ marker: Marker, _ segment: ByteCursor, in bytes: RawSpan) -> ReadStyle? {
        var segment = segment
        switch marker {
        case .style:
            guard let flags = segment.number(1, in: bytes), segment.number(1, in: bytes) != nil,
                let layers = segment.number(2, in: bytes), layers > 0,
                segment.number(1, in: bytes) != nil,
                let style = Style(&segment, in: bytes, hasPrecincts: flags & 1 == 1)
            else { return nil }
            layerCount = max(layerCount, layers)
            return .all(style)
        case .componentStyle:
            guard let index = segment.number(components.count <= 256 ? 1 : 2, in: bytes), index < components.count,
                let flags = segment.number(1, in: bytes),
                let style = Style(&segment, in: bytes, hasPrecincts: flags & 1 == 1)
            else { return nil }
            return .one(index, style)
        case .progression: hasProgressionChanges = true
        case .packedHeaders, .packedTileHeaders: hasPackedHeaders = true
        case .transform, .transformCollection, .definedDepths: transforms.byteCount += segment.count + 64
        default: break
        }
        return .other
    }
}

extension Codestream.Style {
    /// Reads the parameters of a COD or COC marker (A.6.1, table A.15).
    fileprivate init?(_ cursor: inout ByteCursor, in bytes: RawSpan, hasPrecincts: Bool) {
        guard let levels = cursor.number(1, in: bytes), levels <= 32, let width = cursor.number(1, in: bytes),
            let height = cursor.number(1, in: bytes),
            let flags = cursor.number(1, in: bytes), let wavelet = cursor.number(1, in: bytes), wavelet <= 1,
            width <= 8, height <= 8,
            width + height <= 8
        else { return nil }
        resolutionCount = levels + 1
        (blockWidth, blockHeight) = (width + 2, height + 2)
        hasManySegments = flags & 0b101 != 0
        for index in 0..<resolutionCount {
            guard hasPrecincts else {
                precincts.append(Codestream.Precinct())
                continue
            }
            guard let sides = cursor.number(1, in: bytes) else { return nil }
            let precinct = Codestream.Precinct(width: sides & 15, height: sides >> 4)
            guard index == 0 || precinct.width > 0 && precinct.height > 0 else { return nil }
            precincts.append(precinct)
        }
    }
}

/// A place in bytes from which numbers are read, one after the other.
struct ByteCursor {
    var offset: Int
    /// Nothing behind it is read.
    let end: Int

    /// The bytes that are left.
    var count: Int { max(0, end - offset) }

    /// Reads an unsigned big-endian number; `nil` if there are fewer bytes.
    mutating func number(_ length: Int, in bytes: RawSpan) -> Int? {
        guard length <= count, let number = bytes.integer(at: offset, count: length, isBigEndian: true) else {
            return nil
        }
        offset += length
        return number
    }

    /// Returns the next bytes on their own.
    mutating func part(_ length: Int) -> ByteCursor? {
        guard length <= count else { return nil }
        defer { offset += length }
        return ByteCursor(offset: offset, end: offset + length)
    }
}
