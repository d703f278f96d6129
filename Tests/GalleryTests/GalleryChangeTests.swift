import CWebImageGTK
import Foundation
import Glibc
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Folders that change while their images are on display.
final class GalleryChangeTests: GTKTestCase {
    /// Replaces a file as programs do: they write another one, which then gets the name.
    @MainActor private static func replace(_ name: String, in fixture: WindowFixture, red: UInt8, width: Int = 60)
        throws
    {
        let draft = fixture.folder.appending(path: ".draft")
        let image = try picture(width, 40) { _, _ in SIMD4(red, 90, 0, 255) }
        try CodecRegistry.shared.encode(image, as: .png).write(to: draft)
        XCTAssertEqual(rename(draft.path, fixture.folder.path + "/" + name), 0)
    }

    /// The first pixel of an image in the grid.
    @MainActor private static func shown(_ name: String, in fixture: WindowFixture) -> SIMD4<UInt8>? {
        fixture.window.photos.grid.cell(of: fixture.folder.appending(path: name))?.picture.image?.pixels[0, 0]
    }

    // MARK: Names

    func testFilesThatAppearAndLeaveAreFollowed() throws {
        try WindowFixture.with(["a.png", "c.png"]) { fixture in
            fixture.open()
            try fixture.write("b.png", red: 3)
            pump("the new file") { fixture.names == ["a.png", "b.png", "c.png"] }
            try FileManager.default.removeItem(at: fixture.folder.appending(path: "a.png"))
            pump("the removal") { fixture.names == ["b.png", "c.png"] }
            for name in ["b.png", "c.png"] {
                try FileManager.default.removeItem(at: fixture.folder.appending(path: name))
            }
            pump("the empty folder") { fixture.names.isEmpty }
        }
    }

    func testTheRemovalOfTheFolderIsFollowed() throws {
        try WindowFixture.with(["in/a.png", "in/b.png"]) { fixture in
            fixture.open("in")
            try FileManager.default.removeItem(at: fixture.folder.appending(path: "in"))
            pump("the removal") { fixture.names.isEmpty }
        }
    }

    func testAFolderThatAppearsIsFollowed() throws {
        try WindowFixture.with(["in/a.png"]) { fixture in
            fixture.open()
            try fixture.write("new/b.png", red: 3)
            pump("the folder") { fixture.names == ["a.png", "b.png"] }
            try fixture.write("new/c.png", red: 4)
            pump("its next file") { fixture.names == ["a.png", "b.png", "c.png"] }
        }
    }

    func testAFileIsFoundAlthoughTheCollectionChangesDuringTheReading() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            let follower = fixture.window.photos.opener.follower
            let threads = HeldQueue(.files)
            try fixture.write("c.png", red: 3)
            pump("the reading") { follower.isBusy }
            // As the trash and another name do.
            fixture.session.collection.rearrange(to: [fixture.folder.appending(path: "b.png")])
            threads.release()
            pump("all files") { fixture.names == ["a.png", "b.png", "c.png"] }
        }
    }

    func testAFileIsFoundAlthoughTheOrderChangesDuringTheReading() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            let threads = HeldQueue(.files)
            try fixture.write("c.png", red: 3, width: 400)
            pump("the reading") { fixture.window.photos.opener.follower.isBusy }
            fixture.run("sort", "size")
            threads.release()
            pump("all files") { fixture.names.count == 3 && fixture.names.first == "c.png" }
        }
    }

    func testTheSelectionStaysWithItsImages() throws {
        try WindowFixture.with(["b.png", "c.png", "d.png", "e.png"]) { fixture in
            fixture.open()
            let grid = fixture.window.photos.grid
            for index in [1, 3] { grid.toggleSelection(of: index) }
            let cell = try XCTUnwrap(grid.cell(of: fixture.urls[1]))
            try fixture.write("a.png", red: 3)
            try FileManager.default.removeItem(at: fixture.urls[3])
            pump("the files") { fixture.names == ["a.png", "b.png", "c.png", "d.png"] }
            XCTAssertEqual(Array(grid.selection.ranges), [2..<3], "c.png; e.png has left")
            XCTAssertTrue(grid.cell(of: fixture.urls[1]) === cell, "its image is not loaded anew")
            XCTAssertTrue(cell.isSelected)
        }
    }

    // MARK: Content

    func testAChangedFileIsShownAnew() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            let former = try XCTUnwrap(Self.shown("a.png", in: fixture))
            try fixture.write("a.png", red: 200)
            pump("the new content") { Self.shown("a.png", in: fixture).map { $0 != former } ?? false }
        }
    }

    func testAFileThatTakesThePlaceOfAnotherIsShown() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            try Self.replace("a.png", in: fixture, red: 200)
            pump("the content of a file from the same folder") { Self.shown("a.png", in: fixture)?.x == 200 }
            let elsewhere = try fixture.write(".drafts/x", red: 222)
            XCTAssertEqual(rename(elsewhere.path, fixture.folder.path + "/b.png"), 0)
            pump("the content of a file from another folder") { Self.shown("b.png", in: fixture)?.x == 222 }
        }
    }

    func testAChangedFileHasItsOwnShape() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            let collection = fixture.session.collection
            pump("the shape") { collection.isShapeKnown(of: 0) }
            let former = collection.aspectRatios[0]
            try Self.replace("a.png", in: fixture, red: 200, width: 20)
            pump("the new shape") { collection.aspectRatios[0] < former }
        }
    }

    func testCaptionsFilmstripAndViewerFollowTheFile() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: fixture.urls[1].path)
            fixture.open()
            fixture.run("show-names")
            let cell = try XCTUnwrap(fixture.window.photos.grid.cell(of: fixture.urls[1]))
            pump("the former date") { cell.captionText.hasPrefix("b.png\n2001") }
            fixture.run("viewer-filmstrip")
            fixture.window.view(0)
            pump("the viewer") { fixture.window.shownViewer != nil && fixture.window.isSettled }
            fixture.run("viewer-filmstrip")
            let viewer = try XCTUnwrap(fixture.window.shownViewer)
            pump("the filmstrip") { viewer.filmstrip.image(at: 1) != nil }
            try Self.replace("b.png", in: fixture, red: 200)
            pump("the filmstrip's image") { viewer.filmstrip.image(at: 1)?.pixels[0, 0].x == 200 }
            pump("the new date") { cell.captionText.hasPrefix("b.png\n") && !cell.captionText.contains("2001") }
            try Self.replace("a.png", in: fixture, red: 210)
            pump("the viewer's image") { viewer.canvas.image?.pixels[0, 0].x == 210 }
        }
    }
}

/// Files that the user rotates.
extension GalleryChangeTests {
    func testARotationIsKeptInTheFileAndTakenBack() throws {
        try WindowFixture.with(["b.png"]) { fixture in
            let halves = try picture(96, 64) { x, _ in x < 48 ? Swatch.red.pixel : Swatch.blue.pixel }
            let file = fixture.folder.appending(path: "a.jpg")
            try CodecRegistry.shared.encode(halves, as: .jpeg).write(to: file)
            let former = try Data(contentsOf: file)
            fixture.open("a.jpg")
            let viewer = try XCTUnwrap(fixture.window.shownViewer)
            fixture.run("viewer-rotate-right")
            fixture.run("viewer-keep-rotation")
            pump("the message") { fixture.toasts.last?.message == "a.jpg is rotated" }
            pump("the new image") {
                viewer.canvas.imageSize == PixelSize(width: 64, height: 96) && viewer.isSettled
            }
            XCTAssertEqual(viewer.canvas.quarterTurns, 0, "it is not rotated twice")
            let top = try XCTUnwrap(viewer.canvas.image?.pixels[10, 5])
            XCTAssertGreaterThan(top.x, 200, "red is at the top")
            fixture.toasts.last?.button?.action()
            pump("the former image") {
                viewer.canvas.imageSize == PixelSize(width: 96, height: 64) && viewer.isSettled
            }
            XCTAssertEqual(try Data(contentsOf: file), former)
        }
    }

    func testAKeyThatRepeatsKeepsOneRotation() throws {
        try WindowFixture.with(["b.png"]) { fixture in
            let file = fixture.folder.appending(path: "a.jpg")
            try CodecRegistry.shared.encode(try picture(96, 64) { _, _ in shade(3) }, as: .jpeg).write(to: file)
            fixture.open("a.jpg")
            fixture.run("viewer-rotate-right")
            for _ in 0..<3 { fixture.run("viewer-keep-rotation") }
            pump("the message") {
                // Until the new image is shown, too.
                fixture.run("viewer-keep-rotation")
                return fixture.toasts.last?.message == "The image is not rotated"
            }
            XCTAssertEqual(fixture.toasts.map(\.message), ["a.jpg is rotated", "The image is not rotated"])
            let info = try CodecRegistry.shared.info(of: try Data(contentsOf: file))
            XCTAssertEqual(info.size, PixelSize(width: 64, height: 96))
        }
    }

    func testRotationsOfAFileFollowEachOther() throws {
        try WindowFixture.with(["b.png"]) { fixture in
            let file = fixture.folder.appending(path: "a.png")
            try CodecRegistry.shared.encode(try picture(300, 200) { x, _ in shade(x / 10) }, as: .png).write(to: file)
            fixture.open()
            fixture.window.photos.grid.toggleSelection(of: 0)
            let threads = HeldQueue(.files)
            for _ in 0..<6 { fixture.run("rotate-right") }
            threads.release()
            pump("the messages") { fixture.toasts.count == 6 }
            XCTAssertEqual(Set(fixture.toasts.map(\.message)), ["a.png is rotated"])
            let image = try CodecRegistry.shared.decode(try Data(contentsOf: file))
            XCTAssertEqual(image.pixels.size, PixelSize(width: 300, height: 200))
            XCTAssertEqual(image.pixels[0, 0], shade(29), "180°")
        }
    }

    func testWhatTheProgramHasWrittenIsShownOnce() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.toggleSelection(of: 0)
            let changes = LockBox<[PhotoCollection.Change]>([])
            fixture.session.collection.observe { change in
                if case .content = change { changes.withLock { $0.append(change) } }
            }
            fixture.run("rotate-right")
            pump("the message") { fixture.toasts.last?.message == "a.png is rotated" }
            // The folder's watch reports both together, or the rotation before.
            try Self.replace("b.png", in: fixture, red: 200)
            pump("the other file") { changes.withLock { $0.contains(.content([fixture.urls[1]])) } }
            XCTAssertEqual(changes.withLock { $0 }, [.content([fixture.urls[0]]), .content([fixture.urls[1]])])
        }
    }

    func testARotationIsNotTakenBackFromAFileThatHasChanged() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.selectAll()
            fixture.run("rotate-right")
            pump("the message") { fixture.toasts.last?.message == "2 files are rotated" }
            let undo = fixture.toasts.last?.button
            let other = try Data(contentsOf: fixture.write("a.png", red: 7, width: 90))
            undo?.action()
            pump("the refusal") {
                fixture.toasts.last?.message == "a.png: The file has changed since. Rotate it back instead."
            }
            XCTAssertEqual(try Data(contentsOf: fixture.urls[0]), other)
            // It never can be: the step has ended.
            fixture.run("undo")
            pump("the end") { fixture.toasts.last?.message == "There is nothing to undo" }
        }
    }
}
