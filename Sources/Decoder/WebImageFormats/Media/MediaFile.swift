internal import WebImageCoding
internal import WebImageCore

/// The main image of an AVIF or HEIC as the boxes describe it (ISO/IEC 14496-12, 23008-12), read without the library.
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
    /// Whether an image is there from which a brighter version can be computed (ISO 21496-1, or Apple's).
    var hasGainMap = false
    var isSequence = false
    var frameCount = 1
    /// How often a sequence plays, 0 forever; `nil` if the file does not tell.
    var loopCount: Int?

    /// `nil` if the bytes end before the boxes that describe the image, or do not describe it.
    ///
    /// - Parameter isPrefix: whether more bytes may follow.
    init?(_ bytes: RawSpan, isPrefix: Bool = true) {
        guard bytes.hasText("ftyp", at: 4) else { return nil }
        isSequence = bytes.hasText("avis", at: 8) || bytes.hasText("msf1", at: 8) || bytes.hasText("hevc", at: 8)
        var (hasImage, hasTrack) = (false, false)
        for box in Box.list(in: bytes, 0..<bytes.byteCount, isPrefix: isPrefix) {
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
        guard let image = items.mainImage else { return false }
        for property in items.properties(of: image) { apply(property.box, in: bytes) }
        // A grid has the properties of its tiles.
        for tile in items.inputs(of: image).prefix(1) {
            for property in items.properties(of: tile) where ["av1C", "hvcC", "colr"].contains(property.box.type) {
                apply(property.box, in: bytes)
            }
        }
        hasGainMap = items.hasGainMap(image, in: bytes)
        hasAlpha = items.alpha(of: image, in: bytes) != nil || !items.alphaOfCells(of: image, in: bytes).isEmpty
        return size.width > 0
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
