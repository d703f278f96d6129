/// A Gaussian blur as means of boxes: three of them come close to the bell (W3C, Filter Effects Module, 9.5).
struct BoxBlur: Sendable, Hashable {
    /// Pixels from a box's middle to its edge; it is twice as long and one pixel more.
    let boxRadius: Int
    /// How often.
    let passCount: Int

    /// The boxes for a blur radius as Apple's UIImageEffects and YYWebImage count it: about twice the Gaussian's standard
    /// deviation, and no box of less than 3 pixels.
    ///
    /// - Parameter radius: in pixels. One above ``maximumRadius`` counts as that.
    /// - Returns: `nil` for what is not above 0, which blurs nothing.
    init?(radius: Double) {
        guard radius > 0 else { return nil }
        let clamped = min(max(radius, 2), Self.maximumRadius)
        let length = Int((clamped * 3 * (2 * Double.pi).squareRoot() / 4 + 0.5) / 2) | 1
        boxRadius = length / 2
        passCount = radius < 0.5 ? 1 : radius < 1.5 ? 2 : 3
    }

    /// The standard deviation of the bell that comes closest: variances of the boxes add up.
    var standardDeviation: Double {
        let length = Double(2 * boxRadius + 1)
        return (Double(passCount) * (length * length - 1) / 12).squareRoot()
    }

    /// Boxes of more than 16,000 pixels would not be divided exactly; this is far from them, and blurs any picture to one
    /// colour a quarter.
    static let maximumRadius = 8192.0
}
