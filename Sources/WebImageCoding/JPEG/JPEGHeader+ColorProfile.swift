internal import WebImageCore

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
