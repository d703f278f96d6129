import CWebImageGTK
import GTKObjects
import ProgramSupport
import WebImageGTK

/// A section of a menu that copies and moves to folders: to one that the user chooses, and to those of the last time.
@MainActor final class TargetsMenu {
    private let section = ObjectPointer(g_menu_new())

    init(settings: GallerySettings) {
        show(settings.values.recentTargets)
        settings.observe(\.recentTargets) { [weak self] in self?.show($0) }
    }

    isolated deinit { g_object_unref(section.address) }

    private func show(_ targets: [String]) {
        g_menu_remove_all(section.opaque)
        for (kind, title, choose, name) in [
            (FilePlacing.Kind.copy, localized("Copy to"), localized("Copy to folder…"), "copy-to"),
            (.move, localized("Move to"), localized("Move to folder…"), "move-to"),
        ] {
            g_menu_append(section.opaque, choose, "win.\(name)")
            guard !targets.isEmpty else { continue }
            let folders = ObjectPointer(g_menu_new())
            for target in targets {
                let name = SystemString(target).fileName.description
                let item = ObjectPointer(
                    g_menu_item_new((name.isEmpty ? target : name).replacing("_", with: "__"), nil))
                g_menu_item_set_action_and_target_value(
                    item.opaque, "win.\(Organizer.folderAction(kind))", g_variant_new_string(target))
                g_menu_append_item(folders.opaque, item.opaque)
                g_object_unref(item.address)
            }
            g_menu_append_submenu(section.opaque, title, folders.as(GMenuModel.self))
            g_object_unref(folders.address)
        }
    }

    /// Adds the section to a menu, and returns it.
    func added(to menu: ObjectPointer) -> ObjectPointer {
        g_menu_append_section(menu.opaque, nil, section.as(GMenuModel.self))
        return menu
    }
}
