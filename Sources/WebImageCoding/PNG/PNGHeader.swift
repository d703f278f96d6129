internal import WebImageCore

/// What the chunks of a PNG tell without unpacking any (W3C PNG, third edition). It hops from length to length.
struct PNGHeader {
    /// As stored.
    let size: PixelSize
    private(set) var orientation = ImageOrientation.up
    private(set) var hasAlpha: Bool
    private(set) var hasColorProfile = false
    /// How often an APNG plays, 0 for ever; `nil` for a still.
    private(set) var loopCount: Int?
    /// The seconds of each frame of an APNG that is there, whole or not.
    private(set) var frameDurations: [Double] = []

    /// An APNG has as many frames as frame headers; what it claims may be anything.
    var frameCount: Int { max(1, frameDurations.count) }

    init(reading data: RawSpan) throws(WebImageError) {
        // The signature takes 8 bytes, each chunk its length, its name, its content and a checksum of 4.
        guard let width = data.integer(at: 16, count: 4, isBigEndian: true),
            let height = data.integer(at: 20, count: 4, isBigEndian: true), let colorType = data.byte(at: 25)
        else { throw .decoding(format: .png, reason: .truncated) }
        guard data.hasText("IHDR", at: 12), width > 0, height > 0 else {
            throw .decoding(format: .png, reason: .corrupt("no header chunk, or one without a size"))
        }
        size = PixelSize(width: width, height: height)
        hasAlpha = colorType & Self.alphaMask != 0

        var isBeforeData = true
        var offset = 8
        while let length = data.integer(at: offset, count: 4, isBigEndian: true),
            let name = data.integer(at: offset + 4, count: 4, isBigEndian: true), name != Name.end
        {
            let content = offset + 8
            if name == Name.data { isBeforeData = false }
            read(name, of: data, at: content, length: length, isBeforeData: isBeforeData)
            offset = content + length + 4
        }
    }

    private mutating func read(_ name: Int, of data: RawSpan, at content: Int, length: Int, isBeforeData: Bool) {
        func integer(at offset: Int, count: Int) -> Int? {
            data.integer(at: content + offset, count: count, isBigEndian: true)
        }
        switch name {
        case Name.transparency where isBeforeData:
            hasAlpha = true
        case Name.profile where isBeforeData:
            hasColorProfile = true
        case Name.exif where content <= data.byteCount:
            orientation = ImageOrientation(exif: data.extracting(content..<min(content + length, data.byteCount)))
        case Name.animation where isBeforeData:
            loopCount = integer(at: 4, count: 4)
        case Name.frame where loopCount != nil:
            guard let numerator = integer(at: 20, count: 2), let denominator = integer(at: 22, count: 2) else { return }
            // A denominator of 0 means hundredths.
            let seconds = Double(numerator) / Double(denominator == 0 ? 100 : denominator)
            frameDurations.append(FrameDuration.played(seconds))
        default:
            break
        }
    }

    private static let alphaMask: UInt8 = 4

    /// Chunk names as big-endian numbers.
    private enum Name {
        static let data = 0x4944_4154  // IDAT
        static let end = 0x4945_4E44  // IEND
        static let transparency = 0x7452_4E53  // tRNS
        static let profile = 0x6943_4350  // iCCP
        static let exif = 0x6558_4966  // eXIf
        static let animation = 0x6163_544C  // acTL
        static let frame = 0x6663_544C  // fcTL
    }
}
