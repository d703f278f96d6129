/// An angle of rotation.
///
/// Stored in degrees, in which quarter turns are exact.
public struct Angle: Sendable, Hashable, Codable {
    /// A full turn is 360.
    public var degrees: Double

    /// Creates an angle in degrees; a full turn is 360.
    public static func degrees(_ degrees: Double) -> Angle { Angle(degrees: degrees) }

    /// Creates an angle in radians; a full turn is 2π.
    public static func radians(_ radians: Double) -> Angle { Angle(degrees: radians / .pi * 180) }

    /// The angle in radians; a full turn is 2π.
    public var radians: Double { degrees / 180 * .pi }

    /// The same direction, from 0 up to, but not including, 360 degrees.
    public var normalized: Angle {
        let rest = degrees.truncatingRemainder(dividingBy: 360)
        let turned = rest < 0 ? rest + 360 : rest
        // A tiny negative remainder plus 360 rounds to 360. Adding 0 turns -0 into 0.
        return Angle(degrees: turned == 360 ? 0 : turned + 0)
    }
}
