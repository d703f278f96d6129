import CWebImageGTK
import WebImageGTK

/// A header bar with two buttons and a line of figures, above the grid.
@MainActor final class GalleryWindow {
    let widget: ObjectPointer
    let grid: PhotoGrid
    let loads: PhotoLoads
    private let figuresLabel: ObjectPointer
    private var isUpdateQueued = false

    init(application: ObjectPointer, arguments: GalleryArguments, loads: PhotoLoads) {
        self.loads = loads
        widget = ObjectPointer(
            gtk_application_window_new(application.address.assumingMemoryBound(to: GtkApplication.self)))
        grid = PhotoGrid(urls: arguments.urls, loads: loads)
        figuresLabel = ObjectPointer(gtk_label_new(loads.figures.line))

        let window = widget.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_title(window, "Gallery")
        gtk_window_set_default_size(window, gint(arguments.windowSize.width), gint(arguments.windowSize.height))
        gtk_window_set_titlebar(window, makeHeaderBar())
        gtk_window_set_child(window, grid.widget)
        addStyle()
        loads.onChange = { [weak self] in self?.queueUpdate() }
    }

    func present() { gtk_window_present(widget.address.assumingMemoryBound(to: GtkWindow.self)) }

    private func makeHeaderBar() -> UnsafeMutablePointer<GtkWidget>? {
        let bar = gtk_header_bar_new()
        let header = bar.map { ObjectPointer($0).opaque }
        gtk_header_bar_pack_start(header, button("Reload") { [weak self] in self?.reload() })
        gtk_header_bar_pack_start(header, button("Clear caches") { [weak self] in self?.clearCaches() })
        gtk_widget_add_css_class(figuresLabel.widget, "numeric")
        gtk_label_set_ellipsize(figuresLabel.opaque, PANGO_ELLIPSIZE_END)
        gtk_header_bar_set_title_widget(header, figuresLabel.widget)
        return bar
    }

    private func button(_ title: String, _ action: @escaping @MainActor () -> Void) -> UnsafeMutablePointer<GtkWidget>?
    {
        let button = gtk_button_new_with_label(title)
        if let button { ObjectPointer(button).onSignal("clicked", action) }
        return button
    }

    private func addStyle() {
        let style: UnsafeMutablePointer<GtkCssProvider> = gtk_css_provider_new()
        gtk_css_provider_load_from_data(
            style,
            """
            gridview > child { padding: 0; }
            .photo { margin: 4px; background-color: \(PhotoCell.backdrop); }
            """, -1)
        // 600: GTK_STYLE_PROVIDER_PRIORITY_APPLICATION
        gtk_style_context_add_provider_for_display(
            gtk_widget_get_display(widget.widget), ObjectPointer(style).opaque, 600)
        g_object_unref(style)
    }

    // MARK: Actions

    /// Loads everything in the grid anew, past the caches.
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

    /// Later, and once for many changes: cells are bound in the middle of a layout, where a label must not change.
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

    private func show(_ line: String) { gtk_label_set_text(figuresLabel.opaque, line) }
}
