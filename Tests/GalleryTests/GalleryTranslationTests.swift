import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import ProgramSupport
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery

/// What the window says in German and in English. A program keeps its language, so each language has a process of its own, which runs one
/// test of this class and writes what it has read.
final class GalleryTranslationTests: GTKTestCase {
    private static let catalog = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Packaging/translations/webimage-gallery/de.po"
    ).standardizedFileURL

    func testTheWindowIsInGerman() throws {
        let texts = try Self.texts(in: "de")
        let german = try Self.translations()
        // Those that are another German text, too, such as "Name", say nothing.
        let english = Set(german.filter { $0.key != $0.value }.keys).subtracting(german.values)
        XCTAssertEqual(texts.filter(english.contains).sorted(), [])
        for text in ["Galerie", "Ordner", "3 Bilder", "Hintergrund", "Den Inspektor schließen"] {
            XCTAssertTrue(texts.contains(text), "not said: \(text)")
        }
        XCTAssertTrue(texts.contains("3 ausgewählt") && texts.contains("3 Links kopiert"), "a count")
        XCTAssertTrue(texts.contains("Es gibt nichts rückgängig zu machen"), "a toast")
    }

    func testTheWindowIsInEnglishWithoutATranslation() throws {
        let texts = try Self.texts(in: "en")
        let german = try Self.translations()
        let foreign = Set(german.filter { $0.key != $0.value }.values).subtracting(german.keys)
        XCTAssertEqual(texts.filter(foreign.contains).sorted(), [])
        for text in ["Gallery", "3 images", "3 selected", "3 links copied", "There is nothing to undo", "Background"] {
            XCTAssertTrue(texts.contains(text), "not said: \(text)")
        }
    }

    func testCountsHaveTheFormsOfTheLanguage() throws {
        let texts = try Self.texts(in: "de", part: "testPartWithCounts")
        XCTAssertEqual(
            texts, ["0 Bilder", "1 Bild", "2 Bilder", "a.png ist im Papierkorb", "5 Dateien sind im Papierkorb"])
    }

    // MARK: In a process of its own

    func testPartWithTheWindow() throws {
        let path = try Self.beginPart()
        try WindowFixture.withImages { fixture in
            var texts = Set<String>()
            @MainActor func note() {
                pump("the page") { fixture.window.isSettled }
                let windows = ObjectPointer(gtk_window_get_toplevels())
                for index in 0..<g_list_model_get_n_items(windows.opaque) {
                    guard let window = g_list_model_get_item(windows.opaque, index) else { continue }
                    defer { g_object_unref(window) }
                    texts.formUnion(Self.texts(of: ObjectPointer(window)))
                }
            }
            note()
            for page in [GalleryWindow.Page.statistics, .learn(nil), .learn(.buttons), .photos] {
                fixture.window.show(page)
                note()
            }
            for action in ["search", "sidebar", "select-all", "copy-links", "select-none"] {
                fixture.run(action)
                note()
            }
            fixture.run("undo")
            pump("the toast") { fixture.toasts.count == 2 }
            fixture.window.view(1)
            fixture.window.inspect()
            note()
            for action in ["viewer-crop", "viewer-save-as", "preferences", "shortcuts", "open-location"] {
                fixture.run(action)
                note()
            }
            texts.formUnion(fixture.toasts.map(\.message))
            try JSONEncoder().encode(texts.sorted()).write(to: URL(filePath: path))
        }
    }

    func testPartWithCounts() throws {
        let path = try Self.beginPart()
        let texts =
            [0, 1, 2].map { counted("{count} image", "{count} images", count: $0) }
            + [1, 5].map {
                counted("{file} is in the trash", "{count} files are in the trash", count: $0, ["file": "a.png"])
            }
        try JSONEncoder().encode(texts).write(to: URL(filePath: path))
    }

    private static let (folderVariable, outputVariable) = ("GALLERY_TEST_TRANSLATIONS", "GALLERY_TEST_OUTPUT")

    /// Returns the file for what is read, with the translations of this tree in use.
    private static func beginPart() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        guard let folder = environment[folderVariable], let output = environment[outputVariable] else {
            throw XCTSkip("a part of other tests")
        }
        // The program's own folder comes first, and this one in its place.
        _ = localized("Gallery")
        _ = TextDomain("webimage-gallery", folder: folder)
        return output
    }

    @MainActor private static func texts(of widget: ObjectPointer) -> Set<String> {
        var texts = Set<String>()
        func add(_ text: UnsafePointer<CChar>?) { if let text { texts.insert(String(cString: text)) } }
        if widget.isInstance(of: gtk_label_get_type()) { add(gtk_label_get_text(widget.opaque)) }
        if widget.isInstance(of: gtk_window_get_type()) { add(gtk_window_get_title(widget.as())) }
        if widget.isInstance(of: gtk_text_get_type()) { texts.insert(widget.get("placeholder-text")) }
        add(gtk_widget_get_tooltip_text(widget.widget))
        var child = gtk_widget_get_first_child(widget.widget)
        while let next = child {
            texts.formUnion(Self.texts(of: ObjectPointer(next)))
            child = gtk_widget_get_next_sibling(next)
        }
        return texts
    }

    // MARK: Around it

    /// Returns what a part of the tests reads in a language.
    private static func texts(in language: String, part: String = "testPartWithTheWindow") throws -> [String] {
        let folder = try TemporaryDirectory()
        let messages = URL(filePath: folder.path).appending(path: "de/LC_MESSAGES")
        try FileManager.default.createDirectory(at: messages, withIntermediateDirectories: true)
        let compiler = Process()
        compiler.executableURL = URL(filePath: "/usr/bin/msgfmt")
        compiler.arguments = ["-o", messages.path + "/webimage-gallery.mo", catalog.path]
        do { try compiler.run() } catch { throw XCTSkip("no msgfmt: install gettext") }
        compiler.waitUntilExit()
        XCTAssertEqual(compiler.terminationStatus, 0)
        let locale = try TestLocale.environment(in: folder.path("locales"), language: language)
        let output = folder.path + "/texts.json"
        let run = try ProgramRun(
            nil, ["GalleryTests.GalleryTranslationTests/\(part)"],
            environment: locale.merging([folderVariable: folder.path, outputVariable: output]) { $1 })
        XCTAssertEqual(run.exitStatus, 0, run.output + run.errors)
        return try JSONDecoder().decode([String].self, from: Data(contentsOf: URL(filePath: output)))
    }

    /// The texts without a count, in English and German.
    private static func translations() throws -> [String: String] {
        var (translations, english): ([String: String], String) = ([:], "")
        // A long text has several lines.
        let lines = try String(contentsOf: catalog, encoding: .utf8).replacing("\"\n\"", with: "").split(
            separator: "\n")
        for line in lines {
            if line.hasPrefix("msgid \"") { english = String(line.dropFirst(7).dropLast()) }
            if line.hasPrefix("msgstr \""), !english.isEmpty {
                translations[english] = String(line.dropFirst(8).dropLast())
                english = ""
            }
        }
        return translations
    }
}
