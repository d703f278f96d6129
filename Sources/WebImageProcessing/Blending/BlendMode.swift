internal import CWebImageKernels

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

extension BlendMode {
    var kernel: cwi_blend_mode {
        switch self {
        case .clear: CWI_BLEND_CLEAR
        case .source: CWI_BLEND_SOURCE
        case .sourceOver: CWI_BLEND_SOURCE_OVER
        case .sourceIn: CWI_BLEND_SOURCE_IN
        case .sourceOut: CWI_BLEND_SOURCE_OUT
        case .sourceAtop: CWI_BLEND_SOURCE_ATOP
        case .destination: CWI_BLEND_DESTINATION
        case .destinationOver: CWI_BLEND_DESTINATION_OVER
        case .destinationIn: CWI_BLEND_DESTINATION_IN
        case .destinationOut: CWI_BLEND_DESTINATION_OUT
        case .destinationAtop: CWI_BLEND_DESTINATION_ATOP
        case .xor: CWI_BLEND_XOR
        case .add: CWI_BLEND_ADD
        case .multiply: CWI_BLEND_MULTIPLY
        case .screen: CWI_BLEND_SCREEN
        case .overlay: CWI_BLEND_OVERLAY
        case .darken: CWI_BLEND_DARKEN
        case .lighten: CWI_BLEND_LIGHTEN
        case .colorDodge: CWI_BLEND_COLOR_DODGE
        case .colorBurn: CWI_BLEND_COLOR_BURN
        case .hardLight: CWI_BLEND_HARD_LIGHT
        case .softLight: CWI_BLEND_SOFT_LIGHT
        case .difference: CWI_BLEND_DIFFERENCE
        case .exclusion: CWI_BLEND_EXCLUSION
        case .hue: CWI_BLEND_HUE
        case .saturation: CWI_BLEND_SATURATION
        case .color: CWI_BLEND_COLOR
        case .luminosity: CWI_BLEND_LUMINOSITY
        }
    }

    /// Whether an opaque destination stays opaque.
    ///
    /// - Parameter isSourceOpaque: whether the source is, too.
    func keepsOpacity(isSourceOpaque: Bool) -> Bool {
        switch self {
        case .clear, .sourceOut, .destinationOut, .xor: false
        case .source, .sourceIn, .destinationIn, .destinationAtop: isSourceOpaque
        default: true
        }
    }
}
