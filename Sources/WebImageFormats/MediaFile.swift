internal import WebImageCoding
internal import WebImageCore

/// What the boxes of an AVIF or HEIC tell about its main image (ISO/IEC 14496-12, 23008-12), read without the library.
///
///     ftyp │ meta: pitm, iinf, iref, iprp (ipco: properties; ipma: whose) │ moov: trak … │ mdat: compressed
///
/// The boxes before `mdat` are usually in the first few hundred bytes.
struct MediaFile: Sendable, Equatable {
    /// Before orientation, after the crop.
    var size = PixelSize(width: 0, height: 0)
    var orientation = ImageOrientation.up
    var hasAlpha = false
    /// Bits of a channel.
    var bitDepth = 8
    var codePoints: ColorCodePoints?
    var hasProfile = false
    /// Whether an image is there from which a brighter version can be computed (ISO 21496-1).
    var hasGainMap = false
    var isSequence = false
    var frameCount = 1
    /// How often a sequence plays, 0 forever; `nil` if the file does not tell.
    var loopCount: Int?

    /// `nil` if the bytes end before the boxes that describe the image, or don't describe it.
    init?(_ bytes: RawSpan) {
        guard bytes.hasText("ftyp", at: 4) else { return nil }
        isSequence = bytes.hasText("avis", at: 8) || bytes.hasText("msf1", at: 8) || bytes.hasText("hevc", at: 8)
        var (hasImage, hasTrack) = (false, false)
        for box in Box.list(in: bytes, 0..<bytes.byteCount) {
            switch box.type {
            // Of several the first counts, so that more bytes never change the answer.
            case "meta" where !hasImage:
                guard box.isWhole else { return nil }
                // Nothing behind the box is read: it may not be there yet.
                let bytes = bytes.extracting(..<box.content.upperBound)
                guard let items = ItemTable(bytes, box.content) else { return nil }
                hasImage = describe(items, in: bytes)
            case "moov" where isSequence && !hasTrack:
                guard box.isWhole else { return nil }
                hasTrack = describeTrack(in: bytes.extracting(..<box.content.upperBound), box.content)
            default: break
            }
        }
        // A sequence has the size of its track.
        guard isSequence ? hasTrack : hasImage, size.width > 0, size.height > 0 else { return nil }
    }

    private mutating func describe(_ items: ItemTable, in bytes: RawSpan) -> Bool {
        guard let primary = items.primary else { return false }
        for box in items.properties(of: primary) { apply(box, in: bytes) }
        // A grid has the properties of its tiles.
        for tile in items.tiles(of: primary).prefix(1) {
            for box in items.properties(of: tile) where ["av1C", "hvcC", "colr"].contains(box.type) {
                apply(box, in: bytes)
            }
        }
        hasGainMap = items.types.values.contains("tmap")
        hasAlpha = items.auxiliaries(of: primary).contains { item in
            items.properties(of: item).contains { $0.type == "auxC" && Self.isAlpha($0, in: bytes) }
        }
        return size.width > 0
    }

    private static func isAlpha(_ box: Box, in bytes: RawSpan) -> Bool {
        bytes.hasText("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", at: box.content.lowerBound + 4)
            || bytes.hasText("urn:mpeg:hevc:2015:auxid:1", at: box.content.lowerBound + 4)
    }

    private mutating func apply(_ box: Box, in bytes: RawSpan) {
        let start = box.content.lowerBound
        func number(_ offset: Int, _ count: Int) -> Int? {
            bytes.integer(at: start + offset, count: count, isBigEndian: true)
        }
        switch box.type {
        case "ispe":
            guard let width = number(4, 4), let height = number(8, 4) else { return }
            size = PixelSize(width: width, height: height)
        case "clap":
            // Fractions: width, height, and the offset of the middle.
            guard let width = number(0, 4), let widthUnit = number(4, 4), let height = number(8, 4),
                let heightUnit = number(12, 4), widthUnit > 0, heightUnit > 0
            else { return }
            let cropped = PixelSize(width: width / widthUnit, height: height / heightUnit)
            if cropped.width > 0, cropped.height > 0, cropped.width <= size.width, cropped.height <= size.height {
                size = cropped
            }
        case "irot": orientation = orientation.rotated(quarters: (number(0, 1) ?? 0) & 3)
        case "imir": orientation = orientation.mirrored(isHorizontal: (number(0, 1) ?? 0) & 1 == 1)
        case "pixi": if let bits = number(5, 1), bits > 0 { bitDepth = bits }
        case "av1C": if let flags = number(2, 1) { bitDepth = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12 }
        case "hvcC": if let bits = number(17, 1) { bitDepth = 8 + bits & 7 }
        case "colr" where bytes.hasText("nclx", at: start):
            guard let primaries = number(4, 2), let transfer = number(6, 2) else { return }
            codePoints = ColorCodePoints(
                primaries: UInt8(truncatingIfNeeded: primaries), transfer: UInt8(truncatingIfNeeded: transfer))
        case "colr": hasProfile = bytes.hasText("prof", at: start) || bytes.hasText("rICC", at: start) || hasProfile
        default: break
        }
    }

    /// Reads the first track of pictures.
    private mutating func describeTrack(in bytes: RawSpan, _ range: Range<Int>) -> Bool {
        for track in Box.list(in: bytes, range) where track.type == "trak" {
            guard let media = Box.find("mdia", in: bytes, track.content),
                let handler = Box.find("hdlr", in: bytes, media.content),
                bytes.hasText("pict", at: handler.content.lowerBound + 8)
                    || bytes.hasText("vide", at: handler.content.lowerBound + 8)
            else { continue }
            let table = Box.find("minf", in: bytes, media.content).flatMap { Box.find("stbl", in: bytes, $0.content) }
            guard let table, let sizes = Box.find("stsz", in: bytes, table.content),
                let count = bytes.integer(at: sizes.content.lowerBound + 8, count: 4, isBigEndian: true),
                let entry = Box.find("stsd", in: bytes, table.content)
            else { continue }
            frameCount = max(1, count)
            loopCount = Self.loopCount(of: track, in: bytes)
            readEntry(entry.content.lowerBound + 8, of: entry.content, in: bytes)
            return true
        }
        return false
    }

    /// Reads a sample entry: 16 bytes of header, 16 reserved, the size, and then boxes.
    private mutating func readEntry(_ start: Int, of range: Range<Int>, in bytes: RawSpan) {
        guard start + 86 <= range.upperBound,
            let width = bytes.integer(at: start + 32, count: 2, isBigEndian: true),
            let height = bytes.integer(at: start + 34, count: 2, isBigEndian: true)
        else { return }
        size = PixelSize(width: width, height: height)
        for box in Box.list(in: bytes, start + 86..<range.upperBound) { apply(box, in: bytes) }
    }

    /// An edit list with the flag for repetition plays its one edit until the track ends.
    private static func loopCount(of track: Box, in bytes: RawSpan) -> Int? {
        guard let header = Box.find("tkhd", in: bytes, track.content),
            let edits = Box.find("edts", in: bytes, track.content).flatMap({ Box.find("elst", in: bytes, $0.content) }),
            let flags = bytes.integer(at: edits.content.lowerBound, count: 4, isBigEndian: true)
        else { return nil }
        guard flags & 1 == 1 else { return 1 }
        let isLong = bytes.byte(at: header.content.lowerBound) == 1
        let (offset, width) = isLong ? (28, 8) : (20, 4)
        let start = header.content.lowerBound + offset
        guard let high = bytes.integer(at: start, count: 4, isBigEndian: true),
            let low = bytes.integer(at: start + width - 4, count: 4, isBigEndian: true)
        else { return nil }
        // All ones: without end.
        if high == 0xFFFF_FFFF, low == 0xFFFF_FFFF { return 0 }
        let isLongEdit = flags >> 24 == 1
        let edit = bytes.integer(
            at: edits.content.lowerBound + 8 + (isLongEdit ? 4 : 0), count: 4, isBigEndian: true)
        let total = isLong ? high << 32 | low : low
        guard let edit, edit > 0 else { return nil }
        return max(1, (total + edit / 2) / edit)
    }
}

extension ImageOrientation {
    /// The rotation and the mirroring are done to an image that this orientation has made upright. Rotations are
    /// counterclockwise.
    fileprivate func rotated(quarters: Int) -> ImageOrientation {
        guard self == .up else { return self }
        return [.up, .left, .down, .right][quarters]
    }

    fileprivate func mirrored(isHorizontal: Bool) -> ImageOrientation {
        switch (self, isHorizontal) {
        case (.up, true), (.down, false): .upMirrored
        case (.up, false), (.down, true): .downMirrored
        case (.left, false), (.right, true): .leftMirrored
        case (.left, true), (.right, false): .rightMirrored
        default: self
        }
    }
}

/// A box: its length, its type, and its content.
struct Box {
    let type: String
    let content: Range<Int>
    /// Whether all of it is there.
    let isWhole: Bool

    private static let countLimit = 4096

    /// Returns the boxes in `range`; the last one may not be whole.
    static func list(in bytes: RawSpan, _ range: Range<Int>) -> [Box] {
        var (boxes, offset): ([Box], Int) = ([], range.lowerBound)
        while offset + 8 <= range.upperBound, boxes.count < countLimit {
            guard var length = bytes.integer(at: offset, count: 4, isBigEndian: true) else { break }
            var headerLength = 8
            // To the end of the file, of which these may not be all bytes: only pictures are stored like that.
            let isOpen = length == 0
            if length == 1 {
                guard let high = bytes.integer(at: offset + 8, count: 4, isBigEndian: true), high < 1 << 16,
                    let low = bytes.integer(at: offset + 12, count: 4, isBigEndian: true)
                else { break }
                (length, headerLength) = (high << 32 | low, 16)
            } else if length == 0 {
                length = range.upperBound - offset
            }
            guard length >= headerLength else { break }
            let type = String(decoding: (4..<8).compactMap { bytes.byte(at: offset + $0) }, as: UTF8.self)
            let end = offset + length
            boxes.append(
                Box(
                    type: type,
                    content: min(offset + headerLength, range.upperBound)..<min(end, range.upperBound),
                    isWhole: end <= range.upperBound && !isOpen))
            offset = end
        }
        return boxes
    }

    static func find(_ type: String, in bytes: RawSpan, _ range: Range<Int>) -> Box? {
        list(in: bytes, range).first { $0.type == type && $0.isWhole }
    }
}

/// The items of a `meta` box, and their properties.
private struct ItemTable {
    private(set) var primary: Int?
    private(set) var types: [Int: String] = [:]
    private var references: [(type: String, from: Int, to: [Int])] = []
    private var properties: [Box] = []
    private var associations: [Int: [Int]] = [:]

    private static let countLimit = 10_000

    init?(_ bytes: RawSpan, _ range: Range<Int>) {
        guard range.count >= 4 else { return nil }
        for box in Box.list(in: bytes, range.lowerBound + 4..<range.upperBound) {
            let start = box.content.lowerBound
            guard let version = bytes.byte(at: start) else { continue }
            switch box.type {
            case "pitm":
                primary = bytes.integer(at: start + 4, count: version == 0 ? 2 : 4, isBigEndian: true)
            case "iinf": readItems(bytes, box.content, countLength: version == 0 ? 2 : 4)
            case "iref": readReferences(bytes, box.content, identifierLength: version == 0 ? 2 : 4)
            case "iprp":
                for part in Box.list(in: bytes, box.content) {
                    if part.type == "ipco" { properties = Box.list(in: bytes, part.content) }
                    if part.type == "ipma" { readAssociations(bytes, part.content) }
                }
            default: break
            }
        }
    }

    func properties(of item: Int) -> [Box] {
        (associations[item] ?? []).compactMap { properties.indices.contains($0 - 1) ? properties[$0 - 1] : nil }
    }

    func tiles(of item: Int) -> [Int] { references.filter { $0.type == "dimg" && $0.from == item }.flatMap(\.to) }

    func auxiliaries(of item: Int) -> [Int] {
        references.filter { $0.type == "auxl" && $0.to.contains(item) }.map(\.from)
    }

    private mutating func readItems(_ bytes: RawSpan, _ range: Range<Int>, countLength: Int) {
        let start = range.lowerBound + 4 + countLength
        guard start <= range.upperBound else { return }
        for box in Box.list(in: bytes, start..<range.upperBound) where box.type == "infe" {
            let start = box.content.lowerBound
            guard let version = bytes.byte(at: start), version >= 2 else { continue }
            let length = version == 2 ? 2 : 4
            guard let identifier = bytes.integer(at: start + 4, count: length, isBigEndian: true) else { continue }
            let type = (0..<4).compactMap { bytes.byte(at: start + 6 + length + $0) }
            types[identifier] = String(decoding: type, as: UTF8.self)
        }
    }

    private mutating func readReferences(_ bytes: RawSpan, _ range: Range<Int>, identifierLength length: Int) {
        guard range.count >= 4 else { return }
        for box in Box.list(in: bytes, range.lowerBound + 4..<range.upperBound) {
            let start = box.content.lowerBound
            guard let from = bytes.integer(at: start, count: length, isBigEndian: true),
                let count = bytes.integer(at: start + length, count: 2, isBigEndian: true)
            else { continue }
            let targets = (0..<min(count, Self.countLimit)).compactMap { index in
                bytes.integer(at: start + length + 2 + index * length, count: length, isBigEndian: true)
            }
            references.append((box.type, from, targets))
        }
    }

    private mutating func readAssociations(_ bytes: RawSpan, _ range: Range<Int>) {
        guard let head = bytes.integer(at: range.lowerBound, count: 4, isBigEndian: true),
            let count = bytes.integer(at: range.lowerBound + 4, count: 4, isBigEndian: true)
        else { return }
        let identifierLength = head >> 24 == 0 ? 2 : 4
        let indexLength = head & 1 == 0 ? 1 : 2
        var offset = range.lowerBound + 8
        for _ in 0..<min(count, Self.countLimit) {
            guard let item = bytes.integer(at: offset, count: identifierLength, isBigEndian: true),
                let number = bytes.byte(at: offset + identifierLength)
            else { return }
            offset += identifierLength + 1
            for index in 0..<Int(number) {
                let value = bytes.integer(at: offset + index * indexLength, count: indexLength, isBigEndian: true)
                // The first bit tells whether the property is essential.
                if let value { associations[item, default: []].append(value & (indexLength == 1 ? 0x7F : 0x7FFF)) }
            }
            offset += Int(number) * indexLength
            guard offset <= range.upperBound else { return }
        }
    }
}
