import CWebImageGTK
import WebImage

/// Shows that a slot is loading.
///
/// ```swift
/// picture.imageSlot.indicator = RingIndicator()
/// ```
///
/// One that draws itself (``DrawnImageIndicator``) lies over the picture, in the middle, without a widget of its own. A widget
/// of yours, such as a `GtkSpinner`, becomes one with ``WidgetIndicator``. An indicator belongs to one slot.
@MainActor public protocol ImageIndicator: AnyObject {
    /// A load begins, or goes on after it was given up off screen.
    func start()
    /// Nothing is under way any more.
    func stop()
    /// - Parameter progress: from 0 to 1, never less than before within one load; `nil` while nobody knows the length.
    func update(progress: Double?)
}

/// An indicator that is drawn with the picture.
@MainActor public protocol DrawnImageIndicator: ImageIndicator {
    /// Whether it changes by itself, and is redrawn every ``redrawInterval``.
    var isMoving: Bool { get }
    /// The time between two drawings while it moves or its progress changes; 1/30 s by default, at least 1/120 s and at most 1 s.
    /// Indicators with the same interval are drawn in the same frames of their window.
    var redrawInterval: Duration { get }
    /// Draws it; called between ``ImageIndicator/start()`` and ``ImageIndicator/stop()``.
    func draw(_ frame: IndicatorFrame)
}

extension DrawnImageIndicator {
    /// 1/30 s: smooth enough for an indicator; leaves every other frame to the rest of the window.
    public var redrawInterval: Duration { .seconds(1) / 30 }
}

/// Where an indicator draws. Lengths are points, from the left top corner of the view's picture.
@MainActor public struct IndicatorFrame {
    /// GTK's `GtkSnapshot`; good during the call only.
    public let snapshot: OpaquePointer
    /// Points across.
    public let width: Double
    /// Points down.
    public let height: Double
    /// Seconds since some moment.
    public let time: Double
    /// Whether the theme writes bright on dark there.
    public let isDark: Bool
    /// Whether text runs from right to left there.
    public let isRightToLeft: Bool

    /// Draws with cairo in a box around the middle.
    ///
    /// - Parameter body: gets a `cairo_t` whose origin is the middle.
    public func drawCentred(width: Double, height: Double, _ body: (OpaquePointer) -> Void) {
        var box = graphene_rect_t(
            x: (self.width - width) / 2, y: (self.height - height) / 2, width: width, height: height)
        guard let context = gtk_snapshot_append_cairo(snapshot, &box) else { return }
        cairo_translate(context, self.width / 2, self.height / 2)
        body(context)
        cairo_destroy(context)
    }
}

/// The colours of an indicator.
public enum IndicatorStyle: String, Sendable, Hashable, CaseIterable {
    /// As the theme.
    case automatic
    /// Bright, for dark surroundings.
    case light
    /// Dark, for bright surroundings.
    case dark

    /// The colour of what is done.
    @MainActor func foreground(in frame: IndicatorFrame) -> Color {
        switch self {
        case .automatic: frame.isDark ? Self.bright : Self.dim
        case .light: Self.bright
        case .dark: Self.dim
        }
    }

    /// The colour of what is left.
    @MainActor func track(in frame: IndicatorFrame) -> Color {
        var color = foreground(in: frame)
        color.alpha = 0.25
        return color
    }

    private static let bright = Color(red: 1, green: 1, blue: 1, alpha: 0.9)
    private static let dim = Color(red: 0.2, green: 0.2, blue: 0.2, alpha: 0.9)
}

extension Color {
    /// Makes it the colour that a `cairo_t` draws with.
    func set(on context: OpaquePointer) { cairo_set_source_rgba(context, red, green, blue, alpha) }
}
