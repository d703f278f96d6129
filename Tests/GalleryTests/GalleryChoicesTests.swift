import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import ProgramSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What users choose in the preferences.
final class GalleryChoicesTests: GTKTestCase {
    func testChoicesAreKept() throws {
        try MainActor.assumeIsolated {
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "gallery.json")
            let settings = GallerySettings(file: file)
            settings.change { values in
                (values.background, values.wheelTurnsPages, values.isReversed) = (.checkerboard, true, true)
                (values.showsHidden, values.showsSidebar, values.colorScheme) = (true, true, .dark)
                (values.opensLastFolder, values.lastFolder) = (false, "/photos")
                values.recentTargets = (0..<9).map { "/\($0)" }
            }
            settings.flush()
            let former = settings.values
            XCTAssertEqual(former.recentTargets.count, GallerySettings.Limits.recentTargetCount)
            XCTAssertEqual(GallerySettings(file: file).values, former)
            withExtendedLifetime(folder) {}
        }
    }

    func testTheProgramBeginsWithTheLastFolder() throws {
        try MainActor.assumeIsolated {
            let folder = try TemporaryFolder()
            var settings = GallerySettings.Values()
            settings.lastFolder = folder.path
            let arguments = { (list: [String]) in try GalleryArguments(parsing: ["Gallery"] + list) }
            XCTAssertEqual(try arguments([]).locations(orLast: settings), [folder.path])
            XCTAssertEqual(try arguments(["/other"]).locations(orLast: settings), ["/other"])
            XCTAssertEqual(try arguments(["--page", "statistics"]).locations(orLast: settings), [])
            settings.opensLastFolder = false
            XCTAssertEqual(try arguments([]).locations(orLast: settings), [])
            settings = GallerySettings.Values()
            settings.lastFolder = folder.path + "/gone"
            XCTAssertEqual(try arguments([]).locations(orLast: settings), [])
            withExtendedLifetime(folder) {}
        }
    }

    func testTheLastFolderIsThatOfTheImageToo() throws {
        try WindowFixture.with(["one/a.png", "two/b.png"]) { fixture in
            fixture.open("one")
            XCTAssertEqual(fixture.session.settings.values.lastFolder, fixture.folder.path + "/one")
            fixture.open("two/b.png")
            pump("the folder") { fixture.session.settings.values.lastFolder == fixture.folder.path + "/two" }
        }
    }

    func testTheBackgroundIsBehindTheImage() throws {
        try ViewerFixture.with { fixture in
            GalleryStyle.add(to: gtk_widget_get_display(fixture.viewer.widget.widget))
            fixture.open([try fixture.write(try picture(20, 20) { _, _ in shade(3) }, "a.png")])
            fixture.settle()
            let expected: [(PhotoBackground, SIMD4<UInt8>)] = [
                (.black, SIMD4(0, 0, 0, 255)), (.white, SIMD4(255, 255, 255, 255)),
                (.gray, SIMD4(0x77, 0x77, 0x77, 255)),
            ]
            for (background, color) in expected {
                fixture.session.settings.change { $0.background = background }
                pump("\(background)") { fixture.pixel(0.1, 0.1) == color }
            }
            fixture.session.settings.change { $0.background = .checkerboard }
            pump("squares") {
                let drawn = Rendering(of: fixture.viewer.canvas.widget)
                return Set((0..<48).map { drawn[$0, 3] }).count >= 2
            }
        }
    }

    func testTheWheelShowsTheNextImageIfTheUserWantsIt() throws {
        try ViewerFixture.with { fixture in
            fixture.open(
                try ["a", "b"].map { try fixture.write(try picture(20, 20) { _, _ in shade(3) }, "\($0).png") })
            fixture.settle()
            let notch = ZoomGeometry.Vector(0, 1)
            fixture.viewer.canvas.scroll(by: notch, isWheel: true, hasControl: false)
            XCTAssertEqual(fixture.viewer.index, 0, "it zooms")
            fixture.session.settings.change { $0.wheelTurnsPages = true }
            fixture.viewer.canvas.scroll(by: notch, isWheel: true, hasControl: false)
            XCTAssertEqual(fixture.viewer.index, 1)
            fixture.settle()
            fixture.viewer.canvas.scroll(by: -notch, isWheel: true, hasControl: true)
            XCTAssertEqual(fixture.viewer.index, 1, "Ctrl zooms")
            XCTAssertGreaterThan(fixture.viewer.canvas.scale, 1)
            fixture.viewer.canvas.scroll(by: -notch, isWheel: true, hasControl: false)
            XCTAssertEqual(fixture.viewer.index, 0)
        }
    }

    func testThePreferencesChangeAndShowTheSettings() throws {
        try WindowFixture.withImages { fixture in
            fixture.session.settings.change { $0.background = .gray }
            let page = PreferencesWindow.makeViewingPage(fixture.session.settings)
            g_object_ref_sink(page.address)
            defer { g_object_unref(page.address) }
            let rows = Self.widgets(in: page.widget) { $0.isInstance(of: adw_combo_row_get_type()) }
            XCTAssertEqual(rows.map { $0.get("title", as: String.self) }, ["Background", "Wheel", "Order", "Style"])
            XCTAssertEqual(rows.first?.get("selected", as: Int.self), 2)
            rows[0].set("selected", 1)
            rows[1].set("selected", 1)
            XCTAssertEqual(fixture.session.settings.values.background, .black)
            XCTAssertTrue(fixture.session.settings.values.wheelTurnsPages)
            let switches = Self.widgets(in: page.widget) { $0.isInstance(of: gtk_switch_get_type()) }
            XCTAssertEqual(switches.count, 4)
            switches[2].set("active", true)
            XCTAssertTrue(fixture.session.settings.values.showsHidden)
        }
    }

    @MainActor private static func widgets(
        in widget: UnsafeMutablePointer<GtkWidget>, _ isWanted: (ObjectPointer) -> Bool
    ) -> [ObjectPointer] {
        var found = isWanted(ObjectPointer(widget)) ? [ObjectPointer(widget)] : []
        var child = gtk_widget_get_first_child(widget)
        while let current = child {
            found += widgets(in: current, isWanted)
            child = gtk_widget_get_next_sibling(current)
        }
        return found
    }
}
