/// What a file says about the meaning of its numbers.
package enum ColorEncoding: Sendable, Hashable {
    /// sRGB, or nothing, which means the same.
    case sRGB
    /// An ICC profile.
    case profile(ColorProfile)
    /// Red, green and blue lights of its own, with one curve for all three.
    case primaries(ColorPrimaries, ToneCurve)
    /// sRGB's lights and a power between light and number, as PNG's `gAMA` names it: 0.45455 for common displays.
    case gamma(Double)
}
