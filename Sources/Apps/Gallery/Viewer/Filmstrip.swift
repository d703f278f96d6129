import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// A row of the images around the current one, which is in the middle. It has cells only for those in sight.
@MainActor final class Filmstrip: Canvas {
    /// Called for an image that the user chooses.
    var onSelect: (_ index: Int) -> Void = { _ in }
    /// The image in the middle; `nil` releases all.
    var current: Int? { didSet { if current != oldValue { update() } } }

    private let session: GallerySession
    private var cells: [Int: Cell] = [:]
    private var spareCells: [Cell] = []

    /// In points.
    static let rowHeight = 72
    private static let gap = 4

    init(session: GallerySession) {
        self.session = session
        super.init(role: GTK_ACCESSIBLE_ROLE_LIST)
        widget.style("filmstrip").setAccessibleLabel(localized("Filmstrip"))
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        session.collection.observe { [weak self] change in
            if case .content(let urls) = change {
                self?.reload(urls)
            } else {
                self?.update()
            }
        }
        let click = ObjectPointer(gtk_gesture_click_new())
        click.onPress("released") { [weak self] _, x, _ in
            guard let self,
                let index = frames(width: width).first(where: { $0.x <= x && x < $0.x + Double($0.width) })?.index
            else { return }
            onSelect(index)
        }
        gtk_widget_add_controller(widget.widget, click.opaque)
    }

    /// The images with cells, in order, for tests.
    var shownIndices: [Int] { cells.keys.sorted() }

    /// The image in a cell; `nil` until it has loaded.
    func image(at index: Int) -> Image? { cells[index]?.image }

    // MARK: Places

    private struct Frame {
        let index: Int
        let x: Double
        let width: Int
    }

    private func cellWidth(_ index: Int) -> Int {
        // Panoramas do not fill the strip.
        Int((Float(Self.rowHeight) * min(session.collection.aspectRatios[index], 2)).rounded())
    }

    /// The places of the images in sight, from the middle to both sides.
    private func frames(width: Int) -> [Frame] {
        guard let current, session.collection.urls.indices.contains(current), width > 0 else { return [] }
        let middle = cellWidth(current)
        let start = Double(width - middle) / 2
        var frames = [Frame(index: current, x: start, width: middle)]
        // In the direction of the text.
        let step = isRightToLeft ? -1 : 1
        var (index, x) = (current + step, start + Double(middle + Self.gap))
        while session.collection.urls.indices.contains(index), x < Double(width) {
            frames.append(Frame(index: index, x: x, width: cellWidth(index)))
            (index, x) = (index + step, x + Double(cellWidth(index) + Self.gap))
        }
        (index, x) = (current - step, start)
        while session.collection.urls.indices.contains(index), x > 0 {
            x -= Double(cellWidth(index) + Self.gap)
            frames.append(Frame(index: index, x: x, width: cellWidth(index)))
            index -= step
        }
        return frames
    }

    /// Gives cells to the images in sight, and releases others.
    private func update() {
        let frames = gtk_widget_get_mapped(widget.widget) != 0 ? frames(width: width) : []
        let wanted = Set(frames.map(\.index))
        for (index, cell) in cells where !wanted.contains(index) {
            cell.clear()
            gtk_widget_set_child_visible(cell.widget.widget, 0)
            spareCells.append(cell)
            cells[index] = nil
        }
        for frame in frames {
            let cell = cells[frame.index] ?? spareCells.popLast() ?? makeCell()
            cells[frame.index] = cell
            cell.show(session.collection.urls[frame.index], isCurrent: frame.index == current)
            gtk_widget_set_child_visible(cell.widget.widget, 1)
        }
        queueLayout()
    }

    private func reload(_ urls: Set<URL>) {
        for cell in cells.values { if let url = cell.url, urls.contains(url) { cell.load(cachePolicy: .reload) } }
    }

    private func makeCell() -> Cell {
        let cell = Cell(session: session)
        add(cell.widget)
        return cell
    }

    // MARK: Canvas

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        orientation == GTK_ORIENTATION_VERTICAL ? (Self.rowHeight, Self.rowHeight) : (0, 0)
    }

    override func layOut(width: Int, height: Int) {
        let frames = frames(width: width)
        if Set(frames.map(\.index)) != Set(cells.keys) {
            // Cells cannot be added during a layout.
            callBeforeNextFrame { [weak self] in self?.update() }
        }
        for frame in frames {
            guard let cell = cells[frame.index] else { continue }
            place(cell.widget, x: frame.x.rounded(), y: 0, width: frame.width, height: height)
        }
    }

    /// An image of the strip.
    @MainActor private final class Cell: Canvas {
        private lazy var picture = WebPaintable(in: widget.widget)
        private let session: GallerySession
        private var isCurrent = false
        /// The image on display; `nil` while the cell is unused.
        private(set) var url: URL?
        var image: Image? { picture.image }

        init(session: GallerySession) {
            self.session = session
            super.init(role: GTK_ACCESSIBLE_ROLE_LIST_ITEM)
            gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
            picture.contentMode = .scaleAspectFill
            picture.autoplayFollowsSettings = true
            ObjectPointer(picture.paintable).onSignal("invalidate-contents") { [weak self] in self?.queueDraw() }
        }

        func show(_ url: URL, isCurrent: Bool) {
            widget.setAccessibleLabel(url.displayName)
            widget.setAccessibleSelected(isCurrent)
            if self.isCurrent != isCurrent { queueDraw() }
            self.isCurrent = isCurrent
            guard self.url != url else { return }
            self.url = url
            load()
        }

        /// Loads the image; again if `cachePolicy` requires it.
        func load(cachePolicy: CachePolicy = .cacheFirst) {
            guard let url else { return }
            let side = Filmstrip.rowHeight * Int(gtk_widget_get_scale_factor(widget.widget))
            // The same size for all, so that shapes that become known load nothing anew.
            let request = WebImageRequest(
                url, priority: .low, cachePolicy: cachePolicy,
                thumbnail: Thumbnail(.pixels(width: side, height: side), mode: .aspectFill)
            ).forOwnFiles
            picture.setImage(request, placeholder: .cachedVariant, manager: session.manager)
        }

        func clear() {
            url = nil
            picture.prepareForReuse()
        }

        override func draw(into snapshot: OpaquePointer) {
            let (width, height) = (Float(self.width), Float(self.height))
            var area = graphene_rect_t(
                origin: graphene_point_t(x: 0, y: 0), size: graphene_size_t(width: width, height: height))
            if picture.image == nil {
                var color = textColor
                color.alpha = 0.1
                gtk_snapshot_append_color(snapshot, &color, &area)
            }
            gdk_paintable_snapshot(picture.paintable, snapshot, Double(width), Double(height))
            if isCurrent { snapshot.appendBorder(3, in: area, textColor) }
        }
    }
}
