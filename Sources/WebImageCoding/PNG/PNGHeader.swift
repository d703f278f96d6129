internal import CWebImageDeflate
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

/// What a PNG's chunks before the pixels say about its colours (W3C PNG, third edition, 11.3.2).
///
/// They outrank one another: cICP, then iCCP, then sRGB, then gAMA with or without cHRM. Lights without a gamma mean
/// nothing.
struct PNGColorChunks {
    private(set) var codePoints: ColorCodePoints?
    private(set) var profile: ColorProfile?
    private(set) var isSRGB = false
    /// As stored, times 100,000.
    private(set) var gamma: Int?
    private(set) var primaries: ColorPrimaries?
    /// Of the pixels once palettes are unpacked.
    private(set) var model = ColorModel.rgb

    /// Of a profile, unpacked.
    private let profileByteLimit: Int

    /// What is broken counts as absent, as does a profile that unpacks to more than is allowed, or than any has.
    init(reading data: RawSpan, profileByteLimit: Int = .max) {
        self.profileByteLimit = min(profileByteLimit, ColorProfile.byteLimit)
        // The signature takes 8 bytes, each chunk its length, its name, its content and a checksum of 4.
        var offset = 8
        while let length = data.integer(at: offset, count: 4, isBigEndian: true), !data.hasText("IDAT", at: offset + 4)
        {
            let content = offset + 8..<offset + 8 + length
            guard content.upperBound <= data.byteCount else { return }
            read(chunkNamedAt: offset + 4, data.extracting(content), of: data)
            offset = content.upperBound + 4
        }
    }

    private mutating func read(chunkNamedAt name: Int, _ content: RawSpan, of data: RawSpan) {
        if data.hasText("IHDR", at: name) {
            // Bit 1 of the colour type tells colours from greys.
            model = (content.byte(at: 9) ?? 2) & 2 == 0 ? .gray : .rgb
        } else if data.hasText("cICP", at: name) {
            codePoints = codePoints ?? ColorCodePoints(content)
        } else if data.hasText("iCCP", at: name) {
            profile = profile ?? unpackedProfile(in: content)
        } else if data.hasText("sRGB", at: name) {
            isSRGB = true
        } else if data.hasText("gAMA", at: name) {
            gamma = gamma ?? content.integer(at: 0, count: 4, isBigEndian: true)
        } else if data.hasText("cHRM", at: name) {
            primaries = primaries ?? Self.primaries(in: content)
        }
    }

    /// What all of it means together.
    var encoding: ColorEncoding {
        if let encoding = codePoints?.encoding { return encoding }
        if let profile { return .profile(profile) }
        guard !isSRGB, let gamma, gamma > 0 else { return .sRGB }
        let exponent = Double(gamma) / 100_000
        guard let primaries else { return .gamma(exponent) }
        // 0.45455 and sRGB's lights are what writers add to the chunk sRGB for readers that don't know it.
        if primaries.isClose(to: .sRGB), abs(exponent * 2.2 - 1) < 0.05 { return .sRGB }
        return model == .gray ? .gamma(exponent) : .primaries(primaries, .gamma(1 / exponent))
    }

    /// The way from there to sRGB.
    var conversion: ColorConversion { ColorConversion(from: encoding, model: model) }

    /// White, red, green and blue, x and y of each, times 100,000.
    private static func primaries(in content: RawSpan) -> ColorPrimaries? {
        func point(_ index: Int) -> SIMD2<Double>? {
            guard let x = content.integer(at: index * 8, count: 4, isBigEndian: true),
                let y = content.integer(at: index * 8 + 4, count: 4, isBigEndian: true)
            else { return nil }
            return SIMD2(Double(x), Double(y)) / 100_000
        }
        guard let white = point(0), let red = point(1), let green = point(2), let blue = point(3) else { return nil }
        return ColorPrimaries(red: red, green: green, blue: blue, white: white)
    }

    /// A name, a zero, the method (0 is the only one), and the profile as a zlib stream.
    private func unpackedProfile(in content: RawSpan) -> ColorProfile? {
        guard let nameEnd = (0..<min(80, content.byteCount)).first(where: { content.byte(at: $0) == 0 }),
            content.byte(at: nameEnd + 1) == 0
        else { return nil }
        return ZlibStream.unpacked(content.extracting((nameEnd + 2)...), byteLimit: profileByteLimit)
            .flatMap(ColorProfile.init)
    }
}

/// Compressed data of unknown length, which a few bytes can make as long as one bears.
enum ZlibStream {
    /// What `data` unpacks to; `nil` for damaged data, and for more than `byteLimit` bytes.
    static func unpacked(_ data: RawSpan, byteLimit: Int) -> [UInt8]? {
        guard let decompressor = libdeflate_alloc_decompressor() else { return nil }
        defer { libdeflate_free_decompressor(decompressor) }
        // libdeflate wants room for all at once. Trying again with more costs no more than the last try in all.
        var capacity = min(byteLimit, max(4096, data.byteCount * 4))
        while true {
            var status = LIBDEFLATE_BAD_DATA
            let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
                data.withUnsafeBytes { input in
                    status = libdeflate_zlib_decompress(
                        decompressor, input.baseAddress, input.count, output.baseAddress, capacity, &count)
                }
                if status != LIBDEFLATE_SUCCESS { count = 0 }
            }
            if status == LIBDEFLATE_SUCCESS { return output }
            guard status == LIBDEFLATE_INSUFFICIENT_SPACE, capacity < byteLimit else { return nil }
            capacity = min(byteLimit, capacity * 4)
        }
    }
}
