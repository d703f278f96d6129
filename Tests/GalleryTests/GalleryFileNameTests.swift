import CWebImageGTK
import Foundation
import ProgramSupport
import SystemText
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImageCoding

/// Names of files are bytes, which need not be UTF-8: those of old archives and cameras are not.
final class GalleryFileNameTests: GTKTestCase {
    /// Gives `0.png` a name that is not UTF-8, in a folder with such a name.
    private static func rename(in folder: URL) throws -> SystemString {
        let parent = SystemString(folder.path + "/") + SystemString([0xE9, 0x74, 0xE9])
        let file = parent + "/" + SystemString([0xFC, 0x31] + Array(".png".utf8))
        XCTAssertEqual(parent.withCString { mkdir($0, 0o700) }, 0)
        XCTAssertEqual(
            file.withCString { link(folder.path + "/0.png", $0) }, 0, "\(String(cString: strerror(errno)))")
        return file
    }

    func testTheImageOfAFolderIsShown() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            fixture.open()
            XCTAssertEqual(fixture.session.collection.urls.map(\.displayName), ["0.png", #"\xFC1.png"#])
            XCTAssertEqual(fixture.session.collection.urls.map(\.filePath).last, file)
            XCTAssertTrue(fixture.window.isComplete)
            XCTAssertEqual(fixture.window.photos.statusText, "2 images")
            fixture.window.view(1, isAnimated: false)
            pump("the viewer") { fixture.window.isSettled }
            XCTAssertNil(fixture.window.shownViewer?.shownError)
        }
    }

    func testAFileOfTheCommandLineIsShown() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            fixture.window.open([file.location])
            pump("the image") { fixture.window.shownPage == "viewer" && fixture.window.isSettled }
            XCTAssertEqual(fixture.window.shownViewer?.currentURL?.filePath, file)
            XCTAssertNil(fixture.window.shownViewer?.shownError)
            fixture.window.inspect()
            pump("the inspector") { fixture.window.isSettled }
        }
    }

    func testItIsTheFileThatGoesToTheTrashAndComesBack() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            try Trash().remove(URL(file: file))
            XCTAssertFalse(Self.exists(file))
            try Trash().restore(URL(file: file))
            XCTAssertTrue(Self.exists(file))
        }
    }

    func testItGetsAnotherName() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            fixture.open()
            let url = try XCTUnwrap(fixture.session.collection.urls.last)
            // What the dialog shows, unchanged.
            fixture.session.rename(url, to: #"\xFC1.png"#)
            fixture.session.rename(url, to: "ü1.png")
            let renamed = file.folder + "ü1.png"
            pump("the name") { fixture.session.collection.urls.last?.filePath == renamed }
            XCTAssertTrue(Self.exists(renamed))
            XCTAssertFalse(Self.exists(file))
            XCTAssertEqual(fixture.toasts.map(\.message), [])
        }
    }

    func testItIsRotatedAndRotatedBack() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            // With another name, it would not be replaced.
            try FileManager.default.removeItem(at: fixture.urls[0])
            let former = try Data(contentsOfFile: SystemString(file.bytes))
            fixture.session.rotateFiles([URL(file: file)], by: 1)
            pump("the rotation") { fixture.toasts.map(\.message) == [#"\xFC1.png is rotated"#] }
            let size = try CodecRegistry.shared.info(of: former).size
            let rotated = try CodecRegistry.shared.info(of: Data(contentsOfFile: SystemString(file.bytes))).size
            XCTAssertEqual(rotated, PixelSize(width: size.height, height: size.width))
            XCTAssertNotEqual(size.width, size.height)
            fixture.toasts[0].button?.action()
            pump("the former content") { (try? Data(contentsOfFile: SystemString(file.bytes))) == former }
        }
    }

    func testItsFolderIsFollowed() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            fixture.open()
            XCTAssertTrue(fixture.window.photos.opener.follower.watchedFolders.contains(file.folder))
            let other = file.folder + SystemString([0xFF] + Array(".png".utf8))
            XCTAssertEqual(file.withCString { file in other.withCString { link(file, $0) } }, 0)
            let grid = fixture.window.photos.grid
            pump("the new file") { grid.cell(of: URL(file: other))?.picture.image?.pixels[0, 0].x == 0 }
            let descriptor = other.withCString { open($0, O_WRONLY | O_TRUNC) }
            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(
                contentsOf: CodecRegistry.shared.encode(try picture(30, 20) { _, _ in shade(40) }, as: .png))
            pump("the new content") {
                grid.cell(of: URL(file: other))?.picture.image?.pixels[0, 0] == shade(40)
            }
            XCTAssertEqual(other.withCString { unlink($0) }, 0)
            pump("the removal") { fixture.session.collection.urls.map(\.filePath).last == file }
        }
    }

    func testTheDateOfTheCameraIsFound() throws {
        let folder = try TemporaryFolder()
        var directory = TIFFDirectory()
        directory.set(0x0132, type: 2, Array("2003:05:01 12:00:00\0".utf8))
        var options = EncodingOptions()
        options.metadata = ImageMetadata(exif: Data(directory.structure()))
        try folder.write("0.png", CodecRegistry.shared.encode(try Swatch.red.image(), as: .jpeg, options: options))
        let url = URL(file: try Self.rename(in: folder.url))
        XCTAssertEqual(
            PhotoOrder.dateTaken.arranged([url], Cancellation()).dates, [url: "2003:05:01 12:00:00"])
    }

    func testItIsCopiedAsAURL() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "0.png")
            let (other, clipboard) = (try Self.rename(in: fixture.folder), fixture.viewer.widget)
            fixture.open([file, URL(file: other)])
            for text in [file.path, other.location] {
                fixture.settle()
                fixture.run("copy-link")
                var found: [String]?
                Clipboard.readLocations(of: clipboard) { found = $0 }
                pump("the clipboard") { found != nil }
                XCTAssertEqual(found, [text])
                fixture.viewer.open(index: 1)
            }
            XCTAssertTrue(other.location.hasSuffix("/%E9t%E9/%FC1.png"), other.location)
            XCTAssertEqual(fixture.toasts, ["Path copied", "Link copied"])
        }
    }

    func testItIsTheWallpaper() throws {
        try ViewerFixture.with { fixture in
            let portal = try PortalStub()
            defer { portal.stop() }
            let file = try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "0.png")
            fixture.open([URL(file: try Self.rename(in: fixture.folder))])
            fixture.settle()
            var hasEnded = false
            Task {
                await fixture.viewer.setAsWallpaper(through: DesktopPortal(busAddress: portal.address))
                hasEnded = true
            }
            pump("the answer") { hasEnded }
            XCTAssertEqual(portal.wallpapers, [try Data(contentsOf: file)])
            XCTAssertEqual(fixture.toasts, [#"\xFC1.png is the wallpaper"#])
        }
    }

    private static func exists(_ file: SystemString) -> Bool { file.withCString { access($0, F_OK) } == 0 }

    func testAPathThatIsUTF8StaysAText() {
        XCTAssertEqual(SystemString("/home/ä.png").location, "/home/ä.png")
        XCTAssertEqual(SystemString([0x2F, 0xFF]).location, "file:///%FF")
        XCTAssertEqual(LocationReader.path(of: "file:///a/../%FF.png")?.bytes, [0x2F, 0xFF] + Array(".png".utf8))
        XCTAssertEqual(URL(file: SystemString("/a b.png")), URL(filePath: "/a b.png"))
    }
}
