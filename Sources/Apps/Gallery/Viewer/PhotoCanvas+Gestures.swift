import CWebImageGTK
import Glibc
import GTKObjects
import WebImageGTK

/// Pointer, touch and touchpad.
///
/// | input | fitted | zoomed in |
/// |---|---|---|
/// | wheel, or Ctrl with any scrolling | zooms at the pointer | the same |
/// | two fingers on a touchpad | sideways: next, previous | moves the image |
/// | pinch | zooms | zooms |
/// | drag | touch: next, previous; mouse: drags the image out | moves the image |
/// | double click | 100 % | fits |
extension PhotoCanvas {
    /// The zoom for a notch of the wheel.
    private static var wheelFactor: Double { 1.2 }
    /// How far fingers must move for the next image, in points.
    private static var swipeDistance: Double { 60 }

    func addGestures() {
        addWheel()
        addPinch()
        addDrag()
        let click = ObjectPointer(gtk_gesture_click_new())
        click.onPress("pressed") { [weak self] count, x, y in
            guard let self else { return }
            gtk_widget_grab_focus(widget.widget)
            if count == 2 { toggleFit(at: ZoomGeometry.Vector(x, y)) }
        }
        gtk_widget_add_controller(widget.widget, click.opaque)
    }

    /// Shows the whole image if it is zoomed, and 100 % otherwise. A small image, which is fitted at 100 %, is enlarged.
    func toggleFit(at point: ZoomGeometry.Vector? = nil) {
        change(isAnimated: true) { geometry in
            if !geometry.isFitted { return geometry.fit() }
            geometry.zoom(to: geometry.fittedScale < 1 ? 1 : 2, at: point)
        }
    }

    private func addWheel() {
        let flags = GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES
        let scroll = ObjectPointer(gtk_event_controller_scroll_new(flags))
        scroll.onSignal("scroll-begin") { [weak self] in self?.scrolled = 0 }
        scroll.onScroll { [weak self] x, y in
            guard let self, layer != nil else { return false }
            let modifiers = gtk_event_controller_get_current_event_state(scroll.opaque)
            self.scroll(
                by: ZoomGeometry.Vector(x, y),
                isWheel: gtk_event_controller_scroll_get_unit(scroll.opaque) == GDK_SCROLL_UNIT_WHEEL,
                hasControl: modifiers.rawValue & GDK_CONTROL_MASK.rawValue != 0)
            return true
        }
        gtk_widget_add_controller(widget.widget, scroll.opaque)

        let motion = ObjectPointer(gtk_event_controller_motion_new())
        for signal in ["enter", "motion"] {
            motion.onPoint(signal) { [weak self] x, y in self?.pointer = ZoomGeometry.Vector(x, y) }
        }
        motion.onSignal("leave") { [weak self] in self?.pointer = nil }
        gtk_widget_add_controller(widget.widget, motion.opaque)
    }

    /// Zooms, moves the image, or counts a swipe.
    ///
    /// - Parameters:
    ///   - distance: in notches of a wheel, or in points.
    ///   - hasControl: whether the Control key is pressed.
    func scroll(by distance: ZoomGeometry.Vector, isWheel: Bool, hasControl: Bool) {
        if isWheel || hasControl {
            let notches = isWheel ? distance.y : distance.y / 40
            change(isAnimated: isWheel) { [pointer] in $0.zoom(by: pow(Self.wheelFactor, -notches), at: pointer) }
        } else if layer?.geometry.canPan == true {
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
            start = self?.layer?.geometry.scale ?? 1
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
        gtk_widget_add_controller(widget.widget, pinch.opaque)
    }

    private func addDrag() {
        let drag = ObjectPointer(gtk_gesture_drag_new())
        var moved = ZoomGeometry.Vector()
        drag.onPoint("drag-begin") { [weak self] _, _ in
            moved = ZoomGeometry.Vector()
            let isTouch = drag.isTouchEvent
            if self?.layer?.geometry.canPan != true, !isTouch {
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_DENIED)
            }
        }
        drag.onPoint("drag-update") { [weak self] x, y in
            guard let self else { return }
            if layer?.geometry.canPan == true {
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
                gtk_widget_set_cursor_from_name(widget.widget, "grabbing")
                change { $0.pan(by: ZoomGeometry.Vector(x, y) - moved) }
            } else if abs(x) > 16, abs(x) > abs(y) {
                gtk_gesture_set_state(drag.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
            }
            moved = ZoomGeometry.Vector(x, y)
        }
        drag.onPoint("drag-end") { [weak self] x, y in
            guard let self else { return }
            gtk_widget_set_cursor(widget.widget, nil)
            if layer?.geometry.canPan != true, abs(x) > Self.swipeDistance, abs(x) > abs(y) { swipe(by: -x) }
        }
        gtk_widget_add_controller(widget.widget, drag.opaque)
    }

    /// - Parameter distance: how far the content moves to its start; negative for its end.
    private func swipe(by distance: Double) {
        onSwipe((distance > 0) != isRightToLeft ? 1 : -1)
    }
}

extension ObjectPointer {
    /// Whether the event that a gesture handles is from a touch screen.
    @MainActor var isTouchEvent: Bool {
        guard let device = gtk_event_controller_get_current_event_device(opaque) else { return false }
        return gdk_device_get_source(device) == GDK_SOURCE_TOUCHSCREEN
    }
}
