internal import CWebImageGTK
internal import Glibc
internal import GTKObjects
internal import WebImage

/// Pointer, touch, touchpad and keys; see the table of ``ZoomView``.
extension ZoomView {
    /// The zoom for a notch of the wheel.
    private static var wheelFactor: Double { 1.2 }
    /// How far fingers must move for the next image, in points.
    private static var swipeDistance: Double { 60 }

    func addGestures() {
        addWheel()
        addPinch()
        addDrag()
        addKeys()
        let click = ObjectPointer(gtk_gesture_click_new())
        click.onPress("pressed") { [weak self] count, x, y in
            guard let self else { return }
            gtk_widget_grab_focus(widget)
            if count == 2, hasContent { toggleFit(at: (x, y)) }
        }
        gtk_widget_add_controller(widget, click.opaque)
    }

    private func addWheel() {
        let flags = GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES.rawValue | GTK_EVENT_CONTROLLER_SCROLL_KINETIC.rawValue
        let scroll = ObjectPointer(
            gtk_event_controller_scroll_new(GtkEventControllerScrollFlags(rawValue: flags)))
        scroll.onSignal("scroll-begin") { [weak self] in self?.scrolled = 0 }
        scroll.onScroll { [weak self] x, y in
            guard let self, hasContent else { return false }
            let modifiers = gtk_event_controller_get_current_event_state(scroll.opaque)
            self.scroll(
                by: ZoomGeometry.Vector(x, y),
                isWheel: gtk_event_controller_scroll_get_unit(scroll.opaque) == GDK_SCROLL_UNIT_WHEEL,
                hasControl: modifiers.rawValue & GDK_CONTROL_MASK.rawValue != 0)
            return true
        }
        scroll.onPoint("decelerate") { [weak self] x, y in
            let modifiers = gtk_event_controller_get_current_event_state(scroll.opaque)
            guard modifiers.rawValue & GDK_CONTROL_MASK.rawValue == 0 else { return }
            self?.glide(-ZoomGeometry.Vector(x, y))
        }
        gtk_widget_add_controller(widget, scroll.opaque)

        let motion = ObjectPointer(gtk_event_controller_motion_new())
        for signal in ["enter", "motion"] {
            motion.onPoint(signal) { [weak self] x, y in self?.pointer = ZoomGeometry.Vector(x, y) }
        }
        motion.onSignal("leave") { [weak self] in self?.pointer = nil }
        gtk_widget_add_controller(widget, motion.opaque)
    }

    /// Zooms, moves the image, or counts a swipe.
    ///
    /// - Parameters:
    ///   - distance: in notches of a wheel, or in points.
    ///   - hasControl: whether the Control key is pressed.
    func scroll(by distance: ZoomGeometry.Vector, isWheel: Bool, hasControl: Bool) {
        if isWheel, wheelTurnsPages, !hasControl {
            if distance.y != 0 { onSwipe?(distance.y > 0 ? 1 : -1) }
        } else if isWheel || hasControl {
            let notches = isWheel ? distance.y : distance.y / 40
            change(isAnimated: isWheel) { [pointer] in $0.zoom(by: pow(Self.wheelFactor, -notches), at: pointer) }
        } else if geometry.canPan {
            change { $0.pan(by: -distance) }
        } else if abs(distance.x) > abs(distance.y) {
            let former = scrolled
            scrolled += distance.x
            if abs(former) < Self.swipeDistance, abs(scrolled) >= Self.swipeDistance { swipe(by: scrolled) }
        }
    }

    private func addPinch() {
        let pinch = ObjectPointer(gtk_gesture_zoom_new())
        var start = 1.0
        pinch.onEvent("begin") { [weak self] in
            start = self?.geometry.scale ?? 1
            gtk_gesture_set_state(pinch.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
        }
        pinch.onNumber("scale-changed") { [weak self] scale in
            var (x, y) = (0.0, 0.0)
            // GTK reads the gesture's last event without a check.
            let hasMiddle =
                gtk_gesture_is_recognized(pinch.opaque) != 0
                && gtk_gesture_get_bounding_box_center(pinch.opaque, &x, &y) != 0
            self?.change { $0.zoom(to: start * scale, at: hasMiddle ? ZoomGeometry.Vector(x, y) : nil) }
        }
        gtk_widget_add_controller(widget, pinch.opaque)
    }

    private func addDrag() {
        let drag = ObjectPointer(gtk_gesture_drag_new())
        // GTK computes the velocity of the same pointer or finger.
        let swipe = ObjectPointer(gtk_gesture_swipe_new())
        var moved = ZoomGeometry.Vector()
        var hasPanned = false
        drag.onPoint("drag-begin") { [weak self] _, _ in
            (moved, hasPanned) = (ZoomGeometry.Vector(), false)
            self?.motion = nil
            let isTouch = drag.isTouchEvent
            if self?.geometry.canPan != true, !isTouch {
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_DENIED)
            }
        }
        drag.onPoint("drag-update") { [weak self] x, y in
            guard let self else { return }
            if geometry.canPan {
                hasPanned = true
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
                gtk_widget_set_cursor_from_name(widget, "grabbing")
                change { $0.pan(by: ZoomGeometry.Vector(x, y) - moved) }
            } else if abs(x) > 16, abs(x) > abs(y) {
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
            }
            moved = ZoomGeometry.Vector(x, y)
        }
        drag.onPoint("drag-end") { [weak self] x, y in
            guard let self else { return }
            gtk_widget_set_cursor(widget, nil)
            if !geometry.canPan, abs(x) > Self.swipeDistance, abs(x) > abs(y) { self.swipe(by: -x) }
        }
        swipe.onPoint("swipe") { [weak self] x, y in
            if hasPanned { self?.glide(ZoomGeometry.Vector(x, y)) }
        }
        gtk_widget_add_controller(widget, drag.opaque)
        gtk_widget_add_controller(widget, swipe.opaque)
        gtk_gesture_group(swipe.opaque, drag.opaque)
    }

    private func addKeys() {
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, modifiers in
            guard let self, handlesKeys, hasContent else { return false }
            return modifiers.rawValue & GDK_ALT_MASK.rawValue == 0 && press(key)
        }
        gtk_widget_add_controller(widget, keys.opaque)
    }

    /// - Returns: whether the key does something.
    func press(_ key: Int32) -> Bool {
        let step = geometry.viewport * 0.2
        switch key {
        case GDK_KEY_plus, GDK_KEY_equal, GDK_KEY_KP_Add: zoomIn()
        case GDK_KEY_minus, GDK_KEY_KP_Subtract: zoomOut()
        case GDK_KEY_0, GDK_KEY_KP_0: setZoom(.fit, isAnimated: true)
        case GDK_KEY_1, GDK_KEY_KP_1: setZoom(.scale(1), isAnimated: true)
        // Otherwise, they move the focus.
        case _ where !geometry.canPan: return false
        case GDK_KEY_Left, GDK_KEY_KP_Left: pan(x: step.x, y: 0, isAnimated: true)
        case GDK_KEY_Right, GDK_KEY_KP_Right: pan(x: -step.x, y: 0, isAnimated: true)
        case GDK_KEY_Up, GDK_KEY_KP_Up: pan(x: 0, y: step.y, isAnimated: true)
        case GDK_KEY_Down, GDK_KEY_KP_Down: pan(x: 0, y: -step.y, isAnimated: true)
        default: return false
        }
        return true
    }

    /// - Parameter distance: how far the content moves to its start; negative for its end.
    private func swipe(by distance: Double) {
        onSwipe?((distance > 0) != host.isRightToLeft ? 1 : -1)
    }
}
