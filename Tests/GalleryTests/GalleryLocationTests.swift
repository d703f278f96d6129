import CWebImageGTK
import Dispatch
import Foundation
import ProgramSupport
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

final class FolderScannerTests: XCTestCase {
    func testTheFirstImagesOfALargeFolderAreReportedFirst() throws {
        let folder = try TemporaryFolder()
        for number in 0..<600 { try Data().write(to: folder.url.appending(path: "\(number).jpg")) }
        var reports: [[String]] = []
        let failure = FolderScanner().scan(SystemString(folder.path), Cancellation()) { _, images in
            reports.append(images.map(\.lastPathComponent))
        }
        XCTAssertNil(failure)
        XCTAssertEqual(reports.map(\.count), [256, 344])
        XCTAssertEqual(reports.flatMap { $0 }, (0..<600).map { "\($0).jpg" })
    }
}

final class PageImagesTests: XCTestCase {
    private func links(_ html: String, at address: String = "https://host/a/b.html") throws -> [String] {
        let scanner = FolderScanner()
        let url = try XCTUnwrap(URL(string: address))
        return PageImages(html: Array(html.utf8), url: url, isImage: scanner.isImage).urls.map(\.absoluteString)
    }

    func testFindsImagesAndLinksToImagesOnce() throws {
        let html = """
            <!doctype html><head><meta property="og:image" content="/og.jpg"><link rel=image_src href=share.png></head>
            <IMG SRC='one.jpg' alt="a > b"><img src=two.png><a href="three.JPEG">x</a><a href="page.html">y</a>
            <!-- <img src="hidden.jpg"> --><img src="one.jpg#top"><a href='four.webp?size=2'>z</a>
            <a href=".jpg">a name without an ending</a>
            """
        XCTAssertEqual(
            try links(html),
            [
                "https://host/og.jpg", "https://host/a/share.png", "https://host/a/one.jpg", "https://host/a/two.png",
                "https://host/a/three.JPEG", "https://host/a/four.webp?size=2",
            ])
    }

    func testTakesTheLargestOfSeveralSizes() throws {
        XCTAssertEqual(
            try links("<img src=s.jpg srcset='s.jpg 320w, m,1.jpg 640w,l.jpg 1280w'>"), ["https://host/a/l.jpg"])
        XCTAssertEqual(try links("<img srcset='l.jpg 3x, m.jpg 2x, s.jpg'>"), ["https://host/a/l.jpg"])
        XCTAssertEqual(try links("<img data-src=lazy.jpg src='data:image/gif;base64,R0'>"), ["https://host/a/lazy.jpg"])
    }

    func testAPictureIsOneImage() throws {
        for (picture, image) in [
            // The first source that can be shown, of any window.
            ("<source srcset='a.xyz'><source srcset='a.png, a2.png 2x'><img src=a.jpg>", "a2.png"),
            ("<source type=image/xyz srcset=a.png><source type='image/webp; q=1' srcset=b><img src=a.jpg>", "b"),
            ("<source media='(max-width: 600px)' srcset=small.png><img src=a.jpg>", "a.jpg"),
            ("<source srcset=a.png>", "a.png"),
        ] {
            XCTAssertEqual(
                try links("<picture>\(picture)</picture><img src=z.png>"),
                ["https://host/a/\(image)", "https://host/a/z.png"], picture)
        }
    }

    func testScriptsAndStyleSheetsHaveNoLinks() throws {
        XCTAssertEqual(
            try links(
                "<script>let a = \"<img src='a.png'>\"</SCRIPT ><style><img src=b.png></style><title><img src=t.png></title><img src=c.png>"
            ), ["https://host/a/c.png"])
        XCTAssertEqual(try links("<script src=a.js /><img src=c.png>"), ["https://host/a/c.png"], "XHTML")
        XCTAssertEqual(try links(String(repeating: "<script>", count: 100_000)), [])
    }

    func testOnlyAPageInAFileNamesFiles() throws {
        let html = "<img src='file:///etc/a.png'><base href='file:///etc/'><img src='b.png'>"
        XCTAssertEqual(try links(html), ["https://host/a/b.png"])
        XCTAssertEqual(
            try links(html, at: "file:///home/page.html"), ["file:///etc/a.png", "file:///etc/b.png"])
    }

    func testFollowsTheBaseAndDecodesReferences() throws {
        XCTAssertEqual(
            try links("<base href='https://cdn/x/'><img src='a.jpg?b=1&amp;c=2'>"), ["https://cdn/x/a.jpg?b=1&c=2"])
    }

    func testDamagedPagesEnd() throws {
        for html in ["<", "<img", "<img src='a.jpg", "<!-- <img src=a.jpg>", "<img src", "<a =>", "<img \u{0} src=>"] {
            _ = try links(html)
        }
        XCTAssertEqual(try links(String(repeating: "<", count: 100_000)), [])
        XCTAssertEqual(try links("<img src='javascript:alert(1)'><img src='data:image/png;base64,AA'>"), [])
    }
}

final class LocationReaderTests: XCTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("Locations-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { TemporaryDirectory.remove(folder.path) }

    private func write(_ path: String, _ text: String = "x") throws {
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    /// The images at a location: paths inside of the folder, and other URLs whole.
    private func read(_ location: String, manager: WebImageManager = .shared) async throws -> [String] {
        let found = LockBox<[URL]>([])
        try await LocationReader(manager: manager).read(location) { finding in
            found.withLock { $0 += finding.images }
        }
        let prefix = folder.absoluteString
        return found.withLock { $0 }.map { url in
            url.absoluteString.hasPrefix(prefix)
                ? String(url.path.dropFirst(folder.path.count + 1)) : url.absoluteString
        }
    }

    func testScansFoldersInNaturalOrder() async throws {
        for path in ["10.jpg", "2.jpg", "b/1.PNG", "a/x.webp", ".hidden.jpg", ".git/a.jpg", "notes.txt", "jpg"] {
            try write(path)
        }
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("b/loop"), withDestinationURL: folder)
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("b/link.jpg"), withDestinationURL: folder.appendingPathComponent("2.jpg"))
        let found = try await read(folder.path)
        XCTAssertEqual(found, ["2.jpg", "10.jpg", "a/x.webp", "b/1.PNG", "b/link.jpg"])
    }

    func testAScanEndsWhenItIsCancelled() async throws {
        for name in ["a", "b", "c"] { try write("\(name)/1.png") }
        let (found, canReport) = (LockBox<[URL]>([]), DispatchSemaphore(value: 0))
        let task = LockBox<Task<Void, any Error>?>(nil)
        let path = folder.path
        task.withLock {
            $0 = Task {
                try await LocationReader(manager: .shared).read(path) { finding in
                    canReport.wait()
                    canReport.signal()
                    found.withLock { $0 += finding.images }
                    guard !finding.images.isEmpty else { return }
                    task.withLock { $0 }?.cancel()
                }
            }
        }
        canReport.signal()
        // A cancelled scan is no failure.
        try await task.withLock { $0 }?.value
        XCTAssertEqual(found.withLock { $0.map { $0.deletingLastPathComponent().lastPathComponent } }, ["a"])
    }

    func testReadsListsWithPathsAndURLs() async throws {
        try write("list.txt", "# comment\nhttps://host/a.jpg\n\n  \(folder.path)/b c.png  \n")
        let found = try await read(folder.path + "/list.txt")
        XCTAssertEqual(found, ["https://host/a.jpg", "b c.png"])
    }

    func testReadsTheImagesOfASavedPage() async throws {
        try write("page.html", "<img src='img/a.jpg'>")
        let found = try await read(folder.path + "/page.html")
        XCTAssertEqual(found, ["img/a.jpg"])
    }

    func testSaysWhatIsWrong() async throws {
        try write("empty/notes.txt", "")
        for (location, sentence) in [
            ("/nonexistent", "/nonexistent: No such file or directory"),
            (folder.path + "/empty", "has no images"), (folder.path + "/empty/notes.txt", "has no images"),
            ("  ", "neither"),
        ] {
            do {
                _ = try await read(location)
                XCTFail("\(location) has images")
            } catch { XCTAssertTrue("\(error)".contains(sentence), "\(error)") }
        }
    }

    func testAnAddressIsAURLAlsoWithoutItsScheme() {
        XCTAssertEqual(URL.remote("example.org/a.jpg")?.absoluteString, "https://example.org/a.jpg")
        for host in ["127.0.0.1:8480", "127.1.2.3", "localhost", "localhost:80", "[::1]:8480"] {
            XCTAssertEqual(URL.remote(host + "/a.jpg")?.absoluteString, "http://\(host)/a.jpg")
        }
        XCTAssertEqual(URL.remote("1270.example.org/a.jpg")?.scheme, "https")
        XCTAssertEqual(URL.remote("http://host/a")?.absoluteString, "http://host/a")
        for text in ["/etc/a.b/c", "./a.b/c", "~/a.b/c", "photo.jpg", "two words"] {
            XCTAssertNil(URL.remote(text), text)
        }
    }
}
