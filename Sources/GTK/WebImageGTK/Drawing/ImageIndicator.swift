public import CWebImageGTK
internal import GTKObjects
public import WebImage

/// Shows that a slot is loading.
///
/// ```swift
/// picture.indicator = .ring()
/// picture.indicator = .widget(gtk_spinner_new())
/// picture.indicator = ImageIndicator(start: { print("loading") }, stop: { print("ended") })
/// ```
///
/// An indicator with a `draw` closure is drawn over the image and needs no widget. An indicator belongs to one slot.
/// Its closures run on the main thread.
@MainActor public final class ImageIndicator {
    /// Draws the indicator; `nil` if it draws nothing.
    let draw: (@MainActor (ImageFrame) -> Void)?
    /// The time between two redraws.
    let redrawInterval: Duration
    /// Returns whether the indicator moves by itself at a progress.
    let moves: (Double?) -> Bool
    private let onStart: @MainActor () -> Void
    private let onStop: @MainActor () -> Void
    private let onUpdate: @MainActor (Double?) -> Void
    private(set) var isActive = false
    private(set) var progress: Double?

    /// Makes an indicator.
    ///
    /// - Parameters:
    ///   - redrawInterval: the time between two redraws; 1/30 s by default, at least 1/120 s and at most 1 s.
    ///     Indicators with the same interval share their frames.
    ///   - moves: returns whether the indicator moves by itself at a progress and needs redraws; by default while the
    ///     progress is unknown.
    ///   - start: called when a load starts, or continues after a pause off screen.
    ///   - stop: called when the load ends or pauses.
    ///   - update: called with the progress from 0 to 1, `nil` while the length is unknown.
    ///   - draw: draws the indicator between start and stop.
    public init(
        redrawInterval: Duration = .seconds(1) / 30, moves: @escaping (_ progress: Double?) -> Bool = { $0 == nil },
        start: @escaping @MainActor () -> Void = {}, stop: @escaping @MainActor () -> Void = {},
        update: @escaping @MainActor (_ progress: Double?) -> Void = { _ in },
        draw: (@MainActor (ImageFrame) -> Void)? = nil
    ) {
        // A timer that is always due would leave no time for frames of the window.
        self.redrawInterval = min(max(redrawInterval, .seconds(1) / 120), .seconds(1))
        self.moves = moves
        (onStart, onStop, onUpdate) = (start, stop, update)
        self.draw = draw
    }

    var isMoving: Bool { isActive && moves(progress) }

    func start() {
        (isActive, progress) = (true, nil)
        onStart()
    }

    func stop() {
        isActive = false
        onStop()
    }

    func update(progress: Double?) {
        self.progress = progress
        onUpdate(progress)
    }
}

// MARK: - Built-in indicators

extension ImageIndicator {
    /// A spinner with twelve spokes that turns once a second, regardless of the progress.
    ///
    /// - Parameters:
    ///   - diameter: the diameter in points, smaller in a smaller view. 20 is SDWebImage's medium size, 37 its large
    ///     size.
    ///   - color: the color of the newest spoke; `nil`, the default, follows the theme.
    public static func spinner(diameter: Double = 20, color: Color? = nil) -> ImageIndicator {
        let spokeCount = 12
        // One redraw for each spoke.
        return ImageIndicator(
            redrawInterval: .seconds(1) / spokeCount, moves: { _ in true },
            draw: { frame in
                let diameter = min(diameter, frame.width, frame.height)
                frame.drawCentered(width: diameter, height: diameter) { context in
                    let newest = Int(frame.time * Double(spokeCount)) % spokeCount
                    var color = frame.foreground(color)
                    let solid = color.alpha
                    cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
                    cairo_set_line_width(context, diameter / 11)
                    for spoke in 0..<spokeCount {
                        let age = (newest - spoke + spokeCount) % spokeCount
                        color.alpha = solid * (1 - 0.8 * Double(age) / Double(spokeCount - 1))
                        color.set(on: context)
                        let angle = Double(spoke) / Double(spokeCount) * 2 * .pi - .pi / 2
                        let (x, y) = (cos(angle), sin(angle))
                        cairo_move_to(context, x * diameter * 0.25, y * diameter * 0.25)
                        cairo_line_to(context, x * diameter * 0.45, y * diameter * 0.45)
                        cairo_stroke(context)
                    }
                }
            })
    }

    /// A ring that closes clockwise from the top with the progress. While the length is unknown, a quarter of it turns.
    ///
    /// - Parameters:
    ///   - diameter: the diameter in points, smaller in a smaller view.
    ///   - color: the color of the finished part; `nil`, the default, follows the theme.
    public static func ring(diameter: Double = 32, color: Color? = nil) -> ImageIndicator {
        ImageIndicator(draw: { frame in
            let diameter = min(diameter, frame.width, frame.height)
            frame.drawCentered(width: diameter, height: diameter) { context in
                let thickness = diameter / 8
                let radius = (diameter - thickness) / 2
                cairo_set_line_width(context, thickness)
                frame.track(color).set(on: context)
                cairo_arc(context, 0, 0, radius, 0, 2 * .pi)
                cairo_stroke(context)
                let start = frame.progress == nil ? frame.time.truncatingRemainder(dividingBy: 1) * 2 * .pi : -.pi / 2
                frame.foreground(color).set(on: context)
                cairo_arc(context, 0, 0, radius, start, start + (frame.progress ?? 0.25) * 2 * .pi)
                cairo_stroke(context)
            }
        })
    }

    /// A bar that fills with the progress in the direction of text. While the length is unknown, a segment moves along
    /// the bar.
    ///
    /// - Parameters:
    ///   - widthShare: the width as a share of the view's width; 0.7 by default.
    ///   - thickness: the thickness in points; 4 by default, as in YYWebImage's demo.
    ///   - color: the color of the finished part; `nil`, the default, follows the theme.
    public static func bar(widthShare: Double = 0.7, thickness: Double = 4, color: Color? = nil) -> ImageIndicator {
        ImageIndicator(draw: { frame in
            let (width, height) = (frame.width * widthShare, min(thickness, frame.height))
            frame.drawCentered(width: width, height: height) { context in
                if frame.isRightToLeft { cairo_scale(context, -1, 1) }
                frame.track(color).set(on: context)
                cairo_rectangle(context, -width / 2, -height / 2, width, height)
                cairo_fill(context)
                frame.foreground(color).set(on: context)
                var part = (start: 0.0, end: frame.progress ?? 0)
                if frame.progress == nil {
                    let place = frame.time.truncatingRemainder(dividingBy: 1.5) / 1.5 * 1.25
                    part = (max(0, place - 0.25), min(1, place))
                }
                cairo_rectangle(
                    context, (part.start - 0.5) * width, -height / 2, (part.end - part.start) * width, height)
                cairo_fill(context)
            }
        })
    }

    /// A widget that is visible while the slot is loading. Place it where it should appear, such as in a `GtkOverlay`
    /// over the image. The indicator retains the widget.
    ///
    /// A visible `GtkSpinner` turns, and a `GtkProgressBar` shows the progress.
    ///
    /// - Parameters:
    ///   - widget: the widget, hidden from now on until the slot loads.
    ///   - onProgress: shows the progress from 0 to 1, `nil` while it is unknown; by default a `GtkProgressBar` does.
    public static func widget(
        _ widget: UnsafeMutablePointer<GtkWidget>, onProgress: (@MainActor (Double?) -> Void)? = nil
    ) -> ImageIndicator {
        let pointer = ObjectPointer(widget)
        let reference = ObjectReference(retaining: pointer)
        let spinner = pointer.isInstance(of: gtk_spinner_get_type()) ? pointer.opaque : nil
        let progressBar = pointer.isInstance(of: gtk_progress_bar_get_type()) ? pointer.opaque : nil
        gtk_widget_set_visible(widget, gboolean(0))
        return ImageIndicator(
            start: {
                gtk_widget_set_visible(reference.pointer.widget, gboolean(1))
                if let spinner { gtk_spinner_start(spinner) }
            },
            stop: {
                if let spinner { gtk_spinner_stop(spinner) }
                gtk_widget_set_visible(reference.pointer.widget, gboolean(0))
            },
            update: { progress in
                if let onProgress { return onProgress(progress) }
                guard let progressBar else { return }
                if let progress {
                    gtk_progress_bar_set_fraction(progressBar, progress)
                } else {
                    gtk_progress_bar_pulse(progressBar)
                }
            })
    }
}

extension ImageFrame {
    /// Returns the color of the finished part: `color`, or one that follows the theme.
    func foreground(_ color: Color?) -> Color {
        color
            ?? (isDark
                ? Color(red: 1, green: 1, blue: 1, alpha: 0.9) : Color(red: 0.2, green: 0.2, blue: 0.2, alpha: 0.9))
    }

    /// Returns the color of the remaining part.
    fileprivate func track(_ color: Color?) -> Color {
        var color = foreground(color)
        color.alpha = 0.25
        return color
    }
}

extension Color {
    fileprivate func set(on context: OpaquePointer) { cairo_set_source_rgba(context, red, green, blue, alpha) }
}
