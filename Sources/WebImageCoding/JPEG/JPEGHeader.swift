internal import WebImageCore

/// What the markers before a JPEG's first scan tell (ITU-T T.81, annex B).
struct JPEGHeader {
    /// As stored.
    let size: PixelSize
    let orientation: ImageOrientation
    /// 1 for grey, 3 for colours, 4 for ink.
    let componentCount: Int
    /// Where the pieces of a colour profile are, in the order of the file: APP2 segments, from their signature on.
    let profileSegments: [Range<Int>]

    /// How many bytes stand before the first scan, as far as they are there.
    let byteCount: Int
    /// Whether all markers before the first scan were there.
    let reachesScan: Bool

    init(reading data: RawSpan) throws(WebImageError) {
        var size: PixelSize?
        var (exif, xmp): (ImageOrientation?, ImageOrientation?)
        var hasEXIF = false
        var componentCount = 0
        var profileSegments: [Range<Int>] = []
        var offset = 2
        var isCut = true
        while let marker = Self.nextMarker(in: data, from: &offset) {
            if marker == Self.startOfScan || marker == Self.endOfImage {
                isCut = false
                break
            }
            if Self.standalone.contains(marker) { continue }
            guard let length = data.integer(at: offset, count: 2, isBigEndian: true) else { break }
            // libjpeg goes on behind the length of a segment that it passes over, and looks for the next marker there.
            if length < 2, Self.isPassedOver(marker) {
                offset += 2
                continue
            }
            guard length >= 2 else {
                throw .decoding(format: .jpeg, reason: .corrupt("a segment shorter than its length"))
            }
            switch marker {
            case _ where Self.startsFrame(marker):
                guard let height = data.integer(at: offset + 3, count: 2, isBigEndian: true),
                    let width = data.integer(at: offset + 5, count: 2, isBigEndian: true)
                else { throw .decoding(format: .jpeg, reason: .truncated) }
                size = PixelSize(width: width, height: height)
                componentCount = data.integer(at: offset + 7, count: 1, isBigEndian: true) ?? 0
            case 0xE1 where !hasEXIF && data.hasText("Exif\0\0", at: offset + 2):
                hasEXIF = true
                let end = min(offset + length, data.byteCount)
                exif = ImageOrientation(exif: data.extracting(offset + 2..<end))
            case 0xE1 where xmp == nil && data.hasText(Self.xmpSignature, at: offset + 2):
                let end = min(offset + length, data.byteCount)
                xmp = ImageOrientation(xmp: data.extracting(offset + 2..<end))
            // A profile has 255 pieces at most: with one more it is none.
            case 0xE2 where profileSegments.count < 256 && data.hasText(Self.profileSignature, at: offset + 2):
                profileSegments.append(offset + 2..<offset + length)
            default:
                break
            }
            offset += length
        }
        guard let size else {
            throw .decoding(
                format: .jpeg, reason: isCut ? .truncated : .corrupt("no frame header before the first scan"))
        }
        guard size.width > 0, size.height > 0 else {
            throw .decoding(format: .jpeg, reason: .corrupt("a picture of \(size) pixels"))
        }
        self.size = size
        // Programs that turn a picture often forget the one or the other; viewers go by EXIF.
        orientation = exif ?? xmp ?? .up
        self.componentCount = componentCount
        self.profileSegments = profileSegments
        byteCount = min(offset, data.byteCount)
        reachesScan = !isCut
    }

    /// Moves `offset` behind the next marker and returns its code, passing over stray bytes as libjpeg does.
    private static func nextMarker(in data: RawSpan, from offset: inout Int) -> UInt8? {
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

    /// COM, APP0 to APP15 and DNL: what stands in others has to fit their length.
    private static func isPassedOver(_ marker: UInt8) -> Bool {
        marker == 0xFE || (0xE0...0xEF).contains(marker) || marker == 0xDC
    }

    /// SOF0 to SOF15, without the three codes among them that mean something else.
    private static func startsFrame(_ marker: UInt8) -> Bool {
        (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
    }

    /// Markers without a length: TEM, RST0 to RST7, SOI.
    private static let standalone: Set<UInt8> = [0x01, 0xD0, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8]
    private static let xmpSignature: StaticString = "http://ns.adobe.com/xap/1.0/\0"
    private static let startOfScan: UInt8 = 0xDA
    private static let endOfImage: UInt8 = 0xD9
}

extension JPEGHeader {
    /// Whether there is a colour profile, or a piece of one.
    var hasColorProfile: Bool { !profileSegments.isEmpty }

    /// The way from its colours, or its ink, to sRGB.
    func colorConversion(in data: RawSpan) -> ColorConversion {
        ColorConversion(from: colorProfile(in: data).map(ColorEncoding.profile) ?? .sRGB, model: colorModel)
    }

    /// What the samples stand for once libjpeg has undone YCbCr and YCCK.
    private var colorModel: ColorModel {
        switch componentCount {
        case 1: .gray
        case 4: .cmyk
        default: .rgb
        }
    }

    /// The profile put together from its pieces (ICC.1:2022, B.4): each says which it is, from 1, and of how many. They may
    /// come in any order; if one is missing, there twice, or of another opinion about their number, there is no profile.
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

    /// Before a piece's number and their count.
    static let profileSignature: StaticString = "ICC_PROFILE\0"
}
