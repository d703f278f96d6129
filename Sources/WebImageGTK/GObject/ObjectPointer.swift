package import CWebImageGTK

/// The address of a GObject of any class, not owned: C calls want it as one of several Swift types, depending on
/// whether the header shows the class's fields.
package struct ObjectPointer: Hashable {
    package let address: UnsafeMutableRawPointer

    package init(_ address: UnsafeMutableRawPointer) { self.address = address }
    package init(_ pointer: OpaquePointer) { address = UnsafeMutableRawPointer(pointer) }
    package init<Instance>(_ pointer: UnsafeMutablePointer<Instance>) { address = UnsafeMutableRawPointer(pointer) }

    /// For classes whose fields are hidden: `GtkPicture`, `GdkTexture`, every interface.
    package var opaque: OpaquePointer { OpaquePointer(address) }
    /// For calls on any object.
    package var object: UnsafeMutablePointer<GObject> { address.assumingMemoryBound(to: GObject.self) }
    /// For calls on a widget.
    package var widget: UnsafeMutablePointer<GtkWidget> { address.assumingMemoryBound(to: GtkWidget.self) }

    /// Whether the object is of a class, or of one derived from it.
    package func isInstance(of type: GType) -> Bool {
        g_type_check_instance_is_a(address.assumingMemoryBound(to: GTypeInstance.self), type) != 0
    }
}
