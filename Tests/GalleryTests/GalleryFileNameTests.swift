import CWebImageGTK
import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Names of files are bytes, which need not be UTF-8: those of old archives and cameras are not.
final class GalleryFileNameTests: GTKTestCase {
    /// Gives `0.png` a name that is not UTF-8, in a folder with such a name.
    @MainActor private static func rename(in folder: URL) throws -> ByteString {
        let parent = ByteString(folder.path + "/") + ByteString([0xE9, 0x74, 0xE9])
        let file = parent + "/" + ByteString([0xFC, 0x31] + Array(".png".utf8))
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

    func testItIsTheFileThatGoesToTheTrash() throws {
        try WindowFixture.with(["0.png"]) { fixture in
            let file = try Self.rename(in: fixture.folder)
            try Trash().remove(URL(file: file))
            XCTAssertNotEqual(file.withCString { access($0, F_OK) }, 0)
        }
    }

    func testAPathThatIsUTF8StaysAText() {
        XCTAssertEqual(ByteString("/home/ä.png").location, "/home/ä.png")
        XCTAssertEqual(ByteString([0x2F, 0xFF]).location, "file:///%FF")
        XCTAssertEqual(LocationReader.path(of: "file:///a/../%FF.png")?.bytes, [0x2F, 0xFF] + Array(".png".utf8))
        XCTAssertEqual(URL(file: ByteString("/a b.png")), URL(filePath: "/a b.png"))
    }
}
