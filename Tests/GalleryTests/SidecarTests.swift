import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Stars and tags in files beside photographs.
final class SidecarTests: GTKTestCase {
    private func withFolder(_ body: (TemporaryFolder) throws -> Void) throws { try body(try TemporaryFolder()) }

    func testTheFirstMarkMakesAFileBesideThePhotograph() throws {
        try withFolder { folder in
            let photo = try folder.write("a.jpg", Data("photo".utf8))
            let sidecar = Sidecar(of: photo)
            XCTAssertNil(try sidecar.marks())
            try sidecar.change { packet throws(XMPPacket.Failure) in try packet.setStars(4) }
            XCTAssertEqual(sidecar.file.lastPathComponent, "a.jpg.xmp")
            XCTAssertEqual(try sidecar.marks()?.stars, 4)
            XCTAssertEqual(try Data(contentsOf: photo), Data("photo".utf8))
            XCTAssertEqual(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), ["a.jpg", "a.jpg.xmp"])
        }
    }

    func testWhatIsNoXMPStays() throws {
        try withFolder { folder in
            let sidecar = Sidecar(of: folder.url.appending(path: "a.jpg"))
            for text in ["not XML", "<!DOCTYPE a><a/>", "<html/>"] {
                try folder.write("a.jpg.xmp", Data(text.utf8))
                XCTAssertThrowsError(
                    try sidecar.change { packet throws(XMPPacket.Failure) in try packet.setStars(4) })
                XCTAssertEqual(try String(contentsOf: sidecar.file, encoding: .utf8), text)
            }
            try folder.write("a.jpg.xmp", Data(count: Sidecar.byteLimit + 1))
            XCTAssertThrowsError(try sidecar.marks())
        }
    }

    func testTheMarksOfASidecarTakePrecedenceOverThoseOfTheFile() throws {
        try withFolder { folder in
            var embedded = try XMPPacket.empty
            try embedded.setStars(2)
            try embedded.setTags(["in the file"])
            var options = EncodingOptions()
            options.metadata = ImageMetadata(xmp: Data(embedded.bytes))
            let data = try CodecRegistry.shared.encode(
                try picture(30, 20) { _, _ in shade(3) }, as: .jpeg, options: options)
            let photo = try folder.write("a.jpg", data)
            XCTAssertEqual(PhotoFacts(of: photo).marks, PhotoMarks(stars: 2, tags: ["in the file"]))
            XCTAssertFalse(PhotoFacts(of: photo).hasSidecar)
            try Sidecar(of: photo).change { packet throws(XMPPacket.Failure) in try packet.setStars(5) }
            XCTAssertEqual(PhotoFacts(of: photo).marks, PhotoMarks(stars: 5, tags: ["in the file"]))
            XCTAssertEqual(PhotoFacts(of: photo).starText, "★★★★★")
        }
    }

    func testKeysGiveStarsToTheSelectionAndUndoTakesThemBack() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.toggleSelection(of: 0)
            fixture.window.photos.grid.toggleSelection(of: 2)
            let facts = { (index: Int) in fixture.session.index.facts[fixture.urls[index]] }
            fixture.run("stars-3")
            pump("the stars") { facts(0)?.stars == 3 && facts(2)?.stars == 3 }
            XCTAssertFalse(Sidecar(of: fixture.urls[1]).exists)
            XCTAssertEqual(
                fixture.toasts.map(\.message), ["Stars and tags are kept beside the photo, in a.png.xmp"],
                "it says where, once")
            fixture.run("stars-5")
            pump("more stars") { facts(2)?.stars == 5 }
            fixture.run("undo")
            pump("the former stars") { facts(2)?.stars == 3 }
            fixture.run("undo")
            pump("no stars") { facts(2)?.stars == 0 }
            XCTAssertFalse(Sidecar(of: fixture.urls[0]).exists)
            XCTAssertEqual(fixture.toasts.count, 1)
        }
    }

    func testASidecarThatHasChangedSinceStays() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            fixture.run("stars-3")
            pump("the stars") { fixture.session.index.facts[fixture.urls[0]]?.stars == 3 }
            try Sidecar(of: fixture.urls[0]).change { packet throws(XMPPacket.Failure) in try packet.setTags(["other"])
            }
            fixture.run("undo")
            pump("the reason") { fixture.toasts.last?.message == "a.png.xmp has changed since." }
            XCTAssertEqual(try Sidecar(of: fixture.urls[0]).marks()?.tags, ["other"])
        }
    }

    func testTheViewerShowsTheStarsOfItsPhotograph() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open("a.png")
            pump("the viewer") { fixture.window.isSettled }
            fixture.run("stars-2")
            let viewer = try XCTUnwrap(fixture.window.shownViewer)
            pump("the stars") { viewer.titleTexts.subtitle == "1 of 2 · ★★☆☆☆" }
        }
    }

    func testTheInspectorShowsAndKeepsMarks() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open("a.png")
            fixture.window.inspect()
            pump("the inspector") { fixture.window.isSettled && fixture.window.shownInspector != nil }
            let marks = try XCTUnwrap(fixture.window.shownInspector).marks
            pump("the facts") {
                fixture.session.index.facts[fixture.urls[0]] != nil && !marks.shownTexts.place.isEmpty
            }
            marks.write(tags: "Berge, See")
            pump("the tags") { (try? Sidecar(of: fixture.urls[0]).marks()?.tags) == ["Berge", "See"] }
            fixture.run("stars-4")
            pump("the stars") { marks.shownTexts.stars == 4 }
            XCTAssertEqual(marks.shownTexts.tags, "Berge, See")
            XCTAssertEqual(marks.shownTexts.place, "In a.png.xmp, beside the file")
            fixture.run("viewer-next")
            pump("the next one") { marks.shownTexts.stars == 0 }
            XCTAssertEqual(marks.shownTexts.tags, "")
        }
    }

    func testNamesAndTheTrashTakeTheSidecarAlong() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            fixture.run("stars-3")
            pump("the stars") { fixture.session.index.facts[fixture.urls[0]]?.stars == 3 }
            fixture.session.rename(fixture.urls[0], to: "c.png")
            let renamed = fixture.folder.appending(path: "c.png")
            pump("the name") { fixture.names.contains("c.png") }
            XCTAssertEqual(try Sidecar(of: renamed).marks()?.stars, 3)
            XCTAssertFalse(Sidecar(of: fixture.urls[0]).exists)
            fixture.session.moveToTrash([renamed])
            pump("the trash") { fixture.names == ["b.png"] }
            XCTAssertFalse(Sidecar(of: renamed).exists)
            fixture.run("undo")
            pump("the file") { fixture.names.contains("c.png") }
            XCTAssertEqual(try Sidecar(of: renamed).marks()?.stars, 3)
            // The name of a sidecar may be in use, too.
            try Data("other".utf8).write(to: Sidecar(of: fixture.urls[0]).file)
            fixture.session.rename(renamed, to: "a.png")
            pump("the reason") { fixture.toasts.last?.message == "c.png keeps its name: File exists" }
            XCTAssertTrue(FileManager.default.fileExists(atPath: renamed.path))
        }
    }
}
