internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

// GTK's widgets are used on the main thread only.

/// A pointer that is used on the main thread. Unchecked, because C code has it, which the compiler cannot see.
private struct MainThreadPointer: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// Calls `body` with the slot of a handle.
private func withSlot<Result: Sendable>(_ slot: OpaquePointer, _ body: @MainActor (Slot) -> Result) -> Result {
    nonisolated(unsafe) let slot = slot
    return MainActor.assumeIsolated { body(Slot.of(slot)) }
}

@c @implementation
func webimage_bridge_slot_new(
    _ picture: OpaquePointer?, _ changed: @escaping WebImageBridgeChanged, _ data: gpointer?
) -> OpaquePointer {
    nonisolated(unsafe) let (picture, changed, data) = (picture, changed, data)
    return MainActor.assumeIsolated {
        MainThreadPointer(pointer: Slot(picture: picture) { changed(data) }.retainedHandle)
    }.pointer
}

@c @implementation
func webimage_bridge_slot_retire(_ slot: OpaquePointer) { withSlot(slot) { $0.retire() } }

@c @implementation
func webimage_bridge_slot_paintable(_ slot: OpaquePointer) -> OpaquePointer {
    withSlot(slot) { slot in
        guard let paintable = slot.paintable else { preconditionFailure("a picture draws its image itself") }
        return MainThreadPointer(pointer: paintable)
    }.pointer
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
    nonisolated(unsafe) let (request, placeholder) = (request.pointee, placeholder.pointee)
    withSlot(slot) { $0.load(request, placeholder, with: manager) }
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
