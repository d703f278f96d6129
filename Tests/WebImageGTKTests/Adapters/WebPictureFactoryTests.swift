import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Lists: cells come and go, and what they show is right.
final class WebPictureFactoryTests: GTKTestCase {
    func testAGridOfAHundredThousandRowsLoadsWhatIsInSight() throws {
        try MainActor.assumeIsolated {
            let list = try TestGrid(rowCount: 100_000)
            defer { list.window.close() }
            XCTAssertFalse(list.pictures.isEmpty)
            XCTAssertTrue(list.visibleCells.allSatisfy { $0.picture.loadState != .idle })

            // Slowly, quickly, and at once to the other end.
            for (step, count) in [(20.0, 60), (200.0, 60), (-200.0, 30)] {
                for _ in 0..<count { list.scroll(by: step) }
            }
            list.scroll(toPart: 0.7)
            list.scroll(toPart: 1)
            list.settle()
            XCTAssertGreaterThan(list.visibleCells.count, 4)
            for cell in list.visibleCells {
                XCTAssertEqual(drawnPixel(of: cell.picture), TestGrid.swatch(of: cell.position).pixel)
            }
            XCTAssertEqual(list.staleCount, 0)
            XCTAssertLessThan(list.pictures.count, 600, "cells are used over and over")
            // What was scrolled by was given up: nothing is under way for rows without a cell.
            let bound = Set(list.pictures.compactMap(\.imageURL))
            XCTAssertTrue(
                list.fixture.loader.loads.allSatisfy { $0.isCancelled || $0.isEnded || bound.contains($0.url) })
        }
    }

    func testBindsLoadLaterThanWhatIsSeen() throws {
        try MainActor.assumeIsolated {
            let list = try TestGrid(rowCount: 1000, answers: false)
            defer { list.window.close() }
            let visible = Set(list.visibleCells.map(\.position))
            XCTAssertGreaterThan(list.pictures.count, visible.count)
            for load in list.fixture.loader.loads where !load.isCancelled {
                let position = Int(load.url.lastPathComponent) ?? -1
                XCTAssertEqual(load.priority, visible.contains(position) ? .high : .low, "row \(position)")
            }
            // Out of sight a load goes on, behind what is seen.
            list.scroll(by: 60)
            pumpUntilIdle()
            for load in list.fixture.loader.loads where !load.isCancelled {
                let position = Int(load.url.lastPathComponent) ?? -1
                let isVisible = list.visibleCells.contains { $0.position == position }
                XCTAssertEqual(load.priority, isVisible ? .high : .low, "row \(position)")
            }
        }
    }

    func testASelectedRowHighlightsItsPicture() throws {
        try MainActor.assumeIsolated {
            let list = try TestGrid(rowCount: 10)
            defer { list.window.close() }
            list.settle()
            gtk_selection_model_select_item(list.selection, 1, gboolean(1))
            pumpUntilIdle()
            for cell in list.visibleCells { XCTAssertEqual(cell.picture.isHighlighted, cell.position == 1) }
        }
    }
}

/// A grid of three columns whose pictures are as large as the tests' window allows.
@MainActor private final class TestGrid {
    let fixture = PictureFixture()
    let window = TestWindow()
    let selection: OpaquePointer
    private(set) var pictures: [WebPicture] = []
    private(set) var staleCount = 0
    private let scrolledWindow: UnsafeMutablePointer<GtkWidget>
    private var positions: [ObjectIdentifier: Int] = [:]
    private var answeredCount = 0
    private let answers: Bool

    static func swatch(of position: Int) -> Swatch {
        Swatch(red: UInt8(position & 255), green: UInt8(position >> 8 & 255), blue: UInt8(position >> 16), width: 4)
    }

    init(rowCount: Int, answers: Bool = true) throws {
        self.answers = answers
        let model = gtk_string_list_new(nil)
        for number in 0..<rowCount { gtk_string_list_append(model, "manual://host/\(number)") }
        let selection = gtk_single_selection_new(model)
        gtk_single_selection_set_autoselect(selection, gboolean(0))
        gtk_single_selection_set_can_unselect(selection, gboolean(1))
        gtk_single_selection_set_selected(selection, guint.max)
        self.selection = ObjectPointer(selection!).opaque
        scrolledWindow = gtk_scrolled_window_new()
        let factory = WebPictureFactory { [weak self] picture in
            gtk_widget_set_size_request(picture.widget, 40, 30)
            picture.onLoadStateChange = { [weak self, weak picture] in self?.didChange(picture, to: $0) }
            self?.pictures.append(picture)
            return picture.widget
        } bind: { [weak self] picture, item in
            guard let self, let text = item.object.flatMap({ gtk_string_object_get_string($0) }) else { return }
            positions[ObjectIdentifier(picture)] = item.position
            picture.setImage(String(cString: text), manager: fixture.manager)
        }
        let grid = gtk_grid_view_new(self.selection, factory.factory)
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
        guard case .loaded = state, let picture, let position = positions[ObjectIdentifier(picture)] else { return }
        if picture.image?.pixels[0, 0] != Self.swatch(of: position).pixel { staleCount += 1 }
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

    /// Waits for a frame, and has half of what was asked for answered, the newest first.
    private func oneFrame() {
        var isOver = false
        let ticker = FrameTicker(host: ViewHost.of(window.window)) { _ in
            isOver = true
            return false
        }
        ticker.start()
        pump("a frame") { isOver }
        if answers { answer(every: 2) }
    }

    /// Has everything answered, and waits until it is shown.
    func settle() {
        pump("all pictures in sight") {
            answer(every: 1)
            let cells = visibleCells
            return !cells.isEmpty && cells.allSatisfy { if case .loaded = $0.picture.loadState { true } else { false } }
        }
        pumpUntilIdle()
    }

    private func answer(every step: Int) {
        let loads = fixture.loader.loads
        for (number, load) in loads.enumerated().reversed() where number % step == 0 && !load.isEnded {
            load.answer(Self.swatch(of: Int(load.url.lastPathComponent) ?? 0))
        }
    }
}
