import CWebImageAdwaita
import CWebImageGTK
import Foundation
import Glibc
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
import WebImageTestSupport
@testable import WebImageCoding

/// Files and their folders: one file in the viewer, orders, changes, and the trash.
final class GalleryFolderTests: GTKTestCase {
    // MARK: One file

    func testOneFileOpensTheViewerAmongTheImagesOfItsFolder() throws {
        try WindowFixture.with(["2.png", "10.png", "1.png", "inside/3.png"]) { fixture in
            fixture.open("2.png")
            XCTAssertEqual(fixture.window.shownPage, "viewer")
            pump("the folder") { fixture.names == ["1.png", "2.png", "10.png"] }
            let others = [0, 2].map { fixture.session.collection.urls[$0] }
            XCTAssertTrue(
                others.allSatisfy { fixture.window.photos.grid.cell(of: $0)?.picture.image == nil },
                "the grid is out of sight, and loads nothing")
            fixture.run("viewer-next")
            pump("the next image") { fixture.window.isSettled }
            fixture.run("viewer-back")
            pump("the grid") { fixture.window.shownPage == "photos" && fixture.window.photos.grid.current == 2 }
        }
    }

    func testAFileWithAnotherEndingIsAmongTheImagesOfItsFolder() throws {
        try WindowFixture.with(["a.png", "c.png"]) { fixture in
            let file = try fixture.write("b.png", red: 1)
            try FileManager.default.moveItem(at: file, to: fixture.folder.appending(path: "b.download"))
            fixture.open("b.download")
            XCTAssertEqual(fixture.window.shownPage, "viewer")
            pump("the folder") { fixture.names == ["a.png", "b.download", "c.png"] }
        }
    }

    func testSeveralImagesAndAFolderOpenTheGrid() throws {
        try WindowFixture.with(["a.png", "b.png", "one/c.png"]) { fixture in
            fixture.open()
            XCTAssertEqual(fixture.window.shownPage, "photos")
            // A folder with one image is a folder.
            fixture.open("one")
            XCTAssertEqual(fixture.window.shownPage, "photos")
            XCTAssertEqual(fixture.names, ["c.png"])
        }
    }

    func testReturnOpensTheFirstImageWithoutAnArrowKey() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            XCTAssertNil(fixture.window.photos.grid.current)
            fixture.run("view")
            pump("the viewer") { fixture.window.shownPage == "viewer" && fixture.window.isSettled }
        }
    }

    func testTheFilmstripFollowsTheViewer() throws {
        try WindowFixture.with((1...40).map { "\($0).png" }) { fixture in
            fixture.open("20.png")
            pump("the folder") { fixture.names.count == 40 }
            fixture.run("viewer-filmstrip")
            let strip = try XCTUnwrap(fixture.window.shownViewer).filmstrip
            pump("the images") { strip.shownIndices.contains(19) && strip.shownIndices.count > 5 }
            XCTAssertLessThan(strip.shownIndices.count, 40, "only those in sight have cells")
            strip.onSelect(21)
            pump("the choice") { strip.current == 21 && fixture.window.isSettled }
            XCTAssertEqual(fixture.window.shownViewer?.index, 21)
            fixture.run("viewer-first")
            pump("the first image") { strip.shownIndices.first == 0 && strip.current == 0 }
            fixture.run("viewer-filmstrip")
            pump("no filmstrip") { strip.shownIndices.isEmpty && !strip.widget.isVisible }
        }
    }

    func testNamesAreBelowTheImagesOnDemand() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            let cell = try XCTUnwrap(fixture.window.photos.grid.boundCells.first)
            let former = cell.height
            fixture.run("show-names")
            pump("the names") { cell.height == former + PhotoCell.captionHeight }
            pump("the dates") { cell.captionText.hasPrefix("a.png\n20") }
            fixture.run("show-names")
            pump("no names") { cell.height == former && cell.captionText.isEmpty }
        }
    }

    func testAFileBeyondTheLimitOfPixelsIsShownSmaller() throws {
        let (side, limit) = LargePNG.sideBeyondLimit
        try WindowFixture.with(["a.png"], configure: { $0.decodingLimits.pixelCount = limit }) { fixture in
            try LargePNG.data(side: side).write(to: fixture.folder.appending(path: "large.png"))
            fixture.window.open([fixture.folder.path + "/large.png"])
            pump("the viewer") { fixture.window.shownViewer != nil }
            let canvas = try XCTUnwrap(fixture.window.shownViewer?.canvas)
            // A debug build decodes slowly.
            pump("the image", seconds: 90) { if case .loaded = canvas.loadState { true } else { false } }
            XCTAssertLessThan(try XCTUnwrap(canvas.image).width, min(side, 2_000))
            pump("the size", seconds: 30) { canvas.imageSize == PixelSize(width: side, height: side) }
        }
    }

    func testATileSaysWhyItHasNoImage() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            let file = fixture.folder.appending(path: "b.png")
            try Data("text".utf8).write(to: file)
            fixture.open()
            let cell = try XCTUnwrap(fixture.window.photos.grid.cell(of: file))
            XCTAssertEqual(cell.failureText, "Not an image")
            // Again after another load, for which the button is made anew.
            cell.load(cachePolicy: .reload)
            pump("the load") { cell.failureText == nil }
            pump("the failure") { cell.failureText == "Not an image" }
        }
    }

    // MARK: Trash

    func testRemovedFilesAreInTheTrashAndComeBack() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(1, focusing: false)
            fixture.run("trash")
            pump("the trash") { fixture.names == ["a.png", "c.png"] }
            XCTAssertEqual(fixture.toasts.last?.message, "b.png is in the trash")
            XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.folder.path + "/b.png"))
            XCTAssertEqual(fixture.window.photos.grid.current, 1, "keys go on from the next image")
            fixture.toasts.last?.button?.action()
            pump("the file") { fixture.names == ["a.png", "b.png", "c.png"] }
            XCTAssertTrue(FileManager.default.fileExists(atPath: fixture.folder.path + "/b.png"))
            // There is nothing more to bring back.
            XCTAssertThrowsError(try Trash().restore(fixture.folder.appending(path: "b.png")))
        }
    }

    func testTheViewerGoesOnWithTheNextImage() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open("a.png")
            pump("the folder") { fixture.names == ["a.png", "b.png"] }
            fixture.run("viewer-trash")
            pump("the next image") { fixture.names == ["b.png"] && fixture.window.isSettled }
            XCTAssertEqual(fixture.window.shownPage, "viewer")
            fixture.toasts.last?.button?.action()
            pump("the file") { fixture.names == ["a.png", "b.png"] }
        }
    }

    func testAnotherFileAtItsPlaceIsNotReplaced() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            fixture.run("trash")
            pump("the trash") { !fixture.names.contains("a.png") }
            let undo = fixture.toasts.last?.button
            let other = try fixture.write("a.png", red: 77)
            let content = try Data(contentsOf: other)
            undo?.action()
            pump("the message") { fixture.toasts.last?.message.contains("File exists") == true }
            XCTAssertEqual(try Data(contentsOf: other), content)
            try FileManager.default.removeItem(at: other)
            XCTAssertNoThrow(try Trash().restore(other))
        }
    }

    func testAFileOfAnotherFileSystemComesBackThroughALinkedFolder() throws {
        // As GIO leaves a file in the trash of its file system: with its place from the root of that, without links.
        let (root, name) = ("/dev/shm", "gallery-test-\(UUID().uuidString)")
        let (place, trash) = ("\(root)/\(name)", "\(root)/.Trash-\(getuid())")
        try WindowFixture.with([]) { fixture in
            var (home, other) = (stat(), stat())
            guard stat(fixture.folder.path, &home) == 0, stat(root, &other) == 0, home.st_dev != other.st_dev else {
                throw XCTSkip("\(root) is not a file system of its own")
            }
            let files = FileManager.default
            for folder in [place, trash + "/files", trash + "/info"] {
                try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            defer {
                for path in [place, "\(trash)/files/\(name)", "\(trash)/info/\(name).trashinfo"] {
                    try? files.removeItem(atPath: path)
                }
                for folder in [trash + "/files", trash + "/info", trash] { rmdir(folder) }
            }
            try Data("content".utf8).write(to: URL(filePath: "\(trash)/files/\(name)"))
            try Data("[Trash Info]\nPath=\(name)/a.png\nDeletionDate=2026-01-01T00:00:00\n".utf8).write(
                to: URL(filePath: "\(trash)/info/\(name).trashinfo"))
            let link = fixture.folder.appending(path: "linked")
            try files.createSymbolicLink(atPath: link.path, withDestinationPath: place)
            try Trash().restore(link.appending(path: "a.png"))
            XCTAssertEqual(try String(contentsOfFile: place + "/a.png", encoding: .utf8), "content")
        }
    }

    func testFilesGetOtherNames() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open("a.png")
            pump("the folder") { fixture.names == ["a.png", "b.png"] }
            let file = fixture.folder.appending(path: "a.png")
            fixture.session.rename(file, to: "b.png")
            pump("the refusal") { fixture.toasts.last?.message == "a.png keeps its name: File exists" }
            fixture.session.rename(file, to: "in/c.png")
            XCTAssertEqual(fixture.toasts.last?.message, "“in/c.png” cannot be the name of a file")
            fixture.session.rename(file, to: " c.png ")
            pump("the name and its place") { fixture.names == ["b.png", "c.png"] && fixture.window.isSettled }
            XCTAssertFalse(FileManager.default.fileExists(atPath: file.path))
            XCTAssertEqual(
                fixture.window.shownViewer?.currentURL?.lastPathComponent, "c.png", "the viewer stays with it")
        }
    }

    /// 201 MiB, of which nearly nothing takes space on the disk.
    func testAFileMayHaveAnyLength() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            let file = fixture.folder.appending(path: "long.ppm")
            try (Data("P6 60 40 255\n".utf8) + Data(repeating: 90, count: 60 * 40 * 3)).write(to: file)
            XCTAssertEqual(truncate(file.path, 201 << 20), 0)
            fixture.open("long.ppm")
            XCTAssertEqual(fixture.window.shownPage, "viewer")
            pump("the image") { fixture.session.loads.record(of: file) != nil && fixture.window.isSettled }
            XCTAssertNil(fixture.session.loads.record(of: file)?.error)
        }
    }

    // MARK: Orders

    func testOrdersAreByNameDateAndSize() throws {
        try WindowFixture.with([]) { fixture in
            let names = ["10.png", "2.png", "in/1.png", "3.png"]
            for (number, (name, width)) in zip(names, [60, 500, 20, 200]).enumerated() {
                let file = try fixture.write(name, red: UInt8(number), width: width)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: Double(1_000_000 + number * 100))],
                    ofItemAtPath: file.path)
            }
            let files = names.map { fixture.folder.appending(path: $0) }
            let remote = try XCTUnwrap(URL(string: "https://example.invalid/a.png"))
            func sorted(_ order: PhotoOrder) -> [String] {
                order.arranged([remote] + files, Cancellation()).urls.map(\.lastPathComponent)
            }
            XCTAssertEqual(sorted(.name), ["2.png", "3.png", "10.png", "1.png", "a.png"])
            XCTAssertEqual(sorted(.dateModified), ["3.png", "1.png", "2.png", "10.png", "a.png"])
            // Without a date of a camera.
            XCTAssertEqual(sorted(.dateTaken), ["3.png", "1.png", "2.png", "10.png", "a.png"])
            let bySize = sorted(.size)
            let sizes = try bySize.dropLast().map { name in
                try XCTUnwrap(
                    files.first { $0.lastPathComponent == name }?.resourceValues(forKeys: [.fileSizeKey]).fileSize)
            }
            XCTAssertEqual(sizes, sizes.sorted(by: >))
        }
    }

    /// EXIF is before the pixels of a JPEG, and behind those of a WebP, an AVIF or a HEIC, of which telephones write megabytes.
    func testTheDateThatTheCameraNotedIsFoundAnywhereInAFile() throws {
        try WindowFixture.with([]) { fixture in
            let codecs = CodecRegistry.shared.isolated(by: .libraryFormats)
            codecs.registerHEICEncoder()
            var random = SplitMix64(seed: 5)
            let noise = try picture(500, 300) { _, _ in
                let color = UInt32.random(in: 0...UInt32.max, using: &random)
                return SIMD4(UInt8(color & 255), UInt8(color >> 8 & 255), UInt8(color >> 16 & 255), 255)
            }
            var files: [(url: URL, day: String)] = []
            for (index, format) in [ImageFormat.jpeg, .webp, .avif, .heic].enumerated() {
                let day = "200\(index):05:01"
                var directory = TIFFDirectory()
                directory.set(0x0132, type: 2, Array("\(day) 12:00:00\0".utf8))
                var options = EncodingOptions(quality: 1, isLossless: format != .jpeg)
                options.metadata = ImageMetadata(exif: Data(directory.structure()))
                // Not every machine writes AVIF and HEIC.
                guard let data = try? codecs.encode(noise, as: format, options: options) else { continue }
                if format != .jpeg { XCTAssertGreaterThan(data.count, 256 << 10, format.name) }
                let url = fixture.folder.appending(path: "a.\(format.fileExtension)")
                try data.write(to: url)
                let modified = Date(timeIntervalSince1970: 1_000_000 - Double(index) * 100_000)
                try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: url.path)
                files.append((url, day))
            }
            XCTAssertGreaterThan(files.count, 1)
            let arrangement = PhotoOrder.dateTaken.arranged(files.map(\.url), Cancellation(), codecs: codecs)
            XCTAssertEqual(arrangement.urls, files.reversed().map(\.url))
            for (url, day) in files {
                XCTAssertEqual(arrangement.dates[url].map { String($0.prefix(10)) }, day, url.lastPathComponent)
            }
        }
    }

    func testImagesInTheOrderOfADateAreUnderTheirDays() throws {
        try WindowFixture.with(["a.png", "in/b.png", "in/c.png", "d.png"]) { fixture in
            // Noon in most time zones.
            for (name, time) in [("a.png", 43_200.0), ("in/b.png", 129_600), ("in/c.png", 129_700), ("d.png", 43_100)] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: time)],
                    ofItemAtPath: fixture.folder.appending(path: name).path)
            }
            fixture.open()
            let grid = fixture.window.photos.grid
            XCTAssertEqual(grid.headingTexts, [])
            let cell = try XCTUnwrap(grid.cell(of: fixture.urls[0]))
            fixture.run("sort", "dateModified")
            pump("the days") { grid.headingTexts.count == 2 }
            XCTAssertEqual(fixture.names, ["c.png", "b.png", "a.png", "d.png"])
            XCTAssertEqual(
                grid.headingTexts, [DayHeadings.title(of: "1970:01:02"), DayHeadings.title(of: "1970:01:01")])
            XCTAssertTrue(grid.headingTexts[0].contains("1970"))
            pump("two rows below their headings") {
                var area = graphene_rect_t()
                _ = gtk_widget_compute_bounds(cell.widget.widget, grid.widget.widget, &area)
                return Int(area.origin.y) >= 2 * DayHeadings.height + cell.height
            }
            // An image that leaves takes no day with it.
            fixture.session.collection.rearrange(to: Array(fixture.session.collection.urls.dropFirst(2)))
            pump("one day") { grid.headingTexts.count == 1 }
            fixture.run("sort", "name")
            pump("no days") { grid.headingTexts.isEmpty }
        }
    }

    func testOneImageIsUnderItsDay() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            fixture.open()
            fixture.run("sort", "dateModified")
            pump("the day") { fixture.window.photos.grid.headingTexts.count == 1 }
            fixture.run("sort", "name")
            pump("no day") { fixture.window.photos.grid.headingTexts.isEmpty }
        }
    }

    func testTheDateBelowAnImageIsTheOneOfTheOrder() throws {
        try WindowFixture.with(["b.png"]) { fixture in
            var directory = TIFFDirectory()
            directory.set(0x0132, type: 2, Array("2026:05:01 12:30:00\0".utf8))
            var options = EncodingOptions()
            options.metadata = ImageMetadata(exif: Data(directory.structure()))
            let file = fixture.folder.appending(path: "a.jpg")
            try CodecRegistry.shared.encode(try Swatch.red.image(), as: .jpeg, options: options).write(to: file)
            // When it was copied.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: file.path)
            fixture.open()
            fixture.run("show-names")
            let cell = try XCTUnwrap(fixture.window.photos.grid.cell(of: file))
            pump("the date of the file") { cell.captionText.hasPrefix("a.jpg\n2001-09-") }
            fixture.run("sort", "dateTaken")
            pump("the date of the camera") { cell.captionText == "a.jpg\n2026-05-01 12:30" }
            fixture.run("sort", "dateModified")
            pump("the date of the file") { cell.captionText.hasPrefix("a.jpg\n2001-09-") }
            fixture.run("sort", "name")
            pump("the order") { !fixture.window.photos.opener.follower.isBusy }
            pump("the date of the file") { cell.captionText.hasPrefix("a.jpg\n2001-09-") }
        }
    }

    func testTheCollectionFollowsTheOrderOfTheSettings() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            for (name, time) in [("a.png", 200.0), ("b.png", 300), ("c.png", 100)] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: time)],
                    ofItemAtPath: fixture.folder.appending(path: name).path)
            }
            fixture.open()
            XCTAssertEqual(fixture.names, ["a.png", "b.png", "c.png"])
            fixture.run("sort", "dateModified")
            pump("the order") { fixture.names == ["b.png", "a.png", "c.png"] }
            fixture.run("sort", "name")
            pump("the order") { fixture.names == ["a.png", "b.png", "c.png"] }
        }
    }
}
