import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The keys of Documentation/Gallery.md.
final class GalleryHabitTests: GTKTestCase {
    private static let keys: [(action: String, keys: [String])] = [
        ("viewer-next", ["Right", "Page_Down", "n"]), ("viewer-first", ["Home"]), ("viewer-last", ["End"]),
        ("viewer-zoom-in", ["plus"]), ("viewer-zoom-out", ["minus"]), ("viewer-fit", ["0"]),
        ("viewer-actual-size", ["1"]),
        ("viewer-full-screen", ["F11", "f"]), ("viewer-slide-show", ["F5"]), ("viewer-rotate-right", ["r"]),
        ("rotate-right", ["bracketright"]), ("viewer-keep-rotation", ["<Control>k"]), ("viewer-crop", ["c"]),
        ("trash", ["Delete"]), ("viewer-trash", ["Delete"]), ("undo", ["<Control>z"]), ("rename", ["F2"]),
        ("copy-to", ["<Control><Shift>c"]), ("move-to", ["<Control><Shift>m"]), ("viewer-copy", ["<Control>c"]),
        ("viewer-save-as", ["<Control>s"]), ("viewer-print", ["<Control>p"]), ("viewer-open-with", ["<Control>e"]),
        ("open-files", ["<Control>o"]), ("inspector", ["<Control>i", "<Alt>Return"]), ("sidebar", ["F9"]),
        ("viewer-filmstrip", ["t"]), ("search", ["<Control>f"]), ("show-hidden", ["<Control>h"]),
        ("stars-0", ["0", "<Control><Alt>0"]), ("stars-5", ["5", "<Control><Alt>5"]), ("tags", ["<Control>t"]),
        ("select-all", ["<Control>a"]), ("select-none", ["<Control><Shift>a"]),
        ("invert-selection", ["<Control><Shift>i"]), ("compare", ["<Control>d"]), ("preferences", ["<Control>comma"]),
        ("shortcuts", ["F1"]),
    ]

    func testTheKeysOfTheTableAreThoseOfTheProgram() throws {
        try WindowFixture.withImages { fixture in
            let actions = fixture.window.actions
            for (name, keys) in Self.keys {
                let action = actions.first { $0.name == name }
                XCTAssertTrue(Set((action?.keys ?? []) + (action?.pageKeys ?? [])).isSuperset(of: keys), name)
            }
        }
    }

    func testNoKeyHasTwoMeaningsOnAPage() throws {
        try WindowFixture.withImages { fixture in
            let actions = fixture.window.actions
            for page in [Action.Group.photos, .viewer] {
                var owners: [String: String] = [:]
                for action in actions where [page, .general, .organizing].contains(action.group) {
                    // The keys without Ctrl of stars are for the grid.
                    let isForPage = page == .photos || action.group != .organizing
                    for key in action.keys + (isForPage ? action.pageKeys : []) {
                        XCTAssertNil(owners[key], "\(key): \(action.name), \(owners[key] ?? "")")
                        owners[key] = action.name
                    }
                }
            }
        }
    }

    func testTheSelectionIsInverted() throws {
        try WindowFixture.withImages { fixture in
            let grid = fixture.window.photos.grid
            grid.toggleSelection(of: 1)
            fixture.run("invert-selection")
            XCTAssertEqual(fixture.window.targets, [0, 2].map { fixture.session.collection.urls[$0] })
            fixture.run("invert-selection")
            XCTAssertEqual(fixture.window.targets, [fixture.session.collection.urls[1]])
            fixture.run("select-none")
            fixture.run("invert-selection")
            XCTAssertEqual(fixture.window.targets.count, 3)
        }
    }
}
