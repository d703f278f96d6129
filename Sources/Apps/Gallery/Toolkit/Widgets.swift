import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

// Widgets as expressions: constructors, and changes that return the widget.
@MainActor extension ObjectPointer {
    /// Returns a box of `children` from top to bottom.
    static func column(spacing: Int = 0, _ children: [ObjectPointer] = []) -> ObjectPointer {
        box(GTK_ORIENTATION_VERTICAL, spacing, children)
    }

    /// Returns a box of `children` from start to end.
    static func row(spacing: Int = 0, _ children: [ObjectPointer] = []) -> ObjectPointer {
        box(GTK_ORIENTATION_HORIZONTAL, spacing, children)
    }

    private static func box(_ orientation: GtkOrientation, _ spacing: Int, _ children: [ObjectPointer]) -> ObjectPointer
    {
        let box = ObjectPointer(gtk_box_new(orientation, gint(spacing)))
        for child in children { box.append(child) }
        return box
    }

    /// Returns a label that wraps and starts at the leading edge.
    ///
    /// - Parameter styles: CSS classes, such as `title-2`, `dim-label`, `caption`, `numeric`.
    static func label(_ text: String, _ styles: String...) -> ObjectPointer {
        let label = ObjectPointer(gtk_label_new(text)).set("xalign", 0.0).set("wrap", true)
        gtk_label_set_wrap_mode(label.opaque, PANGO_WRAP_WORD_CHAR)
        for style in styles { label.style(style) }
        return label
    }

    /// Returns a button with a label.
    static func button(_ title: String, _ action: @escaping @MainActor () -> Void) -> ObjectPointer {
        let button = ObjectPointer(gtk_button_new_with_mnemonic(title))
        // Its label names it. GTK adds the title with its underscore, as in "_Try again Try again".
        button.setAccessibleLabel(nil)
        button.onSignal("clicked", action)
        return button
    }

    /// Returns a button with an icon. The name is its tooltip and its label for assistive technologies.
    static func iconButton(
        _ icon: String, _ name: String, _ action: (@MainActor () -> Void)? = nil
    ) -> ObjectPointer {
        let button = ObjectPointer(gtk_button_new_from_icon_name(icon)).named(name)
        if let action { button.onSignal("clicked", action) }
        return button
    }

    /// Adds a child to a box.
    func append(_ child: ObjectPointer) { gtk_box_append(self.as(GtkBox.self), child.widget) }

    /// Adds a CSS class.
    @discardableResult func style(_ name: String) -> ObjectPointer {
        gtk_widget_add_css_class(widget, name)
        return self
    }

    /// Adds or removes a CSS class.
    func setStyle(_ name: String, _ isSet: Bool) {
        if isSet { gtk_widget_add_css_class(widget, name) } else { gtk_widget_remove_css_class(widget, name) }
    }

    /// Sets the tooltip and the label for assistive technologies.
    @discardableResult func named(_ name: String) -> ObjectPointer {
        gtk_widget_set_tooltip_text(widget, name)
        setAccessibleLabel(name)
        return self
    }

    /// Sets the action of a button or switch, such as `win.open`.
    @discardableResult func action(_ name: String) -> ObjectPointer { set("action-name", name) }

    /// Sets the margins in points; a `nil` side stays.
    @discardableResult func margins(_ all: Int? = nil, horizontal: Int? = nil, vertical: Int? = nil) -> ObjectPointer {
        if let side = horizontal ?? all { set("margin-start", side).set("margin-end", side) }
        if let side = vertical ?? all { set("margin-top", side).set("margin-bottom", side) }
        return self
    }

    /// Whether the widget takes free space.
    @discardableResult func expanding(horizontally: Bool = true, vertically: Bool = true) -> ObjectPointer {
        set("hexpand", horizontally).set("vexpand", vertically)
    }

    @discardableResult func aligned(_ horizontal: GtkAlign? = nil, _ vertical: GtkAlign? = nil) -> ObjectPointer {
        if let horizontal { gtk_widget_set_halign(widget, horizontal) }
        if let vertical { gtk_widget_set_valign(widget, vertical) }
        return self
    }

    /// Sets the smallest size in points; -1 for a side's natural size.
    @discardableResult func sized(_ width: Int, _ height: Int) -> ObjectPointer {
        gtk_widget_set_size_request(widget, gint(width), gint(height))
        return self
    }

    var isVisible: Bool {
        get { gtk_widget_get_visible(widget) != 0 }
        nonmutating set { gtk_widget_set_visible(widget, newValue ? 1 : 0) }
    }

    /// The text of a label, or the label of a button.
    var text: String {
        get { get("label") }
        nonmutating set { set("label", newValue) }
    }

    /// Returns a view that scrolls `child` vertically, and never requests more width than the window has.
    static func scrolling(_ child: ObjectPointer) -> ObjectPointer {
        let view = ObjectPointer(gtk_scrolled_window_new()).expanding()
        gtk_scrolled_window_set_policy(view.opaque, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(view.opaque, child.widget)
        return view
    }

    /// Returns `child` at most `width` points wide, in the middle of the space.
    static func clamped(_ child: ObjectPointer, width: Int = 760) -> ObjectPointer {
        let clamp = ObjectPointer(adw_clamp_new()).set("maximum-size", width).set("tightening-threshold", width)
        adw_clamp_set_child(clamp.opaque, child.widget)
        return clamp
    }

    /// Returns a preferences group of libadwaita with rows.
    static func group(_ title: String, description: String = "", _ rows: [ObjectPointer] = []) -> ObjectPointer {
        let group = ObjectPointer(adw_preferences_group_new()).set("title", title.escapedMarkup)
        if !description.isEmpty { group.set("description", description.escapedMarkup) }
        for row in rows { adw_preferences_group_add(group.as(), row.widget) }
        return group
    }

    /// Returns a row of a group with a title and a value below it, whose text can be selected.
    static func factRow(_ title: String, _ value: String) -> ObjectPointer {
        let row = ObjectPointer(adw_action_row_new()).set("title", title.escapedMarkup)
            .set("subtitle", value.escapedMarkup)
        // With libadwaita 1.3 and later.
        if g_object_class_find_property(row.classPointer, "subtitle-selectable") != nil {
            row.set("subtitle-selectable", true)
        }
        return row
    }

    var classPointer: UnsafeMutablePointer<GObjectClass> {
        // The first field of an instance is its class.
        address.assumingMemoryBound(to: UnsafeMutablePointer<GObjectClass>.self).pointee
    }
}

extension String {
    /// The text for properties that interpret Pango's markup.
    var escapedMarkup: String {
        guard let escaped = g_markup_escape_text(self, -1) else { return "" }
        defer { g_free(escaped) }
        return String(cString: escaped)
    }
}
