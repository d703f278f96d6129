internal import CWebImageGTK

extension ObjectPointer {
    /// Tells assistive technologies what to call a widget; `nil` says nothing.
    @MainActor package func setAccessibleLabel(_ label: String?) {
        guard let label else { return gtk_accessible_reset_property(opaque, GTK_ACCESSIBLE_PROPERTY_LABEL) }
        var property = GTK_ACCESSIBLE_PROPERTY_LABEL
        var value = GValue()
        gtk_accessible_property_init_value(property, &value)
        g_value_set_string(&value, label)
        gtk_accessible_update_property_value(opaque, 1, &property, &value)
        g_value_unset(&value)
    }

    /// Tells assistive technologies whether a widget is selected.
    @MainActor package func setAccessibleSelected(_ isSelected: Bool) {
        var state = GTK_ACCESSIBLE_STATE_SELECTED
        var value = GValue()
        gtk_accessible_state_init_value(state, &value)
        g_value_set_int(&value, isSelected ? 1 : 0)
        gtk_accessible_update_state_value(opaque, 1, &state, &value)
        g_value_unset(&value)
    }
}
