internal import WebImageCore

/// The markers before a JPEG's first scan (ITU-T T.81, annex B).
struct JPEGHeader {
    /// The size as stored.
    private(set) var size = PixelSize(width: 0, height: 0)
    var orientation: ImageOrientation { metadata.orientation }
    /// 1 for gray, 3 for color, 4 for CMYK.
    private(set) var componentCount = 0
    /// Bits of a sample.
    private(set) var precision = 8
    /// Whether it is lossless, which libjpeg-turbo does not read before version 3.
    private(set) var isLossless = false
    /// The pieces of a color profile in file order: APP2 segments, starting at their signature.
    private(set) var profileSegments: [Range<Int>] = []
    /// Whether the file says that a gain map follows: by ISO 21496-1, or by Ultra HDR's XMP.
    private(set) var hasGainMap = false
    /// The segment of ISO 21496-1 about a gain map: in the image the versions, in the map all.
    private(set) var gainMapSegment: Range<Int>?
    /// The index of the images in the file (CIPA DC-007), a TIFF structure.
    private(set) var pictureIndex: Range<Int>?
    /// The first EXIF segment, with its signature, and the packet in the first XMP segment. A packet of more than 64 KB continues in
    /// other segments, which are not read.
    private(set) var metadata = MetadataRanges()

    /// The number of bytes before the first scan, as far as they have arrived.
    private(set) var byteCount = 0
    /// Whether all markers before the first scan have arrived.
    private(set) var reachesScan = false

    init(reading data: RawSpan) throws(WebImageError) {
        var (offset, hasFrame) = (2, false)
        while let marker = Self.nextMarker(in: data, from: &offset) {
            if marker == Self.startOfScan || marker == Self.endOfImage {
                reachesScan = true
                break
            }
            if Self.standalone.contains(marker) { continue }
            guard let length = data.integer(at: offset, count: 2, isBigEndian: true) else { break }
            // libjpeg continues after the length of a segment that it skips, and looks for the next marker there.
            if length < 2, Self.isSkipped(marker) {
                offset += 2
                continue
            }
            guard length >= 2 else {
                throw .decoding(format: .jpeg, reason: .corrupt("an invalid segment length"))
            }
            if Self.startsFrame(marker) {
                try readFrame(marker, at: offset, in: data)
                hasFrame = true
            } else {
                readSegment(marker, at: offset, length, in: data)
            }
            offset += length
        }
        guard hasFrame else {
            throw .decoding(
                format: .jpeg, reason: reachesScan ? .corrupt("no frame header before the first scan") : .truncated)
        }
        guard size.width > 0, size.height > 0 else {
            throw .decoding(format: .jpeg, reason: .corrupt("an image of \(size) pixels"))
        }
        hasGainMap =
            gainMapSegment != nil
            || metadata.xmp.map { data.extracting($0).firstOffset(of: "hdrgm:Version", from: 0) != nil } == true
        byteCount = min(offset, data.byteCount)
    }

    private mutating func readFrame(_ marker: UInt8, at offset: Int, in data: RawSpan) throws(WebImageError) {
        guard let height = data.integer(at: offset + 3, count: 2, isBigEndian: true),
            let width = data.integer(at: offset + 5, count: 2, isBigEndian: true)
        else { throw .decoding(format: .jpeg, reason: .truncated) }
        size = PixelSize(width: width, height: height)
        precision = data.integer(at: offset + 2, count: 1, isBigEndian: true) ?? 8
        isLossless = marker == Self.losslessFrame
        componentCount = data.integer(at: offset + 7, count: 1, isBigEndian: true) ?? 0
    }

    /// Notes the metadata, the profile and the parts of a gain map.
    private mutating func readSegment(_ marker: UInt8, at offset: Int, _ length: Int, in data: RawSpan) {
        switch marker {
        case 0xE1 where metadata.exif == nil && data.hasText(TIFFLayout.prefix, at: offset + 2):
            metadata.setEXIF(offset + 2..<min(offset + length, data.byteCount), in: data)
        case 0xE1
        where metadata.xmp == nil && length >= 2 + Self.xmpSignature.utf8CodeUnitCount
            && data.hasText(Self.xmpSignature, at: offset + 2):
            let start = offset + 2 + Self.xmpSignature.utf8CodeUnitCount
            metadata.setXMP(start..<min(offset + length, data.byteCount), in: data)
        case 0xE2 where gainMapSegment == nil && data.hasText(Self.gainMapSignature, at: offset + 2):
            gainMapSegment = Self.content(offset, length, behind: Self.gainMapSignature, in: data)
        case 0xE2 where pictureIndex == nil && data.hasText(Self.pictureIndexSignature, at: offset + 2):
            pictureIndex = Self.content(offset, length, behind: Self.pictureIndexSignature, in: data)
        // A profile has at most 255 pieces: with more it is invalid.
        case 0xE2 where profileSegments.count < 256 && data.hasText(Self.profileSignature, at: offset + 2):
            profileSegments.append(offset + 2..<offset + length)
        default:
            break
        }
    }

    /// The bytes behind the signature of a segment, which may be cut off or too short.
    private static func content(
        _ offset: Int, _ length: Int, behind signature: StaticString, in data: RawSpan
    ) -> Range<Int> {
        let start = offset + 2 + signature.utf8CodeUnitCount
        return start..<max(start, min(offset + length, data.byteCount))
    }

    /// The segments before the first scan with their markers, and where the marker of the scan is; `nil` without a scan.
    static func segments(of data: RawSpan) -> (segments: [(marker: UInt8, range: Range<Int>)], scan: Int)? {
        var (segments, offset): ([(UInt8, Range<Int>)], Int) = ([], 2)
        while let marker = nextMarker(in: data, from: &offset) {
            if marker == startOfScan { return (segments, offset - 2) }
            if marker == endOfImage { return nil }
            if standalone.contains(marker) { continue }
            guard let length = data.integer(at: offset, count: 2, isBigEndian: true), length >= 2,
                offset + length <= data.byteCount
            else { return nil }
            segments.append((marker, offset - 2..<offset + length))
            offset += length
        }
        return nil
    }

    /// Whether the first frame header is of lossless JPEG; `false` until it arrives.
    static func isLossless(_ data: RawSpan) -> Bool {
        var offset = 2
        while let marker = nextMarker(in: data, from: &offset) {
            if startsFrame(marker) { return marker == losslessFrame }
            if marker == startOfScan || marker == endOfImage { return false }
            if standalone.contains(marker) { continue }
            guard let length = data.integer(at: offset, count: 2, isBigEndian: true) else { return false }
            offset += max(2, length)
        }
        return false
    }

    /// Moves `offset` past the next marker and returns its code, skipping stray bytes as libjpeg does.
    static func nextMarker(in data: RawSpan, from offset: inout Int) -> UInt8? {
        while let byte = data.byte(at: offset) {
            offset += 1
            guard byte == 0xFF else { continue }
            while let code = data.byte(at: offset) {
                offset += 1
                if code == 0xFF { continue }
                if code == 0 { break }
                return code
            }
        }
        return nil
    }

    /// COM, APP0 to APP15 and DNL; the content of others must fit their length.
    private static func isSkipped(_ marker: UInt8) -> Bool {
        marker == 0xFE || (0xE0...0xEF).contains(marker) || marker == 0xDC
    }

    /// SOF0 to SOF15, without the three codes among them with another meaning.
    private static func startsFrame(_ marker: UInt8) -> Bool {
        (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
    }

    /// Markers without a length: TEM, RST0 to RST7, SOI.
    static let standalone: Set<UInt8> = [0x01, 0xD0, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8]
    static let xmpSignature: StaticString = "http://ns.adobe.com/xap/1.0/\0"
    static let gainMapSignature: StaticString = "urn:iso:std:iso:ts:21496:-1\0"
    static let pictureIndexSignature: StaticString = "MPF\0"
    private static let startOfScan: UInt8 = 0xDA
    static let endOfImage: UInt8 = 0xD9
    /// SOF3: with Huffman codes. SOF11 has arithmetic ones.
    private static let losslessFrame: UInt8 = 0xC3
}

extension JPEGHeader {
    /// Whether there is at least a piece of a color profile.
    var hasColorProfile: Bool { !profileSegments.isEmpty }

    func colorEncoding(in data: RawSpan) -> ColorEncoding { colorProfile(in: data).map(ColorEncoding.profile) ?? .sRGB }

    /// The color model after YCbCr and YCCK are converted.
    var colorModel: ColorModel {
        switch componentCount {
        case 1: .gray
        case 4: .cmyk
        default: .rgb
        }
    }

    /// Returns the profile joined from its pieces (ICC.1:2022, B.4). Each has its number, from 1, and the number of
    /// pieces; the order does not matter. If pieces are missing, duplicated or contradictory, there is no profile.
    func colorProfile(in data: RawSpan) -> ColorProfile? {
        let headerLength = Self.profileSignature.utf8CodeUnitCount + 2
        guard let first = profileSegments.first,
            let count = data.byte(at: first.lowerBound + headerLength - 1), profileSegments.count == Int(count),
            profileSegments.reduce(0, { $0 + $1.count }) <= ColorProfile.byteLimit
        else { return nil }
        var pieces: [UInt8: Range<Int>] = [:]
        for segment in profileSegments {
            let start = segment.lowerBound + headerLength
            guard let number = data.byte(at: start - 2), data.byte(at: start - 1) == count,
                (1...count).contains(number),
                start <= segment.upperBound, segment.upperBound <= data.byteCount,
                pieces.updateValue(start..<segment.upperBound, forKey: number) == nil
            else { return nil }
        }
        var bytes: [UInt8] = []
        for number in 1...count {
            guard let piece = pieces[number] else { return nil }
            data.extracting(piece).withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        return ColorProfile(bytes)
    }

    /// Followed by the piece's number and the number of pieces.
    static let profileSignature: StaticString = "ICC_PROFILE\0"
}
