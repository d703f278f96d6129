internal import WebImageCore

/// What the chunks of a PNG tell without unpacking any (W3C PNG, third edition). It hops from length to length.
struct PNGHeader {
    /// As stored.
    let size: PixelSize
    /// EXIF's, else XMP's.
    var orientation: ImageOrientation { exif ?? xmp ?? .up }
    private(set) var hasAlpha: Bool
    private var exif: ImageOrientation?
    private var xmp: ImageOrientation?
    private(set) var hasColorProfile = false
    /// Whether it claims to be an APNG with several frames; ``APNGSequence`` knows whether it is.
    private(set) var claimsAnimation = false
    /// Whether all chunks before the pixels were there.
    private(set) var reachesPixels = false

    /// - Parameter stopsAtPixels: whether to leave out what stands behind them, which is rarely anything that counts.
    init(reading data: RawSpan, stopsAtPixels: Bool = false) throws(WebImageError) {
        // The signature takes 8 bytes, each chunk its length, its name, its content and a checksum of 4.
        guard let width = data.integer(at: 16, count: 4, isBigEndian: true),
            let height = data.integer(at: 20, count: 4, isBigEndian: true), let colorType = data.byte(at: 25)
        else { throw .decoding(format: .png, reason: .truncated) }
        guard data.hasText("IHDR", at: 12), width > 0, height > 0 else {
            throw .decoding(format: .png, reason: .corrupt("no header chunk, or one without a size"))
        }
        size = PixelSize(width: width, height: height)
        hasAlpha = colorType & Self.alphaMask != 0

        var offset = 8
        while let length = data.integer(at: offset, count: 4, isBigEndian: true),
            let name = data.integer(at: offset + 4, count: 4, isBigEndian: true), name != Name.end
        {
            let content = offset + 8
            if name == Name.data { reachesPixels = true }
            if reachesPixels, stopsAtPixels { return }
            read(name, of: data, at: content, length: length, isBeforeData: !reachesPixels)
            offset = content + length + 4
        }
    }

    private mutating func read(_ name: Int, of data: RawSpan, at content: Int, length: Int, isBeforeData: Bool) {
        switch name {
        case Name.transparency where isBeforeData:
            hasAlpha = true
        case Name.profile where isBeforeData:
            hasColorProfile = true
        case Name.exif where content + length <= data.byteCount:
            exif = ImageOrientation(exif: data.extracting(content..<content + length))
        case Name.text where content + length <= data.byteCount && data.hasText(Self.xmpKeyword, at: content):
            // Compressed text is left alone: XMP has to be plain, for programs that know nothing of PNG.
            xmp = ImageOrientation(xmp: data.extracting(content..<content + length))
        case Name.animation where isBeforeData:
            claimsAnimation = data.integer(at: content, count: 4, isBigEndian: true) ?? 0 > 1
        default:
            break
        }
    }

    /// The signature, and the header chunk up to the colour type.
    static let minimumByteCount = 26

    /// The keyword, and that the text is not compressed.
    private static let xmpKeyword: StaticString = "XML:com.adobe.xmp\0\0"
    private static let alphaMask: UInt8 = 4

    /// Chunk names as big-endian numbers.
    private enum Name {
        static let data = 0x4944_4154  // IDAT
        static let end = 0x4945_4E44  // IEND
        static let transparency = 0x7452_4E53  // tRNS
        static let profile = 0x6943_4350  // iCCP
        static let exif = 0x6558_4966  // eXIf
        static let text = 0x6954_5874  // iTXt
        static let animation = 0x6163_544C  // acTL
    }
}
