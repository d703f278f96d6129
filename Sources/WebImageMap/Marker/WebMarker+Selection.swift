internal import CWebImageGTK
internal import CWebImageShumate
internal import WebImageGTK

/// Which markers can be selected, and how many, their layer decides (`shumate_marker_layer_set_selection_mode`), and for each
/// `shumate_marker_set_selectable`. libshumate itself selects by clicks; here the keyboard does as well.
extension WebMarker {
    /// Whether it is selected.
    public var isSelected: Bool { shumate_marker_is_selected(marker) != 0 }

    /// Selects it, and where the layer has a single selection, no other one.
    ///
    /// - Returns: `false` where that can't be: outside of a layer, or where layer or marker allow no selection.
    @discardableResult public func select() -> Bool {
        guard let layer else { return false }
        return shumate_marker_layer_select_marker(layer, marker) != 0
    }

    /// Ends its selection.
    public func deselect() {
        if let layer { shumate_marker_layer_unselect_marker(layer, marker) }
    }

    /// The layer it is in; `nil` for none.
    private var layer: OpaquePointer? {
        guard let parent = gtk_widget_get_parent(widget) else { return nil }
        let pointer = ObjectPointer(parent)
        return pointer.isInstance(of: shumate_marker_layer_get_type()) ? pointer.opaque : nil
    }

    // MARK: Keyboard

    /// Those that press a button.
    private static let keys = [GDK_KEY_space, GDK_KEY_KP_Space, GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_ISO_Enter]

    /// Lets these keys do what a click does.
    func addKeys() {
        let shortcuts = ObjectPointer(gtk_shortcut_controller_new())
        for key in Self.keys {
            let action = gtk_callback_action_new(
                { widget, _, _ in
                    guard let widget else { return gboolean(0) }
                    nonisolated(unsafe) let target = widget  // GTK calls on the main thread.
                    return MainActor.assumeIsolated {
                        WebMarker.attached(to: target)?.toggleSelection() == true ? gboolean(1) : gboolean(0)
                    }
                }, nil, nil)
            gtk_shortcut_controller_add_shortcut(
                shortcuts.opaque,
                gtk_shortcut_new(gtk_keyval_trigger_new(guint(key), GdkModifierType(rawValue: 0)), action))
        }
        gtk_widget_add_controller(widget, shortcuts.opaque)
    }

    /// - Returns: `false` if the key is for somebody else.
    private func toggleSelection() -> Bool {
        guard isSelected, let layer else { return select() }
        // Browsing always leaves one selected.
        if shumate_marker_layer_get_selection_mode(layer) != GTK_SELECTION_BROWSE { deselect() }
        return true
    }

    // MARK: Making

    /// One that screen readers know as an item of its layer: by itself, a marker has no role to them.
    static func makeMarker() -> UnsafeMutablePointer<ShumateMarker> {
        var role = GValue()
        g_value_init(&role, gtk_accessible_role_get_type())
        g_value_set_enum(&role, gint(GTK_ACCESSIBLE_ROLE_LIST_ITEM.rawValue))
        defer { g_value_unset(&role) }
        let marker = "accessible-role".withCString { name in
            var name: UnsafePointer<CChar>? = name
            return ObjectPointer(g_object_new_with_properties(shumate_marker_get_type(), 1, &name, &role))
        }
        return marker.address.assumingMemoryBound(to: ShumateMarker.self)
    }
}
