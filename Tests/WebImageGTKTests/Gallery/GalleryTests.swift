import CWebImageGTK
import Foundation
import WebImageGTK
import XCTest

final class GalleryScreenshotTests: GTKTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        try super.setUpWithError()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Gallery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        if folder.path != "/" { try? FileManager.default.removeItem(at: folder) }
    }

    func testPhotographsItsPicturesWhereTheReportSaysTheyAre() throws {
        let colors = [Swatch.red, .green, .blue].map { Swatch(red: $0.red, green: $0.green, blue: $0.blue, width: 80) }
        let paths = try colors.enumerated().map { try write($1, to: "\($0).png") }
        let run = try run(listing: paths)
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "", "GTK has nothing to complain of")
        XCTAssertTrue(run.output.hasPrefix("3 loaded: 0 memory, 0 disk, 0 network, 3 files"), run.output)

        let report = try report()
        XCTAssertEqual(report.figures.loaded, 3)
        XCTAssertEqual(report.figures.line + "\n", run.output)
        XCTAssertEqual(report.cells.map(\.index), [0, 1, 2])
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: screenshotURL))
        XCTAssertEqual(screenshot.pixels.size, PixelSize(width: report.width, height: report.height))
        for (cell, color) in zip(report.cells, colors) {
            XCTAssertEqual([cell.width, cell.height], [200, 150])
            XCTAssertTrue(cell.isWhole)
            for (x, y) in [(0, 0), (199, 0), (0, 149), (199, 149), (100, 75)] {
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
        for x in [0, 1, 200, 201, 398, 399] {
            XCTAssertEqual(screenshot.pixels[cell.x + x, cell.y + 150].x, x % 2 == 0 ? 0 : 255, "column \(x)")
        }
    }

    func testEachKindOfViewHasAPage() throws {
        for page in ["pictures", "buttons", "animated", "progressive"] {
            let file = folder.appendingPathComponent("\(page).png")
            let run = try GalleryRun(["--page", page, "--size", "900x700", "--screenshot", file.path])
            XCTAssertEqual(run.exitStatus, 0, run.errors)
            XCTAssertEqual(run.errors, "", page)
            let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: file))
            XCTAssertGreaterThan(
                Set((0..<50).map { screenshot.pixels[$0 * screenshot.width / 50, 200] }).count, 3, page)
        }
    }

    func testPicturesAppearUnderTheDefaultRenderer() throws {
        let file = folder.appendingPathComponent("pictures.png")
        let run = try GalleryRun(["--page", "pictures", "--screenshot", file.path], renderer: nil)
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "")
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: file))
        XCTAssertGreaterThan(Set((0..<50).map { screenshot.pixels[$0 * screenshot.width / 50, 200] }).count, 3)
    }

    func testTellsWhichPicturesFailed() throws {
        let picture = try write(.red, to: "red.png")
        let text = folder.appendingPathComponent("text.png")
        try Data("no picture".utf8).write(to: text)
        let run = try run(listing: [picture, text.path, folder.appendingPathComponent("missing.png").path])
        XCTAssertEqual(run.exitStatus, 1)
        XCTAssertTrue(run.errors.contains("missing.png"), run.errors)
        let report = try report()
        XCTAssertEqual([report.figures.loaded, report.figures.failed], [1, 2])
        XCTAssertEqual(report.cells.map(\.state), ["loaded", "failed", "failed"])
    }

    private struct Report: Decodable {
        struct Cell: Decodable {
            var index, x, y, width, height: Int
            var isWhole: Bool
            var state: String
        }

        struct Figures: Decodable {
            var loaded, failed: Int
            var line: String
        }

        var figures: Figures
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

    private func run(listing paths: [String], scale: Int = 1) throws -> GalleryRun {
        let list = folder.appendingPathComponent("list.txt")
        try Data(paths.joined(separator: "\n").utf8).write(to: list)
        return try GalleryRun(
            [
                "--list", list.path, "--cache-dir", folder.appendingPathComponent("cache").path, "--size", "760x400",
                "--screenshot", screenshotURL.path, "--report", reportURL.path,
            ], scale: scale)
    }

    private func report() throws -> Report {
        try JSONDecoder().decode(Report.self, from: try Data(contentsOf: reportURL))
    }
}

final class GalleryArgumentsTests: XCTestCase {
    func testWithoutADisplayItSaysSo() throws {
        let run = try GalleryRun(["picture.png"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 1)
        XCTAssertTrue(run.errors.contains("no display"), run.errors)
    }

    func testWrongArgumentsAreRefused() throws {
        let cases = [
            ([], "no URL"),
            (["--nonsense"], "--nonsense"),
            (["--list", "/nonexistent"], "/nonexistent can't be read"),
            (["--size", "big", "a.png"], "--size takes"),
            (["--report", "r.json", "a.png"], "--report needs --screenshot"),
            (["--page", "nonsense"], "--page takes grid, pictures"),
            (["--page", "buttons", "--screenshot", "s.png", "--report", "r.json"], "--report is for the grid"),
        ]
        for (arguments, complaint) in cases {
            let run = try GalleryRun(arguments, hasDisplay: false)
            XCTAssertEqual(run.exitStatus, 2, "\(arguments)")
            XCTAssertTrue(run.errors.contains(complaint), run.errors)
        }
    }

    func testHelpNamesEveryOption() throws {
        let run = try GalleryRun(["--help"], hasDisplay: false)
        XCTAssertEqual(run.exitStatus, 0)
        for name in ["--list", "--cache-dir", "--screenshot", "--report", "--size", "--page"] {
            XCTAssertTrue(run.output.contains(name), name)
        }
    }
}
