internal import WebImageCore

extension Color {
    /// A pixel of this colour as a little-endian word: premultiplied, rounded to nearest, components cut to 0…1.
    var premultipliedPixel: UInt32 {
        func byte(_ value: Double) -> UInt32 { UInt32((min(max(value, 0), 1) * 255).rounded()) }
        let alpha = min(max(alpha, 0), 1)
        func premultiplied(_ value: Double) -> UInt32 { byte(min(max(value, 0), 1) * alpha) }
        return premultiplied(red) | premultiplied(green) << 8 | premultiplied(blue) << 16 | byte(alpha) << 24
    }
}
