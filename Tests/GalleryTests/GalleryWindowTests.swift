import CWebImageAdwaita
import CWebImageGTK
import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What the window does with its parts: the grid, the viewer and the inspector.
final class GalleryWindowTests: GTKTestCase {
    /// Opens a window with `count` images of a folder, for the tests of whole windows.
    @MainActor static func withWindow(
        _ count: Int = 3, width: Int = 1_000, configure: (inout WebImageManager.Configuration) -> Void = { _ in },
        _ body: @MainActor (GalleryWindow, [URL]) throws -> Void
    ) throws {
        adw_init()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Window-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let urls = (0..<count).map { folder.appendingPathComponent("\($0).png") }
        for (number, url) in urls.enumerated() {
            let swatch = Swatch(red: UInt8(number), green: 90, blue: 0, width: 60)
            try CodecRegistry.shared.encode(try swatch.image(), as: .png).write(to: url)
        }
        let application = ObjectPointer(adw_application_new(nil, G_APPLICATION_NON_UNIQUE))
        defer { g_object_unref(application.address) }
        g_application_register(application.as(GApplication.self), nil, nil)
        let session = GallerySession(
            cacheDirectory: folder.appendingPathComponent("cache"), configure: configure)
        let window = GalleryWindow(
            application: application, session: session, size: PixelSize(width: width, height: 700))
        window.present()
        window.open([folder.path])
        pump("the images") { window.isSettled && window.photos.grid.boundCells.count == count }
        defer {
            gtk_window_destroy(window.widget.as())
            pumpUntilIdle()
        }
        try body(window, urls)
    }

    @MainActor private static func run(_ action: String, in window: GalleryWindow) {
        gtk_widget_activate_action_variant(window.widget.widget, "win.\(action)", nil)
    }

    func testTheViewerIsLeftForItsImageInTheGrid() throws {
        try MainActor.assumeIsolated {
            try Self.withWindow { window, urls in
                window.view(0)
                pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
                Self.run("viewer-next", in: window)
                pump("the next image") { window.isSettled }
                Self.run("viewer-back", in: window)
                pump("the grid") { window.shownPage == "photos" && window.photos.grid.current == 1 }
                let cell = try XCTUnwrap(window.photos.grid.cell(of: urls[1]))
                pump("the focus") { gtk_widget_has_focus(cell.widget.widget) != 0 }
                // The actions of the viewer are those of the next visit.
                window.view(2)
                pump("the viewer again") { window.shownPage == "viewer" && window.isSettled }
            }
        }
    }

    func testTheViewerIsLeftWhenAllImagesAreClosed() throws {
        try MainActor.assumeIsolated {
            try Self.withWindow { window, _ in
                window.view(0)
                window.inspect()
                pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
                window.session.collection.replace(with: [])
                pump("the empty page") { window.shownPage == "photos" && window.isSettled }
            }
        }
    }

    func testTheInspectorOpensOverTheImagesOfANarrowWindow() throws {
        try MainActor.assumeIsolated {
            try Self.withWindow(width: 400) { window, _ in
                window.inspect()
                pump("the folding") { window.flap.get("folded") && window.flap.get("reveal-progress") == 1.0 }
                XCTAssertTrue(window.flap.get("reveal-flap"))
            }
        }
    }

    func testTheKeysOfThePhotosAreThoseOfTheirPageOnly() throws {
        try MainActor.assumeIsolated {
            try Self.withWindow { window, _ in
                let actions = window.photos.actions
                XCTAssertTrue(
                    actions.allSatisfy { $0.keys.isEmpty }, "the inspector's texts have Ctrl+C and Ctrl+A too")
                XCTAssertTrue(actions.allSatisfy { !$0.pageKeys.isEmpty }, "the shortcuts window lists each")
                window.photos.grid.setCurrent(1, focusing: true)
                Self.run("toggle-selection", in: window)
                XCTAssertEqual(Array(window.photos.grid.selection.ranges), [1..<2])
                Self.run("select-all", in: window)
                XCTAssertEqual(Array(window.photos.grid.selection.ranges), [0..<3])
                Self.run("select-none", in: window)
                XCTAssertTrue(window.photos.grid.selection.isEmpty)
                Self.run("view", in: window)
                pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
            }
        }
    }

    func testPartsAreMadeWhenTheyAreShown() throws {
        try MainActor.assumeIsolated {
            try Self.withWindow { window, _ in
                for page in [GalleryWindow.Page.statistics, .learn(nil), .photos] {
                    window.show(page)
                    pump(page.name) { window.isSettled }
                    XCTAssertEqual(window.shownPage, page.name)
                }
            }
        }
    }

    func testALoadThatEndsAfterTheWindowIsHarmless() throws {
        try MainActor.assumeIsolated {
            let loader = ManualLoader()
            try Self.withWindow(configure: { $0.loaders = [loader, FileLoader()] }) { window, _ in
                let url = try XCTUnwrap(URL(string: "manual://host/late.png"))
                window.session.collection.append([url])
                pump("the request") { loader.lastLoad(of: url) != nil }
                window.view(3)
                gtk_window_destroy(window.widget.as())
                loader.lastLoad(of: url)?.answer(.red)
                window.session.showToast("late")
                pumpUntilIdle()
            }
        }
    }
}
