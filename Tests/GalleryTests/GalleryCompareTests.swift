import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Two images side by side.
final class GalleryCompareTests: GTKTestCase {
    func testZoomIsLinkedUntilItIsNot() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.toggleSelection(of: 0)
            fixture.window.photos.grid.toggleSelection(of: 2)
            let compare = try XCTUnwrap(
                CompareWindow.show(fixture.window.targets, over: fixture.window.widget, fixture.session))
            defer { _ = compare.keyPressed(GDK_KEY_Escape) }
            XCTAssertEqual(compare.panes.map(\.index), [0, 2])
            pump("the images") {
                compare.panes.allSatisfy { !$0.canvas.isBusy && $0.canvas.imageSize != nil }
            }
            XCTAssertTrue(compare.keyPressed(GDK_KEY_plus))
            // The images are small, and fit at 100 %.
            let zooms = { compare.panes.map { Int(($0.canvas.scale * 100).rounded()) } }
            pump("the other pane") { zooms() == [150, 150] }
            compare.panes[0].canvas.zoom(by: 2)
            pump("the other pane") { zooms() == [300, 300] }
            XCTAssertTrue(compare.keyPressed(GDK_KEY_l))
            XCTAssertTrue(compare.keyPressed(GDK_KEY_0))
            pump("the second pane") { !compare.panes[1].canvas.isBusy }
            XCTAssertEqual(zooms(), [300, 100])
            XCTAssertTrue(compare.keyPressed(GDK_KEY_l))
            pump("the other pane") { zooms() == [100, 100] }
            // The arrows show another image in the second pane, and stop at the ends.
            for key in [GDK_KEY_Left, GDK_KEY_Left, GDK_KEY_Left] { XCTAssertTrue(compare.keyPressed(key)) }
            XCTAssertEqual(compare.panes.map(\.index), [0, 0])
            XCTAssertTrue(compare.keyPressed(GDK_KEY_Right))
            XCTAssertEqual(compare.panes.map(\.index), [0, 1])
            XCTAssertFalse(compare.keyPressed(GDK_KEY_F5))
        }
    }

    func testOneImageIsComparedWithItsNeighbor() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            for (index, expected) in [(0, [0, 1]), (1, [1, 0])] {
                fixture.window.photos.grid.setCurrent(index, focusing: false)
                let compare = CompareWindow.show(fixture.window.targets, over: fixture.window.widget, fixture.session)
                XCTAssertEqual(compare?.panes.map(\.index), expected)
                _ = compare?.keyPressed(GDK_KEY_Escape)
            }
            fixture.session.collection.replace(with: [fixture.urls[0]])
            XCTAssertNil(CompareWindow.show([fixture.urls[0]], over: fixture.window.widget, fixture.session))
            XCTAssertEqual(fixture.toasts.last?.message, "There are no two images to compare")
        }
    }
}
