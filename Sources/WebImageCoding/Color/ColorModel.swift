/// What the components of a stored pixel stand for.
package enum ColorModel: Sendable, Hashable {
    /// One component of light.
    case gray
    /// Red, green and blue light; palettes, YCbCr and the like are unpacked to it before colours count.
    case rgb
    /// Cyan, magenta, yellow and black ink, each as 255 minus its amount.
    case cmyk
}
