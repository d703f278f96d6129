import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// The images of the collection in justified rows. Cells exist for the images in sight and for one view above and below,
/// which load with low priority.
///
///     scrolling ──► update(): which images are near ──► cells are bound and unbound
///     layout    ──► layOut(): each cell gets its place
@MainActor final class PhotoGrid: Canvas {
    /// Called for an image to open.
    var onOpen: (_ index: Int) -> Void = { _ in }
    /// Called for an image under a context menu or its key.
    var onMenu: (_ index: Int, _ cell: ObjectPointer) -> Void = { _, _ in }
    /// Called after the selection or the current image has changed.
    var onSelectionChange: () -> Void = {}
    /// Called to change the zoom by a factor.
    var onZoom: (_ factor: Double) -> Void = { _ in }

    /// The selected images.
    private(set) var selection = RangeSet<Int>()
    /// The image that keys start from.
    private(set) var current: Int?
    private var selectionAnchor: Int?

    private let session: GallerySession
    private var layout = JustifiedLayout(aspectRatios: [], width: 0, rowHeight: 1)
    private var isLayoutStale = true
    private var cells: [Int: PhotoCell] = [:]
    private var spareCells: [PhotoCell] = []
    private var isUpdating = false
    private var isUpdateQueued = false
    /// Counts the layouts that were computed.
    private var generation = 0
    /// The layout and the view's height for which the cells were updated last.
    private var updatedState = (generation: 0, height: 0)

    init(session: GallerySession) {
        self.session = session
        super.init(role: GTK_ACCESSIBLE_ROLE_LIST)
        widget.style("photo-grid").setAccessibleLabel("Images")
        gtk_widget_set_focusable(widget.widget, 1)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        session.collection.observe { [weak self] in self?.collectionDidChange($0) }
        session.settings.observe { [weak self] _ in self?.invalidateLayout() }
        addControllers()
    }

    private var collection: PhotoCollection { session.collection }

    /// The cells in use, in the order of their images.
    var boundCells: [PhotoCell] { cells.sorted { $0.key < $1.key }.map(\.value) }

    func cell(of url: URL) -> PhotoCell? { cells.values.first { $0.item?.url == url } }

    // MARK: Changes

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        if change != .shapes, cells.contains(where: { $0.value.item?.url != url(at: $0.key) }) {
            for index in cells.keys { releaseCell(of: index) }
            (selection, selectionAnchor) = (RangeSet(), nil)
            current = nil
            scroll(GTK_ORIENTATION_VERTICAL, to: 0)
            onSelectionChange()
        }
        invalidateLayout()
    }

    private func url(at index: Int) -> URL? {
        collection.urls.indices.contains(index) ? collection.urls[index] : nil
    }

    private func invalidateLayout() {
        guard !isLayoutStale else { return }
        isLayoutStale = true
        queueLayout()
    }

    /// Computes the places again. The first image in sight stays where it is.
    private func refreshLayout(width: Int, height: Int) {
        guard isLayoutStale || layout.width != Double(width) else { return }
        isLayoutStale = false
        generation += 1
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        let anchor = layout.rows(from: position, to: position + 1).first.map { row in
            (index: layout.rows[row].indices.lowerBound, offset: layout.rows[row].y - position)
        }
        layout = JustifiedLayout(
            aspectRatios: collection.aspectRatios, width: Double(width), rowHeight: session.settings.values.rowHeight)
        var newPosition = position
        if position > 0, let anchor, anchor.index < collection.count {
            newPosition = layout.rows[layout.row(of: anchor.index)].y - anchor.offset
        }
        isUpdating = true
        configureScrolling(
            GTK_ORIENTATION_VERTICAL, content: layout.contentHeight, page: Double(height), position: newPosition)
        isUpdating = false
    }

    /// Updates the cells after a layout that has changed which images are near: cells can't be added during a layout.
    private func updateBeforeNextFrame() {
        guard !isUpdateQueued, updatedState.generation != generation || updatedState.height != height else { return }
        isUpdateQueued = true
        callBeforeNextFrame { [weak self] in
            guard let self else { return }
            isUpdateQueued = false
            updateCells(height: height)
            queueLayout()
        }
    }

    /// Binds cells to the images near the view.
    private func updateCells(height: Int) {
        updatedState = (generation, height)
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        let page = Double(height)
        let near = layout.rows(from: position - page / 2, to: position + page * 1.5)
        guard let first = near.first.map({ layout.rows[$0].indices.lowerBound }),
            let last = near.last.map({ layout.rows[$0].indices.upperBound })
        else {
            for index in cells.keys { releaseCell(of: index) }
            return
        }
        for index in cells.keys where !(first..<last).contains(index) { releaseCell(of: index) }
        // Those in sight are bound first, so that they load first.
        let inSight = layout.rows(from: position, to: position + page)
        for row in Array(inSight) + near.filter({ !inSight.contains($0) }) {
            for index in layout.rows[row].indices { bindCell(of: index, height: Int(layout.rows[row].height)) }
        }
    }

    private func bindCell(of index: Int, height: Int) {
        let cell: PhotoCell
        if let known = cells[index] {
            cell = known
        } else {
            cell = spareCells.popLast() ?? makeCell()
            cells[index] = cell
        }
        // Rows change their height as shapes become known; most stay below this.
        let tallest = Int(session.settings.values.rowHeight * 1.3)
        cell.bind(index: index, url: collection.urls[index], height: max(height, tallest))
        cell.isSelected = selection.contains(index)
    }

    private func makeCell() -> PhotoCell {
        let cell = PhotoCell(session: session) { [weak self] index, size in
            self?.collection.noteShape(of: index, size)
        }
        add(cell.widget)
        return cell
    }

    private func releaseCell(of index: Int) {
        guard let cell = cells.removeValue(forKey: index) else { return }
        let hasFocus = gtk_widget_has_focus(cell.widget.widget) != 0
        cell.unbind()
        gtk_widget_set_child_visible(cell.widget.widget, 0)
        spareCells.append(cell)
        // Keys go on from the current image.
        if hasFocus { gtk_widget_grab_focus(widget.widget) }
    }

    // MARK: Canvas

    override func scrollPositionDidChange() {
        guard !isUpdating else { return }
        updateCells(height: height)
        super.scrollPositionDidChange()
    }

    override func layOut(width: Int, height: Int) {
        refreshLayout(width: width, height: height)
        updateBeforeNextFrame()
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        for row in layout.rows(from: position - Double(height) / 2, to: position + Double(height) * 1.5) {
            let frames = layout.frames(ofRow: row, collection.aspectRatios)
            for (index, frame) in zip(layout.rows[row].indices, frames) {
                guard let cell = cells[index] else { continue }
                let y = (frame.y - position).rounded()
                let isInSight = y < Double(height) && y + Double(frame.height) > 0
                gtk_widget_set_child_visible(cell.widget.widget, isInSight ? 1 : 0)
                place(cell.widget, x: Double(frame.x), y: y, width: frame.width, height: frame.height)
            }
        }
    }

    override func moveFocus(_ direction: GtkDirectionType) -> Bool {
        // Tab enters at the current image and leaves from it; arrows move inside.
        guard gtk_widget_get_focus_child(widget.widget) == nil, !collection.isEmpty else { return false }
        setCurrent(current ?? firstInSight, focusing: true)
        return true
    }

    private var firstInSight: Int {
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        return layout.rows(from: position, to: position + Double(height)).first
            .map { layout.rows[$0].indices.lowerBound } ?? 0
    }

    // MARK: Selection

    func selectAll() {
        selection = RangeSet(0..<collection.count)
        selectionDidChange()
    }

    func clearSelection() {
        selection = RangeSet()
        selectionDidChange()
    }

    /// Selects an image, or removes it from the selection.
    func toggleSelection(of index: Int) {
        if selection.contains(index) {
            selection.remove(contentsOf: index..<index + 1)
        } else {
            selection.insert(contentsOf: index..<index + 1)
        }
        selectionAnchor = index
        selectionDidChange()
    }

    /// Selects the images from the last one selected to `index`.
    private func extendSelection(to index: Int) {
        let anchor = selectionAnchor ?? current ?? index
        selection.insert(contentsOf: min(anchor, index)..<max(anchor, index) + 1)
        selectionDidChange()
    }

    private func selectionDidChange() {
        for (index, cell) in cells { cell.isSelected = selection.contains(index) }
        onSelectionChange()
    }

    /// Makes an image the current one, and scrolls to it.
    func setCurrent(_ index: Int, focusing: Bool) {
        guard !collection.isEmpty else { return }
        let index = min(max(index, 0), collection.count - 1)
        current = index
        reveal(index)
        if focusing, let cell = cells[index] { gtk_widget_grab_focus(cell.widget.widget) }
        onSelectionChange()
    }

    /// Makes the first image in sight the current one, if there is none.
    func chooseCurrent() { if current == nil, !collection.isEmpty { current = firstInSight } }

    /// Takes the keyboard focus.
    func focus() { gtk_widget_grab_focus(widget.widget) }

    private func reveal(_ index: Int) {
        guard !layout.rows.isEmpty else { return }
        let row = layout.rows[layout.row(of: index)]
        let (position, page) = (scrollPosition(GTK_ORIENTATION_VERTICAL), Double(height))
        if row.y < position {
            scroll(GTK_ORIENTATION_VERTICAL, to: row.y)
        } else if row.y + row.height > position + page {
            scroll(GTK_ORIENTATION_VERTICAL, to: row.y + row.height - page)
        }
    }

    // MARK: Input

    private func addControllers() {
        let click = ObjectPointer(gtk_gesture_click_new())
        gtk_gesture_single_set_button(click.opaque, 0)
        click.onPress("released") { [weak self] _, x, y in self?.clicked(click, x, y) }
        let hold = ObjectPointer(gtk_gesture_long_press_new())
        gtk_gesture_single_set_touch_only(hold.opaque, 1)
        hold.onPoint("pressed") { [weak self] x, y in
            if let self, let index = index(x, y) { toggleSelection(of: index) }
        }
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] in self?.keyPressed($0, $1) ?? false }
        let wheel = ObjectPointer(
            gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL))
        wheel.onScroll { [weak self] _, y in
            let state = gtk_event_controller_get_current_event_state(wheel.opaque)
            guard state.rawValue & GDK_CONTROL_MASK.rawValue != 0 else { return false }
            self?.onZoom(y < 0 ? 1.1 : 1 / 1.1)
            return true
        }
        let pinch = ObjectPointer(gtk_gesture_zoom_new())
        var former = 1.0
        pinch.onSignal("begin") { (_: ObjectPointer) in former = 1 }
        pinch.onNumber("scale-changed") { [weak self] scale in
            guard abs(scale / former - 1) > 0.02 else { return }
            self?.onZoom(scale / former)
            former = scale
        }
        for controller in [click, hold, keys, wheel, pinch] {
            gtk_widget_add_controller(widget.widget, controller.opaque)
        }
    }

    /// The image at a point of the view.
    private func index(_ x: Double, _ y: Double) -> Int? {
        guard let picked = gtk_widget_pick(widget.widget, x, y, GTK_PICK_DEFAULT) else { return nil }
        return cells.first {
            gtk_widget_is_ancestor(picked, $0.value.widget.widget) != 0 || $0.value.widget.widget == picked
        }?
        .key
    }

    private func clicked(_ gesture: ObjectPointer, _ x: Double, _ y: Double) {
        guard let index = index(x, y) else { return clearSelection() }
        let button = gtk_gesture_single_get_current_button(gesture.opaque)
        let state = gtk_event_controller_get_current_event_state(gesture.opaque).rawValue
        setCurrent(index, focusing: true)
        switch button {
        case 3: if let cell = cells[index] { onMenu(index, cell.widget) }
        case 1 where state & GDK_SHIFT_MASK.rawValue != 0: extendSelection(to: index)
        case 1 where state & GDK_CONTROL_MASK.rawValue != 0: toggleSelection(of: index)
        case 1: onOpen(index)
        default: break
        }
    }

    private func keyPressed(_ key: Int32, _ modifiers: GdkModifierType) -> Bool {
        guard !collection.isEmpty, modifiers.rawValue & (GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue) == 0 else {
            return false
        }
        let isExtending = modifiers.rawValue & GDK_SHIFT_MASK.rawValue != 0
        guard let target = target(of: key) else { return act(on: key) }
        if isExtending { selectionAnchor = selectionAnchor ?? current }
        setCurrent(target, focusing: true)
        if isExtending { extendSelection(to: target) } else { selectionAnchor = target }
        return true
    }

    private func act(on key: Int32) -> Bool {
        guard let current else { return false }
        switch key {
        case GDK_KEY_Return, GDK_KEY_KP_Enter: onOpen(current)
        case GDK_KEY_space: toggleSelection(of: current)
        case GDK_KEY_Menu: if let cell = cells[current] { onMenu(current, cell.widget) }
        case GDK_KEY_Escape where !selection.isEmpty: clearSelection()
        default: return false
        }
        return true
    }

    /// The image that a key leads to.
    private func target(of key: Int32) -> Int? {
        let isRightToLeft = gtk_widget_get_direction(widget.widget) == GTK_TEXT_DIR_RTL
        let index = current ?? firstInSight
        switch key {
        case GDK_KEY_Left, GDK_KEY_KP_Left: return current == nil ? index : index + (isRightToLeft ? 1 : -1)
        case GDK_KEY_Right, GDK_KEY_KP_Right: return current == nil ? index : index + (isRightToLeft ? -1 : 1)
        case GDK_KEY_Up, GDK_KEY_KP_Up: return vertical(from: index, by: -1)
        case GDK_KEY_Down, GDK_KEY_KP_Down: return vertical(from: index, by: 1)
        case GDK_KEY_Page_Up: return vertical(from: index, by: -pageRows)
        case GDK_KEY_Page_Down: return vertical(from: index, by: pageRows)
        case GDK_KEY_Home, GDK_KEY_KP_Home: return 0
        case GDK_KEY_End, GDK_KEY_KP_End: return collection.count - 1
        default: return nil
        }
    }

    private var pageRows: Int { max(1, Int(Double(height) / (session.settings.values.rowHeight + layout.spacing))) }

    /// The image of another row that is nearest to the middle of `index`.
    private func vertical(from index: Int, by rows: Int) -> Int {
        guard !layout.rows.isEmpty else { return index }
        let row = layout.row(of: index)
        let target = min(max(row + rows, 0), layout.rows.count - 1)
        guard target != row else { return index }
        let frame = layout.frames(ofRow: row, collection.aspectRatios)[index - layout.rows[row].indices.lowerBound]
        let middle = frame.x + frame.width / 2
        let frames = layout.frames(ofRow: target, collection.aspectRatios)
        let nearest = frames.indices.min {
            abs(frames[$0].x + frames[$0].width / 2 - middle) < abs(frames[$1].x + frames[$1].width / 2 - middle)
        }
        return layout.rows[target].indices.lowerBound + (nearest ?? 0)
    }
}
