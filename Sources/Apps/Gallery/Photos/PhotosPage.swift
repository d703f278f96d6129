import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The page of the images: an empty state with recent locations, the reason why a location was not opened, or the grid
/// with a bar for what is selected.
@MainActor final class PhotosPage {
    let widget: ObjectPointer
    let grid: PhotoGrid
    var onOpen: (_ index: Int) -> Void = { _ in }
    var onCurrentChange: () -> Void = {}
    let recent: RecentLocations
    /// Above the images.
    let searchBar: SearchBar

    private let session: GallerySession
    private let stack = ObjectPointer(gtk_stack_new())
    private let selectionBar = ObjectPointer(gtk_action_bar_new())
    private let selectionLabel = ObjectPointer.label("", "numeric").set("wrap", false)
    private let progress = ProgressIndicator(localized("Looking for images"))
    let failure = FailureView(localized("Nothing to show"))
    private let status = ObjectPointer.label("", "caption", "dim-label", "numeric")
    /// Messages, above the bar of the selection.
    let toasts = ObjectPointer(adw_toast_overlay_new())
    private var menu: ObjectPointer?
    private let targetsMenu: TargetsMenu
    private let shapes: ShapeReader
    private var whenItems: [@MainActor () -> Void] = []
    let opener: LocationOpener

    init(session: GallerySession) {
        self.session = session
        grid = PhotoGrid(session: session)
        shapes = ShapeReader(of: session.collection)
        opener = LocationOpener(session: session)
        searchBar = SearchBar(session.search)
        targetsMenu = TargetsMenu(settings: session.settings)
        recent = RecentLocations(settings: session.settings)
        let scroller = ObjectPointer(gtk_scrolled_window_new()).expanding()
        gtk_scrolled_window_set_policy(scroller.opaque, GTK_POLICY_NEVER, GTK_POLICY_ALWAYS)
        gtk_scrolled_window_set_child(scroller.opaque, grid.widget.widget)
        widget = .column()
        build(scroller)
        connect()
        Action.addPageKeys(actions, to: widget)
        updateStatus()
    }

    private func build(_ scroller: ObjectPointer) {
        let nothing = ObjectPointer(adw_status_page_new()).set("icon-name", "system-search-symbolic")
            .set("title", localized("Nothing found")).set(
                "description", localized("No image meets all conditions of the search."))
        gtk_stack_add_named(stack.opaque, scroller.widget, "grid")
        gtk_stack_add_named(stack.opaque, failure.widget.widget, "failure")
        gtk_stack_add_named(stack.opaque, nothing.widget, "nothing")
        stack.expanding()
        // Over the grid, so that its appearance moves nothing.
        let overlay = ObjectPointer(gtk_overlay_new()).expanding()
        gtk_overlay_set_child(overlay.opaque, stack.widget)
        gtk_overlay_add_overlay(overlay.opaque, progress.widget.widget)

        gtk_action_bar_pack_start(selectionBar.opaque, selectionLabel.widget)
        for button in [
            ObjectPointer.iconButton("edit-clear-symbolic", localized("Clear selection")).action("win.select-none"),
            ObjectPointer.iconButton("user-trash-symbolic", localized("Move to the trash")).action("win.trash"),
            ObjectPointer.iconButton("edit-copy-symbolic", localized("Copy links")).action("win.copy-links"),
        ] { gtk_action_bar_pack_end(selectionBar.opaque, button.widget) }
        gtk_action_bar_set_revealed(selectionBar.opaque, 0)
        status.margins(horizontal: 12, vertical: 4).set("ellipsize", 3).set("wrap", false)
        adw_toast_overlay_set_child(toasts.opaque, overlay.widget)
        for part in [searchBar.widget, toasts, selectionBar, status] { widget.append(part) }
    }

    private func makeEmptyState() -> ObjectPointer {
        let page = ObjectPointer(adw_status_page_new()).set("icon-name", GalleryIcon.symbolicIcon)
            .set("title", localized("No images")).set(
                "description", localized("Open files, a folder, a list or a web page, or drop links and files here."))
        let buttons = ObjectPointer.column(
            spacing: 12,
            [
                ObjectPointer.button(localized("Open _folder…")) {}.action("win.open-folder").style("pill").style(
                    "suggested-action"),
                ObjectPointer.button(localized("Open _location…")) {}.action("win.open-location").style("pill"),
            ])
        buttons.aligned(GTK_ALIGN_CENTER)
        let content = ObjectPointer.column(spacing: 24, [buttons, .clamped(recent.group, width: 480)])
        adw_status_page_set_child(page.opaque, content.widget)
        return page
    }

    private func connect() {
        grid.onOpen = { [weak self] in self?.onOpen($0) }
        grid.onZoom = { [weak self] in self?.zoom(by: $0) }
        grid.onMenu = { [weak self] cell in self?.showMenu(at: cell) }
        grid.onSelectionChange = { [weak self] in self?.selectionDidChange() }
        session.collection.observe { [weak self] in self?.collectionDidChange($0) }
        session.loads.observe { [weak self] in self?.updateStatus() }
        opener.onChange = { [weak self] in self?.readingDidChange() }
        opener.follower.onWatchChange = { [weak self] in self?.updateStatus() }
        opener.onFailure = { [weak self] in self?.show($0, retrying: $1) }
        // Unless something is being opened already.
        widget.onSignal("map") { [weak self] in if let self, shownChild == "grid" { showPage() } }
    }

    // MARK: Opening

    /// Why some of the locations that were opened last have no images.
    private(set) var openingFailure: String?

    /// Opens locations, and shows their images as they are found.
    func open(_ request: OpenRequest) {
        openingFailure = nil
        // What is opened is shown.
        if request.replaces { searchBar.isOpen = false }
        opener.open(request)
    }

    /// Whether locations are being read.
    var isReading: Bool { opener.isReading }

    private func readingDidChange() {
        progress.state = isReading ? .unknown : .hidden
        showPage()
    }

    /// Says why locations were not opened: in place of the images, or over them.
    private func show(_ reason: String, retrying failed: OpenRequest) {
        openingFailure = reason
        guard session.collection.all.isEmpty else {
            return session.showToast(
                reason, .init(title: localized("_Try again")) { [weak self] in self?.open(failed) })
        }
        failure.show(reason)
        failure.onRetry = { [weak self] in self?.open(failed) }
        gtk_stack_set_visible_child_name(stack.opaque, "failure")
    }

    /// The name of what is shown, for tests: `empty`, `failure`, `nothing` or `grid`.
    var shownChild: String {
        gtk_stack_get_visible_child_name(stack.opaque).map { String(cString: $0) } ?? ""
    }

    /// Shows the grid, also before the first image is found, or the empty state, which is made when it is first needed.
    private func showPage() {
        let collection = session.collection
        let isEmpty = collection.all.isEmpty && !isReading
        if isEmpty, gtk_stack_get_child_by_name(stack.opaque, "empty") == nil {
            gtk_stack_add_named(stack.opaque, makeEmptyState().widget, "empty")
        }
        let hasNothing = collection.isEmpty && !collection.all.isEmpty
        gtk_stack_set_visible_child_name(stack.opaque, isEmpty ? "empty" : hasNothing ? "nothing" : "grid")
    }

    /// Calls `body` once, when the collection has more images.
    func whenItemsArrive(_ body: @escaping @MainActor () -> Void) { whenItems.append(body) }

    func closeAll() {
        searchBar.isOpen = false
        opener.cancel()
        session.collection.replace(with: [])
    }

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        switch change {
        case .shapes, .dates, .content: return
        case .replaced, .rearranged, .appended: break
        }
        if change == .replaced { session.loads.forgetFailures(except: session.collection.contains) }
        showPage()
        updateStatus()
        guard !session.collection.isEmpty else { return }
        let bodies = whenItems
        whenItems = []
        for body in bodies { body() }
    }

    // MARK: Grid

    /// The image that the inspector shows: the one that keys start from.
    var currentURL: URL? {
        grid.current.flatMap { session.collection.urls.indices.contains($0) ? session.collection.urls[$0] : nil }
    }

    func zoom(by factor: Double) {
        session.settings.change { $0.rowHeight = ($0.rowHeight * factor).rounded() }
    }

    func resetZoom() { session.settings.change { $0.rowHeight = GallerySettings.Values().rowHeight } }

    func reload() { for cell in grid.boundCells where cell.isOnScreen { cell.load(cachePolicy: .reload) } }

    private var selectedURLs: [URL] {
        grid.selection.ranges.flatMap { session.collection.urls[$0.clamped(to: 0..<session.collection.count)] }
    }

    /// The images that a command means: those selected, or the current one.
    var targets: [URL] { grid.selection.isEmpty ? currentURL.map { [$0] } ?? [] : selectedURLs }

    var actions: [Action] {
        typealias Body = @MainActor (PhotosPage) -> Void
        // Keys of the page, not of the window: the inspector's texts and the location's entry have some of them too.
        func action(_ name: String, _ title: String, _ keys: [String], _ body: @escaping Body) -> Action {
            Action(name, title, .photos, pageKeys: keys) { [weak self] in if let self { body(self) } }
        }
        return [
            action("view", localized("Open the image, or load it again if it failed"), ["Return", "KP_Enter"]) { page in
                page.grid.chooseCurrent()
                guard let index = page.grid.current, page.grid.currentCell?.picture.retry() != true else { return }
                page.onOpen(index)
            },
            action("image-menu", localized("Menu of the image"), ["Menu", "<Shift>F10"]) { page in
                if let cell = page.grid.currentCell { page.showMenu(at: cell.widget) }
            },
            action("toggle-selection", localized("Select the image"), ["space"]) { page in
                if let index = page.grid.current { page.grid.toggleSelection(of: index) }
            },
            action("select-all", localized("Select all"), ["<Control>a"]) { $0.grid.selectAll() },
            action("select-none", localized("Clear selection"), ["Escape", "<Control><Shift>a"]) {
                $0.grid.clearSelection()
            },
            action("invert-selection", localized("Invert the selection"), ["<Control><Shift>i"]) {
                $0.grid.invertSelection()
            },
            action("copy-links", localized("Copy the links"), ["<Control>c"]) { $0.copyLinks() },
            action("rotate-right", localized("Rotate the file right"), ["bracketright"]) {
                $0.session.rotateFiles($0.targets, by: 1)
            },
            action("rotate-left", localized("Rotate the file left"), ["bracketleft"]) {
                $0.session.rotateFiles($0.targets, by: -1)
            },
            action("trash", localized("Move to the trash"), ["Delete", "KP_Delete"]) {
                $0.session.moveToTrash($0.targets)
            },
        ]
    }

    private func copyLinks() {
        let urls = targets
        guard !urls.isEmpty else { return }
        Clipboard.copy(urls.map(\.absoluteString).joined(separator: "\n"), of: widget)
        session.showToast(
            urls.count == 1
                ? localized("Link copied")
                : counted("{count} link copied", "{count} links copied", count: urls.count))
    }

    private func selectionDidChange() {
        let count = grid.selection.ranges.reduce(0) { $0 + $1.count }
        selectionLabel.text = counted("{count} selected", "{count} selected", count: count)
        gtk_action_bar_set_revealed(selectionBar.opaque, count > 0 ? 1 : 0)
        onCurrentChange()
    }

    private func showMenu(at cell: ObjectPointer) {
        if let menu { gtk_widget_unparent(menu.widget) }
        let model = ObjectPointer.menu([
            [
                (localized("Open"), "win.view"), (localized("Inspect"), "win.inspector"),
                (localized("Compare"), "win.compare"),
            ],
            [(localized("Copy link"), "win.copy-links"), (localized("Select"), "win.toggle-selection")],
            [(localized("Rotate left"), "win.rotate-left"), (localized("Rotate right"), "win.rotate-right")],
            [
                (localized("Tags…"), "win.tags"), (localized("Rename…"), "win.rename"),
                (localized("Move to the trash"), "win.trash"),
            ],
        ])
        let popover = ObjectPointer(
            gtk_popover_menu_new_from_model(targetsMenu.added(to: model).as(GMenuModel.self)))
        g_object_unref(model.address)
        // The grid gives its children places of their own, so the menu belongs to the page.
        gtk_widget_set_parent(popover.widget, widget.widget)
        var bounds = graphene_rect_t()
        _ = gtk_widget_compute_bounds(cell.widget, widget.widget, &bounds)
        var area = GdkRectangle(
            x: gint(bounds.origin.x), y: gint(bounds.origin.y), width: gint(bounds.size.width),
            height: gint(bounds.size.height))
        gtk_popover_set_pointing_to(popover.as(), &area)
        // GTK moves the focus to the header otherwise. An entry may have shown another page.
        popover.onSignal("closed") { [weak self] in
            guard let self, gtk_widget_get_mapped(grid.widget.widget) != 0 else { return }
            grid.focus()
        }
        gtk_popover_popup(popover.as())
        menu = popover
    }

    // MARK: Status

    private func updateStatus() {
        let collection = session.collection
        status.isVisible = !collection.all.isEmpty
        let failureCount = session.loads.failedURLs.count { collection.contains($0) }
        let leftOutCount = opener.follower.leftOutCount
        var parts = [
            session.search.isActive
                ? session.search.resultText : counted("{count} image", "{count} images", count: collection.count)
        ]
        if failureCount > 0 { parts.append(counted("{count} failed", "{count} failed", count: failureCount)) }
        if leftOutCount > 0 {
            parts.append(
                counted(
                    "{count} folder is not watched for changes", "{count} folders are not watched for changes",
                    count: leftOutCount))
        }
        status.text = parts.joined(separator: ", ")
    }

    /// The text of the line below the images, for tests.
    var statusText: String { status.text }

    /// Whether all images in sight have loaded or failed.
    var isSettled: Bool {
        let cells = grid.boundCells.filter(\.isOnScreen)
        return !isReading && !cells.isEmpty && grid.boundCells.allSatisfy(\.isSettled)
    }

    var isComplete: Bool { grid.boundCells.filter(\.isOnScreen).allSatisfy { $0.picture.image != nil } }
}
