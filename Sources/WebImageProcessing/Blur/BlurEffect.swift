public import WebImageCore

/// A blur, and what happens to its colours: frosted glass in one of its kinds.
public struct BlurEffect: Sendable, Hashable {
    /// In points: about twice the standard deviation of a Gaussian, as UIImageEffects, YYWebImage and SDWebImage count it.
    public var radius: Double
    /// ``ColorMatrix/saturation(_:)`` of the blurred picture; 1 changes nothing.
    public var saturation: Double
    /// A colour over the blurred picture.
    public var tint: Color?
    /// How the tint meets the picture's colours.
    public var tintMode: BlendMode

    /// Makes an effect.
    public init(radius: Double, saturation: Double = 1, tint: Color? = nil, tintMode: BlendMode = .sourceOver) {
        self.radius = radius
        self.saturation = saturation
        self.tint = tint
        self.tintMode = tintMode
    }

    /// Fits under any text: 60 points, under 36 % of a light grey.
    public static let soft = glass(radius: 60, white: 0.84, alpha: 0.36)
    /// Under dark text: 60 points, under 30 % of white, as Apple's light blur.
    public static let light = glass(radius: 60, white: 1, alpha: 0.3)
    /// Almost white: 40 points, under 82 % of it, as Apple's extra-light blur.
    public static let extraLight = glass(radius: 40, white: 0.97, alpha: 0.82)
    /// Under light text: 40 points, under 73 % of a dark grey, as Apple's dark blur.
    public static let dark = glass(radius: 40, white: 0.11, alpha: 0.73)

    /// Mostly `color`: 20 points, under 60 % of it, with what shines through in opposite colours, as Apple's tinted blur.
    public static func tinted(_ color: Color) -> BlurEffect {
        var tint = color
        tint.alpha = 0.6
        return BlurEffect(radius: 20, saturation: -1, tint: tint)
    }

    private static func glass(radius: Double, white: Double, alpha: Double) -> BlurEffect {
        BlurEffect(
            radius: radius, saturation: 1.8, tint: Color(red: white, green: white, blue: white, alpha: alpha))
    }
}
