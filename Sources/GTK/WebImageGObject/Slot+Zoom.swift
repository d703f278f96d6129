internal import CWebImageGObject
internal import CWebImageGTK
internal import GTKObjects
internal import WebImage
internal import WebImageGTK

/// The zoom of a slot whose image the user zooms.
extension ZoomView {
    fileprivate func configure(_ settings: WebImageBridgeZoomSettings) {
        let initial: Zoom =
            switch settings.initial_mode {
            case WEB_IMAGE_ZOOM_MODE_FILL: .fill
            case WEB_IMAGE_ZOOM_MODE_FREE: .scale(1)
            default: .fit
            }
        if initialZoom != initial { initialZoom = initial }
        let minimum = settings.minimum > 0 ? settings.minimum : nil
        if minimumScale != minimum { minimumScale = minimum }
        if maximumScale != settings.maximum { maximumScale = settings.maximum }
        pixelByteLimit = Int(clamping: settings.memory_limit)
        handlesKeys = settings.handles_keys != 0
        wheelTurnsPages = settings.wheel_turns_pages != 0
        overlay = settings.overlay
        guard let paintable = settings.overlay_paintable else { return drawOverlay = nil }
        nonisolated(unsafe) let drawn = paintable  // Stays on the main thread.
        drawOverlay = { snapshot, place in Self.draw(drawn, into: snapshot, place) }
    }

    /// Draws a paintable with the area and the rotation of the image.
    private static func draw(_ paintable: OpaquePointer, into snapshot: OpaquePointer, _ place: ZoomPlace) {
        let area = place.area
        let isTurned = place.quarterTurns % 2 == 1
        let (width, height) = isTurned ? (area.height, area.width) : (area.width, area.height)
        var middle = graphene_point_t(x: Float(area.x + area.width / 2), y: Float(area.y + area.height / 2))
        var corner = graphene_point_t(x: Float(-width / 2), y: Float(-height / 2))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &middle)
        gtk_snapshot_rotate(snapshot, Float(place.quarterTurns * 90))
        gtk_snapshot_translate(snapshot, &corner)
        gdk_paintable_snapshot(paintable, snapshot, width, height)
        gtk_snapshot_restore(snapshot)
    }

    fileprivate var bridged: WebImageBridgeZoom {
        let mode =
            switch zoom {
            case .fit: WEB_IMAGE_ZOOM_MODE_FIT
            case .fill: WEB_IMAGE_ZOOM_MODE_FILL
            case .scale: WEB_IMAGE_ZOOM_MODE_FREE
            }
        return WebImageBridgeZoom(scale: scale, mode: mode, quarter_turns: CInt(quarterTurns))
    }
}

/// Calls `body` with the view of a handle.
private func withView<Result: Sendable>(_ slot: OpaquePointer, _ body: @MainActor (ZoomView) -> Result) -> Result {
    onMainThread(slot) { slot in
        guard let view = Slot.of(slot).zoomView else { preconditionFailure("the slot has a zoom view") }
        return body(view)
    }
}

@c @implementation
func webimage_bridge_slot_new_zoom(
    _ handlers: UnsafePointer<WebImageBridgeZoomHandlers>,
    _ widget: UnsafeMutablePointer<UnsafeMutablePointer<GtkWidget>?>
) -> OpaquePointer {
    onMainThread((handlers.pointee, widget)) { handlers, widget in
        let view = ZoomView()
        view.onZoomChange = { handlers.zoom_changed(handlers.view) }
        view.onSwipe = { handlers.turn_page(handlers.view, CInt($0)) }
        widget.pointee = view.widget
        return Slot(view) { handlers.state_changed(handlers.slot) }
    }.retainedHandle
}

@c @implementation
func webimage_bridge_zoom_configure(_ slot: OpaquePointer, _ settings: UnsafePointer<WebImageBridgeZoomSettings>) {
    onMainThread((slot, settings.pointee)) { slot, settings in Slot.of(slot).zoomView?.configure(settings) }
}

@c @implementation
func webimage_bridge_zoom_get(_ slot: OpaquePointer, _ zoom: UnsafeMutablePointer<WebImageBridgeZoom>) {
    zoom.pointee = withView(slot) { $0.bridged }
}

@c @implementation
func webimage_bridge_zoom_set(_ slot: OpaquePointer, _ mode: WebImageZoomMode, _ scale: Double, _ isAnimated: gboolean)
{
    withView(slot) { view in
        let zoom: ZoomView.Zoom =
            switch mode {
            case WEB_IMAGE_ZOOM_MODE_FIT: .fit
            case WEB_IMAGE_ZOOM_MODE_FILL: .fill
            default: .scale(scale > 0 ? scale : view.scale)
            }
        view.setZoom(zoom, isAnimated: isAnimated != 0)
    }
}

@c @implementation
func webimage_bridge_zoom_step(_ slot: OpaquePointer, _ step: CInt) {
    withView(slot) { if step > 0 { $0.zoomIn() } else { $0.zoomOut() } }
}

@c @implementation
func webimage_bridge_zoom_rotate(_ slot: OpaquePointer, _ turns: CInt) { withView(slot) { $0.rotate(by: Int(turns)) } }

@c @implementation
func webimage_bridge_zoom_pan(_ slot: OpaquePointer, _ x: Double, _ y: Double) {
    withView(slot) { $0.pan(x: x, y: y, isAnimated: true) }
}

@c @implementation
func webimage_bridge_zoom_show_part_of(_ slot: OpaquePointer, _ other: OpaquePointer) {
    onMainThread((slot, other)) { slot, other in
        guard let view = Slot.of(slot).zoomView, let other = Slot.of(other).zoomView else { return }
        view.place = other.place
    }
}
