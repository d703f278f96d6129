import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The progress of a load at the top of its place. It appears after a moment, because most loads end before.
@MainActor final class ProgressIndicator {
    enum State: Equatable {
        case hidden
        /// In progress, for an unknown time.
        case unknown
        case fraction(Double)
    }

    let widget = ObjectPointer(gtk_progress_bar_new())
    private var delay: MainLoopCall?
    private var pulse: MainLoopCall?

    private static let delayMilliseconds: UInt32 = 200
    private static let pulseMilliseconds: UInt32 = 80

    /// - Parameter label: the label for assistive technologies.
    init(_ label: String = localized("Loading")) {
        widget.style("osd").aligned(GTK_ALIGN_FILL, GTK_ALIGN_START)
        widget.setAccessibleLabel(label)
        widget.isVisible = false
        gtk_widget_set_can_target(widget.widget, 0)
        widget.onSignal("unmap") { [weak self] in self?.stopPulsing() }
        widget.onSignal("map") { [weak self] in self?.update() }
    }

    var state = State.hidden {
        didSet {
            if state == .hidden {
                delay = nil
                stopPulsing()
                widget.isVisible = false
            } else if widget.isVisible {
                update()
            } else if delay == nil {
                delay = MainLoopCall.after(milliseconds: Self.delayMilliseconds) { [weak self] in
                    self?.delay = nil
                    self?.widget.isVisible = true
                }
            }
        }
    }

    private func update() {
        switch state {
        case .hidden: stopPulsing()
        case .fraction(let fraction):
            pulse = nil
            gtk_progress_bar_set_fraction(widget.opaque, fraction)
        case .unknown:
            guard widget.allowsMotion else { return gtk_progress_bar_set_fraction(widget.opaque, 1) }
            if pulse == nil { moveOn() }
        }
    }

    /// A bar that has pulsed requests each frame, even while it is hidden, until it gets a fraction.
    private func stopPulsing() {
        guard pulse != nil else { return }
        pulse = nil
        gtk_progress_bar_set_fraction(widget.opaque, 0)
    }

    private func moveOn() {
        gtk_progress_bar_pulse(widget.opaque)
        pulse = MainLoopCall.after(milliseconds: Self.pulseMilliseconds) { [weak self] in self?.moveOn() }
    }
}

@MainActor extension ObjectPointer {
    /// The user's setting `gtk-enable-animations`.
    var allowsMotion: Bool {
        gtk_widget_get_settings(widget).map { ObjectPointer($0).get("gtk-enable-animations") } ?? true
    }

    /// Calls `body`, whose transitions end at once.
    func withoutMotion(_ body: () -> Void) {
        guard allowsMotion, let settings = gtk_widget_get_settings(widget).map({ ObjectPointer($0) }) else {
            return body()
        }
        settings.set("gtk-enable-animations", false)
        body()
        // A value that is set would take precedence over the desktop's from then on.
        gtk_settings_reset_property(settings.opaque, "gtk-enable-animations")
    }
}
