internal import Glibc

/// The transfer curve of sRGB (IEC 61966-2-1).
enum SRGB {
    /// The light of each byte, 0 to 1.
    static let light: [Float] = (0...255).map { byte in
        let value = Double(byte) / 255
        return Float(value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
    }

    /// The byte nearest to an amount of light; what is outside 0 to 1 is brought inside.
    static func byte(_ light: Float) -> UInt8 {
        let light = min(max(light, 0), 1)
        let value = light <= 0.0031308 ? light * 12.92 : 1.055 * powf(light, 1 / 2.4) - 0.055
        return UInt8(value * 255 + 0.5)
    }
}
