import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A command of the user, by menu, key or button, with its keys and its name.
///
/// Menus and buttons name actions as `win.NAME`. The window of keyboard shortcuts lists those with keys.
@MainActor struct Action {
    /// The part of the shortcuts window that lists it.
    enum Group: CaseIterable {
        case general, photos, organizing, viewer, developers

        var title: String {
            switch self {
            case .general: localized("General")
            case .photos: localized("Photos")
            case .organizing: localized("Stars, tags and folders")
            case .viewer: localized("Viewer")
            case .developers: localized("For developers")
            }
        }
    }

    let name: String
    let title: String
    let group: Group
    /// The keys in the whole window. They take precedence over the keys of the focused widget.
    var keys: [String] = []
    /// The keys in the page that has the action, unless its focused widget uses them. See ``addPageKeys(_:to:)``.
    var pageKeys: [String] = []
    /// The state that menus show: whether the action is on, or which of its entries is chosen.
    enum State: Equatable {
        case isOn(Bool)
        case choice(String)
    }

    /// Returns the state with these settings; `nil` for an action without one.
    private(set) var state: (@MainActor (GallerySettings.Values) -> State)?
    private let body: @MainActor (_ choice: String) -> Void

    init(
        _ name: String, _ title: String, _ group: Group, keys: [String] = [], pageKeys: [String] = [],
        _ body: @escaping @MainActor () -> Void
    ) {
        (self.name, self.title, self.group) = (name, title, group)
        (self.keys, self.pageKeys) = (keys, pageKeys)
        self.body = { _ in body() }
    }

    /// An action with an entry for each choice, which menus name as `win.NAME::CHOICE`.
    init(
        _ name: String, _ title: String, _ group: Group,
        chosen: @escaping @MainActor (GallerySettings.Values) -> String,
        _ body: @escaping @MainActor (_ choice: String) -> Void
    ) {
        (self.name, self.title, self.group, self.body) = (name, title, group, body)
        state = { .choice(chosen($0)) }
    }

    /// Returns the action with a state: whether a setting is on.
    func showing(_ setting: any KeyPath<GallerySettings.Values, Bool> & Sendable) -> Action {
        var action = self
        action.state = { .isOn($0[keyPath: setting]) }
        return action
    }

    func run(_ choice: String = "") { body(choice) }

    /// Adds the actions' keys for a page to the page.
    static func addPageKeys(_ actions: [Action], to page: ObjectPointer) {
        let controller = ObjectPointer(gtk_shortcut_controller_new())
        for action in actions where !action.pageKeys.isEmpty {
            guard let trigger = gtk_shortcut_trigger_parse_string(action.pageKeys.joined(separator: "|")) else {
                preconditionFailure("\(action.name) has an invalid key")
            }
            gtk_shortcut_controller_add_shortcut(
                controller.opaque, gtk_shortcut_new(trigger, gtk_named_action_new("win.\(action.name)")))
        }
        gtk_widget_add_controller(page.widget, controller.opaque)
    }

    /// Adds the actions to a window, and their keys to its application.
    static func add(
        _ actions: [Action], to window: ObjectPointer, of application: ObjectPointer, _ settings: GallerySettings.Values
    ) {
        for action in actions {
            let simple = action.makeSimpleAction(settings)
            simple.onActivate { action.run($0) }
            g_action_map_add_action(window.opaque, simple.opaque)
            g_object_unref(simple.address)
            let keys = action.keys.map { strdup($0) } + [nil]
            defer { for key in keys { free(key) } }
            let list = keys.map { UnsafePointer<CChar>($0) }
            gtk_application_set_accels_for_action(application.as(), "win.\(action.name)", list)
        }
    }

    private func makeSimpleAction(_ settings: GallerySettings.Values) -> ObjectPointer {
        guard let state = state?(settings) else { return ObjectPointer(g_simple_action_new(name, nil)) }
        let text = g_variant_type_new("s")
        defer { g_variant_type_free(text) }
        let hasChoices = if case .choice = state { true } else { false }
        return ObjectPointer(g_simple_action_new_stateful(name, hasChoices ? text : nil, state.variant))
    }

    /// Shows the states that actions of a window have with other settings.
    static func showStates(of actions: [Action], with settings: GallerySettings.Values, in window: ObjectPointer) {
        for action in actions {
            guard let state = action.state?(settings),
                let simple = g_action_map_lookup_action(window.opaque, action.name)
            else { continue }
            g_simple_action_set_state(simple, state.variant)
        }
    }

    /// Makes actions available or not: those of the viewer where there is none, for example.
    static func setEnabled(_ names: [String], _ isEnabled: Bool, in window: ObjectPointer) {
        for name in names {
            guard let action = g_action_map_lookup_action(window.opaque, name) else { continue }
            ObjectPointer(action).set("enabled", isEnabled)
        }
    }
}

extension Action.State {
    /// A value that its first user owns.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .isOn(let isOn): g_variant_new_boolean(isOn ? 1 : 0)
        case .choice(let choice): g_variant_new_string(choice)
        }
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` with the text that a menu's entry gives a `GSimpleAction`; empty without one.
    func onActivate(_ body: @escaping @MainActor (_ target: String) -> Void) {
        let trampoline: @convention(c) (gpointer, OpaquePointer?, gpointer) -> Void = { _, target, data in
            let text = target.flatMap { g_variant_get_string($0, nil) }.map { String(cString: $0) } ?? ""
            SignalHandler<(String) -> Void>.with(data) { $0(text) }
        }
        connect("activate", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Returns a menu of sections of titles with their actions.
    static func menu(_ sections: [[(title: String, action: String)]]) -> ObjectPointer {
        let menu = ObjectPointer(g_menu_new())
        for section in sections {
            let part = ObjectPointer(g_menu_new())
            for item in section { g_menu_append(part.opaque, item.title, item.action) }
            g_menu_append_section(menu.opaque, nil, part.as(GMenuModel.self))
            g_object_unref(part.address)
        }
        return menu
    }

    /// Returns a button that opens a menu.
    static func menuButton(_ icon: String, _ name: String, _ menu: ObjectPointer) -> ObjectPointer {
        let button = ObjectPointer(gtk_menu_button_new()).set("icon-name", icon).named(name)
        gtk_menu_button_set_menu_model(button.opaque, menu.as(GMenuModel.self))
        g_object_unref(menu.address)
        return button
    }
}
