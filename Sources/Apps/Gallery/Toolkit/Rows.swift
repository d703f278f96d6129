import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

// Rows and menus of libadwaita as expressions.
@MainActor extension ObjectPointer {
    /// Returns a row with a control at its end. Both have the same name for assistive technologies.
    ///
    /// - Parameters:
    ///   - name: of the control, if the title is not enough.
    ///   - unit: a word behind the control.
    static func row(
        _ title: String, subtitle: String = "", _ control: ObjectPointer, name: String? = nil, unit: String = ""
    ) -> ObjectPointer {
        let row = ObjectPointer(adw_action_row_new()).set("title", title.escapedMarkup)
            .set("subtitle", subtitle.escapedMarkup)
        control.aligned(nil, GTK_ALIGN_CENTER).setAccessibleLabel(name ?? title)
        adw_action_row_add_suffix(row.as(), control.widget)
        adw_action_row_set_activatable_widget(row.as(), control.widget)
        if !unit.isEmpty {
            adw_action_row_add_suffix(row.as(), ObjectPointer.label(unit, "dim-label").set("wrap", false).widget)
        }
        return row
    }

    /// Returns a row with a menu of which one entry is chosen.
    static func menuRow(_ title: String, _ entries: [String]) -> ObjectPointer {
        let row = ObjectPointer(adw_combo_row_new()).set("title", title.escapedMarkup)
        row.fillMenu(entries)
        return row
    }

    /// Returns a menu of which one entry is chosen.
    static func dropDown(_ titles: [String], _ name: String) -> ObjectPointer {
        let menu = ObjectPointer(gtk_drop_down_new(nil, nil))
        menu.fillMenu(titles)
        menu.setAccessibleLabel(name)
        return menu
    }

    /// Sets the entries of a drop-down or of an `AdwComboRow`.
    func fillMenu(_ titles: [String]) {
        let model = ObjectPointer(gtk_string_list_new(nil))
        for title in titles { gtk_string_list_append(model.opaque, title) }
        set("model", object: model)
        g_object_unref(model.address)
    }
}
