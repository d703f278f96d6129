import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

final class GallerySettingsTests: GTKTestCase {
    private func withFile(_ body: @MainActor (URL) throws -> Void) throws {
        try MainActor.assumeIsolated {
            let folder = try TemporaryFolder()
            try body(folder.url.appendingPathComponent("config/gallery.json"))
            withExtendedLifetime(folder) {}
        }
    }

    func testChangesAreStoredTogetherAndReadAgain() throws {
        try withFile { file in
            let settings = GallerySettings(file: file)
            for height in [200.0, 210, 220] { settings.change { $0.rowHeight = height } }
            XCTAssertFalse(FileManager.default.fileExists(atPath: file.path), "not during the changes")
            pump("the file") { FileManager.default.fileExists(atPath: file.path) }
            XCTAssertEqual(GallerySettings(file: file).values.rowHeight, 220)
        }
    }

    func testTheEndOfTheProgramStoresTheLastChange() throws {
        try withFile { file in
            let settings = GallerySettings(file: file)
            settings.change { $0.slideSeconds = 7 }
            settings.change { ($0.order, $0.showsFilmstrip) = (.dateTaken, true) }
            settings.flush()
            XCTAssertEqual(GallerySettings(file: file).values.slideSeconds, 7)
            XCTAssertEqual(GallerySettings(file: file).values.order, .dateTaken)
            XCTAssertTrue(GallerySettings(file: file).values.showsFilmstrip)
        }
    }

    func testMissingAndWrongValuesAreTheDefaults() throws {
        try withFile { file in
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(#"{"slideSeconds": 9, "connections": "many", "order": "unknown", "recentLocations": ["/a"]}"#.utf8)
                .write(to: file)
            let values = GallerySettings(file: file).values
            XCTAssertEqual(values.slideSeconds, 9)
            XCTAssertEqual(values.recentLocations, ["/a"])
            XCTAssertEqual(values.order, .name)
            XCTAssertEqual(values.connections, GallerySettings.Values().connections)
            XCTAssertEqual(values.rowHeight, GallerySettings.Values().rowHeight)
            try Data("no JSON".utf8).write(to: file)
            XCTAssertEqual(GallerySettings(file: file).values, GallerySettings.Values())
        }
    }

    func testValuesStayInTheirRanges() throws {
        try withFile { file in
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(#"{"slideSeconds": 9000000000, "rowHeight": 0, "memoryMebibytes": -5}"#.utf8).write(to: file)
            let settings = GallerySettings(file: file)
            XCTAssertEqual(settings.values.slideSeconds, 60)
            XCTAssertEqual(settings.values.rowHeight, 60)
            XCTAssertEqual(settings.values.memoryMebibytes, 16)
            settings.change { $0.rowHeight = 10_000 }
            XCTAssertEqual(settings.values.rowHeight, 600)
        }
    }

    func testObserversOfASettingHearOfItsChangesOnly() throws {
        try withFile { _ in
            let settings = GallerySettings()
            var heights: [Double] = []
            settings.observe(\.rowHeight) { heights.append($0) }
            settings.change { $0.slideSeconds = 8 }
            settings.change { $0.rowHeight = 300 }
            settings.change { $0.rowHeight = 300 }
            XCTAssertEqual(heights, [300])
        }
    }

    func testRecentLocationsAreTheTenNewestWithoutSecrets() throws {
        try withFile { _ in
            let settings = GallerySettings()
            for number in 0..<12 { settings.noteLocation("/\(number)") }
            settings.noteLocation("/5")
            XCTAssertEqual(settings.values.recentLocations, ["/5"] + [11, 10, 9, 8, 7, 6, 4, 3, 2].map { "/\($0)" })
            settings.noteLocation("https://me:secret@host/a.png")
            XCTAssertEqual(settings.values.recentLocations.first, "https://host/a.png")
            settings.noteLocation("data:image/png;base64,AAAA")
            XCTAssertEqual(settings.values.recentLocations.first, "https://host/a.png")
        }
    }
}

final class GalleryClipboardTests: GTKTestCase {
    func testFindsPathsAndLinksInText() {
        MainActor.assumeIsolated {
            XCTAssertEqual(
                Clipboard.locations(
                    in: " /home/a b.png \nhello\nhttps://host/a.png\r\nfile:///c.png\nhost.org/d.png\n"),
                ["/home/a b.png", "https://host/a.png", "file:///c.png", "host.org/d.png"])
            XCTAssertEqual(Clipboard.locations(in: "two words"), [])
        }
    }

    func testReadsWhatWasCopied() {
        MainActor.assumeIsolated {
            let window = TestWindow()
            defer { window.close() }
            window.present()
            let widget = ObjectPointer(window.asWindow)
            Clipboard.copy("https://host/a.png\nhttps://host/b.png", of: widget)
            var found: [String]?
            Clipboard.readLocations(of: widget) { found = $0 }
            pump("the clipboard") { found != nil }
            XCTAssertEqual(found, ["https://host/a.png", "https://host/b.png"])
        }
    }

    func testFilesAreTheirPaths() {
        MainActor.assumeIsolated {
            let files = [g_file_new_for_path("/home/a b.png"), g_file_new_for_uri("https://host/a.png")]
            defer { for file in files { g_object_unref(file.map { UnsafeMutableRawPointer($0) }) } }
            var array = files
            let list = gdk_file_list_new_from_array(&array, gsize(array.count))
            var value = GValue()
            g_value_init(&value, gdk_file_list_get_type())
            g_value_take_boxed(&value, list.map { UnsafeRawPointer($0) })
            defer { g_value_unset(&value) }
            XCTAssertEqual(Clipboard.locations(in: &value), ["/home/a b.png", "https://host/a.png"])
        }
    }

    func testNamesForUsersHaveNoSecretsAndNoBytes() throws {
        for (text, name, display) in [
            ("https://me:secret@host/a%20b.png?c=1", "a b.png", "https://host/a%20b.png?c=1"),
            ("https://me:secret@host", "host", "https://host"),
            ("data:image/png;base64,AAAA", "Image data", "data:image/png;base64,…"),
        ] {
            let url = try XCTUnwrap(URL(string: text))
            XCTAssertEqual(url.displayName, name)
            XCTAssertEqual(url.displayText, display)
            XCTAssertEqual(url.locationText, display)
        }
        XCTAssertEqual(URL(filePath: "/home/a b%.png").locationText, "/home/a b%.png")
    }
}
