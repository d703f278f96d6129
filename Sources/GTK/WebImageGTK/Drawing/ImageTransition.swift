public import CWebImageGTK
public import WebImage

/// How a new image replaces the content of a slot.
///
/// Use a built-in transition, change its properties, or supply a closure that draws each frame.
///
/// ```swift
/// picture.transition = .fade()
/// picture.transition = .flip(from: GTK_POS_LEFT, duration: .seconds(1))
/// ```
///
/// Transitions apply to images from disk and network. Images from memory appear at once, unless the call has
/// ``SetImageOptions/forceTransition``. There is no transition while the view is off screen, or if the user has
/// disabled animations (`gtk-enable-animations`). Then `prepare` and `complete` are called, and the image appears at
/// once.
///
/// ```
///  prepare ──► image set ──► draw and animate, once per frame, progress 0…1 ──► complete(true)
///                                    └── another image, or off screen ────────► complete(false)
/// ```
public struct ImageTransition: Sendable {
    /// The duration of the transition.
    public var duration: Duration
    /// Maps the elapsed part of the duration, from 0 to 1, to the progress. Not called for 0 and 1. Eases in and out by
    /// default.
    public var timing: @Sendable (Double) -> Double
    /// Whether the library sets the image; `true` by default. If `false`, the closures set it.
    public var setsImage: Bool
    /// Called before the image is set.
    public var prepare: (@MainActor @Sendable (_ slot: ImageSlot, _ image: Image) -> Void)?
    /// Draws one frame. Slots that pass images to a closure do not call it.
    public var draw: @MainActor @Sendable (ImageFrame) -> Void
    /// Called for each frame with the progress from 0 to 1, to animate other parts of the view.
    public var animate: (@MainActor @Sendable (_ slot: ImageSlot, _ progress: Double) -> Void)?
    /// Called once at the end; `isFinished` is `false` if the transition was interrupted.
    public var complete: (@MainActor @Sendable (_ slot: ImageSlot, _ isFinished: Bool) -> Void)?

    /// Makes a transition.
    ///
    /// - Parameters:
    ///   - duration: half a second by default, as in SDWebImage.
    ///   - setsImage: whether the library sets the image; `true` by default. If `false`, the closures set it.
    ///   - draw: draws one frame; the default draws the new image only. Slots that pass images to a closure do not call
    ///     it.
    ///   - timing: maps the elapsed part of the duration, from 0 to 1, to the progress; `nil`, the default, eases in
    ///     and out.
    ///   - prepare: called before the image is set.
    ///   - animate: called for each frame with the progress from 0 to 1, to animate other parts of the view.
    ///   - complete: called once at the end; `isFinished` is `false` if the transition was interrupted.
    public init(
        duration: Duration = .milliseconds(500), setsImage: Bool = true,
        draw: @escaping @MainActor @Sendable (ImageFrame) -> Void = { $0.drawNew() },
        timing: (@Sendable (Double) -> Double)? = nil,
        prepare: (@MainActor @Sendable (_ slot: ImageSlot, _ image: Image) -> Void)? = nil,
        animate: (@MainActor @Sendable (_ slot: ImageSlot, _ progress: Double) -> Void)? = nil,
        complete: (@MainActor @Sendable (_ slot: ImageSlot, _ isFinished: Bool) -> Void)? = nil
    ) {
        self.duration = duration
        self.setsImage = setsImage
        self.timing = timing ?? Self.easeInOut
        self.prepare = prepare
        self.animate = animate
        self.complete = complete
        self.draw = draw
    }

    /// The duration in microseconds, the unit of frame clocks.
    var microseconds: Double { duration / .microseconds(1) }

    /// Returns the progress at a part of the duration: exactly 0 at the start and 1 at the end.
    func progress(at part: Double) -> Double {
        guard part > 0 else { return 0 }
        return part < 1 ? timing(part) : 1
    }

    static let easeInOut: @Sendable (Double) -> Double = { $0 < 0.5 ? 2 * $0 * $0 : 1 - 2 * (1 - $0) * (1 - $0) }

    /// An edge of a view.
    enum Edge: Sendable, CaseIterable {
        /// A fixed edge, regardless of the direction of text.
        case left, right, top, bottom
        /// The edge where lines of text start: left, or right for right-to-left text.
        case leading
        /// The edge where lines of text end.
        case trailing

        init(_ position: GtkPositionType) {
            switch position {
            case GTK_POS_RIGHT: self = .right
            case GTK_POS_TOP: self = .top
            case GTK_POS_BOTTOM: self = .bottom
            default: self = .left
            }
        }

        /// Returns the edge, with `leading` and `trailing` as left or right.
        fileprivate func resolved(in frame: ImageFrame) -> Edge {
            switch self {
            case .leading: frame.isRightToLeft ? .right : .left
            case .trailing: frame.isRightToLeft ? .left : .right
            case .left, .right, .top, .bottom: self
            }
        }
    }
}

// MARK: - Built-in transitions

extension ImageTransition {
    /// One image fades into the other; 0.2 s by default, as in YYWebImage.
    public static func fade(duration: Duration = .milliseconds(200)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            gtk_snapshot_push_cross_fade(frame.snapshot, frame.progress ?? 1)
            frame.drawOld()
            gtk_snapshot_pop(frame.snapshot)
            frame.drawNew()
            gtk_snapshot_pop(frame.snapshot)
        }
    }

    /// The fade of previews; 0.4 s, as in YYWebImage.
    static let previewFade = ImageTransition.fade(duration: .milliseconds(400))

    /// The image flips like a card about its center.
    ///
    /// - Parameters:
    ///   - edge: comes forward first, for example `GTK_POS_LEFT`, regardless of the direction of text.
    ///   - duration: half a second by default.
    public static func flip(
        from edge: GtkPositionType, duration: Duration = .milliseconds(500)
    ) -> ImageTransition { flip(from: Edge(edge), duration: duration) }

    static func flip(from edge: Edge, duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            let (edge, progress) = (edge.resolved(in: frame), frame.progress ?? 1)
            // The old side turns away by a quarter turn. Then the new side turns in from a quarter turn on the other
            // side.
            let isFirstHalf = progress < 0.5
            let quarters = isFirstHalf ? progress * 2 : progress * 2 - 2
            let sign: Double = edge == .left || edge == .top ? 1 : -1
            frame.drawTurned(byQuarters: quarters * sign, isVertical: edge == .top || edge == .bottom) {
                if isFirstHalf { frame.drawOld() } else { frame.drawNew() }
            }
        }
    }

    /// The new image enters from an edge, for example `GTK_POS_LEFT`, and pushes the old image out.
    public static func slide(
        from edge: GtkPositionType, duration: Duration = .milliseconds(500)
    ) -> ImageTransition { slide(from: Edge(edge), duration: duration) }

    static func slide(from edge: Edge, duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            let (x, y): (Double, Double) =
                switch edge.resolved(in: frame) {
                case .right, .trailing: (1, 0)
                case .top: (0, -1)
                case .bottom: (0, 1)
                case .left, .leading: (-1, 0)
                }
            let progress = frame.progress ?? 1
            let (width, height) = (frame.width, frame.height)
            frame.clipped(to: graphene_rect_t(width: width, height: height)) {
                frame.moved(x: -x * progress * width, y: -y * progress * height) { frame.drawOld() }
                frame.moved(x: x * (1 - progress) * width, y: y * (1 - progress) * height) { frame.drawNew() }
            }
        }
    }

    /// The new image grows from the center and covers the old image.
    public static func zoomIn(duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            frame.drawOld()
            frame.scaled(by: frame.progress ?? 1) { frame.drawNew() }
        }
    }

    /// The old image shrinks into the center and uncovers the new image.
    public static func zoomOut(duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            frame.drawNew()
            frame.scaled(by: 1 - (frame.progress ?? 1)) { frame.drawOld() }
        }
    }
}

// MARK: - Run

/// A transition in progress: advances with each frame and calls the closures.
@MainActor final class TransitionRun {
    private let transition: ImageTransition
    private weak var slot: ImageSlot?
    private let show: @MainActor (_ progress: Double) -> Void
    private var startTime: gint64?
    private var isOver = false

    /// - Parameter show: shows a progress from 0 to 1.
    init(_ transition: ImageTransition, in slot: ImageSlot?, show: @escaping @MainActor (_ progress: Double) -> Void) {
        self.transition = transition
        self.slot = slot
        self.show = show
    }

    /// - Parameter time: the frame's time in microseconds; the first frame starts the transition.
    /// - Returns: whether it continues.
    func advance(to time: gint64) -> Bool {
        guard !isOver else { return false }
        let start = startTime ?? time
        startTime = start
        let part = transition.microseconds > 0 ? Double(time - start) / transition.microseconds : 1
        let progress = transition.progress(at: part)
        show(progress)
        if let slot { transition.animate?(slot, progress) }
        guard part >= 1 else { return !isOver }
        end(isFinished: true)
        return false
    }

    /// Calls `complete` once.
    func end(isFinished: Bool) {
        guard !isOver else { return }
        isOver = true
        if let slot { transition.complete?(slot, isFinished) }
    }
}
