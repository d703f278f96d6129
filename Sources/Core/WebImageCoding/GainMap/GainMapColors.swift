internal import CWebImageLCMS
internal import FoundationEssentials

/// The colors whose primaries the gains of a map are for.
package enum GainMapColors: Sendable, Hashable {
    case profile(ColorProfile)
    case codePoints(ColorCodePoints)
}

extension GainMapColors {
    /// A profile with these primaries, for files that cannot name them.
    var profile: ColorProfile? {
        switch self {
        case .profile(let profile): profile
        case .codePoints(let points): points.lights.flatMap(ColorProfile.init(primaries:))
        }
    }

    /// For messages: a kind, and the bytes.
    package var bytes: [UInt8] {
        switch self {
        case .profile(let profile): [0] + profile.bytes
        case .codePoints(let points): [1, points.primaries, points.transfer]
        }
    }

    /// `nil` for other bytes.
    init?(bytes: [UInt8]) {
        if bytes.first == 0, let profile = ColorProfile(Array(bytes.dropFirst())) {
            self = .profile(profile)
        } else if bytes.count == 3, bytes[0] == 1 {
            self = .codePoints(ColorCodePoints(primaries: bytes[1], transfer: bytes[2]))
        } else {
            return nil
        }
    }
}

extension ColorProfile {
    /// With the curve of sRGB.
    fileprivate init?(primaries: ColorPrimaries) {
        func point(_ point: SIMD2<Double>) -> cmsCIExyY { cmsCIExyY(x: point.x, y: point.y, Y: 1) }
        var white = point(primaries.white)
        var lights = cmsCIExyYTRIPLE(
            Red: point(primaries.red), Green: point(primaries.green), Blue: point(primaries.blue))
        guard let curve = cmsBuildParametricToneCurve(nil, 4, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
        else {
            return nil
        }
        defer { cmsFreeToneCurve(curve) }
        var curves: [OpaquePointer?] = [curve, curve, curve]
        guard let handle = cmsCreateRGBProfile(&white, &lights, &curves) else { return nil }
        defer { cmsCloseProfile(handle) }
        guard let bytes = ImageMetadata.bytes(ofProfile: handle) else { return nil }
        self.init(bytes)
    }
}
