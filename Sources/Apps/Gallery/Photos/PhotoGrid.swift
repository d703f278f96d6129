import CWebImageGTK
import FoundationEssentials
import Glibc
import GTKObjects
import WebImageGTK

/// The images of the collection in justified rows. Cells exist for the images in sight and for some above and below.
///
///     scrolling ──► updateCells(): cells are bound to the images that are near, and released from the others
///     layout    ──► layOut(): each cell gets its place
@MainActor final class PhotoGrid: Canvas {
    /// Called for an image to open.
    var onOpen: (_ index: Int) -> Void = { _ in }
    /// Called for a cell to show the menu of its image.
    var onMenu: (_ cell: ObjectPointer) -> Void = { _ in }
    /// Called after the selection or the current image has changed.
    var onSelectionChange: () -> Void = {}
    /// Called to change the zoom by a factor.
    var onZoom: (_ factor: Double) -> Void = { _ in }

    /// The selected images.
    private(set) var selection = RangeSet<Int>()
    /// The image that keys start from.
    private(set) var current: Int?
    /// Where a range of the selection starts.
    private var selectionAnchor: Int?
    /// The last range selected; another one from the same anchor replaces it.
    private var selectedRange = 0..<0

    private let session: GallerySession
    /// The places of the first images of the collection, which may have grown since.
    private var layout = JustifiedLayout(aspectRatios: [], width: 0, rowHeight: 1)
    private var laidOutHeight = 0
    private var isLayoutStale = true
    /// An image to scroll to when its place is known.
    private var pendingReveal: (index: Int, focusing: Bool)?
    private var cells: [Int: PhotoCell] = [:]
    private var spareCells: [PhotoCell] = []
    private lazy var headings = DayHeadings(in: self)

    /// How far from the view images get cells, and how far they keep them, in heights of the view. Rows that grow as shapes become
    /// known move images away, whose loads need not start anew when they come back.
    private static let (margin, keptMargin) = (0.5, 1.0)

    /// The space between images, in points.
    private static let spacing = 6.0

    /// The space around all images of a view, in points. Narrow windows have less.
    static func edge(ofWidth width: Int) -> Double { width < 480 ? 6 : 12 }

    init(session: GallerySession) {
        self.session = session
        super.init(role: GTK_ACCESSIBLE_ROLE_LIST)
        widget.style("photo-grid").setAccessibleLabel(localized("Images"))
        gtk_widget_set_focusable(widget.widget, 1)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        session.collection.observe { [weak self] in self?.collectionDidChange($0) }
        session.settings.observe(\.rowHeight) { [weak self] _ in self?.invalidateLayout() }
        session.settings.observe(\.showsNames) { [weak self] _ in
            guard let self else { return }
            for cell in cells.values { cell.captionHeight = captionHeight }
            invalidateLayout()
        }
        session.index.observe { [weak self] changed in
            guard let self else { return }
            for cell in cells.values { if let url = cell.item?.url, changed.contains(url) { cell.factsDidChange() } }
        }
        addControllers()
    }

    private var collection: PhotoCollection { session.collection }
    private var captionHeight: Int { session.settings.values.showsNames ? PhotoCell.captionHeight : 0 }

    /// The cells in use, in the order of their images.
    var boundCells: [PhotoCell] { cells.sorted { $0.key < $1.key }.map(\.value) }

    /// The days above the images near the view, for tests.
    var headingTexts: [String] { headings.texts }

    /// The cell of the current image, if that is near the view.
    var currentCell: PhotoCell? { current.flatMap { cells[$0] } }

    func cell(of url: URL) -> PhotoCell? { cells.values.first { $0.item?.url == url } }

    // MARK: Changes

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        switch change {
        case .replaced: removeAll()
        case .rearranged(let formerPlaces): rearrange(formerPlaces)
        case .content(let urls):
            for cell in cells.values { if let url = cell.item?.url, urls.contains(url) { cell.contentDidChange() } }
        case .dates: for cell in cells.values { cell.dateDidChange() }
        case .appended, .shapes: break
        }
        invalidateLayout()
    }

    private func removeAll() {
        layout = JustifiedLayout(aspectRatios: [], width: 0, rowHeight: 1)
        current = nil
        scroll(GTK_ORIENTATION_VERTICAL, to: 0)
        for index in cells.keys { releaseCell(of: index) }
        (selection, selectionAnchor, selectedRange) = (RangeSet(), nil, 0..<0)
        pendingReveal = nil
        onSelectionChange()
    }

    /// Takes the cells and the selection of images that stay to their new places.
    private func rearrange(_ formerPlaces: [Int?]) {
        let (formerCells, formerSelection) = (cells, selection)
        var newPlaces: [Int: Int] = [:]
        selection = RangeSet()
        for (index, former) in formerPlaces.enumerated() {
            guard let former else { continue }
            newPlaces[former] = index
            if formerSelection.contains(former) { selection.insert(contentsOf: index..<index + 1) }
        }
        for index in formerCells.keys where newPlaces[index] == nil { releaseCell(of: index) }
        cells = [:]
        for (index, cell) in formerCells {
            guard let place = newPlaces[index] else { continue }
            cells[place] = cell
            cell.move(to: place)
        }
        // The images of a range may be apart now.
        startRange(at: selectionAnchor.flatMap { newPlaces[$0] })
        // Keys go on from the same image, or from its place.
        current = collection.isEmpty ? nil : current.map { newPlaces[$0] ?? min($0, collection.count - 1) }
        pendingReveal = nil
        selectionDidChange()
    }

    private func invalidateLayout() {
        isLayoutStale = true
        queueLayout()
    }

    /// Computes the places again. The first image in sight stays where it is.
    private func computeLayout(width: Int, height: Int) {
        isLayoutStale = false
        laidOutHeight = height
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        let anchor = layout.rows(from: position, to: position + 1).first.map { row in
            (index: layout.rows[row].indices.lowerBound, offset: layout.rows[row].y - position)
        }
        layout = JustifiedLayout(
            aspectRatios: collection.aspectRatios, width: Double(width), rowHeight: session.settings.values.rowHeight,
            captionHeight: Double(captionHeight), spacing: Self.spacing, edge: Self.edge(ofWidth: width),
            sections: headings.setSections(collection.sections), headingHeight: Double(DayHeadings.height))
        var newPosition = position
        if let pendingReveal {
            newPosition = revealing(pendingReveal.index, from: position)
        } else if position > 0, let anchor {
            newPosition = layout.rows[layout.row(of: anchor.index)].y - anchor.offset
        }
        configureScrolling(
            GTK_ORIENTATION_VERTICAL, content: layout.contentHeight, page: Double(height), position: newPosition)
    }

    /// The rows in sight, and those at most `margin` heights of the view away.
    private func rows(within margin: Double) -> Range<Int> {
        let (position, page) = (scrollPosition(GTK_ORIENTATION_VERTICAL), Double(height))
        return layout.rows(from: position - page * margin, to: position + page * (1 + margin))
    }

    /// Binds cells to the images near the view.
    private func updateCells() {
        let kept = rows(within: Self.keptMargin)
        let images = self.images(ofRows: kept)
        for index in cells.keys where !images.contains(index) { releaseCell(of: index) }
        let near = rows(within: Self.margin)
        // Those in sight are bound first, so that they load first.
        let inSight = rows(within: 0)
        for row in Array(inSight) + near.filter({ !inSight.contains($0) }) {
            // Images may have left since the layout.
            for index in layout.rows[row].indices where index < collection.count {
                bindCell(of: index, height: Int(layout.rows[row].height))
            }
        }
        headings.show(layout.rows[kept].filter { $0.headingHeight > 0 }.map(\.indices.lowerBound))
        if let pendingReveal, !isLayoutStale {
            self.pendingReveal = nil
            if pendingReveal.focusing { focusCell(of: pendingReveal.index) }
        }
    }

    /// The first image of a row; behind the last row, the number of images.
    private func firstImage(of row: Int) -> Int {
        row < layout.rows.count ? layout.rows[row].indices.lowerBound : layout.rows.last?.indices.upperBound ?? 0
    }

    private func images(ofRows rows: Range<Int>) -> Range<Int> {
        rows.isEmpty ? 0..<0 : firstImage(of: rows.lowerBound)..<firstImage(of: rows.upperBound)
    }

    private func bindCell(of index: Int, height: Int) {
        let cell: PhotoCell
        if let known = cells[index] {
            cell = known
        } else {
            cell = spareCells.popLast() ?? makeCell()
            cells[index] = cell
        }
        cell.captionHeight = captionHeight
        cell.bind(index: index, url: collection.urls[index], height: height)
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
        updateCells()
        super.scrollPositionDidChange()
    }

    override func layOut(width: Int, height: Int) {
        if isLayoutStale || layout.width != Double(width) || laidOutHeight != height {
            computeLayout(width: width, height: height)
            // Cells cannot be added during a layout.
            callBeforeNextFrame { [weak self] in
                self?.updateCells()
                self?.queueLayout()
            }
        }
        let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
        let kept = rows(within: Self.keptMargin)
        // Images that have moved far away with this layout get no place before their cells are released.
        let images = self.images(ofRows: kept)
        for (index, cell) in cells where !images.contains(index) { gtk_widget_set_child_visible(cell.widget.widget, 0) }
        headings.hide(outside: images)
        for row in kept {
            let frames = layout.frames(ofRow: row, collection.aspectRatios)
            let line = layout.rows[row]
            if line.headingHeight > 0 {
                let y = (line.y - line.headingHeight - position).rounded()
                headings.place(
                    line.indices.lowerBound, edge: Int(layout.edge), y: y, width: width, isInSight: y < Double(height))
            }
            for (index, frame) in zip(layout.rows[row].indices, frames) {
                guard let cell = cells[index] else { continue }
                let x = isRightToLeft ? width - frame.x - frame.width : frame.x
                let y = (frame.y - position).rounded()
                let isInSight = y < Double(height) && y + Double(frame.height) > 0
                gtk_widget_set_child_visible(cell.widget.widget, isInSight ? 1 : 0)
                place(cell.widget, x: Double(x), y: y, width: frame.width, height: frame.height + captionHeight)
            }
        }
    }

    override func moveFocus(_ direction: GtkDirectionType) -> Bool {
        // Tab enters at the current image and leaves from it; arrows move inside.
        guard gtk_widget_get_focus_child(widget.widget) == nil, !collection.isEmpty else { return false }
        setCurrent(current ?? firstInSight, focusing: true)
        return true
    }

    private var firstInSight: Int { rows(within: 0).first.map(firstImage) ?? 0 }

    // MARK: Selection

    func selectAll() {
        selection = RangeSet(0..<collection.count)
        selectionDidChange()
    }

    func invertSelection() {
        var inverted = RangeSet(0..<collection.count)
        inverted.subtract(selection)
        selection = inverted
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
        startRange(at: index)
        selectionDidChange()
    }

    private func startRange(at index: Int?) { (selectionAnchor, selectedRange) = (index, 0..<0) }

    /// Selects the images from the anchor to `index`, in place of the last range from there.
    private func extendSelection(to index: Int) {
        let anchor = selectionAnchor ?? current ?? index
        selectionAnchor = anchor
        selection.remove(contentsOf: selectedRange)
        selectedRange = min(anchor, index)..<max(anchor, index) + 1
        selection.insert(contentsOf: selectedRange)
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
        if isLayoutStale || index >= firstImage(of: layout.rows.count) {
            pendingReveal = (index, focusing)
            invalidateLayout()
        } else {
            let position = scrollPosition(GTK_ORIENTATION_VERTICAL)
            scroll(GTK_ORIENTATION_VERTICAL, to: revealing(index, from: position))
            if focusing { focusCell(of: index) }
        }
        onSelectionChange()
    }

    private func focusCell(of index: Int) { if let cell = cells[index] { gtk_widget_grab_focus(cell.widget.widget) } }

    /// Makes the first image in sight the current one, if there is none.
    func chooseCurrent() { if current == nil, !collection.isEmpty { current = firstInSight } }

    /// Takes the keyboard focus.
    func focus() { gtk_widget_grab_focus(widget.widget) }

    /// The position nearest to `position` that shows the whole row of an image, with the space around it.
    private func revealing(_ index: Int, from position: Double) -> Double {
        guard index < firstImage(of: layout.rows.count) else { return position }
        let row = layout.rows[layout.row(of: index)]
        let (top, bottom) = (row.y - row.headingHeight, row.y + row.height + Double(captionHeight))
        return max(min(position, max(0, top - layout.edge)), bottom + layout.edge - Double(height))
    }

    // MARK: Input

    private func addControllers() {
        let click = ObjectPointer(gtk_gesture_click_new())
        gtk_gesture_single_set_button(click.opaque, 0)
        click.onPress("released") { [weak self] _, x, y in self?.clicked(click, x, y) }
        let hold = ObjectPointer(gtk_gesture_long_press_new())
        gtk_gesture_single_set_touch_only(hold.opaque, 1)
        hold.onPoint("pressed") { [weak self] x, y in
            guard let self, let index = index(x, y) else { return }
            // The finger's release is not a click then.
            gtk_gesture_set_state(hold.opaque, GTK_EVENT_SEQUENCE_CLAIMED)
            toggleSelection(of: index)
        }
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] in self?.keyPressed($0, $1) ?? false }
        let wheel = ObjectPointer(
            gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL))
        wheel.onScroll { [weak self] _, y in
            let state = gtk_event_controller_get_current_event_state(wheel.opaque)
            guard state.rawValue & GDK_CONTROL_MASK.rawValue != 0 else { return false }
            let isWheel = gtk_event_controller_scroll_get_unit(wheel.opaque) == GDK_SCROLL_UNIT_WHEEL
            self?.onZoom(pow(1.1, isWheel ? -y : -y / 40))
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
        let state = gtk_event_controller_get_current_event_state(gesture.opaque).rawValue
        let button = gtk_gesture_single_get_current_button(gesture.opaque)
        // A tap adds to the images that a long press has started to select.
        let isToggling =
            state & GDK_CONTROL_MASK.rawValue != 0 || (gesture.isTouchEvent && !selection.isEmpty)
        if button == 1, state & GDK_SHIFT_MASK.rawValue != 0 { extendSelection(to: index) }
        setCurrent(index, focusing: true)
        switch button {
        case 3: if let cell = cells[index] { onMenu(cell.widget) }
        case 1 where state & GDK_SHIFT_MASK.rawValue != 0: break
        case 1 where isToggling: toggleSelection(of: index)
        case 1: onOpen(index)
        default: break
        }
    }

    /// Returns whether the grid uses the key.
    func keyPressed(_ key: Int32, _ modifiers: GdkModifierType) -> Bool {
        guard !collection.isEmpty, modifiers.rawValue & (GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue) == 0 else {
            return false
        }
        let hasShift = modifiers.rawValue & GDK_SHIFT_MASK.rawValue != 0
        guard let target = target(of: key) else { return false }
        if hasShift { extendSelection(to: min(max(target, 0), collection.count - 1)) } else { startRange(at: nil) }
        setCurrent(target, focusing: true)
        return true
    }

    /// The image that a key leads to.
    private func target(of key: Int32) -> Int? {
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

    private var pageRows: Int {
        max(1, Int(Double(height) / (session.settings.values.rowHeight + Double(captionHeight) + layout.spacing)))
    }

    /// The image of another row that is nearest to the middle of `index`.
    private func vertical(from index: Int, by rows: Int) -> Int {
        guard !isLayoutStale, index < firstImage(of: layout.rows.count) else { return index }
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
