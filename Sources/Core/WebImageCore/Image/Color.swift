/// A color in sRGB with straight (not premultiplied) alpha; components range from 0 to 1.
///
/// ```swift
/// let shade = Color(red: 0, green: 0, blue: 0, alpha: 0.5)
/// picture.setImage(url, placeholder: .color(shade))
/// ```
public struct Color: Codable, Sendable, Hashable {
    /// Red, 0 to 1.
    public var red: Double
    /// Green, 0 to 1.
    public var green: Double
    /// Blue, 0 to 1.
    public var blue: Double
    /// Opacity: 0 is transparent, 1 is opaque.
    public var alpha: Double

    /// Creates a color from components between 0 and 1.
    public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Fully transparent.
    public static let clear = Color(red: 0, green: 0, blue: 0, alpha: 0)
    /// Opaque black.
    public static let black = Color(red: 0, green: 0, blue: 0)
    /// Opaque white.
    public static let white = Color(red: 1, green: 1, blue: 1)
}
