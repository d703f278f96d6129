import CWebImageGTK

@testable import WebImageGTK

/// A grid of three columns with a picture in each cell, of which the number of the row is the last part of the URL.
@MainActor final class TestGrid {
    let window = TestWindow()
    let selection: OpaquePointer
    private(set) var pictures: [WebPicture] = []
    /// How many pictures came to be shown, and how many of them in the cell of another row.
    private(set) var shownCount = 0
    private(set) var staleCount = 0
    /// Called after each frame of scrolling.
    var onFrame: @MainActor () -> Void = {}
    /// Called while the pictures in sight are waited for.
    var onSettling: @MainActor () -> Void = {}
    private let scrolledWindow: UnsafeMutablePointer<GtkWidget>
    private var positions: [ObjectIdentifier: Int] = [:]
    private let isRight: @MainActor (Image, Int) -> Bool

    /// - Parameter isRight: whether a picture is that of a row.
    init(
        rowCount: Int, manager: WebImageManager, scheme: String,
        isRight: @escaping @MainActor (_ image: Image, _ position: Int) -> Bool
    ) {
        self.isRight = isRight
        let model = gtk_string_list_new(nil)
        for number in 0..<rowCount { gtk_string_list_append(model, "\(scheme)://host/\(number)") }
        let selection = ObjectPointer(gtk_single_selection_new(model)).opaque
        gtk_single_selection_set_autoselect(selection, gboolean(0))
        gtk_single_selection_set_can_unselect(selection, gboolean(1))
        gtk_single_selection_set_selected(selection, guint.max)
        self.selection = selection
        scrolledWindow = gtk_scrolled_window_new()
        let factory = WebPictureFactory { [weak self] picture in
            gtk_widget_set_size_request(picture.widget, 40, 30)
            picture.decodesAtDisplaySize = true
            picture.contentMode = .scaleToFill
            picture.onLoadStateChange = { [weak self, weak picture] in self?.didChange(picture, to: $0) }
            self?.pictures.append(picture)
            return picture.widget
        } bind: { [weak self] picture, item in
            guard let self, let text = item.object.flatMap({ gtk_string_object_get_string($0) }) else { return }
            positions[ObjectIdentifier(picture)] = item.position
            picture.setImage(String(cString: text), manager: manager)
        }
        let grid = gtk_grid_view_new(selection, factory.factory)
        gtk_grid_view_set_min_columns(grid.map { ObjectPointer($0).opaque }, 3)
        gtk_grid_view_set_max_columns(grid.map { ObjectPointer($0).opaque }, 3)
        gtk_scrolled_window_set_child(ObjectPointer(scrolledWindow).opaque, grid)
        gtk_widget_set_size_request(scrolledWindow, 200, 160)
        window.add(scrolledWindow)
        window.present()
        pump("cells in sight") { !self.visibleCells.isEmpty }
        pumpUntilIdle()
    }

    /// The cells of which something is in sight.
    var visibleCells: [(picture: WebPicture, position: Int)] {
        pictures.filter { $0.imageSlot.isOnScreen && $0.imageURL != nil }
            .compactMap { picture in positions[ObjectIdentifier(picture)].map { (picture, $0) } }
    }

    private func didChange(_ picture: WebPicture?, to state: LoadState) {
        guard case .loaded = state, let picture, let image = picture.image,
            let position = positions[ObjectIdentifier(picture)]
        else { return }
        shownCount += 1
        if !isRight(image, position) { staleCount += 1 }
    }

    func scroll(by points: Double) {
        let adjustment = gtk_scrolled_window_get_vadjustment(ObjectPointer(scrolledWindow).opaque)
        gtk_adjustment_set_value(adjustment, gtk_adjustment_get_value(adjustment) + points)
        oneFrame()
    }

    func scroll(toPart part: Double) {
        let adjustment = gtk_scrolled_window_get_vadjustment(ObjectPointer(scrolledWindow).opaque)
        gtk_adjustment_set_value(
            adjustment, part * (gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment)))
        oneFrame()
    }

    private func oneFrame() {
        var isOver = false
        let ticker = FrameTicker(host: ViewHost.of(window.window)) { _ in
            isOver = true
            return false
        }
        ticker.start()
        pump("a frame") { isOver }
        onFrame()
    }

    /// Waits until every picture in sight is shown.
    func settle() {
        pump("all pictures in sight") {
            onSettling()
            let cells = visibleCells
            return !cells.isEmpty && cells.allSatisfy { if case .loaded = $0.picture.loadState { true } else { false } }
        }
        pumpUntilIdle()
    }
}
