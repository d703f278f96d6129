import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import ProgramSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The folders beside the images.
final class FolderSidebarTests: GTKTestCase {
    private static func path(_ text: String) -> SystemString { SystemString(text) }

    func testTheTreeHasTheOpenedFolderAmongItsSiblings() {
        var tree = FolderTree()
        XCTAssertEqual(tree.rows, [])
        tree.open(Self.path("/p/trips/2026"))
        XCTAssertEqual(tree.unread, [Self.path("/p/trips")])
        tree.note([Self.path("/p/trips"): [Self.path("/p/trips/2025"), Self.path("/p/trips/2026")]])
        XCTAssertEqual(tree.rows.map(\.title), ["trips", "2025", "2026"])
        XCTAssertEqual(tree.rows.map(\.depth), [0, 1, 1])
        XCTAssertEqual(tree.rows.map(\.isCurrent), [false, false, true])
        tree.note([Self.path("/p/trips/2026"): [Self.path("/p/trips/2026/may")], Self.path("/p/trips/2025"): []])
        XCTAssertEqual(tree.rows.map(\.hasFolders), [true, false, true])
        tree.setExpanded(Self.path("/p/trips/2026"), true)
        XCTAssertEqual(tree.rows.last?.title, "may")
        // A folder of the tree changes only the mark, and is in sight.
        tree.setExpanded(Self.path("/p/trips/2026"), false)
        tree.open(Self.path("/p/trips/2026/may"))
        XCTAssertEqual(tree.rows.map(\.title), ["trips", "2025", "2026", "may"])
        XCTAssertEqual(tree.rows.last?.isCurrent, true)
        // One elsewhere has a tree of its own. A longer name is not inside.
        tree.open(Self.path("/p/trips2/a"))
        XCTAssertEqual(tree.root, Self.path("/p/trips2"))
        tree.open(Self.path("/"))
        XCTAssertEqual(tree.rows.map(\.title), ["/"])
    }

    func testFoldersAreOpenedFromTheTree() throws {
        try WindowFixture.with(["one/a.png", "one/inner/c.png", "two/b.png", "empty/none.txt.png"]) { fixture in
            let sidebar = fixture.window.sidebar
            fixture.open("one")
            XCTAssertFalse(sidebar.isShown)
            fixture.run("sidebar")
            XCTAssertTrue(sidebar.isShown && fixture.session.settings.values.showsSidebar)
            let root = fixture.folder.lastPathComponent
            pump("the folders") { sidebar.rowTitles == [root, "empty", "one", "two"] }
            pump("all content") { !sidebar.isReading }
            sidebar.expand("one")
            pump("the folder inside") { sidebar.rowTitles == [root, "empty", "one", "inner", "two"] }
            sidebar.activate("two")
            pump("its images") { fixture.names == ["b.png"] }
            pump("its mark") { sidebar.tree.current == SystemString(fixture.folder.path + "/two") }
            XCTAssertEqual(sidebar.rowTitles, [root, "empty", "one", "inner", "two"], "the tree stays")
            fixture.run("sidebar")
            XCTAssertFalse(sidebar.isShown)
        }
    }

    func testInANarrowWindowItIsOverTheImagesWhileItIsUsed() throws {
        try WindowFixture.with(["one/a.png", "two/b.png"], width: 360) { fixture in
            fixture.session.settings.change { $0.showsSidebar = true }
            fixture.open("one")
            let sidebar = fixture.window.sidebar
            pump("the fold") { sidebar.widget.get("folded", as: Bool.self) }
            pump("images only") { !sidebar.isShown }
            fixture.run("sidebar")
            XCTAssertTrue(sidebar.isShown)
            pump("the folders") { sidebar.rowTitles.contains("two") }
            sidebar.activate("two")
            XCTAssertFalse(sidebar.isShown)
            pump("the images") { fixture.names == ["b.png"] }
        }
    }
}
