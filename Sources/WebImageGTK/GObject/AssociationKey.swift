internal import CWebImageGTK

/// Under what name a GObject carries a Swift object.
package struct AssociationKey<Value: AnyObject> {
    private let quark: GQuark

    package init(_ name: String) { quark = g_quark_from_string(name) }

    /// What `object` carries.
    package func value(of object: ObjectPointer) -> Value? {
        g_object_get_qdata(object.object, quark).map { Unmanaged<Value>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Makes `object` own `value`, in place of what it carried under this key; `nil` only lets that go.
    @MainActor package func set(_ value: Value?, on object: ObjectPointer) {
        guard let value else {
            g_object_set_qdata(object.object, quark, nil)
            return
        }
        g_object_set_qdata_full(object.object, quark, Unmanaged.passRetained(value).toOpaque()) { data in
            if let data { Unmanaged<AnyObject>.fromOpaque(data).release() }
        }
    }
}
