import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A value that a GObject property can have.
protocol PropertyValue {
    /// The type of a `GValue` that holds it.
    static var type: GType { get }
    func store(in value: UnsafeMutablePointer<GValue>)
    static func load(from value: UnsafePointer<GValue>) -> Self
}

// GLib's fundamental types: the macros that name them are numbers shifted by `G_TYPE_FUNDAMENTAL_SHIFT`.
extension Bool: PropertyValue {
    static var type: GType { 5 << 2 }
    func store(in value: UnsafeMutablePointer<GValue>) { g_value_set_boolean(value, self ? 1 : 0) }
    static func load(from value: UnsafePointer<GValue>) -> Bool { g_value_get_boolean(value) != 0 }
}

extension Int: PropertyValue {
    static var type: GType { 6 << 2 }
    func store(in value: UnsafeMutablePointer<GValue>) { g_value_set_int(value, gint(clamping: self)) }
    static func load(from value: UnsafePointer<GValue>) -> Int { Int(g_value_get_int(value)) }
}

extension Double: PropertyValue {
    static var type: GType { 15 << 2 }
    func store(in value: UnsafeMutablePointer<GValue>) { g_value_set_double(value, self) }
    static func load(from value: UnsafePointer<GValue>) -> Double { g_value_get_double(value) }
}

extension String: PropertyValue {
    static var type: GType { 16 << 2 }
    func store(in value: UnsafeMutablePointer<GValue>) { g_value_set_string(value, self) }
    static func load(from value: UnsafePointer<GValue>) -> String {
        g_value_get_string(value).map { String(cString: $0) } ?? ""
    }
}

@MainActor extension ObjectPointer {
    /// Sets a property. GLib converts between kinds of numbers.
    @discardableResult
    func set(_ property: String, _ newValue: some PropertyValue) -> ObjectPointer {
        var value = GValue()
        g_value_init(&value, Swift.type(of: newValue).type)
        newValue.store(in: &value)
        g_object_set_property(object, property, &value)
        g_value_unset(&value)
        return self
    }

    /// Sets a property that holds an object; `nil` clears it.
    @discardableResult
    func set(_ property: String, object newValue: ObjectPointer?) -> ObjectPointer {
        var value = GValue()
        g_value_init(&value, g_object_get_type())
        g_value_set_object(&value, newValue?.address)
        g_object_set_property(object, property, &value)
        g_value_unset(&value)
        return self
    }

    /// Returns a property.
    func get<Value: PropertyValue>(_ property: String, as type: Value.Type = Value.self) -> Value {
        var value = GValue()
        g_value_init(&value, Value.type)
        g_object_get_property(object, property, &value)
        defer { g_value_unset(&value) }
        return Value.load(from: &value)
    }

    /// Binds `property` to `target`'s property in both directions, beginning with this object's value.
    func bind(_ property: String, to target: ObjectPointer, _ targetProperty: String) {
        g_object_bind_property(
            address, property, target.address, targetProperty,
            GBindingFlags(rawValue: G_BINDING_BIDIRECTIONAL.rawValue | G_BINDING_SYNC_CREATE.rawValue))
    }
}
