import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The viewer over the whole screen: without its header, and without buttons and pointer while the pointer rests.
@MainActor final class FullScreenMode {
    private let header: ObjectPointer
    private let controls: ViewerControls
    private let canvas: ZoomView
    private var area: ObjectPointer { ObjectPointer(canvas.widget) }
    private var window: ObjectPointer?
    private var idleCall: MainLoopCall?
    private var position = SIMD2<Double>(-1, -1)
    private(set) var isActive = false
    /// Called when it begins and ends.
    var onChange: () -> Void = {}
    private var hidesControls = false

    private static let idleMilliseconds: UInt32 = 2_500

    init(header: ObjectPointer, controls: ViewerControls, canvas: ZoomView) {
        (self.header, self.controls, self.canvas) = (header, controls, canvas)
        let motion = ObjectPointer(gtk_event_controller_motion_new())
        motion.onPoint("motion") { [weak self] x, y in self?.pointerDidMove(to: SIMD2(x, y)) }
        gtk_widget_add_controller(canvas.widget, motion.opaque)
        for part in controls.parts {
            let focus = ObjectPointer(gtk_event_controller_focus_new())
            focus.onSignal("enter") { [weak self] in self?.wake() }
            gtk_widget_add_controller(part.widget, focus.opaque)
        }
    }

    /// Follows the window of the viewer.
    func attach() {
        guard let root = gtk_widget_get_root(area.widget).map({ ObjectPointer($0) }) else { return }
        guard window != root, root.isInstance(of: gtk_window_get_type()) else { return }
        window = root
        root.onChange(of: "fullscreened") { [weak self] in self?.update() }
    }

    func enter() { if let window { gtk_window_fullscreen(window.as()) } }

    func leave() { if isActive, let window { gtk_window_unfullscreen(window.as()) } }

    func toggle() { if isActive { leave() } else { enter() } }

    private func update() {
        guard let window else { return }
        isActive = gtk_window_is_fullscreen(window.as()) != 0 && gtk_widget_get_mapped(area.widget) != 0
        header.isVisible = !isActive
        area.setStyle("immersive", isActive)
        controls.showFullScreen(isActive)
        wake()
        onChange()
    }

    private func pointerDidMove(to point: SIMD2<Double>) {
        // GTK repeats the position after a layout.
        guard point != position else { return }
        position = point
        wake()
    }

    /// Shows the buttons and the pointer, for a moment if the window fills the screen.
    func wake() {
        idleCall = nil
        setHidden(false)
        guard isActive else { return }
        idleCall = MainLoopCall.after(milliseconds: Self.idleMilliseconds) { [weak self] in
            self?.idleCall = nil
            self?.setHidden(true)
        }
    }

    private func setHidden(_ isHidden: Bool) {
        guard isHidden != hidesControls else { return }
        // A button with the focus stays, for users of the keyboard.
        if isHidden, controls.hasFocus { return }
        hidesControls = isHidden
        for part in controls.parts {
            gtk_widget_set_opacity(part.widget, isHidden ? 0 : 1)
            gtk_widget_set_can_target(part.widget, isHidden ? 0 : 1)
        }
        gtk_widget_set_cursor_from_name(area.widget, isHidden ? "none" : nil)
    }
}
