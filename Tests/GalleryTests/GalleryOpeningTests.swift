import CWebImageAdwaita
import CWebImageGTK
import Foundation
import Glibc
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImage

/// Opening locations, on the page of the images.
final class GalleryOpeningTests: GTKTestCase {
    @MainActor private final class PageFixture {
        let folder: TemporaryFolder
        let session: GallerySession
        let page: PhotosPage
        let window = TestWindow()
        /// The page changes its widgets when a load ends, also after the window is closed.
        private let widget: ObjectReference
        private(set) var toasts: [(message: String, button: GallerySession.ToastButton?)] = []

        init() throws {
            adw_init()
            folder = try TemporaryFolder()
            session = GallerySession(cacheDirectory: folder.url.appendingPathComponent("cache"))
            page = PhotosPage(session: session)
            widget = ObjectReference(retaining: page.widget)
            session.onToast = { [weak self] in self?.toasts.append(($0, $1)) }
            gtk_window_set_default_size(window.asWindow, 600, 500)
            page.widget.expanding()
            window.add(page.widget.widget)
            window.present()
            pump("the map") { gtk_widget_get_mapped(page.widget.widget) != 0 }
        }

        var names: [String] { session.collection.urls.map(\.lastPathComponent) }

        func open(_ locations: String..., replacing: Bool = true) {
            page.open(OpenRequest(locations: locations.map { folder.path + "/" + $0 }, replaces: replacing))
        }

        func run(_ action: String) { page.actions.first { $0.name == action }?.run() }
    }

    private func withPage(_ body: @MainActor (PageFixture) throws -> Void) throws {
        try MainActor.assumeIsolated {
            let fixture = try PageFixture()
            defer {
                fixture.window.close()
                end(fixture.session.manager)
            }
            try body(fixture)
        }
    }

    /// A list that is being read, and ends when the test says so.
    @MainActor private struct SlowList {
        private let writer: Int32
        private weak let reading: LocationOpener.Reading?

        /// Opens the list on the page, after a folder.
        init(_ fixture: PageFixture, after folder: String? = nil) throws {
            let path = fixture.folder.path + "/slow.txt"
            XCTAssertEqual(mkfifo(path, 0o600), 0)
            let locations = [folder, "slow.txt"].compactMap { name in name.map { fixture.folder.path + "/" + $0 } }
            fixture.page.open(OpenRequest(locations: locations))
            reading = fixture.page.opener.current
            XCTAssertTrue(fixture.page.isReading)
            var descriptor: Int32 = -1
            // Fails until the pipe has a reader.
            pump("the reader") {
                descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return descriptor >= 0
            }
            writer = descriptor
        }

        func end(with text: String) {
            XCTAssertEqual(write(writer, text, text.utf8.count), text.utf8.count)
            close(writer)
            pump("the end of the list") { reading == nil }
        }
    }

    func testImagesOfAnEndedRequestAreDropped() throws {
        try withPage { fixture in
            try fixture.folder.writeImage("a/a.png")
            let list = try SlowList(fixture)
            fixture.open("a")
            pump("the folder, although the list is not read") { !fixture.page.isReading }
            XCTAssertEqual(fixture.names, ["a.png"])

            list.end(with: "/late.png\n")
            XCTAssertEqual(fixture.names, ["a.png"])
        }
    }

    func testAFileThatComesDuringTheFirstReadingIsShown() throws {
        try withPage { fixture in
            try fixture.folder.writeImage("a/a.png")
            let list = try SlowList(fixture, after: "a")
            try fixture.folder.writeImage("a/b.png")
            list.end(with: "/late.png\n")
            pump("the file") { fixture.names.contains("b.png") }
        }
    }

    func testImagesOfAnEndedRequestAreFollowedIfTheNextHasNone() throws {
        try withPage { fixture in
            let file = try fixture.folder.writeImage("a/a.png")
            try fixture.folder.writeImage("a/b.png")
            let list = try SlowList(fixture, after: "a")
            pump("the first images") { fixture.names == ["a.png", "b.png"] }
            fixture.open("missing")
            pump("the failure") { fixture.toasts.count == 1 && !fixture.page.isReading }
            try FileManager.default.removeItem(at: file)
            pump("the removal") { fixture.names == ["b.png"] }
            list.end(with: "/late.png\n")
        }
    }

    func testClosingAllImagesEndsTheReading() throws {
        try withPage { fixture in
            let list = try SlowList(fixture)
            fixture.page.closeAll()
            XCTAssertFalse(fixture.page.isReading)
            list.end(with: "/late.png\n")
            XCTAssertTrue(fixture.session.collection.isEmpty)
        }
    }

    func testAFailureKeepsTheImagesAndCanBeTriedAgain() throws {
        try withPage { fixture in
            try fixture.folder.writeImage("a/a.png")
            fixture.open("a")
            pump("the images") { !fixture.page.isReading }
            fixture.open("b")
            pump("the failure") { !fixture.toasts.isEmpty }
            XCTAssertEqual(fixture.names, ["a.png"])
            XCTAssertTrue(fixture.toasts[0].message.contains("No such file"), fixture.toasts[0].message)

            try fixture.folder.writeImage("b/b.png")
            fixture.toasts[0].button?.action()
            pump("the new images") { fixture.names == ["b.png"] }
        }
    }

    func testWithoutImagesAFailureIsOnThePage() throws {
        try withPage { fixture in
            fixture.open("b")
            pump("the failure") { fixture.page.shownChild == "failure" }
            XCTAssertEqual(fixture.toasts.count, 0)
            XCTAssertTrue(fixture.page.failure.widget.get("description", as: String.self).contains("No such file"))
            try fixture.folder.writeImage("b/b.png")
            fixture.page.failure.onRetry()
            pump("the images") { fixture.names == ["b.png"] }
            XCTAssertEqual(fixture.page.shownChild, "grid")
        }
    }

    func testThePageWithoutImagesIsNotShownWhileLocationsAreRead() throws {
        try withPage { fixture in
            XCTAssertEqual(fixture.page.shownChild, "empty")
            try fixture.folder.writeImage("a/a.png")
            fixture.open("a")
            XCTAssertTrue(fixture.names.isEmpty)
            XCTAssertEqual(fixture.page.shownChild, "grid")
            pump("the image") { fixture.names == ["a.png"] }
            fixture.page.closeAll()
            XCTAssertEqual(fixture.page.shownChild, "empty")
        }
    }

    func testAddedLocationsFollowTheCurrentOne() throws {
        try withPage { fixture in
            for name in ["a", "b", "c"] { try fixture.folder.writeImage("\(name)/\(name).png") }
            fixture.open("a")
            fixture.open("b", replacing: false)
            fixture.open("c", replacing: false)
            pump("the images") { !fixture.page.isReading }
            XCTAssertEqual(fixture.names, ["a.png", "b.png", "c.png"])
        }
    }

    func testNotesASingleLocationThatHasImages() throws {
        try withPage { fixture in
            try fixture.folder.writeImage("a/a.png")
            for locations in [["nothing"], ["a", "a"], ["a"]] {
                let paths = locations.map { fixture.folder.path + "/" + $0 }
                fixture.page.open(OpenRequest(locations: paths))
                pump("the end") { !fixture.page.isReading }
            }
            XCTAssertEqual(fixture.session.settings.values.recentLocations, [fixture.folder.path + "/a"])
        }
    }

    func testRecentLocationsAreInTheMenu() throws {
        try withPage { fixture in
            let actions = ObjectPointer(g_simple_action_group_new())
            defer { g_object_unref(actions.address) }
            fixture.page.recent.addAction(to: actions)
            let location = "https://host/a_b/" + String(repeating: "long", count: 20)
            fixture.session.settings.noteLocation("/photos/a_b")
            fixture.session.settings.noteLocation(location)
            XCTAssertEqual(fixture.page.recent.menuTitles[1], "/photos/a__b")
            XCTAssertEqual(fixture.page.recent.menuTitles[0].count, 50)
            XCTAssertTrue(fixture.page.recent.group.isVisible)
            var opened: [String] = []
            fixture.page.recent.onOpen = { opened.append($0) }
            g_action_group_activate_action(actions.opaque, "open-recent", g_variant_new_string(location))
            XCTAssertEqual(opened, [location])
        }
    }

    // MARK: Images

    func testRemovingFromTheCacheRemovesAllSizes() throws {
        try withPage { fixture in
            let url = try fixture.folder.writeImage("a/a.png")
            fixture.open("a")
            pump("the image") { fixture.page.grid.cell(of: url)?.picture.image != nil }
            let key = try XCTUnwrap(fixture.session.loads.record(of: url)?.cacheKey)
            XCTAssertNotNil(key.variant, "a thumbnail")
            // Another size of it.
            let other = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 1)))
            _ = fixture.session.manager.load(other)
            pump("the other size") { fixture.session.cache.isInMemory(other.cacheKey) }
            let isRemoved = LockBox(false)
            Task { [session = fixture.session] in
                await session.removeImages(of: url)
                isRemoved.withLock { $0 = true }
            }
            pump("the removal") { isRemoved.withLock { $0 } }
            XCTAssertFalse(fixture.session.cache.isInMemory(key))
            XCTAssertFalse(fixture.session.cache.isInMemory(other.cacheKey))
        }
    }

    func testTheStatusCountsTheImagesOfThePage() throws {
        try withPage { fixture in
            try fixture.folder.writeImage("a/1.png")
            try fixture.folder.write("a/2.png", Data("text".utf8))
            let other = try fixture.folder.write("other.png", Data("text".utf8))
            fixture.open("a")
            pump("the failure") { fixture.session.loads.failedURLs.count == 1 }
            _ = fixture.session.manager.load(WebImageRequest(other))
            pump("the failures") { fixture.session.loads.failedURLs.count == 2 }
            pump("the count") { fixture.page.statusText == "2 images, 1 failed" }
            try fixture.folder.writeImage("a/2.png")
            fixture.page.reload()
            pump("the image") { fixture.page.statusText == "2 images" }
            XCTAssertEqual(fixture.session.loads.failedURLs, [other])
            fixture.open("a/1.png")
            pump("the other collection") { fixture.page.statusText == "1 image" }
            XCTAssertEqual(fixture.session.loads.failedURLs, [], "none of this collection")
        }
    }

    func testShapesAreReadOnce() {
        MainActor.assumeIsolated {
            let (reads, collection) = (LockBox<[URL]>([]), PhotoCollection())
            let reader = ShapeReader(of: collection) { url in
                reads.withLock { $0.append(url) }
                return PixelSize(width: 300, height: 100)
            }
            let urls = (0..<6).map { URL(filePath: "/photos/\($0).jpg") }
            collection.replace(with: Array(urls[..<2]))
            collection.append(Array(urls[2..<3]))
            collection.append(Array(urls[3...]))
            pump("the shapes") { urls.indices.allSatisfy(collection.isShapeKnown) }
            XCTAssertEqual(reads.withLock { $0 }, urls)
            collection.replace(with: [urls[5]])
            pump("the shape after the replacement") { collection.isShapeKnown(of: 0) }
            withExtendedLifetime(reader) {}
        }
    }

    func testTheShapeOfAFileIsKnownBehindAThumbnail() throws {
        try MainActor.assumeIsolated {
            let folder = try TemporaryFolder()
            let jpeg = try CodecRegistry.shared.encode(try Swatch.red.image(), as: .jpeg)
            // A comment of 12,002 bytes behind the start of the image.
            let comment = [0xFF, 0xFE, 0x2E, 0xE2] + [UInt8](repeating: 0, count: 12_000)
            let url = try folder.write("a.jpg", jpeg.prefix(2) + comment + jpeg.dropFirst(2))
            let collection = PhotoCollection()
            let reader = ShapeReader(of: collection)
            collection.replace(with: [url])
            pump("the shape") { collection.isShapeKnown(of: 0) }
            withExtendedLifetime(reader) {}
        }
    }
}
