internal import CWebImageGTK
internal import GTKObjects

/// A strong reference to an object of GIO, which any thread may use and release, unlike those of GTK.
final class GIOObject: @unchecked Sendable {
    private let pointer: ObjectPointer

    /// Takes over a reference that the caller owns.
    init(owning pointer: ObjectPointer) { self.pointer = pointer }

    /// Adds a reference.
    init(retaining pointer: ObjectPointer) {
        g_object_ref(pointer.address)
        self.pointer = pointer
    }

    deinit { g_object_unref(pointer.address) }

    var opaque: OpaquePointer { pointer.opaque }
    var stream: UnsafeMutablePointer<GInputStream> { pointer.address.assumingMemoryBound(to: GInputStream.self) }
    var cancellable: UnsafeMutablePointer<GCancellable> { pointer.address.assumingMemoryBound(to: GCancellable.self) }

    /// A new `GCancellable`.
    static func newCancellable() -> GIOObject? { g_cancellable_new().map { GIOObject(owning: ObjectPointer($0)) } }
}
