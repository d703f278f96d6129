import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// A `GtkGridView` of images. It makes cells for the visible items and some more, and reuses them.
@MainActor final class PhotoGrid {
    /// The scrolled window around the grid.
    let widget: UnsafeMutablePointer<GtkWidget>
    private let urls: [URL]
    private let loads: PhotoLoads
    private var cells: [ObjectPointer: PhotoCell] = [:]

    init(urls: [URL], loads: PhotoLoads) {
        self.urls = urls
        self.loads = loads
        widget = gtk_scrolled_window_new()
        let model = gtk_string_list_new(nil)
        for url in urls { gtk_string_list_append(model, url.absoluteString) }
        let factory = ObjectPointer(gtk_signal_list_item_factory_new())
        factory.onSignal("setup") { [weak self] in self?.setUp($0) }
        factory.onSignal("bind") { [weak self] in self?.bind($0) }
        factory.onSignal("unbind") { [weak self] in self?.cells[$0]?.unbind() }
        factory.onSignal("teardown") { [weak self] in self?.tearDown($0) }
        // The view takes ownership of the model and the factory.
        let grid = gtk_grid_view_new(ObjectPointer(gtk_no_selection_new(model)).opaque, factory.opaque)
        gtk_grid_view_set_max_columns(grid.map { ObjectPointer($0).opaque }, 30)
        gtk_scrolled_window_set_child(ObjectPointer(widget).opaque, grid)
        gtk_widget_set_vexpand(widget, 1)
    }

    /// The cells that show an item, in the order of the list.
    var boundCells: [PhotoCell] {
        cells.values.filter { $0.item != nil }.sorted { ($0.item?.index ?? 0) < ($1.item?.index ?? 0) }
    }

    private func setUp(_ listItem: ObjectPointer) {
        let cell = PhotoCell(loads: loads)
        cells[listItem] = cell
        gtk_list_item_set_child(listItem.opaque, cell.widget)
    }

    private func bind(_ listItem: ObjectPointer) {
        let index = Int(gtk_list_item_get_position(listItem.opaque))
        guard urls.indices.contains(index) else { return }
        cells[listItem]?.bind(index: index, url: urls[index])
    }

    private func tearDown(_ listItem: ObjectPointer) {
        gtk_list_item_set_child(listItem.opaque, nil)
        cells[listItem] = nil
    }
}

extension PhotoGrid: GalleryPage {
    var isSettled: Bool {
        let cells = boundCells
        return cells.contains(where: \.isOnScreen) && cells.allSatisfy(\.isSettled)
    }

    var isComplete: Bool {
        boundCells.filter(\.isOnScreen).allSatisfy { $0.picture.image != nil }
    }
}

/// A cell of the grid: a picture, a progress bar while it loads, and a retry button after a failure.
///
/// ```
///  overlay ─┬─ box           empty; sets the cell's size, because an overlay is as large as its main child
///           ├─ picture       covers the cell
///           ├─ bar           at the bottom, while loading
///           └─ retry button  covers the cell after a failure
/// ```
@MainActor final class PhotoCell {
    /// The size of a cell in points.
    static let size = PixelSize(width: 200, height: 150)
    /// The background of transparent images, as a CSS color.
    nonisolated static let backdrop = "#2b3a4a"
    private static let placeholder = Placeholder.color(Color(red: 0.82, green: 0.83, blue: 0.84))

    let widget: UnsafeMutablePointer<GtkWidget>
    let picture = WebPicture()
    private let bar: UnsafeMutablePointer<GtkWidget>
    private let retryButton: UnsafeMutablePointer<GtkWidget>
    private let loads: PhotoLoads
    /// The item on display; `nil` while the cell is unbound.
    private(set) var item: (index: Int, url: URL)?

    init(loads: PhotoLoads) {
        self.loads = loads
        widget = gtk_overlay_new()
        bar = gtk_progress_bar_new()
        retryButton = gtk_button_new_with_label("Loading failed. Click to retry.")
        buildWidgets()
        picture.onLoadStateChange = { [weak self] in self?.show($0) }
        ObjectPointer(retryButton).onSignal("clicked") { [weak self] in self?.retry() }
    }

    private func buildWidgets() {
        let overlay = ObjectPointer(widget)
        let spacer = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)
        gtk_widget_set_size_request(spacer, gint(Self.size.width), gint(Self.size.height))
        gtk_overlay_set_child(overlay.opaque, spacer)
        for child in [picture.widget, bar, retryButton] { gtk_overlay_add_overlay(overlay.opaque, child) }
        for alignment in [gtk_widget_set_halign, gtk_widget_set_valign] { alignment(widget, GTK_ALIGN_CENTER) }
        gtk_widget_add_css_class(widget, "photo")

        gtk_picture_set_content_fit(picture.picture, GTK_CONTENT_FIT_COVER)
        gtk_widget_set_valign(bar, GTK_ALIGN_END)
        for setMargin in [gtk_widget_set_margin_start, gtk_widget_set_margin_end, gtk_widget_set_margin_bottom] {
            setMargin(bar, 12)
        }
        gtk_widget_set_visible(bar, 0)
        gtk_widget_set_visible(retryButton, 0)
    }

    /// Shows an item of the list.
    func bind(index: Int, url: URL) {
        item = (index, url)
        load()
    }

    /// Cancels the load and resets the cell for reuse.
    func unbind() {
        item = nil
        picture.prepareForReuse()
    }

    private func retry() {
        loads.figures.noteRetry()
        load()
    }

    /// Loads the item. Loads it again after a failure, or if `cachePolicy` requires it.
    func load(cachePolicy: CachePolicy = .cacheFirst) {
        guard let item else { return }
        let scale = Double(gtk_widget_get_scale_factor(widget))
        let request = WebImageRequest(
            item.url, priority: .high, cachePolicy: cachePolicy,
            thumbnail: Thumbnail(
                .points(width: Double(Self.size.width), height: Double(Self.size.height)), scale: scale,
                mode: .aspectFill),
            scale: scale)
        loads.figures.noteStart()
        picture.setImage(
            request, placeholder: Self.placeholder, options: .fadeIn, manager: loads.manager,
            completion: { [loads] in loads.figures.note($0) })
    }

    private func show(_ state: LoadState) {
        if case .loading(let received, let expected) = state {
            gtk_widget_set_visible(bar, 1)
            let progress = ObjectPointer(bar).opaque
            if let expected, expected > 0 {
                gtk_progress_bar_set_fraction(progress, Double(received) / Double(expected))
            } else if received > 0 {
                gtk_progress_bar_pulse(progress)
            } else {
                gtk_progress_bar_set_fraction(progress, 0)
            }
        } else {
            gtk_widget_set_visible(bar, 0)
        }
        if case .failed(let error) = state {
            gtk_widget_set_tooltip_text(retryButton, "\(error)")
            gtk_widget_set_visible(retryButton, 1)
        } else {
            gtk_widget_set_visible(retryButton, 0)
        }
    }

    /// Whether the cell is bound and mapped.
    var isOnScreen: Bool { item != nil && gtk_widget_get_mapped(widget) != 0 }

    /// Whether the load and its transition have ended. Off screen, a cancelled load counts as settled.
    var isSettled: Bool {
        switch picture.loadState {
        case .loaded, .failed: !picture.imageSlot.isInTransition
        case .loading: false
        case .idle: !isOnScreen
        }
    }
}
