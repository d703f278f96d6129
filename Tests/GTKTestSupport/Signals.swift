import CWebImageGTK
import GTKObjects
import XCTest

@testable import WebImageGTK

// The macros that name the types are numbers shifted by `G_TYPE_FUNDAMENTAL_SHIFT`.

/// A number that a signal gives its handlers.
protocol SignalArgument {
    var value: GValue { get }
}

extension Int: SignalArgument {
    var value: GValue {
        var value = GValue()
        g_value_init(&value, 6 << 2)
        g_value_set_int(&value, gint(self))
        return value
    }
}

extension Double: SignalArgument {
    var value: GValue {
        var value = GValue()
        g_value_init(&value, 15 << 2)
        g_value_set_double(&value, self)
        return value
    }
}

@MainActor extension ObjectPointer {
    /// Emits a signal, as GTK does after an event.
    ///
    /// - Parameter arguments: of the signal; those that are missing are 0 or nothing.
    func emit(_ name: String, _ arguments: any SignalArgument...) {
        let type = address.assumingMemoryBound(to: GTypeInstance.self).pointee.g_class.pointee.g_type
        let id = g_signal_lookup(name, type)
        guard id != 0 else { return XCTFail("\(String(cString: g_type_name(type))) has no signal \(name)") }
        var query = GSignalQuery()
        g_signal_query(id, &query)
        var values = [GValue](repeating: GValue(), count: 1 + Int(query.n_params))
        g_value_init(&values[0], type)
        g_value_set_object(&values[0], address)
        for index in 0..<Int(query.n_params) {
            // The bit says that a value is not copied.
            g_value_init(&values[1 + index], query.param_types[index] & ~1)
            guard arguments.indices.contains(index) else { continue }
            var argument = arguments[index].value
            XCTAssertNotEqual(g_value_transform(&argument, &values[1 + index]), 0)
            g_value_unset(&argument)
        }
        var result = GValue()
        let resultType = query.return_type & ~1
        // 4 is the type of nothing.
        if resultType != 4 { g_value_init(&result, resultType) }
        g_signal_emitv(&values, id, 0, &result)
        for index in values.indices { g_value_unset(&values[index]) }
        if resultType != 4 { g_value_unset(&result) }
    }

    /// Does what a key does in a widget that has the focus. Returns whether it does something.
    @discardableResult func press(_ key: Int32) -> Bool {
        guard let wanted = gtk_keyval_trigger_new(guint(key), GdkModifierType(rawValue: 0)) else { return false }
        defer { g_object_unref(ObjectPointer(wanted).address) }
        return controllers(gtk_shortcut_controller_get_type()).contains { controller in
            (0..<g_list_model_get_n_items(controller.opaque)).contains { number in
                guard let shortcut = g_list_model_get_object(controller.opaque, number).map({ ObjectPointer($0) })
                else {
                    return false
                }
                defer { g_object_unref(shortcut.address) }
                return gtk_shortcut_trigger_equal(
                    gtk_shortcut_get_trigger(shortcut.opaque).map { ObjectPointer($0).address },
                    ObjectPointer(wanted).address) != 0
                    && gtk_shortcut_action_activate(
                        gtk_shortcut_get_action(shortcut.opaque), GTK_SHORTCUT_ACTION_EXCLUSIVE, widget, nil) != 0
            }
        }
    }

    /// The controllers of a widget that have a type.
    func controllers(_ type: GType) -> [ObjectPointer] {
        guard let list = gtk_widget_observe_controllers(widget) else { return [] }
        defer { g_object_unref(ObjectPointer(list).address) }
        return (0..<g_list_model_get_n_items(list)).compactMap { number in
            guard let controller = g_list_model_get_object(list, number).map({ ObjectPointer($0) }) else { return nil }
            // The widget retains it.
            g_object_unref(controller.address)
            return controller.isInstance(of: type) ? controller : nil
        }
    }
}
