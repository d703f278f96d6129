import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The locations opened lately: rows for the page without images, and a section of the menu that opens images.
@MainActor final class RecentLocations {
    /// The rows; hidden without a location.
    let group = ObjectPointer.group(localized("Recent"))
    /// Called for the location to open.
    var onOpen: (_ location: String) -> Void = { _ in }

    private let section = ObjectPointer(g_menu_new())
    private var rows: [ObjectPointer] = []
    private static let actionName = "open-recent"
    private static let menuTitleLength = 50

    init(settings: GallerySettings) {
        show(settings.values.recentLocations)
        settings.observe(\.recentLocations) { [weak self] in self?.show($0) }
    }

    isolated deinit { g_object_unref(section.address) }

    private func show(_ locations: [String]) {
        for row in rows { adw_preferences_group_remove(group.as(), row.widget) }
        rows = locations.map { location in
            let row = ObjectPointer(adw_action_row_new()).set("title", location.escapedMarkup).set("title-lines", 1)
                .set("activatable", true)
            row.onSignal("activated") { [weak self] in self?.onOpen(location) }
            adw_preferences_group_add(group.as(), row.widget)
            return row
        }
        group.isVisible = !rows.isEmpty
        g_menu_remove_all(section.opaque)
        for location in locations {
            let item = ObjectPointer(g_menu_item_new(Self.menuTitle(of: location), nil))
            g_menu_item_set_action_and_target_value(
                item.opaque, "win.\(Self.actionName)", g_variant_new_string(location))
            g_menu_append_item(section.opaque, item.opaque)
            g_object_unref(item.address)
        }
    }

    /// The end of the location, which tells more than its beginning.
    static func menuTitle(of location: String) -> String {
        let end = location.count > menuTitleLength ? "…" + location.suffix(menuTitleLength - 1) : location
        // An underline would mark a key.
        return end.replacing("_", with: "__")
    }

    /// Adds the locations to a menu.
    func addSection(to menu: ObjectPointer) {
        g_menu_append_section(menu.opaque, localized("Recent"), section.as(GMenuModel.self))
    }

    /// Adds the action of the menu's entries to a `GActionMap`, such as a window.
    func addAction(to map: ObjectPointer) {
        let text = g_variant_type_new("s")
        defer { g_variant_type_free(text) }
        let action = ObjectPointer(g_simple_action_new(Self.actionName, text))
        action.onActivate { [weak self] (location: String) in self?.onOpen(location) }
        g_action_map_add_action(map.opaque, action.opaque)
        g_object_unref(action.address)
    }

    /// The titles in the menu, for tests.
    var menuTitles: [String] {
        (0..<g_menu_model_get_n_items(section.as())).map { index in
            let label = g_menu_model_get_item_attribute_value(section.as(), index, "label", nil)
            defer { label.map { g_variant_unref($0) } }
            return label.flatMap { g_variant_get_string($0, nil) }.map { String(cString: $0) } ?? ""
        }
    }
}
