import CWebImageGTK
import Foundation
import GTKObjects
import ProgramSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Files that are copied and moved into folders.
final class FilePlacingTests: GTKTestCase {
    private func withFolders(_ body: (_ folder: TemporaryFolder, _ target: SystemString) throws -> Void) throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(at: folder.url.appending(path: "to"), withIntermediateDirectories: true)
        try body(folder, SystemString(folder.path + "/to"))
    }

    private func names(_ folder: TemporaryFolder, _ path: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.appending(path: path).path).sorted()
    }

    func testAFileInTheFolderIsNeverOverwritten() throws {
        try withFolders { folder, target in
            let photo = try folder.write("a.jpg", Data("new".utf8))
            let others = [try folder.write("to/a.jpg", Data("other".utf8)), try folder.write("to/a (2).jpg", Data())]
            // It would become the sidecar of the copy.
            try folder.write("to/a (3).jpg.xmp", Data("other".utf8))
            let place = try FilePlacing(kind: .copy).place(photo, into: target)
            XCTAssertEqual(place.lastPathComponent, "a (4).jpg")
            XCTAssertEqual(try Data(contentsOf: place), Data("new".utf8))
            XCTAssertEqual(try Data(contentsOf: others[0]), Data("other".utf8))
            XCTAssertEqual(try FilePlacing(kind: .move).place(photo, into: target).lastPathComponent, "a (5).jpg")
            XCTAssertFalse(FileManager.default.fileExists(atPath: photo.path))
        }
    }

    func testSidecarsGoAlong() throws {
        try withFolders { folder, target in
            let photo = try folder.write("a.jpg", Data("photo".utf8))
            try folder.write("a.jpg.xmp", Data("marks".utf8))
            try folder.write("to/a.jpg", Data())
            let copy = try FilePlacing(kind: .copy).place(photo, into: target)
            XCTAssertEqual(try Data(contentsOf: Sidecar(of: copy).file), Data("marks".utf8))
            XCTAssertEqual(copy.lastPathComponent, "a (2).jpg")
            _ = try FilePlacing(kind: .move).place(photo, into: target)
            XCTAssertEqual(try names(folder), ["to"])
            XCTAssertEqual(
                try names(folder, "to"), ["a (2).jpg", "a (2).jpg.xmp", "a (3).jpg", "a (3).jpg.xmp", "a.jpg"])
        }
    }

    func testAMoveToAnotherFileSystemIsACopyWithoutTheOriginal() throws {
        try withFolders { folder, target in
            let photo = try folder.write("a.jpg", Data("photo".utf8))
            let date = Date(timeIntervalSince1970: 1_000_000_000)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: photo.path)
            try folder.write("to/a.jpg", Data("other".utf8))
            var placing = FilePlacing(kind: .move)
            placing.moveFile.renameToUnusedName = { _, _ in EXDEV }
            let place = try placing.place(photo, into: target)
            XCTAssertEqual(place.lastPathComponent, "a (2).jpg")
            XCTAssertEqual(try Data(contentsOf: place), Data("photo".utf8))
            XCTAssertEqual(LocalFile.modified(place), date, "it was not modified")
            XCTAssertEqual(try names(folder), ["to"])
        }
    }

    func testAFailureLeavesNothing() throws {
        try withFolders { folder, target in
            let photo = try folder.write("a.jpg", Data("photo".utf8))
            XCTAssertThrowsError(try FilePlacing(kind: .copy).place(photo, into: SystemString(folder.path)))
            XCTAssertThrowsError(try FilePlacing(kind: .move).place(photo, into: SystemString(folder.path + "/none")))
            XCTAssertThrowsError(
                try FilePlacing(kind: .copy).place(folder.url.appending(path: "none.jpg"), into: target))
            // A sidecar that cannot be read: a folder.
            try FileManager.default.createDirectory(
                at: folder.url.appending(path: "a.jpg.xmp"), withIntermediateDirectories: true)
            XCTAssertThrowsError(try FilePlacing(kind: .copy).place(photo, into: target))
            XCTAssertEqual(try names(folder), ["a.jpg", "a.jpg.xmp", "to"])
            XCTAssertEqual(try names(folder, "to"), [])
        }
    }

    func testNumbersAreBeforeTheEnding() {
        for (name, numbered) in [
            ("a.jpg", "a (2).jpg"), ("a.b.jpg", "a.b (2).jpg"), ("a", "a (2)"), (".a", ".a (2)"),
        ] { XCTAssertEqual(FilePlacing.name(SystemString(name), 2).description, numbered) }
    }

    func testMovedFilesLeaveAndUndoBringsThemBack() throws {
        try WindowFixture.with(["one/a.png", "one/b.png", "one/c.png", "two/a.png"]) { fixture in
            fixture.open("one")
            fixture.window.photos.grid.toggleSelection(of: 0)
            fixture.window.photos.grid.toggleSelection(of: 1)
            let target = fixture.folder.appending(path: "two")
            fixture.run("move-to-folder", target.path)
            pump("the move") { fixture.names == ["c.png"] }
            XCTAssertEqual(fixture.toasts.last?.message, "2 files are moved to two")
            XCTAssertEqual(
                try FileManager.default.contentsOfDirectory(atPath: target.path).sorted(),
                ["a (2).png", "a.png", "b.png"])
            XCTAssertEqual(fixture.session.settings.values.recentTargets, [target.path])
            fixture.run("undo")
            pump("the files") { fixture.names == ["a.png", "b.png", "c.png"] }
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: target.path), ["a.png"])
            XCTAssertTrue(FileManager.default.fileExists(atPath: fixture.urls[0].path), "under its former name")
        }
    }

    func testUndoRemovesACopyUnlessItHasChanged() throws {
        try WindowFixture.with(["one/a.png", "one/b.png", "two/z.png"]) { fixture in
            fixture.open("one/a.png")
            pump("the viewer") { fixture.window.isSettled }
            let copy = fixture.folder.appending(path: "two/a.png")
            fixture.run("copy-to-folder", fixture.folder.path + "/two/")
            pump("the copy") { fixture.toasts.last?.message == "a.png is copied to two" }
            XCTAssertEqual(try Data(contentsOf: copy), try Data(contentsOf: fixture.urls[0]))
            fixture.run("undo")
            pump("no copy") { !FileManager.default.fileExists(atPath: copy.path) }
            fixture.run("copy-to-folder", fixture.folder.path + "/two")
            pump("the other copy") { fixture.toasts.count == 2 }
            try Data("changed".utf8).write(to: copy)
            fixture.run("undo")
            pump("the reason") {
                fixture.toasts.last?.message == "a.png: The copy has changed since. Ctrl+Z tries again."
            }
            XCTAssertEqual(try Data(contentsOf: copy), Data("changed".utf8))
            XCTAssertEqual(fixture.names, ["a.png", "b.png"])
        }
    }

    func testUndoKeepsACopyWithNewMarks() throws {
        try WindowFixture.with(["one/a.png", "two/z.png"]) { fixture in
            fixture.open("one/a.png")
            pump("the viewer") { fixture.window.isSettled }
            let copy = fixture.folder.appending(path: "two/a.png")
            fixture.run("copy-to-folder", fixture.folder.path + "/two")
            pump("the copy") { fixture.toasts.last?.message == "a.png is copied to two" }
            try Sidecar(of: copy).change { packet throws(XMPPacket.Failure) in try packet.setTags(["new"]) }
            fixture.run("undo")
            pump("the reason") {
                fixture.toasts.last?.message == "a.png: The copy has changed since. Ctrl+Z tries again."
            }
            XCTAssertTrue(FileManager.default.fileExists(atPath: copy.path))
            XCTAssertEqual(try Sidecar(of: copy).marks()?.tags, ["new"])
        }
    }

    func testAFolderThatIsOpenHasItsNewFiles() throws {
        try WindowFixture.with(["a.png", "sub/b.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            fixture.run("move-to-folder", fixture.folder.path + "/sub")
            pump("the file in its new place") {
                fixture.session.collection.urls.map { $0.deletingLastPathComponent().lastPathComponent } == [
                    "sub", "sub",
                ]
            }
        }
    }
}
