import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Lists: cells come and go, and what they show is right.
final class WebPictureFactoryTests: GTKTestCase {
    func testAGridOfAHundredThousandRowsLoadsVisibleRows() {
        MainActor.assumeIsolated {
            let swatches = AnsweredSwatches()
            let list = swatches.makeGrid(rowCount: 100_000)
            defer { list.window.close() }
            XCTAssertFalse(list.pictures.isEmpty)
            XCTAssertGreaterThan(list.visibleCells.count, 4)
            XCTAssertTrue(list.visibleCells.allSatisfy { $0.picture.loadState != .idle })

            // Slowly, quickly, and at once to the other end.
            for (step, count) in [(20.0, 30), (200.0, 40), (-200.0, 20)] {
                for _ in 0..<count { list.scroll(by: step) }
            }
            list.scroll(toPart: 0.7)
            list.scroll(toPart: 1)
            list.settle()
            XCTAssertGreaterThan(list.visibleCells.count, 4)
            for cell in list.visibleCells {
                XCTAssertEqual(drawnPixel(of: cell.picture), AnsweredSwatches.swatch(of: cell.position).pixel)
            }
            XCTAssertEqual(list.staleCount, 0)
            XCTAssertLessThan(list.pictures.count, 600, "cells are used over and over")
            // Loads of rows without a cell were cancelled.
            let bound = Set(list.pictures.compactMap(\.imageURL))
            XCTAssertTrue(
                swatches.fixture.loader.loads.allSatisfy { $0.isCancelled || $0.isEnded || bound.contains($0.url) })
        }
    }

    /// The real thing: JPEG files, decoded at the size of the cells, answered in whatever order.
    func testAGridOfAHundredThousandPhotographsShowsEachInItsCell() {
        MainActor.assumeIsolated {
            let loader = NumberLoader()
            // Memory for a fraction of the rows.
            let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 18), disk: nil)
            let manager = WebImageManager(
                configuration: WebImageManager.Configuration(cache: cache, loaders: [loader]))
            let list = TestGrid(rowCount: 100_000, manager: manager, scheme: NumberLoader.scheme) { image, position in
                NumberedPicture.number(in: image) == position
            }
            defer { list.window.close() }
            for (step, count) in [(20.0, 10), (200.0, 25), (-200.0, 10)] {
                for _ in 0..<count { list.scroll(by: step) }
            }
            for part in [0.3, 0.9, 0.5] { list.scroll(toPart: part) }
            for _ in 0..<5 { list.scroll(by: 200) }
            list.settle()
            XCTAssertGreaterThan(list.visibleCells.count, 4)
            for cell in list.visibleCells {
                XCTAssertEqual(NumberedPicture.drawnNumber(of: cell.picture), cell.position)
                XCTAssertEqual(cell.picture.image?.isThumbnail, true)
            }
            XCTAssertEqual(list.staleCount, 0)
            XCTAssertGreaterThan(list.shownCount, list.pictures.count, "cells have shown several pictures each")
            XCTAssertLessThan(list.pictures.count, 600)
            // No loads continue for rows without a cell.
            let bound = list.pictures.compactMap(\.imageURL).count
            XCTAssertLessThanOrEqual(manager.runningOperations.count, bound)
        }
    }

    func testBoundCellsLoadAfterVisibleOnes() {
        MainActor.assumeIsolated {
            let swatches = AnsweredSwatches()
            swatches.answers = false
            let list = swatches.makeGrid(rowCount: 1000)
            defer { list.window.close() }
            let visible = Set(list.visibleCells.map(\.position))
            XCTAssertGreaterThan(list.pictures.count, visible.count)
            for load in swatches.fixture.loader.loads where !load.isCancelled {
                let position = Int(load.url.lastPathComponent) ?? -1
                XCTAssertEqual(load.priority, visible.contains(position) ? .high : .low, "row \(position)")
            }
            // Out of sight a load continues with a low priority.
            list.scroll(by: 60)
            pumpUntilIdle()
            for load in swatches.fixture.loader.loads where !load.isCancelled {
                let position = Int(load.url.lastPathComponent) ?? -1
                let isVisible = list.visibleCells.contains { $0.position == position }
                XCTAssertEqual(load.priority, isVisible ? .high : .low, "row \(position)")
            }
        }
    }

    func testUnbindingCallsTheClosureBeforeTheReset() {
        MainActor.assumeIsolated {
            let swatches = AnsweredSwatches()
            let list = swatches.makeGrid(rowCount: 10_000)
            defer { list.window.close() }
            for _ in 0..<30 { list.scroll(by: 200) }
            list.settle()
            XCTAssertGreaterThan(list.unboundPositions.count, 3)
            XCTAssertTrue(list.unboundPositions.contains(1))
        }
    }

    func testASelectedRowHighlightsItsPicture() {
        MainActor.assumeIsolated {
            let list = AnsweredSwatches().makeGrid(rowCount: 10)
            defer { list.window.close() }
            list.settle()
            gtk_selection_model_select_item(list.selection, 1, gboolean(1))
            pumpUntilIdle()
            for cell in list.visibleCells { XCTAssertEqual(cell.picture.isHighlighted, cell.position == 1) }
        }
    }
}

/// Answers for the images of a grid when it is told, the newest first.
@MainActor private final class AnsweredSwatches {
    let fixture = PictureFixture()
    var answers = true

    static func swatch(of position: Int) -> Swatch {
        Swatch(red: UInt8(position & 255), green: UInt8(position >> 8 & 255), blue: UInt8(position >> 16), width: 4)
    }

    func makeGrid(rowCount: Int) -> TestGrid {
        let grid = TestGrid(rowCount: rowCount, manager: fixture.manager, scheme: "manual") { image, position in
            image.pixels[0, 0] == Self.swatch(of: position).pixel
        }
        // Half of them while it is scrolled.
        grid.onFrame = { [self] in if answers { answer(every: 2) } }
        grid.onSettling = { [self] in answer(every: 1) }
        return grid
    }

    private func answer(every step: Int) {
        for (number, load) in fixture.loader.loads.enumerated().reversed() where number % step == 0 && !load.isEnded {
            load.answer(Self.swatch(of: Int(load.url.lastPathComponent) ?? 0))
        }
    }
}

/// A grid of three columns with an image in each cell, of which the number of the row is the last part of the URL.
@MainActor final class TestGrid {
    let window = TestWindow()
    let selection: OpaquePointer
    private(set) var pictures: [WebPicture] = []
    /// How many images came to be shown, and how many of them in the cell of another row.
    private(set) var shownCount = 0
    private(set) var staleCount = 0
    /// Called after each frame of scrolling.
    var onFrame: @MainActor () -> Void = {}
    /// Called while the images in sight are waited for.
    var onSettling: @MainActor () -> Void = {}
    private let scrolledWindow: UnsafeMutablePointer<GtkWidget>
    /// The positions of cells that were unbound before their reset.
    private(set) var unboundPositions: [Int] = []
    private var positions: [ObjectIdentifier: Int] = [:]
    private let isRight: @MainActor (Image, Int) -> Bool

    /// - Parameter isRight: whether an image is that of a row.
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
        let factory = WebPicture.makeListItemFactory { [weak self] picture in
            gtk_widget_set_size_request(picture.widget, 40, 30)
            picture.decodesAtDisplaySize = true
            picture.contentMode = .scaleToFill
            picture.onLoadStateChange = { [weak self, weak picture] in self?.didChange(picture, to: $0) }
            self?.pictures.append(picture)
            return picture.widget
        } unbind: { [weak self] picture, position, _ in
            if picture.imageURL != nil, self?.positions[ObjectIdentifier(picture)] == position {
                self?.unboundPositions.append(position)
            }
        } bind: { [weak self] picture, position, listItem in
            let object = gtk_list_item_get_item(listItem).map { OpaquePointer($0) }
            guard let self, let text = object.flatMap({ gtk_string_object_get_string($0) }) else { return }
            positions[ObjectIdentifier(picture)] = position
            picture.setImage(String(cString: text), manager: manager)
        }
        let grid = gtk_grid_view_new(selection, factory)
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

    /// Waits until every image in sight is shown.
    func settle() {
        pump("all pictures in sight") {
            onSettling()
            let cells = visibleCells
            return !cells.isEmpty && cells.allSatisfy { if case .loaded = $0.picture.loadState { true } else { false } }
        }
        pumpUntilIdle()
    }
}
