internal import CWebImageGObject
internal import CWebImageGTK

/// A Swift object that C code refers to.
protocol Handle: AnyObject {}

extension Handle {
    /// A new reference for C code, which `webimage_bridge_release` releases.
    var retainedHandle: OpaquePointer { OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

    /// The object of a handle.
    static func of(_ handle: OpaquePointer) -> Self {
        Unmanaged<Self>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }
}

@c @implementation
func webimage_bridge_retain(_ handle: gpointer) { _ = Unmanaged<AnyObject>.fromOpaque(handle).retain() }

@c @implementation
func webimage_bridge_release(_ handle: gpointer) { Unmanaged<AnyObject>.fromOpaque(handle).release() }

extension String {
    /// A text of C code; `nil` for NULL.
    init?(optional text: UnsafePointer<CChar>?) {
        guard let text else { return nil }
        self.init(cString: text)
    }
}
