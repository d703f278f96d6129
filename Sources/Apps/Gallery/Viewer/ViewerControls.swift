import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The buttons over the image.
@MainActor final class ViewerControls {
    /// The widgets to lay over the image.
    let parts: [ObjectPointer]
    private let previous = ObjectPointer.iconButton("go-previous-symbolic", localized("Previous image"))
    private let next = ObjectPointer.iconButton("go-next-symbolic", localized("Next image"))
    private let keepButton = ObjectPointer.iconButton(
        "document-save-symbolic", localized("Keep the rotation in the file"))
    private let zoomLabel = ObjectPointer(gtk_button_new_with_label("100 %"))
    private let stopButton = ObjectPointer.iconButton("media-playback-stop-symbolic", localized("Stop the slide show"))
    private let fullScreenButton = ObjectPointer.iconButton("view-fullscreen-symbolic", localized("Full screen"))
    private let bar: ObjectPointer

    init() {
        let buttons = [
            ("object-rotate-left-symbolic", localized("Rotate left"), "win.viewer-rotate-left"),
            ("object-rotate-right-symbolic", localized("Rotate right"), "win.viewer-rotate-right"),
            ("zoom-out-symbolic", localized("Zoom out"), "win.viewer-zoom-out"),
            ("zoom-in-symbolic", localized("Zoom in"), "win.viewer-zoom-in"),
        ].map { ObjectPointer.iconButton($0, $1).action($2) }
        zoomLabel.action("win.viewer-toggle-fit").style("numeric").named(localized("Fit or 100 %")).sized(64, -1)
        stopButton.action("win.viewer-slide-show").isVisible = false
        keepButton.action("win.viewer-keep-rotation").isVisible = false
        fullScreenButton.action("win.viewer-full-screen")
        bar = .row(
            spacing: 2,
            [
                buttons[0], buttons[1], keepButton, buttons[2], zoomLabel, buttons[3], stopButton, fullScreenButton,
            ])
        bar.style("osd").style("toolbar").style("viewer-bar").aligned(GTK_ALIGN_CENTER, GTK_ALIGN_END).set(
            "margin-bottom", 12)
        for (button, action, side) in [
            (previous, "win.viewer-previous", GTK_ALIGN_START), (next, "win.viewer-next", GTK_ALIGN_END),
        ] {
            button.action(action).style("osd").style("circular").aligned(side, GTK_ALIGN_CENTER).margins(horizontal: 12)
        }
        parts = [previous, next, bar]
        for part in [keepButton, zoomLabel, stopButton, fullScreenButton] + buttons { part.style("flat") }
    }

    /// - Parameters:
    ///   - scale: `nil` while it is unknown.
    ///   - detail: the share of the pixels that are shown; `nil` for all that the scale needs.
    func showZoom(_ scale: Double?, detail: Double? = nil) {
        let percent = { (share: Double) in "\(Int((share * 100).rounded())) %" }
        var text = scale.map(percent) ?? localized("Fit")
        if let detail {
            text = localized("{zoom}, in the detail of {share}", ["zoom": text, "share": percent(detail)])
        }
        if zoomLabel.text != text { zoomLabel.text = text }
        zoomLabel.setAccessibleLabel(localized("Zoom {zoom}. Fit or 100 %", ["zoom": text]))
    }

    /// Hides the controls, and keeps them from events and from the focus.
    func setObscured(_ isObscured: Bool) {
        for part in parts {
            gtk_widget_set_opacity(part.widget, isObscured ? 0 : 1)
            gtk_widget_set_can_target(part.widget, isObscured ? 0 : 1)
            gtk_widget_set_can_focus(part.widget, isObscured ? 0 : 1)
        }
    }

    /// Offers to keep a rotation.
    func showKeeping(_ canKeep: Bool) { keepButton.isVisible = canKeep }

    /// Hides the buttons that lead nowhere.
    func setEnds(isFirst: Bool, isLast: Bool) {
        previous.isVisible = !isFirst
        next.isVisible = !isLast
    }

    /// Hides what needs an image.
    func setHasImage(_ hasImage: Bool) { bar.isVisible = hasImage }

    /// Whether a button has the keyboard focus.
    var hasFocus: Bool {
        parts.contains { gtk_widget_get_focus_child($0.widget) != nil || gtk_widget_has_focus($0.widget) != 0 }
    }

    func showSlideShow(_ isPlaying: Bool) { stopButton.isVisible = isPlaying }

    func showFullScreen(_ isActive: Bool) {
        fullScreenButton.set("icon-name", isActive ? "view-restore-symbolic" : "view-fullscreen-symbolic")
            .named(isActive ? localized("Leave full screen") : localized("Full screen"))
    }
}
