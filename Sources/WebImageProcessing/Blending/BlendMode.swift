/// How the colours of a picture and of the one below become one.
///
/// The first thirteen are Porter and Duff's ("Compositing Digital Images", 1984): which part of each stays. The others
/// mix colours where both cover a pixel, as PDF and W3C's "Compositing and Blending Level 1" define them. The source is
/// the picture above, the destination the one below. Colours are those of sRGB as encoded, as cairo and Core Graphics do.
public enum BlendMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing stays.
    case clear
    /// The source alone.
    case source
    /// The source above the destination: what people expect.
    case sourceOver
    /// The source where the destination is.
    case sourceIn
    /// The source where the destination is not.
    case sourceOut
    /// The source where the destination is, above it.
    case sourceAtop
    /// The destination alone.
    case destination
    /// The destination above the source.
    case destinationOver
    /// The destination where the source is.
    case destinationIn
    /// The destination where the source is not.
    case destinationOut
    /// The destination where the source is, above it.
    case destinationAtop
    /// Each where the other is not.
    case xor
    /// The sum of both.
    case add
    /// The product of both: never lighter than either.
    case multiply
    /// The product of the opposites' opposite: never darker than either.
    case screen
    /// Multiplies dark colours of the destination, screens light ones.
    case overlay
    /// The darker, component by component.
    case darken
    /// The lighter, component by component.
    case lighten
    /// Brightens the destination by the source.
    case colorDodge
    /// Darkens the destination by the source.
    case colorBurn
    /// Multiplies dark colours of the source, screens light ones.
    case hardLight
    /// Darkens or lightens by the source, gently.
    case softLight
    /// The distance between both.
    case difference
    /// As ``difference``, with less contrast.
    case exclusion
    /// The source's hue with the destination's saturation and luminosity.
    case hue
    /// The source's saturation with the destination's hue and luminosity.
    case saturation
    /// The source's hue and saturation with the destination's luminosity.
    case color
    /// The source's luminosity with the destination's hue and saturation.
    case luminosity
}

extension BlendMode: ProcessorParameter {}
