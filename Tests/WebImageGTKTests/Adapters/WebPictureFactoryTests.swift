import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Lists: cells come and go, and what they show is right.
final class WebPictureFactoryTests: GTKTestCase {
    func testAGridOfAHundredThousandRowsLoadsWhatIsInSight() {
        MainActor.assumeIsolated {
            let swatches = AnsweredSwatches()
            let list = swatches.makeGrid(rowCount: 100_000)
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
                XCTAssertEqual(drawnPixel(of: cell.picture), AnsweredSwatches.swatch(of: cell.position).pixel)
            }
            XCTAssertEqual(list.staleCount, 0)
            XCTAssertLessThan(list.pictures.count, 600, "cells are used over and over")
            // What was scrolled by was given up: nothing is under way for rows without a cell.
            let bound = Set(list.pictures.compactMap(\.imageURL))
            XCTAssertTrue(
                swatches.fixture.loader.loads.allSatisfy { $0.isCancelled || $0.isEnded || bound.contains($0.url) })
        }
    }

    /// The real thing: JPEG files, decoded at the size of the cells, answered in whatever order.
    func testAGridOfAHundredThousandPhotographsShowsEachInItsCell() {
        MainActor.assumeIsolated {
            let loader = NumberLoader()
            // Room for a fraction of what is scrolled by.
            let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 18), disk: nil)
            let manager = WebImageManager(
                configuration: WebImageManager.Configuration(cache: cache, loaders: [loader]))
            let list = TestGrid(rowCount: 100_000, manager: manager, scheme: NumberLoader.scheme) { image, position in
                NumberedPicture.number(in: image) == position
            }
            defer { list.window.close() }
            for (step, count) in [(20.0, 60), (200.0, 90), (-200.0, 30)] {
                for _ in 0..<count { list.scroll(by: step) }
            }
            for part in [0.3, 0.9, 0.5] { list.scroll(toPart: part) }
            for _ in 0..<20 { list.scroll(by: 200) }
            list.settle()
            XCTAssertGreaterThan(list.visibleCells.count, 4)
            for cell in list.visibleCells {
                XCTAssertEqual(NumberedPicture.drawnNumber(of: cell.picture), cell.position)
                XCTAssertEqual(cell.picture.image?.isThumbnail, true)
            }
            XCTAssertEqual(list.staleCount, 0)
            XCTAssertGreaterThan(list.shownCount, list.pictures.count, "cells have shown several pictures each")
            XCTAssertLessThan(list.pictures.count, 600)
            // Nothing goes on for rows that have been scrolled by.
            let bound = list.pictures.compactMap(\.imageURL).count
            XCTAssertLessThanOrEqual(manager.runningOperations.count, bound)
        }
    }

    func testBindsLoadLaterThanWhatIsSeen() {
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
            // Out of sight a load goes on, behind what is seen.
            list.scroll(by: 60)
            pumpUntilIdle()
            for load in swatches.fixture.loader.loads where !load.isCancelled {
                let position = Int(load.url.lastPathComponent) ?? -1
                let isVisible = list.visibleCells.contains { $0.position == position }
                XCTAssertEqual(load.priority, isVisible ? .high : .low, "row \(position)")
            }
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

/// Answers for the pictures of a grid when it is told, the newest first.
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
