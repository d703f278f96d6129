internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The image as the headers of a JPEG 2000 code stream describe it, and where its tile parts end (ISO/IEC 15444-1, annex A).
///
///     SOC │ SIZ: image, tiles, components │ COD, COC: resolutions │ SOT … SOD: a part of a tile │ SOT … │ EOC
struct Codestream: Sendable {
    /// The image on the reference grid, of which each component has every `dx`th column and every `dy`th row.
    let columns: Range<Int>
    let rows: Range<Int>
    private(set) var components: [Component] = []
    /// The resolutions that all components of all tiles have; each has half the sides of the one before.
    private(set) var resolutionCount = Int.max
    /// Whether packet headers are stored away from their packets.
    private(set) var hasPackedHeaders = false
    private(set) var parts = TileParts()
    let tileCount: Int

    struct Component: Sendable, Hashable {
        /// In bits, 1 to 31.
        var depth: Int
        var isSigned: Bool
        var dx: Int
        var dy: Int

        func size(_ columns: Range<Int>, _ rows: Range<Int>) -> PixelSize {
            PixelSize(
                width: Codestream.span(columns, every: dx).count, height: Codestream.span(rows, every: dy).count)
        }
    }

    /// The tile parts that are there.
    struct TileParts: Sendable {
        /// The end of the last one, from the start of the code stream; OpenJPEG gets no byte behind it.
        var end = 0
        /// Whether the end marker was found, or the last part reaches to the end as it says.
        var hasEnd = false
        /// The number of parts that each tile says it has, and the number of those found.
        var counts: [(claimed: Int, found: Int)] = []
        /// The last part if it is longer than what is there: where its length is stored, and its length here.
        var cut: (offset: Int, length: Int)?
    }

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
        guard mark == Marker.start, next == Marker.size else {
            throw format.corrupt("a code stream that does not begin with the size")
        }
        var segment = try Self.segment(&cursor, in: bytes)
        let numbers = [2, 4, 4, 4, 4, 4, 4, 4, 4, 2].compactMap { segment.number($0, in: bytes) }
        guard numbers.count == 10 else { throw format.corrupt("a size marker") }
        let (right, bottom, left, top) = (numbers[1], numbers[2], numbers[3], numbers[4])
        guard left < right, top < bottom else { throw format.corrupt("an empty image") }
        // OpenJPEG calculates with 32 bits.
        guard right <= Int32.max, bottom <= Int32.max else { throw format.unsupported("positions over 2³¹") }
        (columns, rows) = (left..<right, top..<bottom)
        let (width, height, x, y) = (numbers[5], numbers[6], numbers[7], numbers[8])
        guard width > 0, height > 0, x <= left, y <= top, x + width > left, y + height > top else {
            throw format.corrupt("tiles beside the image")
        }
        let (tileColumns, tileRows) = ((right - x + width - 1) / width, (bottom - y + height - 1) / height)
        guard tileColumns <= 65_535 / tileRows else { throw format.corrupt("\(tileColumns) × \(tileRows) tiles") }
        tileCount = tileColumns * tileRows
        guard (1...16_384).contains(numbers[9]), segment.count == 3 * numbers[9] else {
            throw format.corrupt("\(numbers[9]) components")
        }
        for _ in 0..<numbers[9] {
            let numbers = [1, 1, 1].compactMap { segment.number($0, in: bytes) }
            let depth = numbers[0] & 0x7F + 1
            guard numbers[1] > 0, numbers[2] > 0 else { throw format.corrupt("a component without columns or rows") }
            guard depth <= 31 else { throw format.unsupported("\(depth) bits a channel") }
            components.append(
                Component(depth: depth, isSigned: numbers[0] & 0x80 != 0, dx: numbers[1], dy: numbers[2]))
        }
        try readHeader(&cursor, in: bytes, to: Marker.tilePart)
        guard resolutionCount < .max else { throw format.corrupt("no coding style") }
        cursor.offset -= 2
        if !isPrefix { readTileParts(cursor, in: bytes, from: start) }
    }

    /// Whether nothing is missing: the end is there, or else all parts of all tiles. Some programs leave tiles out.
    var isComplete: Bool {
        parts.hasEnd || parts.cut == nil && parts.counts.allSatisfy { $0.found > 0 && $0.found >= $0.claimed }
    }

    /// The columns or rows of a component.
    static func span(_ range: Range<Int>, every step: Int) -> Range<Int> {
        (range.lowerBound + step - 1) / step..<(range.upperBound + step - 1) / step
    }
}

// MARK: - Markers

extension Codestream {
    private enum Marker {
        static let start = 0xFF4F
        static let size = 0xFF51
        static let style = 0xFF52
        static let componentStyle = 0xFF53
        static let packedHeaders = 0xFF60
        static let packedTileHeaders = 0xFF61
        static let tilePart = 0xFF90
        static let data = 0xFF93
        static let end = 0xFFD9
    }

    /// Returns the content of the segment whose length is next.
    private static func segment(_ cursor: inout ByteCursor, in bytes: RawSpan) throws(WebImageError) -> ByteCursor {
        guard let length = cursor.number(2, in: bytes) else { throw ImageFormat.jpeg2000.truncated }
        guard length >= 2 else { throw ImageFormat.jpeg2000.corrupt("a marker of \(length) bytes") }
        guard let segment = cursor.part(length - 2) else { throw ImageFormat.jpeg2000.truncated }
        return segment
    }

    /// Reads the segments of a header up to the marker that ends it, and that marker.
    private mutating func readHeader(
        _ cursor: inout ByteCursor, in bytes: RawSpan, to end: Int
    ) throws(WebImageError) {
        while true {
            guard let code = cursor.number(2, in: bytes) else { throw ImageFormat.jpeg2000.truncated }
            if code == end { return }
            guard code >= 0xFF00, ![Marker.tilePart, Marker.data, Marker.end].contains(code) else {
                throw ImageFormat.jpeg2000.corrupt("a marker \(code) in the wrong place")
            }
            var segment = try Self.segment(&cursor, in: bytes)
            switch code {
            case Marker.style: try readResolutions(&segment, behind: 5, in: bytes)
            case Marker.componentStyle:
                try readResolutions(&segment, behind: components.count <= 256 ? 2 : 3, in: bytes)
            case Marker.packedHeaders, Marker.packedTileHeaders: hasPackedHeaders = true
            default: break
            }
        }
    }

    /// Reads the number of resolutions in a coding style (A.6.1, A.6.2).
    private mutating func readResolutions(
        _ segment: inout ByteCursor, behind count: Int, in bytes: RawSpan
    ) throws(WebImageError) {
        guard segment.part(count) != nil, let levels = segment.number(1, in: bytes), levels <= 32 else {
            throw ImageFormat.jpeg2000.corrupt("a coding style")
        }
        resolutionCount = min(resolutionCount, levels + 1)
    }

    /// Notes what each tile has. Stops where the file is damaged.
    private mutating func readTileParts(_ cursor: ByteCursor, in bytes: RawSpan, from start: Int) {
        var cursor = cursor
        let total = bytes.byteCount
        parts.counts = Array(repeating: (0, 0), count: tileCount)
        parts.end = cursor.offset - start
        while true {
            let first = cursor.offset
            guard let code = cursor.number(2, in: bytes) else { return }
            if code == Marker.end {
                (parts.end, parts.hasEnd) = (cursor.offset - start, true)
                return
            }
            guard code == Marker.tilePart, cursor.number(2, in: bytes) == 10, let tile = cursor.number(2, in: bytes),
                let length = cursor.number(4, in: bytes), let index = cursor.number(1, in: bytes),
                let count = cursor.number(1, in: bytes), tile < tileCount, parts.counts[tile].found == index,
                (try? readHeader(&cursor, in: bytes, to: Marker.data)) != nil
            else { return }
            let dataStart = cursor.offset
            let end = length == 0 ? total : first + length
            // OpenJPEG 2.5.0 reads out of bounds if no byte of a part with data is there.
            guard end >= dataStart, end == dataStart || dataStart < total else { return }
            parts.counts[tile] = (max(parts.counts[tile].claimed, count), index + 1)
            if end > total {
                parts.cut = (first + 6 - start, total - first)
                parts.end = total - start
                return
            }
            parts.end = end - start
            if length == 0 {
                parts.hasEnd = true
                return
            }
            cursor.offset = end
        }
    }
}

// MARK: - Strips

extension Codestream {
    /// The memory of the planes into which OpenJPEG decodes, in bytes: 4 for each sample, twice if they are put together from tiles or
    /// strips.
    ///
    /// - Parameters:
    ///   - reduction: how often the sides are halved.
    ///   - share: the part of the rows that is decoded at a time; `nil` for all.
    func planeByteCount(reduction: Int, share: Double? = nil) -> Int {
        let sampleCount = components.reduce(0.0) { sum, component in
            let size = component.size(columns, rows)
            return sum + Double(size.width) * Double(size.height)
        }
        let byteCount = sampleCount * (share ?? 1) * (share == nil && tileCount == 1 ? 4 : 8)
        return Int(min(1e18, byteCount / exp2(Double(2 * reduction))))
    }

    /// Whether all components have a row where a strip of an image of this size begins, and none has more rows.
    func canBeCut(_ size: PixelSize) -> Bool {
        let least = components.lazy.map(\.dy).min() ?? 1
        return Self.span(rows, every: least).count == size.height
            && components.allSatisfy { (128 * least) % $0.dy == 0 }
    }

    /// The heights of strips, from the fastest to the smallest.
    static let stripHeights = [2048, 1024, 512, 256, 128]
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
