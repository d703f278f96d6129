internal import Glibc

/// How an output pixel weighs the input pixels around it, by their distance from its centre.
package enum ResamplingFilter: Sendable, Hashable {
    /// Lanczos with three lobes, `sinc(x) * sinc(x / 3)`: the sharpest without much ringing.
    case lanczos3
    /// A straight slope from the centre to the next pixel's: half as many pixels as Lanczos, softer.
    case triangle
    /// The one pixel at the centre: no new colours, edges stay hard.
    case nearest

    /// How far it reaches, in pixels of whichever of the two pictures has the larger ones.
    var radius: Double {
        switch self {
        case .lanczos3: 3
        case .triangle: 1
        case .nearest: 0
        }
    }

    /// The weight at a distance.
    func weight(at x: Double) -> Double {
        switch self {
        case .lanczos3: Self.lanczos(x)
        case .triangle: max(0, 1 - abs(x))
        case .nearest: 1
        }
    }

    private static func lanczos(_ x: Double) -> Double {
        guard x != 0 else { return 1 }
        guard abs(x) < 3 else { return 0 }
        // One sine is as good as two: sin(3a) = 3 sin(a) - 4 sin(a)³.
        let angle = .pi * x / 3
        let sine = sin(angle)
        let square = sine * sine
        return (3 - 4 * square) * square / (3 * angle * angle)
    }
}
