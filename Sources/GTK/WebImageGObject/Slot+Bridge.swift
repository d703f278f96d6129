internal import CWebImageGObject
internal import CWebImageGTK
internal import GTKObjects
internal import WebImage
internal import WebImageGTK

// GTK's widgets are used on the main thread only.

/// Calls `body` with the slot of a handle.
private func withSlot<Result: Sendable>(_ slot: OpaquePointer, _ body: @MainActor (Slot) -> Result) -> Result {
    onMainThread(slot) { body(Slot.of($0)) }
}

@c @implementation
func webimage_bridge_slot_new_picture(
    _ picture: OpaquePointer, _ changed: @escaping WebImageBridgeChanged, _ data: gpointer?
) -> OpaquePointer {
    onMainThread((picture, changed, data)) { picture, changed, data in
        Slot(picture: UnsafeMutablePointer(picture)) { changed(data) }
    }.retainedHandle
}

@c @implementation
func webimage_bridge_slot_new_paintable(_ changed: @escaping WebImageBridgeChanged, _ data: gpointer?) -> OpaquePointer
{
    onMainThread((changed, data)) { changed, data in Slot(WebPaintable()) { changed(data) } }.retainedHandle
}

@c @implementation
func webimage_bridge_slot_retire(_ slot: OpaquePointer) { withSlot(slot) { $0.retire() } }

@c @implementation
func webimage_bridge_slot_paintable(_ slot: OpaquePointer) -> OpaquePointer {
    guard let paintable = OpaquePointer(bitPattern: withSlot(slot) { UInt(bitPattern: $0.ownPaintable?.paintable) })
    else {
        preconditionFailure("a widget draws its image itself")
    }
    return paintable
}

@c @implementation
func webimage_bridge_slot_configure(_ slot: OpaquePointer, _ display: UnsafePointer<WebImageBridgeDisplay>) {
    let display = display.pointee
    withSlot(slot) { $0.configure(display) }
}

@c @implementation
func webimage_bridge_slot_load(
    _ slot: OpaquePointer, _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>,
    _ placeholder: UnsafePointer<WebImageBridgePlaceholder>
) {
    let manager = Session.of(session).manager
    onMainThread((slot, request.pointee, placeholder.pointee)) { slot, request, placeholder in
        Slot.of(slot).load(request, placeholder, with: manager)
    }
}

@c @implementation
func webimage_bridge_slot_clear(_ slot: OpaquePointer) { withSlot(slot) { $0.clear() } }

@c @implementation
func webimage_bridge_slot_cancel(_ slot: OpaquePointer) { withSlot(slot) { $0.cancel() } }

@c @implementation
func webimage_bridge_slot_get_state(_ slot: OpaquePointer, _ state: UnsafeMutablePointer<WebImageBridgeState>) {
    state.pointee = withSlot(slot) { $0.state }
}

@c @implementation
func webimage_bridge_slot_get_error(_ slot: OpaquePointer, _ failed: WebImageBridgeFailed, _ data: gpointer?) {
    withSlot(slot) { $0.error }?.withBridged { failed(data, $0) }
}

@c @implementation
func webimage_bridge_slot_texture(_ slot: OpaquePointer) -> OpaquePointer? {
    OpaquePointer(bitPattern: withSlot(slot) { UInt(bitPattern: $0.makeTexture()) })
}

@c @implementation
func webimage_bridge_slot_copy(_ slot: OpaquePointer) -> gboolean {
    withSlot(slot) { gboolean($0.picture?.copyImage() == true ? 1 : 0) }
}

@c @implementation
func webimage_bridge_slot_set_alternative_text(_ slot: OpaquePointer, _ text: UnsafePointer<CChar>?) {
    let text = String(optional: text)
    withSlot(slot) { $0.setAlternativeText(text) }
}

@c @implementation
func webimage_bridge_initials_new(_ name: UnsafePointer<CChar>) -> OpaquePointer {
    let name = String(cString: name)
    guard
        let initials = OpaquePointer(
            bitPattern: onMainThread(name) { UInt(bitPattern: WebAvatar.makeInitials(of: $0)) })
    else { preconditionFailure("a paintable is never NULL") }
    return initials
}
