/// How far something is turned.
///
/// It is kept in degrees, in which a quarter of a turn is a number without an error.
public struct Angle: Sendable, Hashable, Codable {
    /// A full turn is 360.
    public var degrees: Double

    /// An angle of which a full turn has 360.
    public static func degrees(_ degrees: Double) -> Angle { Angle(degrees: degrees) }

    /// An angle of which a full turn has 2π.
    public static func radians(_ radians: Double) -> Angle { Angle(degrees: radians / .pi * 180) }

    /// A full turn is 2π.
    public var radians: Double { degrees / 180 * .pi }

    /// The same direction, at least 0 and less than 360 degrees.
    public var normalized: Angle {
        let rest = degrees.truncatingRemainder(dividingBy: 360)
        let turned = rest < 0 ? rest + 360 : rest
        // A tiny negative rest and 360 add up to 360. Adding 0 makes 0 of -0.
        return Angle(degrees: turned == 360 ? 0 : turned + 0)
    }
}
