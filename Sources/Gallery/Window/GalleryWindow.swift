import CWebImageGTK
import WebImageGTK

/// The window: a header bar with buttons, the figures and a spinner, above the grid and a page for each kind of view.
@MainActor final class GalleryWindow {
    let widget: ObjectPointer
    let grid: PhotoGrid
    let loads: PhotoLoads
    /// The pages that have been shown.
    private var pages: [GalleryPageName: any GalleryPage] = [:]
    private let stack = ObjectPointer(gtk_stack_new())
    private let figuresLabel: ObjectPointer
    private var isUpdateQueued = false
    private var isClosed = false

    init(application: ObjectPointer, arguments: GalleryArguments, loads: PhotoLoads) {
        self.loads = loads
        widget = ObjectPointer(
            gtk_application_window_new(application.address.assumingMemoryBound(to: GtkApplication.self)))
        grid = PhotoGrid(urls: arguments.urls, loads: loads)
        figuresLabel = ObjectPointer(gtk_label_new(loads.figures.line))

        let window = widget.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_title(window, "Gallery")
        gtk_window_set_default_size(window, gint(arguments.windowSize.width), gint(arguments.windowSize.height))
        addPages()
        stack.onChange(of: "visible-child") { [weak self] in self?.fillPage() }
        gtk_stack_set_visible_child_name(stack.opaque, arguments.page.rawValue)
        gtk_window_set_titlebar(window, makeHeaderBar())
        gtk_window_set_child(window, stack.widget)
        fillPage()
        addStyle()
        // A load that ends later must not access the destroyed label.
        widget.onSignal("destroy") { [weak self] in self?.isClosed = true }
        loads.onChange = { [weak self] in self?.queueUpdate() }
    }

    func present() { gtk_window_present(widget.address.assumingMemoryBound(to: GtkWindow.self)) }

    // MARK: Pages

    /// The page on display; `nil` if it can't be made.
    var page: (any GalleryPage)? { shownName.flatMap { pages[$0] } }

    private var shownName: GalleryPageName? {
        gtk_stack_get_visible_child_name(stack.opaque).flatMap { GalleryPageName(rawValue: String(cString: $0)) }
    }

    private func addPages() {
        for name in GalleryPageName.allCases {
            gtk_stack_add_titled(stack.opaque, gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), name.rawValue, name.title)
        }
    }

    /// Makes a page when it is first shown, because drawing its images takes time.
    private func fillPage() {
        guard let name = shownName, pages[name] == nil else { return }
        do {
            let page = try makePage(name)
            pages[name] = page
            gtk_widget_set_vexpand(page.widget, gboolean(1))
            let box = gtk_stack_get_child_by_name(stack.opaque, name.rawValue)
            gtk_box_append(box.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: GtkBox.self) }, page.widget)
        } catch {
            complain("the page \(name.rawValue) failed: \(error)")
        }
    }

    private func makePage(_ name: GalleryPageName) throws(WebImageError) -> any GalleryPage {
        switch name {
        case .grid: grid
        case .pictures: try PicturesPage(manager: loads.manager)
        case .buttons: try ButtonsPage(manager: loads.manager)
        case .animated: try AnimatedPage(manager: loads.manager)
        case .progressive: try ProgressivePage()
        #if WEBIMAGE_MAP
            case .markers: try MarkersPage(manager: loads.manager)
        #endif
        }
    }

    // MARK: Header

    private func makeHeaderBar() -> UnsafeMutablePointer<GtkWidget>? {
        let bar = gtk_header_bar_new()
        let header = bar.map { ObjectPointer($0).opaque }
        gtk_header_bar_pack_start(header, button("Reload") { [weak self] in self?.reload() })
        gtk_header_bar_pack_start(header, button("Clear caches") { [weak self] in self?.clearCaches() })
        gtk_widget_add_css_class(figuresLabel.widget, "numeric")
        gtk_label_set_ellipsize(figuresLabel.opaque, PANGO_ELLIPSIZE_END)
        gtk_header_bar_set_title_widget(header, figuresLabel.widget)
        gtk_header_bar_pack_end(header, makePageMenu())
        let spinner = ObjectPointer(gtk_spinner_new())
        gtk_header_bar_pack_start(header, spinner.widget)
        ImageIndicator.showNetworkActivity(in: spinner.widget, of: .shared)
        return bar
    }

    private func makePageMenu() -> UnsafeMutablePointer<GtkWidget> {
        let names = gtk_string_list_new(nil)
        for name in GalleryPageName.allCases { gtk_string_list_append(names, name.title) }
        let menu = ObjectPointer(gtk_drop_down_new(names, nil))
        let index = shownName.flatMap { GalleryPageName.allCases.firstIndex(of: $0) } ?? 0
        gtk_drop_down_set_selected(menu.opaque, guint(index))
        menu.onChange(of: "selected") { [weak self] in
            let index = Int(gtk_drop_down_get_selected(menu.opaque))
            guard let self, GalleryPageName.allCases.indices.contains(index) else { return }
            gtk_stack_set_visible_child_name(stack.opaque, GalleryPageName.allCases[index].rawValue)
        }
        return menu.widget
    }

    private func button(_ title: String, _ action: @escaping @MainActor () -> Void) -> UnsafeMutablePointer<GtkWidget>?
    {
        let button = gtk_button_new_with_label(title)
        if let button { ObjectPointer(button).onSignal("clicked", action) }
        return button
    }

    private func addStyle() {
        let style: UnsafeMutablePointer<GtkCssProvider> = gtk_css_provider_new()
        web_image_css_provider_load(
            style,
            """
            gridview > child { padding: 0; }
            .image-frame { background-color: alpha(currentColor, 0.08); }
            .photo { margin: 4px; background-color: \(PhotoCell.backdrop); }
            .alps { background-color: #e9e6da; }
            map-marker { border-radius: 50%; }
            map-marker:focus-visible { outline: 3px solid #1c71d8; outline-offset: 2px; }
            """)
        // 600: GTK_STYLE_PROVIDER_PRIORITY_APPLICATION
        gtk_style_context_add_provider_for_display(
            gtk_widget_get_display(widget.widget), ObjectPointer(style).opaque, 600)
        g_object_unref(style)
    }

    // MARK: Actions

    /// Loads all cells of the grid again, bypassing the caches.
    private func reload() {
        loads.figures = LoadFigures()
        for cell in grid.boundCells { cell.load(cachePolicy: .reload) }
    }

    private func clearCaches() {
        let cache = loads.manager.configuration.cache
        Task {
            await cache.clear()
            show("Caches are empty")
        }
    }

    /// Updates the label later, once for many changes. Cells are bound during a layout, when a label must not change.
    private func queueUpdate() {
        guard !isUpdateQueued else { return }
        isUpdateQueued = true
        ApplyQueue.main.enqueue { [weak self] in
            MainActor.assumeIsolated {
                guard let self else { return }
                self.isUpdateQueued = false
                self.show(self.loads.figures.line)
            }
        }
    }

    private func show(_ line: String) {
        guard !isClosed else { return }
        gtk_label_set_text(figuresLabel.opaque, line)
    }
}
