import CWebImageGTK
import Dispatch
import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

final class GalleryScreenshotTests: GTKTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        try super.setUpWithError()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Gallery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        if folder.path != "/" { TemporaryDirectory.remove(folder.path) }
    }

    func testScreenshotsHaveImagesWhereTheReportPlacesThem() throws {
        let colors = [Swatch.red, .green, .blue].map { Swatch(red: $0.red, green: $0.green, blue: $0.blue, width: 80) }
        let paths = try colors.enumerated().map { try write($1, to: "\($0).png") }
        let run = try run(listing: paths)
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "", "GTK logs nothing")
        XCTAssertTrue(run.output.hasPrefix("3 loaded: 0 memory, 0 disk, 0 network, 3 files"), run.output)

        let report = try report()
        XCTAssertEqual(report.loaded, 3)
        XCTAssertEqual(report.line + "\n", run.output)
        XCTAssertEqual(report.cells.map(\.index), [0, 1, 2])
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: screenshotURL))
        XCTAssertEqual(screenshot.pixels.size, PixelSize(width: report.width, height: report.height))
        for (cell, color) in zip(report.cells, colors) {
            XCTAssertTrue(cell.isWhole)
            XCTAssertEqual(Double(cell.width) / Double(cell.height), 2, accuracy: 0.05, "the images' shape")
            // The corners are rounded.
            let (right, bottom) = (cell.width - 4, cell.height - 4)
            for (x, y) in [(3, 3), (right, 3), (3, bottom), (right, bottom), (right / 2, bottom / 2)] {
                XCTAssertEqual(screenshot.pixels[cell.x + x, cell.y + y], color.pixel, "cell \(cell.index), \(x), \(y)")
            }
        }
    }

    func testDrawsFourTimesThePixelsAtScaleTwo() throws {
        // Columns of one pixel, black and white, as wide as the cell has pixels: at another size they would be grey.
        var pixels = try MutablePixelBuffer(width: 400, height: 300)
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<(400 * 300) {
                let level: UInt8 = index % 2 == 0 ? 0 : 255
                bytes.storeBytes(of: SIMD4(level, level, level, 255), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
        let file = folder.appendingPathComponent("columns.png")
        try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png).write(to: file)
        let run = try run(listing: [file.path], scale: 2)
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        let cell = try XCTUnwrap(try report().cells.first)
        XCTAssertEqual([cell.width, cell.height], [400, 300])
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: screenshotURL))
        for x in [10, 11, 200, 201, 388, 389] {
            XCTAssertEqual(screenshot.pixels[cell.x + x, cell.y + 150].x, x % 2 == 0 ? 0 : 255, "column \(x)")
        }
    }

    func testEachKindOfViewHasAPage() throws {
        // Encoding the files of the other pages takes seconds in a debug build. A window on all pages has tests of its own.
        let pages = PageName.allCases.map(\.rawValue).filter { name in
            ReleaseChecks.choose(["views", "buttons", "processors"].contains(name), forRelease: name != "markers")
        }
        let files = pages.map { folder.appendingPathComponent("\($0).png") }
        // Side by side: each waits for decoding most of the time.
        let (runs, cache) = (LockBox<[Int: ProgramRun]>([:]), folder.appendingPathComponent("cache").path)
        DispatchQueue.concurrentPerform(iterations: pages.count) { number in
            let arguments = [
                "--page", pages[number], "--size", "900x700", "--cache-dir", cache + "-\(number)", "--screenshot",
                files[number].path,
            ]
            if let run = try? ProgramRun("Gallery", arguments) { runs.withLock { $0[number] = run } }
        }
        for (number, page) in pages.enumerated() {
            let run = try XCTUnwrap(runs.withLock { $0[number] })
            XCTAssertEqual(run.exitStatus, 0, run.errors)
            XCTAssertEqual(run.errors, "", page)
            let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: files[number]))
            XCTAssertGreaterThan(
                Set((0..<50).map { screenshot.pixels[$0 * screenshot.width / 50, 200] }).count, 3, page)
        }
    }

    func testImagesAppearUnderTheDefaultRenderer() throws {
        let file = folder.appendingPathComponent("views.png")
        let run = try ProgramRun(
            "Gallery", ["--page", "views", "--cache-dir", folder.path + "/cache", "--screenshot", file.path],
            renderer: nil)
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "")
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: file))
        XCTAssertGreaterThan(Set((0..<50).map { screenshot.pixels[$0 * screenshot.width / 50, 200] }).count, 3)
    }

    func testReportsWhichImagesFailed() throws {
        let picture = try write(.red, to: "red.png")
        let text = folder.appendingPathComponent("text.png")
        try Data("no picture".utf8).write(to: text)
        let run = try run(listing: [picture, text.path, folder.appendingPathComponent("missing.png").path])
        XCTAssertEqual(run.exitStatus, 1)
        XCTAssertTrue(run.errors.contains("missing.png"), run.errors)
        let report = try report()
        XCTAssertEqual([report.loaded, report.figures.failed], [1, 2])
        XCTAssertEqual(report.cells.map(\.state), ["loaded", "failed", "failed"])
    }

    func testReportsALocationThatCannotBeOpened() throws {
        let picture = try write(.red, to: "red.png")
        let missing = folder.appendingPathComponent("missing").path
        let run = try ProgramRun("Gallery", [picture, missing, "--screenshot", screenshotURL.path])
        XCTAssertEqual(run.exitStatus, 1)
        XCTAssertEqual(run.errors.components(separatedBy: missing).count, 2, run.errors)
        XCTAssertTrue(run.errors.contains("No such file"), run.errors)
    }

    private struct Report: Decodable {
        struct Cell: Decodable {
            var index, x, y, width, height: Int
            var isWhole: Bool
            var state: String
        }

        struct Figures: Decodable {
            var failed: Int
        }

        var figures: Figures
        var loaded: Int
        var line: String
        var width, height: Int
        var cells: [Cell]
    }

    private var screenshotURL: URL { folder.appendingPathComponent("shot.png") }
    private var reportURL: URL { folder.appendingPathComponent("report.json") }

    private func write(_ swatch: Swatch, to name: String) throws -> String {
        let file = folder.appendingPathComponent(name)
        try CodecRegistry.shared.encode(try swatch.image(), as: .png).write(to: file)
        return file.path
    }

    private func run(listing paths: [String], scale: Int = 1) throws -> ProgramRun {
        let list = folder.appendingPathComponent("list.txt")
        try Data(paths.joined(separator: "\n").utf8).write(to: list)
        return try ProgramRun(
            "Gallery",
            [
                "--list", list.path, "--cache-dir", folder.appendingPathComponent("cache").path, "--size", "760x440",
                "--screenshot", screenshotURL.path, "--report", reportURL.path,
            ], scale: scale)
    }

    private func report() throws -> Report {
        try JSONDecoder().decode(Report.self, from: try Data(contentsOf: reportURL))
    }
}

final class GalleryArgumentsTests: XCTestCase {
    func testReportsAMissingDisplay() throws {
        let run = try ProgramRun("Gallery", ["picture.png"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 1)
        XCTAssertTrue(run.errors.contains("no display"), run.errors)
    }

    func testWrongArgumentsAreRefused() throws {
        let cases = [
            (["--nonsense"], "--nonsense"), (["--help=me"], "--help takes no value"),
            (["--list", "/nonexistent"], "cannot be read: /nonexistent: No such file"),
            (["--size", "big", "a.png"], "--size takes"), (["--size", "99x100", "a.png"], "--size takes"),
            (["--size", "100x10001", "a.png"], "--size takes"),
            (["--report", "r.json", "a.png"], "--report needs --screenshot"),
            (["--page", "nonsense"], "--page takes photos, learn"),
            (["--page", "buttons", "--screenshot", "s.png", "--report", "r.json"], "--report is for the page photos"),
            (["--view", "0", "a.png"], "--view takes a number from 1"),
            (["--scheme", "pink"], "--scheme takes light or dark"),
        ]
        for (arguments, complaint) in cases {
            let run = try ProgramRun("Gallery", arguments, hasDisplay: false)
            XCTAssertEqual(run.exitStatus, 2, "\(arguments)")
            XCTAssertTrue(run.errors.contains(complaint), run.errors)
        }
    }

    func testHelpNamesEveryOption() throws {
        let run = try ProgramRun("Gallery", ["--help"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 0)
        for name in ["--list", "--cache-dir", "--screenshot", "--report", "--size", "--page", "--view", "--scheme"] {
            XCTAssertTrue(run.output.contains(name), name)
        }
        for line in run.output.split(separator: "\n") { XCTAssertLessThanOrEqual(line.count, 80, "\(line)") }
        for page in GalleryWindow.Page.all { XCTAssertTrue(run.output.contains(page.name), page.name) }
    }

    func testTheManualPageHasEveryOptionAndTheInstalledName() throws {
        let run = try ProgramRun("Gallery", ["--man"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 0)
        XCTAssertTrue(run.output.contains(".TH WEBIMAGE\\-GALLERY 1 \(LibraryVersion.date)"), run.output)
        for option in GalleryArguments.options {
            let letter = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
            let name = option.name.replacingOccurrences(of: "-", with: "\\-")
            let value = option.valueName.map { "=\\fI\($0)\\fR" } ?? ""
            XCTAssertTrue(run.output.contains("\n.TP\n\(letter)\\fB\\-\\-\(name)\\fR\(value)\n"), option.name)
        }
        for heading in ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "FILES", "EXAMPLES"] {
            XCTAssertTrue(run.output.contains("\n.SH \(heading)\n"), heading)
        }
    }

    func testTellsItsVersion() throws {
        let run = try ProgramRun("Gallery", ["--version"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 0)
        XCTAssertEqual(run.output, "Gallery \(LibraryVersion.text)\n")
    }

    func testAListMayBeAPipe() throws {
        var ends: [Int32] = [0, 0]
        XCTAssertEqual(pipe(&ends), 0)
        let (input, output) = (FileHandle(fileDescriptor: ends[0]), FileHandle(fileDescriptor: ends[1]))
        output.write(Data("/a.png\n".utf8))
        try output.close()
        let arguments = try GalleryArguments(parsing: ["Gallery", "--list", "/dev/fd/\(input.fileDescriptor)"])
        XCTAssertEqual(arguments.list?.urls.map(\.path), ["/a.png"])
        try input.close()
    }
}
