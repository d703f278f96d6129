public import CWebImageGTK

/// A widget of yours as an indicator: it is visible while something loads. Put it where it is to be seen, as into a
/// `GtkOverlay` over the picture; this keeps a reference.
///
/// A `GtkSpinner` turns, and a `GtkProgressBar` shows the progress, while it is visible.
public final class WidgetIndicator: ImageIndicator {
    /// The widget.
    public let widget: UnsafeMutablePointer<GtkWidget>
    private let reference: ObjectReference
    private let onProgress: (@MainActor (Double?) -> Void)?

    /// Makes an indicator of `widget` and hides it.
    ///
    /// - Parameter onProgress: shows the progress, from 0 to 1, `nil` while it is unknown; by default a `GtkProgressBar` does.
    public init(_ widget: UnsafeMutablePointer<GtkWidget>, onProgress: (@MainActor (Double?) -> Void)? = nil) {
        self.widget = widget
        self.onProgress = onProgress
        reference = ObjectReference(retaining: ObjectPointer(widget))
        gtk_widget_set_visible(widget, gboolean(0))
    }

    private var spinner: OpaquePointer? { cast(to: gtk_spinner_get_type()) }
    private var progressBar: OpaquePointer? { cast(to: gtk_progress_bar_get_type()) }

    private func cast(to type: GType) -> OpaquePointer? {
        let pointer = ObjectPointer(widget)
        return pointer.isInstance(of: type) ? pointer.opaque : nil
    }

    /// Shows the widget.
    public func start() {
        gtk_widget_set_visible(widget, gboolean(1))
        if let spinner { gtk_spinner_start(spinner) }
        update(progress: nil)
    }

    /// Hides the widget.
    public func stop() {
        if let spinner { gtk_spinner_stop(spinner) }
        gtk_widget_set_visible(widget, gboolean(0))
    }

    /// Passes the progress on.
    public func update(progress: Double?) {
        if let onProgress { return onProgress(progress) }
        guard let progressBar else { return }
        if let progress {
            gtk_progress_bar_set_fraction(progressBar, progress)
        } else {
            gtk_progress_bar_pulse(progressBar)
        }
    }
}
