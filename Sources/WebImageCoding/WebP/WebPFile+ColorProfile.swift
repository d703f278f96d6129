internal import WebImageCore

extension WebPFile {
    /// Whether there is a colour profile, whole or not.
    var hasColorProfile: Bool { profile != nil }

    /// The way from its colours to sRGB.
    func colorConversion(in data: RawSpan) -> ColorConversion {
        ColorConversion(from: colorProfile(in: data).map(ColorEncoding.profile) ?? .sRGB)
    }

    /// The profile, if it is whole and sound.
    func colorProfile(in data: RawSpan) -> ColorProfile? {
        guard let profile, profile.upperBound <= data.byteCount, profile.count <= ColorProfile.byteLimit else {
            return nil
        }
        return ColorProfile(data.extracting(profile).withUnsafeBytes { Array($0) })
    }
}
