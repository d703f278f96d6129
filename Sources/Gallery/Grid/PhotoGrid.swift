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
