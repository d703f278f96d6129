import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The window: the page of the photos, a viewer in front of it, the inspector beside both, and two pages for developers.
///
///     AdwApplicationWindow
///      └─ AdwToastOverlay
///          └─ AdwFlap ────────────────── inspector
///              └─ AdwLeaflet
///                  ├─ main page: header, AdwViewStack (photos, learn, statistics), switcher at the bottom if narrow
///                  └─ viewer
///
/// The inspector, the viewer, and the pages but that of photos are made when they are first shown. The switcher of pages appears with the first
/// of those for developers, and goes with the last.
@MainActor final class GalleryWindow {
    let widget: ObjectPointer
    let session: GallerySession
    let photos: PhotosPage
    let sidebar: FolderSidebar
    private(set) lazy var learn = LearnPage(session: session)
    private lazy var statistics = StatisticsPage(session: session)
    private var openedViewer: PhotoViewer?
    private var openedInspector: LoadInspector?
    private let toasts = ObjectPointer(adw_toast_overlay_new())
    let flap = ObjectPointer(adw_flap_new())
    private let leaflet = ObjectPointer(adw_leaflet_new())
    private let stack = ObjectPointer(adw_view_stack_new())
    private let mainPage = ObjectPointer.column()
    private let bins = ["learn": ObjectPointer(adw_bin_new()), "statistics": ObjectPointer(adw_bin_new())]
    /// The switcher of pages in the header, or below the page where the header is too narrow.
    private let switcher = ObjectPointer(adw_view_switcher_title_new())
    private let lowerSwitcher = ObjectPointer(adw_view_switcher_bar_new())
    private(set) var actions: [Action] = []
    private(set) lazy var organizer = makeOrganizer()

    init(application: ObjectPointer, session: GallerySession, size: PixelSize) {
        self.session = session
        widget = ObjectPointer(adw_application_window_new(application.as()))
        photos = PhotosPage(session: session)
        sidebar = FolderSidebar(session: session, content: photos.widget)
        // Loads and scans may end after the window is closed, whose parts they change then.
        g_object_ref(widget.address)
        g_object_ref_sink(toasts.address)

        gtk_window_set_title(widget.as(), localized("Gallery"))
        gtk_window_set_icon_name(widget.as(), GalleryIcon.identifier)
        gtk_window_set_default_size(widget.as(), gint(size.width), gint(size.height))
        widget.sized(360, 294)
        buildContent()
        connectParts()
        actions = makeActions()
        Action.add(actions, to: widget, of: application, session.settings.values)
        session.settings.observe(\.self) { [weak self] settings in
            if let self { Action.showStates(of: actions, with: settings, in: widget) }
        }
        photos.recent.addAction(to: widget)
        organizer.addFolderActions(to: widget)
        Action.addPageKeys(organizer.actions, to: photos.widget)
        acceptDrops()
        GalleryStyle.add(to: gtk_widget_get_display(widget.widget))
        session.onToast = { [weak self] in self?.showToast($0, $1) }
        session.onReturn = { [weak self] in self?.showReturned($0) }
    }

    isolated deinit {
        g_object_unref(toasts.address)
        g_object_unref(widget.address)
    }

    func present() { gtk_window_present(widget.as()) }

    // MARK: Content

    private func buildContent() {
        for (name, title, icon) in [
            ("photos", localized("Photos"), "image-x-generic-symbolic"),
            ("learn", localized("Learn"), "accessories-dictionary-symbolic"),
            ("statistics", localized("Statistics"), "power-profile-performance-symbolic"),
        ] {
            let page = bins[name] ?? sidebar.widget
            let entry = ObjectPointer(adw_view_stack_add_titled(stack.opaque, page.widget, name, title))
            entry.set("icon-name", icon)
        }
        stack.expanding()
        adw_view_switcher_title_set_stack(switcher.set("title", localized("Gallery")).opaque, stack.opaque)
        adw_view_switcher_bar_set_stack(lowerSwitcher.opaque, stack.opaque)
        g_object_bind_property(
            switcher.address, "title-visible", lowerSwitcher.address, "reveal", G_BINDING_SYNC_CREATE)
        hasSwitcher = false
        for part in [makeHeader(switcher), stack, lowerSwitcher] { mainPage.append(part) }

        leaflet.set("can-unfold", false).set("can-navigate-back", true).set("width-request", 300)
        adw_leaflet_append(leaflet.opaque, mainPage.widget)
        adw_flap_set_content(flap.opaque, leaflet.widget)
        adw_flap_set_separator(flap.opaque, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        // Unless it is locked, the flap closes when the window has no space for both, and opens when it has.
        flap.set("flap-position", 1).set("reveal-flap", false).set("swipe-to-open", false).set("locked", true)
        adw_toast_overlay_set_child(toasts.opaque, flap.widget)
        adw_application_window_set_content(widget.as(), toasts.widget)
    }

    private func makeHeader(_ title: ObjectPointer) -> ObjectPointer {
        let header = ObjectPointer(adw_header_bar_new())
        adw_header_bar_set_title_widget(header.opaque, title.widget)
        let locations = ObjectPointer.menu([
            [(localized("Open files…"), "win.open-files"), (localized("Open folder…"), "win.open-folder")],
            [(localized("Open location…"), "win.open-location"), (localized("Paste"), "win.paste")],
        ])
        photos.recent.addSection(to: locations)
        let open = ObjectPointer.menuButton("document-open-symbolic", localized("Open"), locations)
        let menu = ObjectPointer.menuButton(
            "open-menu-symbolic", localized("Main menu"),
            .menu([
                [(localized("Larger images"), "win.zoom-in"), (localized("Smaller images"), "win.zoom-out")],
                [(localized("Names and dates"), "win.show-names")],
                PhotoOrder.allCases.map { ($0.command, "win.sort::\($0.rawValue)") }
                    + [(localized("Reverse order"), "win.reverse")],
                [
                    (localized("Undo"), "win.undo"), (localized("Reload"), "win.reload"),
                    (localized("Close all images"), "win.close-all"),
                ],
                [
                    (localized("Preferences"), "win.preferences"), (localized("Keyboard shortcuts"), "win.shortcuts"),
                    (localized("About Gallery"), "win.about"),
                ],
            ]))
        menu.set("primary", true)
        let spinner = ObjectPointer(gtk_spinner_new())
        ImageIndicator.showNetworkActivity(in: spinner.widget, of: .shared)
        let inspect = ObjectPointer.iconButton(LoadInspector.iconName, localized("Inspector")).action("win.inspector")
        let folders = ObjectPointer.iconButton("sidebar-show-symbolic", localized("Folders")).action("win.sidebar")
        let search = ObjectPointer.iconButton("system-search-symbolic", localized("Search")).action("win.search")
        for part in [open, folders, spinner] { adw_header_bar_pack_start(header.opaque, part.widget) }
        for part in [menu, inspect, search] { adw_header_bar_pack_end(header.opaque, part.widget) }
        return header
    }

    private func connectParts() {
        photos.onOpen = { [weak self] in self?.view($0) }
        photos.onCurrentChange = { [weak self] in self?.inspectCurrent() }
        photos.recent.onOpen = { [weak self] in self?.open([$0]) }
        sidebar.onOpen = { [weak self] in self?.open([$0], viewsImage: false) }
        flap.onChange(of: "reveal-flap") { [weak self] in self?.inspectCurrent() }
        // A swipe changes the visible child before it ends, and back if it is cancelled.
        leaflet.onChange(of: "visible-child") { [weak self] in
            self?.updateActions()
            self?.closeViewerAfterTransition()
        }
        leaflet.onChange(of: "child-transition-running") { [weak self] in self?.closeViewerAfterTransition() }
        widget.onSignal("destroy") { [weak self] in self?.openedViewer?.close() }
        stack.onChange(of: "visible-child") { [weak self] in
            self?.pageDidChange()
            self?.updateActions()
        }
    }

    // MARK: Parts that are made when they are first shown

    private var viewer: PhotoViewer {
        if let openedViewer { return openedViewer }
        let viewer = PhotoViewer(session: session)
        viewer.onClose = { [weak self] in self?.leaveViewer() }
        viewer.onInspect = { [weak self] in self?.toggleInspector() }
        viewer.onCurrentChange = { [weak self] _ in self?.inspectCurrent() }
        viewer.onTitleChange = { [weak self] in self?.updateTitle() }
        adw_leaflet_append(leaflet.opaque, viewer.widget.widget)
        openedViewer = viewer
        return viewer
    }

    private var inspector: LoadInspector {
        if let openedInspector { return openedInspector }
        let inspector = LoadInspector(session: session)
        inspector.onClose = { [weak self] in self?.flap.set("reveal-flap", false) }
        inspector.onReload = { [weak self] in self?.reload($0, $1) ?? false }
        adw_flap_set_flap(flap.opaque, inspector.widget.widget)
        openedInspector = inspector
        return inspector
    }

    /// The inspector, once it was shown, for tests.
    var shownInspector: LoadInspector? { openedInspector }

    /// Fills the page in front, and shows the switcher while it is one for developers.
    private func pageDidChange() {
        let name = shownPage
        if name == "photos" { hasSwitcher = false }
        guard let bin = bins[name], adw_bin_get_child(bin.as()) == nil else { return }
        adw_bin_set_child(bin.as(), (name == "learn" ? learn.widget : statistics.widget).widget)
    }

    // MARK: Navigation

    /// The page in front.
    var shownPage: String {
        isViewing ? "viewer" : adw_view_stack_get_visible_child_name(stack.opaque).map { String(cString: $0) } ?? ""
    }

    /// The viewer, if it is in front.
    var shownViewer: PhotoViewer? { isViewing ? openedViewer : nil }

    private var isViewing: Bool { adw_leaflet_get_visible_child(leaflet.opaque) != mainPage.widget }

    /// Shows a page of the command line.
    func show(_ page: GalleryWindow.Page) {
        if page != .photos {
            hasSwitcher = true
            if isViewing { leaveViewer() }
        }
        switch page {
        case .photos, .statistics: adw_view_stack_set_visible_child_name(stack.opaque, page.name)
        case .learn(let name):
            adw_view_stack_set_visible_child_name(stack.opaque, "learn")
            if let name { learn.open(name) }
        }
        updateActions()
    }

    /// Opens an image in the viewer, as soon as the collection has it.
    ///
    /// - Parameter isAnimated: whether the viewer slides in. The grid below is on screen meanwhile, and loads its images.
    func view(_ index: Int, isAnimated: Bool = true) {
        guard session.collection.urls.indices.contains(index) else {
            photos.whenItemsArrive { [weak self] in self?.view(index, isAnimated: isAnimated) }
            return
        }
        let viewer = viewer
        func show() { adw_leaflet_set_visible_child(leaflet.opaque, viewer.widget.widget) }
        if isAnimated { show() } else { leaflet.withoutMotion(show) }
        viewer.open(index: index)
        inspectCurrent()
    }

    /// Shows the first of the files that are back from the trash.
    private func showReturned(_ files: Set<URL>) {
        guard let index = session.collection.urls.firstIndex(where: files.contains) else { return }
        if isViewing {
            openedViewer?.open(index: index)
        } else if shownPage == "photos" {
            photos.grid.setCurrent(index, focusing: true)
        }
    }

    private func leaveViewer() { adw_leaflet_set_visible_child(leaflet.opaque, mainPage.widget) }

    /// Releases the viewer's image, and goes on from it in the grid.
    private func closeViewerAfterTransition() {
        guard !isViewing, adw_leaflet_get_child_transition_running(leaflet.opaque) == 0, let viewer = openedViewer,
            let url = viewer.currentURL
        else { return }
        viewer.close()
        if let index = session.collection.urls.firstIndex(of: url) { photos.grid.setCurrent(index, focusing: true) }
        inspectCurrent()
    }

    /// Whether the user can switch between pages.
    private(set) var hasSwitcher: Bool {
        get { switcher.get("view-switcher-enabled") }
        set {
            switcher.set("view-switcher-enabled", newValue)
            lowerSwitcher.isVisible = newValue
        }
    }

    private func toggleInspector() {
        if flap.get("reveal-flap", as: Bool.self) { flap.set("reveal-flap", false) } else { inspect() }
    }

    /// Moves the keyboard focus to the images when they appear.
    private func focusImages() {
        guard shownPage == "photos" else { return }
        let focus = gtk_window_get_focus(widget.as())
        if focus.map({ gtk_widget_is_ancestor($0, photos.widget.widget) == 0 }) ?? true { photos.grid.focus() }
    }

    /// Shows the inspector for the current image.
    func inspect() {
        _ = inspector
        flap.set("reveal-flap", true)
    }

    private func inspectCurrent() {
        guard let inspector = openedInspector else { return }
        guard flap.get("reveal-flap", as: Bool.self) else { return inspector.show(nil) }
        if !isViewing { photos.grid.chooseCurrent() }
        inspector.show(isViewing ? openedViewer?.currentURL : photos.currentURL)
    }

    /// Loads an image again where it is shown; returns `false` if it is not.
    private func reload(_ url: URL, _ policy: CachePolicy) -> Bool {
        let isViewed = isViewing && openedViewer?.currentURL == url
        if isViewed { openedViewer?.reload(cachePolicy: policy) }
        let cell = photos.grid.cell(of: url)
        cell?.load(cachePolicy: policy)
        return isViewed || cell != nil
    }

    // MARK: Locations

    /// Opens locations, each after the other.
    ///
    /// - Parameter viewsImage: whether the viewer shows the image if there is one only.
    func open(_ locations: [String], list: LocationList? = nil, replacing: Bool = true, viewsImage: Bool = true) {
        let request = OpenRequest(list: list, locations: locations, replaces: replacing)
        guard !request.isEmpty else { return }
        photos.opener.onImage = { [weak self] in if viewsImage { self?.view(0, isAnimated: false) } }
        adw_view_stack_set_visible_child_name(stack.opaque, "photos")
        photos.open(request)
        photos.whenItemsArrive { [weak self] in self?.focusImages() }
    }

    private func acceptDrops() {
        var types = [gdk_file_list_get_type(), String.type]
        let target = ObjectPointer(gtk_drop_target_new(types[0], GDK_ACTION_COPY))
        gtk_drop_target_set_gtypes(target.opaque, &types, gsize(types.count))
        target.onDrop { [weak self] value in
            // An image that is dragged within the program is open already.
            let drop = gtk_drop_target_get_current_drop(target.opaque)
            guard drop.map({ gdk_drop_get_drag($0) == nil }) ?? true,
                let locations = Clipboard.locations(in: value), !locations.isEmpty
            else { return false }
            self?.open(locations, replacing: false)
            return true
        }
        gtk_widget_add_controller(toasts.widget, target.opaque)
    }

    // MARK: Actions

    private func makeActions() -> [Action] {
        let dialogs = Dialogs(window: widget, session: session)
        return [
            Action("open-files", localized("Open files"), .general, keys: ["<Control>o"]) { [weak self] in
                dialogs.chooseFiles { self?.open($0) }
            },
            Action("open-folder", localized("Open a folder"), .general, keys: ["<Control><Shift>o"]) { [weak self] in
                dialogs.chooseFolder { self?.open([$0]) }
            },
            Action("open-location", localized("Open a location"), .general, keys: ["<Control>l"]) { [weak self] in
                dialogs.askForLocation { self?.open([$0]) }
            },
            Action("paste", localized("Open the links on the clipboard"), .general, keys: ["<Control>v"]) {
                [weak self] in
                self?.paste()
            },
            Action("undo", localized("Undo the last change of files"), .general, keys: ["<Control>z"]) { [session] in
                session.undo()
            },
            Action("inspector", localized("Show the inspector"), .general, keys: ["<Control>i", "<Alt>Return"]) {
                [weak self] in
                self?.toggleInspector()
            },
            Action("preferences", localized("Preferences"), .general, keys: ["<Control>comma"]) {
                PreferencesWindow.present(over: dialogs.window, dialogs.session)
            },
            Action("shortcuts", localized("Keyboard shortcuts"), .general, keys: ["F1", "<Control>question"]) {
                [weak self] in
                self?.showShortcuts()
            },
            Action("about", localized("About Gallery"), .general) { dialogs.showAbout() },
            Action("close", localized("Close the window"), .general, keys: ["<Control>w", "<Control>q"]) {
                [weak self] in
                if let self { gtk_window_close(widget.as()) }
            },
            Action("page-photos", localized("Photos"), .developers, keys: ["<Alt>1"]) { [weak self] in
                self?.show(.photos)
            },
            Action("page-learn", localized("Learn"), .developers, keys: ["<Alt>2"]) { [weak self] in
                self?.show(.learn(nil))
            },
            Action("page-statistics", localized("Statistics"), .developers, keys: ["<Alt>3"]) { [weak self] in
                self?.show(.statistics)
            },
            Action("zoom-in", localized("Larger images"), .photos, keys: ["<Control>plus", "<Control>equal"]) {
                [weak self] in
                self?.photos.zoom(by: 1.25)
            },
            Action("zoom-out", localized("Smaller images"), .photos, keys: ["<Control>minus"]) { [weak self] in
                self?.photos.zoom(by: 0.8)
            },
            Action("zoom-reset", localized("Default size of images"), .photos, keys: ["<Control>0"]) { [weak self] in
                self?.photos.resetZoom()
            },
            Action("reload", localized("Reload visible images"), .photos, keys: ["<Control>r"]) { [weak self] in
                self?.photos.reload()
            },
            Action("show-names", localized("Names and dates below the images"), .photos, keys: ["<Control>n"]) {
                [session] in
                session.settings.change { $0.showsNames.toggle() }
            }
            .showing(\.showsNames),
            Action("sort", localized("Sort"), .photos, chosen: \.order.rawValue) { [session] choice in
                session.settings.change { $0.order = PhotoOrder(rawValue: choice) ?? $0.order }
            },
            Action("rename", localized("Rename the file"), .general, keys: ["F2"]) { [weak self] in
                guard let self, let file = isViewing ? openedViewer?.currentURL : photos.currentURL else { return }
                guard file.isFileURL else { return showToast(localized("Only files can be renamed")) }
                dialogs.askForName(of: file) { [session] in session.rename(file, to: $0) }
            },
            Action("clear-caches", localized("Clear the caches"), .developers) { [weak self] in self?.clearCaches() },
            Action("close-all", localized("Close all images"), .photos) { [weak self] in self?.photos.closeAll() },
        ] + photos.actions + arrangingActions + PhotoViewer.actions { [weak self] in self?.openedViewer }
    }

    /// The title of the window is what it shows, for the desktop's overview and for screen readers.
    private func updateTitle() {
        let name = isViewing ? openedViewer?.currentURL?.displayName : nil
        gtk_window_set_title(
            widget.as(), name.map { localized("{file} – Gallery", ["file": $0]) } ?? localized("Gallery"))
    }

    private func updateActions() {
        updateTitle()
        let isOnPhotos = shownPage == "photos"
        let names = { (group: Action.Group) in self.actions.filter { $0.group == group }.map(\.name) }
        Action.setEnabled(names(.photos), isOnPhotos, in: widget)
        Action.setEnabled(names(.viewer), isViewing, in: widget)
        // Elsewhere, the key is that of texts.
        Action.setEnabled(["undo"], isOnPhotos || isViewing, in: widget)
    }

    private func showShortcuts() { ShortcutsWindow.present(over: widget, actions) }

    private func paste() {
        Clipboard.readLocations(of: widget) { [weak self] locations in
            guard let self else { return }
            guard !locations.isEmpty else { return showToast(localized("The clipboard has no link and no file")) }
            open(locations, replacing: false)
        }
    }

    private func clearCaches() {
        let cache = session.cache
        Task { [weak self] in
            await cache.clear()
            self?.session.showToast(localized("Memory and disk cache are empty"))
        }
    }

    func showToast(_ message: String, _ button: GallerySession.ToastButton? = nil) {
        // Over the images of the page in front, not over its bars.
        let toasts = shownViewer?.toasts ?? (shownPage == "photos" ? photos.toasts : toasts)
        guard gtk_widget_get_root(toasts.widget) != nil else { return }
        let toast = ObjectPointer(adw_toast_new(message.escapedMarkup))
        if let button {
            adw_toast_set_button_label(toast.opaque, button.title)
            toast.onSignal("button-clicked", button.action)
            if let step = button.step {
                let shown = ShownToast(toast)
                step.onEnd = { shown.dismiss() }
                toast.onSignal("dismissed") { [weak step] in step?.onEnd = {} }
            }
        }
        adw_toast_overlay_add_toast(toasts.opaque, toast.opaque)
    }

    // MARK: State

    /// Whether all loads and transitions of the page in front have ended. Animations may play.
    var isSettled: Bool {
        guard adw_leaflet_get_child_transition_running(leaflet.opaque) == 0 else { return false }
        switch shownPage {
        case "photos": return session.collection.all.isEmpty ? !photos.isReading : photos.isSettled
        case "learn": return learn.isSettled
        case "viewer": return openedViewer?.isSettled ?? true
        default: return true
        }
    }

    /// Whether the page in front shows all its images.
    var isComplete: Bool {
        switch shownPage {
        case "photos": photos.isComplete
        case "learn": learn.isComplete
        default: true
        }
    }
}

/// A message that may be over the window still.
@MainActor private final class ShownToast {
    private let toast: ObjectPointer

    init(_ toast: ObjectPointer) {
        self.toast = toast
        g_object_ref(toast.address)
    }

    isolated deinit { g_object_unref(toast.address) }

    func dismiss() { adw_toast_dismiss(toast.opaque) }
}
