import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The window that lists the actions with keys. GTK's own does not fit into narrow windows.
@MainActor enum ShortcutsWindow {
    static func present(over parent: ObjectPointer, _ actions: [Action]) {
        let window = ObjectPointer(adw_preferences_window_new()).set("title", localized("Keyboard shortcuts"))
        gtk_window_set_default_size(window.as(), 480, 640)
        gtk_window_set_transient_for(window.as(), parent.as())
        gtk_window_set_modal(window.as(), 1)
        let page = ObjectPointer(adw_preferences_page_new())
        for group in Action.Group.allCases {
            let rows = actions.filter { $0.group == group && !($0.keys + $0.pageKeys).isEmpty }.map(row)
            if !rows.isEmpty { adw_preferences_page_add(page.as(), ObjectPointer.group(group.title, rows).as()) }
        }
        adw_preferences_window_add(window.as(), page.as())
        gtk_window_present(window.as())
    }

    private static func row(_ action: Action) -> ObjectPointer {
        let row = ObjectPointer(adw_action_row_new()).set("title", action.title.escapedMarkup)
        let keys = (action.keys + action.pageKeys).prefix(2).map(label).joined(separator: localized(" or "))
        adw_action_row_add_suffix(row.as(), ObjectPointer.label(keys, "dim-label").set("wrap", false).widget)
        return row
    }

    /// A key's name for users, such as `Ctrl+O`.
    private static func label(of accelerator: String) -> String {
        var (key, modifiers) = (guint(), GdkModifierType(rawValue: 0))
        guard gtk_accelerator_parse(accelerator, &key, &modifiers) != 0,
            let name = gtk_accelerator_get_label(key, modifiers)
        else { return accelerator }
        defer { g_free(name) }
        return String(cString: name)
    }
}
