internal import CWebImageDeflate
internal import WebImageCore

/// The metadata of a PNG (W3C PNG, third edition), read without decompressing.
struct PNGHeader {
    /// The size as stored.
    let size: PixelSize
    var orientation: ImageOrientation { metadata.orientation }
    private(set) var hasAlpha: Bool
    /// Of a channel; 8 for palettes.
    let bitDepth: Int
    /// The content of the last EXIF chunk, and the packet in the last one of XMP.
    private(set) var metadata = MetadataRanges()
    private(set) var colors: PNGColors
    private(set) var hasColorProfile = false
    /// Whether the file claims to be an APNG with several frames; ``APNGSequence`` checks that.
    private(set) var claimsAnimation = false
    /// Whether all chunks before the pixels were read.
    private(set) var reachesPixels = false

    /// - Parameter stopsAtPixels: whether to skip the chunks after the pixels, which rarely matter.
    init(reading data: RawSpan, stopsAtPixels: Bool = false) throws(WebImageError) {
        guard let width = data.integer(at: 16, count: 4, isBigEndian: true),
            let height = data.integer(at: 20, count: 4, isBigEndian: true), let depth = data.byte(at: 24),
            let colorType = data.byte(at: 25)
        else { throw .decoding(format: .png, reason: .truncated) }
        guard data.hasText("IHDR", at: 12), width > 0, height > 0 else {
            throw .decoding(format: .png, reason: .corrupt("no header chunk, or one without a size"))
        }
        size = PixelSize(width: width, height: height)
        hasAlpha = colorType & 4 != 0
        bitDepth = colorType == 3 ? 8 : Int(depth)
        colors = PNGColors(isGray: colorType & 2 == 0)

        var chunks = PNGChunks()
        while let chunk = chunks.next(in: data), chunk.name != .end {
            if chunk.name == .data { reachesPixels = true }
            if reachesPixels, stopsAtPixels { return }
            read(chunk, in: data)
            guard chunk.isWhole else { return }
        }
    }

    private mutating func read(_ chunk: PNGChunk, in data: RawSpan) {
        switch chunk.name {
        case .transparency where !reachesPixels:
            hasAlpha = true
        case .exif where chunk.hasContent:
            metadata.setEXIF(chunk.content, in: data)
        case .text where chunk.hasContent && data.hasText(Self.xmpKeyword, at: chunk.content.lowerBound):
            // Compressed text is skipped: XMP has to be uncompressed.
            if let packet = Self.packet(in: chunk.content, of: data) { metadata.setXMP(packet, in: data) }
        case .animation where !reachesPixels:
            claimsAnimation = data.integer(at: chunk.content.lowerBound, count: 4, isBigEndian: true) ?? 0 > 1
        default:
            guard !reachesPixels else { return }
            if chunk.name == .profile { hasColorProfile = true }
            colors.read(chunk, in: data)
        }
    }

    /// The signature, and the header chunk up to the color type.
    static let minimumByteCount = 26

    /// The packet follows the keyword, the compression, and two texts that end with a zero: a language and the keyword
    /// translated.
    private static func packet(in content: Range<Int>, of data: RawSpan) -> Range<Int>? {
        var start = content.lowerBound + xmpKeyword.utf8CodeUnitCount + 1
        for _ in 0..<2 {
            guard start < content.upperBound,
                let end = (start..<content.upperBound).first(where: { data.byte(at: $0) == 0 })
            else { return nil }
            start = end + 1
        }
        return start..<content.upperBound
    }

    /// The keyword, and that the text is not compressed.
    static let xmpKeyword: StaticString = "XML:com.adobe.xmp\0\0"
}

/// The color chunks of a PNG (W3C PNG, third edition, 11.3.2).
///
/// In order of precedence: cICP, iCCP, sRGB, gAMA with or without cHRM. cHRM without gAMA is ignored, as are invalid
/// chunks.
struct PNGColors {
    private(set) var codePoints: ColorCodePoints?
    private(set) var isSRGB = false
    /// As stored, times 100,000.
    private(set) var gamma: Int?
    private(set) var primaries: ColorPrimaries?
    /// The model of the pixels after palettes are expanded.
    private let model: ColorModel
    /// The contents of the iCCP chunks; the first valid one counts.
    private var profiles: [Range<Int>] = []

    fileprivate init(isGray: Bool) { model = isGray ? .gray : .rgb }

    fileprivate mutating func read(_ chunk: PNGChunk, in data: RawSpan) {
        guard chunk.hasContent else { return }
        let content = data.extracting(chunk.content)
        switch chunk.name {
        case .codePoints: codePoints = codePoints ?? ColorCodePoints(content)
        case .profile: if profiles.count < 8 { profiles.append(chunk.content) }
        case .sRGB: isSRGB = true
        case .gamma: gamma = gamma ?? content.integer(at: 0, count: 4, isBigEndian: true)
        case .primaries: primaries = primaries ?? Self.primaries(in: content)
        default: break
        }
    }

    /// Returns the color profile, decompressed; `nil` if it is longer than `byteLimit`.
    func profile(in data: RawSpan, byteLimit: Int = .max) -> ColorProfile? {
        for range in profiles {
            if let profile = Self.profile(in: data.extracting(range), byteLimit: byteLimit) { return profile }
        }
        return nil
    }

    var isHDR: Bool {
        if case .hdr = codePoints?.encoding { true } else { false }
    }

    /// Returns what all chunks together mean.
    func encoding(in data: RawSpan, profileByteLimit: Int = .max) -> ColorEncoding {
        if let encoding = codePoints?.encoding { return encoding }
        if let profile = profile(in: data, byteLimit: profileByteLimit) { return .profile(profile) }
        guard !isSRGB, let gamma, gamma > 0 else { return .sRGB }
        let exponent = Double(gamma) / 100_000
        guard let primaries else { return .gamma(exponent) }
        // Writers add gAMA 0.45455 and sRGB's primaries to the sRGB chunk for readers that do not know it.
        if primaries.isClose(to: .sRGB), abs(exponent * 2.2 - 1) < 0.05 { return .sRGB }
        return model == .gray ? .gamma(exponent) : .primaries(primaries, .gamma(1 / exponent))
    }

    func conversion(in data: RawSpan, options: DecodingOptions) -> ColorConversion {
        ColorConversion(from: source(in: data, options: options), model: model)
    }

    /// The conversion of 16 bits; `nil` if colors stay as they are.
    func deepConversion(in data: RawSpan, options: DecodingOptions) -> DeepColorConversion? {
        let conversion = DeepColorConversion(from: source(in: data, options: options), model: model)
        return conversion.isIdentity ? nil : conversion
    }

    private func source(in data: RawSpan, options: DecodingOptions) -> ColorEncoding {
        options.source(encoding(in: data, profileByteLimit: options.limits.metadataByteCount))
    }

    /// The profile that colors are converted from; `nil` if something else tells what they are.
    func countingProfile(in data: RawSpan) -> ColorProfile? {
        if case .profile(let profile) = encoding(in: data) { profile } else { nil }
    }

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

    /// A name, a zero, the compression method (0), and the profile as a zlib stream.
    private static func profile(in content: RawSpan, byteLimit: Int) -> ColorProfile? {
        guard let nameEnd = (0..<min(80, content.byteCount)).first(where: { content.byte(at: $0) == 0 }),
            content.byte(at: nameEnd + 1) == 0
        else { return nil }
        let stream = content.extracting((nameEnd + 2)...)
        return decompressed(stream, byteLimit: min(byteLimit, ColorProfile.byteLimit)).flatMap(ColorProfile.init)
    }

    /// Decompresses a zlib stream of unknown length; `nil` if it is damaged or longer than `byteLimit`.
    static func decompressed(_ data: RawSpan, byteLimit: Int) -> [UInt8]? {
        guard let decompressor = libdeflate_alloc_decompressor() else { return nil }
        defer { libdeflate_free_decompressor(decompressor) }
        // libdeflate needs the whole output at once. All retries together cost no more than the last.
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
