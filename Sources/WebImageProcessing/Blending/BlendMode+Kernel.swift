internal import CWebImageKernels

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
