import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What is known of the shapes of images.
final class PhotoCollectionTests: XCTestCase {
    private static let urls = (0..<3).map { URL(filePath: "/\($0).jpg") }

    func testPanoramasAndLongStripsAreCropped() {
        MainActor.assumeIsolated {
            let collection = PhotoCollection()
            collection.replace(with: Self.urls)
            let sizes = [(100, 10_000), (10_000, 100), (100, 200)].map { PixelSize(width: $0.0, height: $0.1) }
            for (index, size) in sizes.enumerated() { collection.noteShape(of: index, size) }
            XCTAssertEqual(collection.aspectRatios, [0.4, 3, 0.5])
        }
    }

    func testOnlyShapesOfChangedFilesAreForgotten() {
        MainActor.assumeIsolated {
            let collection = PhotoCollection()
            collection.replace(with: Self.urls)
            for index in Self.urls.indices { collection.noteShape(of: index, PixelSize(width: 3, height: 1)) }
            collection.noteContent(of: [Self.urls[1]])
            XCTAssertEqual(Self.urls.indices.map(collection.isShapeKnown), [true, false, true])
        }
    }
}

final class JustifiedLayoutTests: XCTestCase {
    private func layout(_ ratios: [Float], width: Double = 1_000, rowHeight: Double = 150) -> JustifiedLayout {
        JustifiedLayout(aspectRatios: ratios, width: width, rowHeight: rowHeight)
    }

    func testASectionBeginsWithARowOfItsOwnBelowItsHeading() {
        let ratios = [Float](repeating: 1.5, count: 40)
        let (starts, heading) = ([0, 1, 17, 39], 44.0)
        let layout = JustifiedLayout(
            aspectRatios: ratios, width: 1_000, rowHeight: 150, sections: starts, headingHeight: heading)
        XCTAssertEqual(layout.rows.flatMap(\.indices), Array(0..<40), "each image has one place")
        XCTAssertEqual(layout.rows.filter { $0.headingHeight > 0 }.map(\.indices.lowerBound), starts)
        var bottom = 0.0
        for (number, row) in layout.rows.enumerated() {
            XCTAssertEqual(row.y, (number == 0 ? 0 : bottom + layout.spacing) + row.headingHeight)
            bottom = row.y + row.height
            let frames = layout.frames(ofRow: number, ratios)
            let isFull = frames.last.map { $0.x + $0.width } == 1_000
            XCTAssertEqual(isFull, !row.isLast, "row \(number)")
        }
        XCTAssertEqual(layout.contentHeight, bottom)
        XCTAssertEqual(layout.rows.filter(\.isLast).count, 4)
    }

    func testFullRowsFillTheWidthAndKeepProportions() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let ratios = (0..<200).map { _ in Float.random(in: 0.4...3, using: &random) }
            let width = Double(Int.random(in: 300...2_000, using: &random))
            let layout = layout(ratios, width: width)
            XCTAssertEqual(layout.rows.flatMap { Array($0.indices) }, Array(0..<200), "each image once, in order")
            for number in layout.rows.indices.dropLast() {
                let frames = layout.frames(ofRow: number, ratios)
                XCTAssertEqual(frames.first?.x, 0)
                XCTAssertEqual(frames.last.map { $0.x + $0.width }, Int(width))
                for (former, next) in zip(frames, frames.dropFirst()) {
                    XCTAssertTrue((3...5).contains(next.x - former.x - former.width), "the gap is 4, within rounding")
                }
                for (frame, ratio) in zip(frames, ratios[layout.rows[number].indices]) {
                    // Half a point of each side is rounded away.
                    let distortion = Double(frame.width) / Double(frame.height) / Double(ratio)
                    XCTAssertEqual(distortion, 1, accuracy: 1.5 / Double(min(frame.width, frame.height)))
                }
            }
        }
    }

    func testRowsAreAsCloseToTheHeightAsTheImagesAllow() {
        // Rows of 150 would have 4.6 and 4.9 images: of the former, four are closer, of the latter, five.
        for (ratio, count) in [(Float(1.5), 4), (1.4, 5)] {
            let layout = layout(Array(repeating: ratio, count: 1_000))
            XCTAssertEqual(layout.rows.count, 1_000 / count)
            // The last row is not stretched.
            for row in layout.rows.dropLast() {
                XCTAssertEqual(row.indices.count, count)
                XCTAssertEqual(
                    row.height, (1_000 - layout.spacing * Double(count - 1)) / Double(ratio) / Double(count),
                    accuracy: 1)
            }
        }
    }

    func testTheLastRowIsNotStretched() {
        XCTAssertEqual(layout([1.5]).frames(ofRow: 0, [1.5]), [.init(x: 0, width: 225, height: 150, y: 0)])
        // An image that is wider than the view is as wide as the view.
        XCTAssertEqual(layout([3], width: 300).frames(ofRow: 0, [3]), [.init(x: 0, width: 300, height: 100, y: 0)])
    }

    func testThereIsSpaceAroundAllImages() throws {
        let ratios = [Float](repeating: 1.5, count: 9)
        let layout = JustifiedLayout(aspectRatios: ratios, width: 1_000, rowHeight: 150, edge: 12)
        XCTAssertEqual(layout.rows.first?.y, 12)
        let frames = layout.frames(ofRow: 0, ratios)
        XCTAssertEqual(frames.first?.x, 12)
        XCTAssertEqual(frames.last.map { $0.x + $0.width }, 988)
        let last = try XCTUnwrap(layout.rows.last)
        XCTAssertEqual(layout.contentHeight, last.y + last.height + 12)
        // A heading has its own.
        let days = JustifiedLayout(
            aspectRatios: ratios, width: 1_000, rowHeight: 150, edge: 12, sections: [0], headingHeight: 44)
        XCTAssertEqual(days.rows.first?.y, 44)
    }

    func testFindsRowsByPosition() {
        let ratios = [Float](repeating: 1, count: 100_000)
        let layout = layout(ratios)
        let middle = layout.contentHeight / 2
        let rows = layout.rows(from: middle, to: middle + 700)
        XCTAssertTrue((4...7).contains(rows.count))
        XCTAssertLessThanOrEqual(layout.rows[rows.lowerBound].y, middle)
        XCTAssertGreaterThan(layout.rows[rows.lowerBound].y + layout.rows[rows.lowerBound].height, middle)
        XCTAssertEqual(layout.rows(from: 0, to: layout.contentHeight + 1), layout.rows.indices)
        XCTAssertEqual(layout.rows[layout.row(of: 99_999)].indices.upperBound, 100_000)
        XCTAssertTrue(layout.rows(from: layout.contentHeight + 10, to: layout.contentHeight + 20).isEmpty)
    }

    func testNothingHasNoRows() {
        XCTAssertTrue(layout([]).rows.isEmpty)
        XCTAssertTrue(layout([1, 2], width: 0).rows.isEmpty)
    }
}

final class PhotoGridTests: GTKTestCase {
    /// A grid of `count` files, in a window of 800 × 600 points.
    @MainActor private static func withGrid(
        _ count: Int, _ body: (PhotoGrid, GallerySession) throws -> Void
    ) throws {
        let folder = try TemporaryFolder()
        let session = GallerySession(cacheDirectory: folder.url)
        let grid = PhotoGrid(session: session)
        let window = TestWindow()
        defer {
            window.close()
            end(session.manager)
        }
        let view = ObjectPointer(gtk_scrolled_window_new()).sized(800, 600)
        gtk_scrolled_window_set_policy(view.opaque, GTK_POLICY_NEVER, GTK_POLICY_ALWAYS)
        gtk_scrolled_window_set_child(view.opaque, grid.widget.widget)
        window.add(view.widget)
        let names = (0..<count).map { folder.url.appending(path: "\($0).png") }
        if count <= 100 {
            for (number, url) in names.enumerated() {
                try CodecRegistry.shared.encode(try image(number), as: .png).write(to: url)
            }
        }
        session.collection.replace(with: names)
        window.present()
        pump("the layout") { !grid.boundCells.isEmpty }
        try body(grid, session)
    }

    /// An image whose color tells its number, 40 pixels high, and 30, 50 or 70 wide.
    @MainActor private static func image(_ number: Int) throws -> Image {
        var pixels = try MutablePixelBuffer(width: 30 + number % 3 * 20, height: 40)
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                bytes.storeBytes(of: SIMD4(UInt8(number), 90, 0, 255), toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    func testShowsEachImageAtItsPlace() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(12) { grid, session in
                pump("the images") {
                    grid.boundCells.count == 12 && grid.boundCells.allSatisfy { $0.picture.image != nil }
                }
                pump("the shapes") {
                    grid.boundCells.enumerated().allSatisfy { number, cell in
                        abs(Float(cell.width) / Float(cell.height) - Float(30 + number % 3 * 20) / 40) < 0.05
                    }
                }
                for (number, cell) in grid.boundCells.enumerated() {
                    XCTAssertEqual(cell.item?.url, session.collection.urls[number])
                    XCTAssertEqual(cell.picture.image?.pixels[0, 0].x, UInt8(number))
                }
            }
        }
    }

    func testImagesAndNamesHaveSpaceAroundThem() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(3) { grid, session in
                let cell = try XCTUnwrap(grid.boundCells.first)
                @MainActor func frame(_ widget: ObjectPointer, in other: ObjectPointer) -> graphene_rect_t {
                    var bounds = graphene_rect_t()
                    _ = gtk_widget_compute_bounds(widget.widget, other.widget, &bounds)
                    return bounds
                }
                pump("the place") { frame(cell.widget, in: grid.widget).origin.x == 12 }
                XCTAssertEqual(frame(cell.widget, in: grid.widget).origin.y, 12)
                let height = cell.height
                session.settings.change { $0.showsNames = true }
                pump("the names") { cell.height == height + PhotoCell.captionHeight && !cell.children.isEmpty }
                let caption = frame(try XCTUnwrap(cell.children.first), in: cell.widget)
                XCTAssertEqual(caption.origin.y, Float(height + 6))
                pump("the dates") { grid.boundCells.allSatisfy { $0.captionText.contains("\n20") } }
            }
        }
        XCTAssertEqual(MainActor.assumeIsolated { PhotoGrid.edge(ofWidth: 360) }, 6)
    }

    func testAHundredThousandImagesNeedFewCells() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(100_000) { grid, session in
                XCTAssertLessThan(grid.boundCells.count, 80)
                grid.setCurrent(99_999, focusing: true)
                pump("the end") { grid.boundCells.last?.item?.index == 99_999 }
                grid.setCurrent(50_000, focusing: true)
                pump("the middle") { grid.cell(of: session.collection.urls[50_000])?.isOnScreen == true }
                XCTAssertLessThan(grid.children.count, 160)
            }
        }
    }

    func testKeepsThePlaceWhenShapesBecomeKnown() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(5_000) { grid, session in
                grid.setCurrent(2_500, focusing: false)
                pump("the middle") { grid.cell(of: session.collection.urls[2_500])?.isOnScreen == true }
                pumpUntilIdle()
                let first = grid.boundCells.first { $0.isOnScreen }?.item?.index
                // All images before are now panoramas.
                session.collection.noteShapes(
                    of: (0..<2_000).map {
                        .init(index: $0, url: session.collection.urls[$0], size: PixelSize(width: 300, height: 100))
                    })
                pumpUntilIdle()
                let now = grid.boundCells.first { $0.isOnScreen }?.item?.index
                XCTAssertEqual(try XCTUnwrap(first), try XCTUnwrap(now), accuracy: 8)
            }
        }
    }

    func testImagesThatALayoutMovesFarAwayAreHidden() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(300) { grid, session in
                @MainActor func visibleIndices() -> [Int] {
                    grid.boundCells.filter { gtk_widget_get_child_visible($0.widget.widget) != 0 }
                        .compactMap { $0.item?.index }
                }
                session.settings.change { $0.rowHeight = 60 }
                pump("small images") { visibleIndices().contains(40) }
                session.settings.change { $0.rowHeight = 600 }
                // GTK draws after the layout, before cells are released.
                grid.layOut(width: grid.width, height: grid.height)
                XCTAssertLessThan(try XCTUnwrap(visibleIndices().max()), 4)
            }
        }
    }

    func testAReplacedCollectionStartsAtTheTop() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(5_000) { grid, session in
                grid.setCurrent(4_000, focusing: true)
                pump("the end") { grid.cell(of: session.collection.urls[4_000])?.isOnScreen == true }
                let urls = session.collection.urls
                session.collection.replace(with: [])
                XCTAssertTrue(grid.boundCells.isEmpty)
                XCTAssertEqual(grid.scrollPosition(GTK_ORIENTATION_VERTICAL), 0)
                XCTAssertNil(grid.current)
                session.collection.replace(with: Array(urls.prefix(7)))
                pump("the other images") { grid.boundCells.count == 7 }
            }
        }
    }

    func testShowsAnImageThatHasNoPlaceYetAfterTheLayout() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(100) { grid, session in
                let new = (0..<5_000).map { session.collection.urls[0].appending(path: "../new-\($0).png") }
                session.collection.append(new)
                grid.setCurrent(5_099, focusing: true)
                XCTAssertEqual(grid.current, 5_099)
                pump("the last image") { grid.cell(of: new[4_999])?.isOnScreen == true }
                let cell = try XCTUnwrap(grid.cell(of: new[4_999]))
                XCTAssertNotEqual(gtk_widget_has_focus(cell.widget.widget), 0)
            }
        }
    }

    func testRowsStartWhereTheTextStarts() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(12) { grid, _ in
                /// The distance of the first image's edges to those of the grid.
                @MainActor func edges() -> (left: Double, right: Double) {
                    var bounds = graphene_rect_t()
                    guard let cell = grid.boundCells.first,
                        gtk_widget_compute_bounds(cell.widget.widget, grid.widget.widget, &bounds) != 0
                    else { return (-1, -1) }
                    let left = Double(bounds.origin.x)
                    return (left, Double(grid.width) - left - Double(bounds.size.width))
                }
                let edge = PhotoGrid.edge(ofWidth: 800)
                pump("the layout") { edges().left == edge }
                gtk_widget_set_direction(grid.widget.widget, GTK_TEXT_DIR_RTL)
                grid.queueLayout()
                pump("the mirrored layout") { edges().right == edge }
                XCTAssertGreaterThan(edges().left, edge)
            }
        }
    }

    func testKeysExtendASelectionFromWhereItStarted() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(5_000) { grid, _ in
                let (shift, none) = (GDK_SHIFT_MASK, GdkModifierType(rawValue: 0))
                grid.setCurrent(3, focusing: true)
                for key in [GDK_KEY_Right, GDK_KEY_Right] { XCTAssertTrue(grid.keyPressed(key, shift)) }
                XCTAssertEqual(Array(grid.selection.ranges), [3..<6])
                XCTAssertTrue(grid.keyPressed(GDK_KEY_Left, shift))
                XCTAssertEqual(Array(grid.selection.ranges), [3..<5], "the range shrinks")
                for _ in 0..<3 { XCTAssertTrue(grid.keyPressed(GDK_KEY_Left, shift)) }
                XCTAssertEqual(Array(grid.selection.ranges), [1..<4], "the other side of the start")
                XCTAssertTrue(grid.keyPressed(GDK_KEY_Home, none))
                XCTAssertTrue(grid.keyPressed(GDK_KEY_Right, shift))
                XCTAssertEqual(Array(grid.selection.ranges), [0..<4], "another range")
            }
        }
    }

    func testSelectsSingleImagesAndAll() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(5_000) { grid, _ in
                grid.toggleSelection(of: 3)
                grid.toggleSelection(of: 5)
                XCTAssertEqual(Array(grid.selection.ranges), [3..<4, 5..<6])
                grid.toggleSelection(of: 3)
                XCTAssertEqual(Array(grid.selection.ranges), [5..<6])
                grid.selectAll()
                XCTAssertEqual(Array(grid.selection.ranges), [0..<5_000])
                XCTAssertTrue(grid.boundCells.allSatisfy(\.isSelected))
                grid.clearSelection()
                XCTAssertTrue(grid.selection.isEmpty)
                XCTAssertFalse(grid.boundCells.contains(where: \.isSelected))
            }
        }
    }

    func testABrokenImageHasAButtonThatTriesAgain() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(3) { grid, session in
                pump("the images") { grid.boundCells.allSatisfy { $0.picture.image != nil } }
                let cell = try XCTUnwrap(grid.boundCells.first)
                let url = try XCTUnwrap(cell.item?.url)
                let file = try Data(contentsOf: url)
                try Data("text".utf8).write(to: url)
                cell.load(cachePolicy: .reload)
                pump("the failure") { !cell.children.isEmpty }
                try file.write(to: url)
                let button = try XCTUnwrap(cell.children.first)
                gtk_widget_activate(button.widget)
                pump("the image") { cell.picture.image != nil && cell.children.isEmpty }
            }
        }
    }

    func testZoomingChangesTheRowsAndKeepsTheImages() throws {
        try MainActor.assumeIsolated {
            try Self.withGrid(60) { grid, session in
                pump("the images") { grid.boundCells.allSatisfy { !$0.isOnScreen || $0.picture.image != nil } }
                let small = grid.boundCells.first?.height ?? 0
                session.settings.change { $0.rowHeight = 400 }
                pump("larger rows") { (grid.boundCells.first?.height ?? 0) > small + 100 }
                XCTAssertNotNil(grid.boundCells.first?.picture.image)
            }
        }
    }
}

final class PhotoCellTests: XCTestCase {
    func testImagesAreDecodedAtFewHeightsThatAreLargeEnough() {
        let heights = Set((60...1_200).map { PhotoCell.decodedHeight(for: $0) })
        XCTAssertLessThan(heights.count, 16)
        for pixels in 60...1_200 {
            XCTAssertGreaterThanOrEqual(PhotoCell.decodedHeight(for: pixels), pixels)
            XCTAssertLessThanOrEqual(PhotoCell.decodedHeight(for: pixels), max(128, pixels * 5 / 4 + 1))
        }
    }
}
