import CWebImageAdwaita
import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The folders beside the images: the tree around the opened folder, the user's pictures, and recent locations. In narrow windows, it is over
/// the images while it is used.
@MainActor final class FolderSidebar {
    /// The images, with the folders at their start.
    let widget = ObjectPointer(adw_flap_new())
    /// Called for a location to open.
    var onOpen: (_ location: String) -> Void = { _ in }
    private(set) var tree = FolderTree()

    private let session: GallerySession
    private let list = ObjectPointer(gtk_list_box_new())
    private let places = ObjectPointer(gtk_list_box_new())
    private var shownRows: [FolderTree.Row] = []
    private var placeLocations: [String] = []
    private var reading: Task<Void, Never>?

    private static let width = 240

    init(session: GallerySession, content: ObjectPointer) {
        self.session = session
        for (list, name) in [(list, localized("Folders")), (places, localized("Places"))] {
            list.style("navigation-sidebar").setAccessibleLabel(name)
            gtk_list_box_set_selection_mode(list.opaque, list == self.list ? GTK_SELECTION_BROWSE : GTK_SELECTION_NONE)
        }
        let column = ObjectPointer.column([
            Self.heading(localized("Folders")), list, Self.heading(localized("Places")), places,
        ])
        let pane = ObjectPointer.scrolling(column).set("hexpand", false).sized(Self.width, -1)
        pane.style("background").setAccessibleLabel(localized("Sidebar"))
        adw_flap_set_flap(widget.opaque, pane.widget)
        adw_flap_set_separator(widget.opaque, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        adw_flap_set_content(widget.opaque, content.widget)
        widget.set("locked", true).set("swipe-to-open", false).set("reveal-flap", session.settings.values.showsSidebar)
        widget.expanding()
        connect()
        showPlaces()
        openedFolderDidChange(session.settings.values.lastFolder)
    }

    private static func heading(_ text: String) -> ObjectPointer {
        .label(text, "heading").margins(horizontal: 12).set("margin-top", 12)
    }

    private func connect() {
        let settings = session.settings
        settings.observe(\.lastFolder) { [weak self] in self?.openedFolderDidChange($0) }
        settings.observe(\.recentLocations) { [weak self] _ in self?.showPlaces() }
        settings.observe(\.showsSidebar) { [weak self] in self?.widget.set("reveal-flap", $0) }
        settings.observe(\.showsHidden) { [weak self] _ in self?.readAgain() }
        widget.onChange(of: "folded") { [weak self] in self?.foldDidChange() }
        widget.onChange(of: "reveal-flap") { [weak self] in if self?.isShown == true { self?.readAgain() } }
        list.onIndex("row-activated") { [weak self] index in
            guard let self, shownRows.indices.contains(index) else { return }
            open(shownRows[index].folder.location)
        }
        places.onIndex("row-activated") { [weak self] index in
            guard let self, placeLocations.indices.contains(index) else { return }
            open(placeLocations[index])
        }
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, _ in self?.keyPressed(key) ?? false }
        gtk_widget_add_controller(list.widget, keys.opaque)
    }

    // MARK: State

    /// Whether the folders are on screen.
    var isShown: Bool { widget.get("reveal-flap") }

    /// Shows the folders or hides them. In a window with space for both, that is kept.
    func toggle() {
        guard widget.get("folded", as: Bool.self) else { return session.settings.change { $0.showsSidebar.toggle() } }
        widget.set("reveal-flap", !isShown)
    }

    private func foldDidChange() {
        widget.set("reveal-flap", !widget.get("folded", as: Bool.self) && session.settings.values.showsSidebar)
    }

    private func open(_ location: String) {
        if widget.get("folded", as: Bool.self) { widget.set("reveal-flap", false) }
        onOpen(location)
    }

    private func openedFolderDidChange(_ location: String) {
        guard let folder = location.isEmpty ? nil : LocationReader.path(of: location) else { return }
        tree.open(folder.withoutSlashAtEnd)
        treeDidChange()
    }

    // MARK: Tree

    /// Shows what is known, and reads what is not.
    private func treeDidChange() {
        showRows()
        let unread = tree.unread
        // A tree out of sight needs no reading.
        guard !unread.isEmpty, isShown else { return }
        read(unread)
    }

    private func readAgain() { read(tree.rows.map(\.folder)) }

    private func read(_ folders: [SystemString]) {
        let scanner = session.locationReader.scanner
        let former = reading
        reading = Task { [weak self] in
            await former?.value
            let found = await DispatchQueue.files.run { cancellation in
                Dictionary(uniqueKeysWithValues: Set(folders).map { ($0, scanner.folders(in: $0, cancellation)) })
            }
            guard let self, !Task.isCancelled else { return }
            tree.note(found)
            reading = nil
            treeDidChange()
        }
    }

    /// Whether folders are being read, for tests.
    var isReading: Bool { reading != nil }

    private func showRows() {
        let rows = tree.rows
        guard rows != shownRows else { return }
        let focused = gtk_widget_get_focus_child(list.widget).map {
            Int(gtk_list_box_row_get_index(ObjectPointer($0).as()))
        }
        shownRows = rows
        while let row = gtk_list_box_get_row_at_index(list.opaque, 0) {
            gtk_list_box_remove(list.opaque, ObjectPointer(row).widget)
        }
        for row in rows { gtk_list_box_append(list.opaque, makeRow(row).widget) }
        if let index = rows.firstIndex(where: \.isCurrent) {
            gtk_list_box_select_row(list.opaque, gtk_list_box_get_row_at_index(list.opaque, gint(index)))
        }
        if let focused, let row = gtk_list_box_get_row_at_index(list.opaque, gint(min(focused, rows.count - 1))) {
            gtk_widget_grab_focus(ObjectPointer(row).widget)
        }
    }

    private func makeRow(_ row: FolderTree.Row) -> ObjectPointer {
        let arrow = ObjectPointer.iconButton(
            row.isExpanded ? "pan-down-symbolic" : "pan-end-symbolic",
            row.isExpanded
                ? localized("Hide the folders in {folder}", ["folder": row.title])
                : localized("Show the folders in {folder}", ["folder": row.title])
        ) { [weak self] in self?.setExpanded(row.folder, !row.isExpanded) }
        arrow.style("flat").style("circular").aligned(nil, GTK_ALIGN_CENTER)
        // Its place stays, so that names are below each other.
        gtk_widget_set_opacity(arrow.widget, row.hasFolders == true ? 1 : 0)
        gtk_widget_set_can_target(arrow.widget, row.hasFolders == true ? 1 : 0)
        // The keys of the row do the same.
        gtk_widget_set_focusable(arrow.widget, 0)
        let label = ObjectPointer.label(row.title).set("wrap", false)
        gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_MIDDLE)
        let content = ObjectPointer.row(spacing: 6, [arrow, label]).set("margin-start", min(row.depth, 8) * 12)
        let widget = ObjectPointer(gtk_list_box_row_new()).set("child", object: content)
        widget.setAccessibleLabel(row.title)
        gtk_widget_set_tooltip_text(widget.widget, row.folder.description)
        return widget
    }

    private func setExpanded(_ folder: SystemString, _ isExpanded: Bool) {
        tree.setExpanded(folder, isExpanded)
        treeDidChange()
    }

    /// Right and left open and close a folder of the tree.
    private func keyPressed(_ key: Int32) -> Bool {
        guard let row = gtk_widget_get_focus_child(list.widget) else { return false }
        let index = Int(gtk_list_box_row_get_index(ObjectPointer(row).as()))
        guard shownRows.indices.contains(index), shownRows[index].hasFolders == true else { return false }
        let isRightToLeft = gtk_widget_get_direction(list.widget) == GTK_TEXT_DIR_RTL
        switch key {
        case GDK_KEY_Right: setExpanded(shownRows[index].folder, !isRightToLeft)
        case GDK_KEY_Left: setExpanded(shownRows[index].folder, isRightToLeft)
        default: return false
        }
        return true
    }

    // MARK: Places

    private func showPlaces() {
        let pictures = g_get_user_special_dir(G_USER_DIRECTORY_PICTURES).map { SystemString(cString: $0).location }
        var entries = [(pictures, localized("Pictures"), "folder-pictures-symbolic")]
        entries.append((SystemString(cString: g_get_home_dir()).location, localized("Home"), "user-home-symbolic"))
        entries += session.settings.values.recentLocations.map { location in
            let name = LocationReader.path(of: location)?.withoutSlashAtEnd.fileName.description ?? ""
            return (location, name.isEmpty ? location : name, "document-open-recent-symbolic")
        }
        while let row = gtk_list_box_get_row_at_index(places.opaque, 0) {
            gtk_list_box_remove(places.opaque, ObjectPointer(row).widget)
        }
        placeLocations = []
        for case (let location?, let title, let icon) in entries {
            placeLocations.append(location)
            let label = ObjectPointer.label(title).set("wrap", false)
            gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_MIDDLE)
            let content = ObjectPointer.row(spacing: 6, [ObjectPointer(gtk_image_new_from_icon_name(icon)), label])
            let row = ObjectPointer(gtk_list_box_row_new()).set("child", object: content)
            row.setAccessibleLabel(title)
            gtk_widget_set_tooltip_text(row.widget, location)
            gtk_list_box_append(places.opaque, row.widget)
        }
    }

    /// The titles of the folders from top to bottom, for tests.
    var rowTitles: [String] { shownRows.map(\.title) }
    /// Opens a folder of the tree as the user does, for tests.
    func activate(_ title: String) {
        if let row = shownRows.first(where: { $0.title == title }) { open(row.folder.location) }
    }
    /// Shows the folders inside of one, as the user does, for tests.
    func expand(_ title: String) {
        if let row = shownRows.first(where: { $0.title == title }) { setExpanded(row.folder, true) }
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` with the index of the `GtkListBoxRow` that is the only argument of a signal.
    fileprivate func onIndex(_ signal: String, _ body: @escaping @MainActor (_ index: Int) -> Void) {
        onSignal(signal) { (row: ObjectPointer) in body(Int(gtk_list_box_row_get_index(row.as()))) }
    }
}
