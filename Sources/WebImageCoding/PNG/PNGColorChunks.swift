internal import WebImageCore

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
