public import WebImage

/// How a new picture takes the place of what a slot shows.
///
/// It is a value: take a ready one and change what should be different, or bring your own ``draw``.
///
/// ```swift
/// picture.imageSlot.transition = .fade
/// picture.imageSlot.transition = .flip(from: .left, duration: .seconds(1))
/// ```
///
/// Transitions are for pictures from disk and network; those from memory appear at once, unless the request has
/// ``WebImageOptions/forceTransition``. There is none while the view is off screen, or where the user wants no animations
/// (`gtk-enable-animations`): then `prepare` and `complete` are called, and the picture is there.
///
/// ```
///  prepare ──► picture set ──► draw and animate, once a frame, progress 0…1 ──► complete(true)
///                                      └── another picture, or off screen ────► complete(false)
/// ```
public struct ImageTransition: Sendable {
    /// How long it takes.
    public var duration: Duration
    /// How progress follows time.
    public var timing: TransitionTiming
    /// Whether the library sets the picture; if not, the closures do it.
    public var setsImage = true
    /// Called before the picture is set.
    public var prepare: (@MainActor @Sendable (_ slot: ImageSlot, _ image: Image) -> Void)?
    /// Draws one frame, in views that draw their pictures; others pass over it.
    public var draw: @MainActor @Sendable (TransitionFrame) -> Void
    /// Called for each frame, with the progress from 0 to 1: for what lies around the picture.
    public var animate: (@MainActor @Sendable (_ slot: ImageSlot, _ progress: Double) -> Void)?
    /// Called once at the end; `isFinished` is `false` if it was cut short.
    public var complete: (@MainActor @Sendable (_ slot: ImageSlot, _ isFinished: Bool) -> Void)?

    /// Makes a transition.
    ///
    /// - Parameters:
    ///   - duration: half a second, as in SDWebImage.
    ///   - draw: draws one frame; the default draws the new picture alone.
    public init(
        duration: Duration = .milliseconds(500), timing: TransitionTiming = .easeInOut,
        draw: @escaping @MainActor @Sendable (TransitionFrame) -> Void = { $0.drawNew() }
    ) {
        self.duration = duration
        self.timing = timing
        self.draw = draw
    }

    /// The duration in microseconds, which frame clocks count in.
    var microseconds: Double { duration / .microseconds(1) }
}

/// How the progress of a transition follows time.
public struct TransitionTiming: Sendable {
    private let curve: @Sendable (Double) -> Double

    /// Makes a timing of a function from 0…1 to the progress, which begins with 0 and ends with 1.
    public init(_ curve: @escaping @Sendable (Double) -> Double) { self.curve = curve }

    /// As fast all the time.
    public static let linear = TransitionTiming { $0 }
    /// Begins slowly.
    public static let easeIn = TransitionTiming { $0 * $0 }
    /// Ends slowly.
    public static let easeOut = TransitionTiming { $0 * (2 - $0) }
    /// Begins and ends slowly.
    public static let easeInOut = TransitionTiming { $0 < 0.5 ? 2 * $0 * $0 : 1 - 2 * (1 - $0) * (1 - $0) }

    /// The progress at a part of the time; exact at both ends.
    public func progress(at part: Double) -> Double {
        guard part > 0 else { return 0 }
        return part < 1 ? curve(part) : 1
    }
}

/// An edge of a view.
public enum TransitionEdge: Sendable, Hashable, CaseIterable {
    /// Whatever the direction of text.
    case left, right, top, bottom
    /// Where lines of text begin: left, or right where text runs from right to left.
    case leading
    /// Where lines of text end.
    case trailing

    /// `leading` and `trailing` as left and right.
    func resolved(isRightToLeft: Bool) -> TransitionEdge {
        switch self {
        case .leading: isRightToLeft ? .right : .left
        case .trailing: isRightToLeft ? .left : .right
        case .left, .right, .top, .bottom: self
        }
    }
}
