internal import CWebImageGTK

/// A strong reference to a GObject, given back on the main thread: the renderer keeps records of textures that it does
/// not lock.
@MainActor final class ObjectReference {
    let pointer: ObjectPointer

    /// Takes over a reference the caller owns, as one from a `…_new` function.
    init(owning pointer: ObjectPointer) { self.pointer = pointer }

    /// Adds a reference; a floating one becomes this object's.
    init(retaining pointer: ObjectPointer) {
        g_object_ref_sink(pointer.address)
        self.pointer = pointer
    }

    isolated deinit { g_object_unref(pointer.address) }
}
