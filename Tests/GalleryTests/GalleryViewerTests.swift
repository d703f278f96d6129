import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImage

final class GalleryViewerTests: GTKTestCase {
    // MARK: Order

    func testMovesInTheOrderOfTheCollectionAndStopsAtItsEnds() throws {
        try ViewerFixture.with { fixture in
            let urls = try (0..<4).map { number in
                try fixture.write(try picture(8, 8) { _, _ in shade(number) }, "\(number).png")
            }
            var shown: [String] = []
            fixture.viewer.onCurrentChange = { shown.append($0.lastPathComponent) }
            fixture.open(urls, at: 1)
            for action in ["next", "next", "next", "first", "previous", "last"] { fixture.run(action) }
            XCTAssertEqual(shown, ["1.png", "2.png", "3.png", "0.png", "3.png"])
            fixture.settle()
            XCTAssertEqual(fixture.middle, shade(3))
            fixture.session.collection.replace(with: Array(urls.reversed()))
            XCTAssertEqual(fixture.viewer.index, 0, "the image stays at its new place")
        }
    }

    func testQuickStepsNeverShowAStaleImage() throws {
        try ViewerFixture.with { fixture in
            let urls = try (0..<51).map { number in
                try fixture.write(try picture(40, 30) { _, _ in shade(number) }, "\(number).png")
            }
            fixture.open(urls)
            fixture.settle()
            for number in 1...50 {
                fixture.run("next")
                for _ in 0..<(number % 4) { g_main_context_iteration(nil, 0) }
                if let image = fixture.viewer.canvas.image {
                    XCTAssertEqual(image.pixels[0, 0], shade(number), "image \(number)")
                }
            }
            fixture.settle()
            XCTAssertEqual(fixture.viewer.currentURL, urls[50])
            XCTAssertEqual(fixture.middle, shade(50))
        }
    }

    func testFetchesTheNeighbors() throws {
        try ViewerFixture.with { fixture in
            let urls = try (0..<4).map { number in
                try fixture.write(try picture(40, 30) { _, _ in shade(number) }, "\(number).png")
            }
            fixture.open(urls, at: 1)
            let size = fixture.viewer.canvas.viewport
            let isInMemory = { (index: Int) in
                fixture.session.manager.isInMemory(WebImageRequest.photo(urls[index], for: size, scale: 1))
            }
            pump("the neighbors") { isInMemory(0) && isInMemory(2) }
            XCTAssertFalse(isInMemory(3))
            fixture.run("next")
            XCTAssertNotNil(fixture.viewer.canvas.image, "a neighbor is on display at once")
        }
    }

    func testTheFirstImageIsDecodedForTheSizeOfTheViewer() throws {
        try ViewerFixture.with(hasLayout: false) { fixture in
            let url = try fixture.write(try picture(2_000, 1_000) { _, _ in shade(1) }, "large.png")
            fixture.open([url])
            XCTAssertNil(fixture.viewer.canvas.image, "the size is unknown before the first layout")
            XCTAssertFalse(fixture.viewer.isSettled)
            pump("the image") { fixture.viewer.canvas.image != nil }
            XCTAssertEqual(fixture.viewer.canvas.image?.width, fixture.viewer.canvas.width)
        }
    }

    func testTheSlideShowFadesToAnImageThatHasLoaded() throws {
        try ViewerFixture.with(isManual: true) { fixture in
            let urls = try (0..<2).map { try XCTUnwrap(URL(string: "manual://host/\($0).png")) }
            fixture.open(urls)
            let file = try CodecRegistry.shared.encode(try picture(8, 8) { _, _ in shade(1) }, as: .png)
            fixture.answer(urls[0], with: file)
            fixture.settle()
            fixture.session.settings.change { $0.slideSeconds = 1 }
            fixture.viewer.toggleSlideShow()
            pump("the next image") { fixture.viewer.currentURL == urls[1] }
            XCTAssertNotNil(fixture.viewer.canvas.image, "the former image stays until the next has loaded")
            XCTAssertTrue(fixture.viewer.isIncoming)
            fixture.viewer.slideShow.stop()
            fixture.answerLast(urls[1], with: file)
            pump("the fade") { !fixture.viewer.isIncoming && fixture.viewer.isSettled }
            XCTAssertEqual(fixture.viewer.canvas.imageURL, urls[1])
        }
    }

    func testClosesWhenItsImageLeavesTheCollection() throws {
        try ViewerFixture.with { fixture in
            let urls = try (0..<2).map { number in
                try fixture.write(try picture(8, 8) { _, _ in shade(number) }, "\(number).png")
            }
            var closeCount = 0
            fixture.viewer.onClose = { closeCount += 1 }
            fixture.open(urls)
            fixture.session.collection.replace(with: [urls[1]])
            XCTAssertEqual(closeCount, 1)
        }
    }

    // MARK: Loading

    func testTheGridsThumbnailIsOnDisplayAtOnce() throws {
        try ViewerFixture.with(isManual: true) { fixture in
            let url = try XCTUnwrap(URL(string: "manual://host/photo.png"))
            let file = try CodecRegistry.shared.encode(try picture(1_600, 900) { _, _ in shade(4) }, as: .png)
            var thumbnail: Image?
            fixture.session.manager.load(
                WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 40, height: 40))),
                callbackQueue: MainLoop.callbackQueue
            ) { result in MainActor.assumeIsolated { thumbnail = try? result.get().image } }
            fixture.answer(url, with: file)
            pump("the thumbnail") { thumbnail?.width == 40 }

            fixture.open([url])
            for x in [0.01, 0.5, 0.99] { XCTAssertEqual(fixture.pixel(x, 0.5), shade(4), "as large as the image") }
            XCTAssertEqual(fixture.viewer.canvas.loadState, .loading(received: 0, expected: nil))
            fixture.answer(url, with: file)
            fixture.settle()
            XCTAssertEqual(fixture.viewer.canvas.imageSize, PixelSize(width: 1_600, height: 900))
            XCTAssertEqual(fixture.viewer.canvas.image?.width, fixture.viewer.canvas.width)
        }
    }

    func testShowsTheProgressOfASlowLoad() throws {
        try ViewerFixture.with(isManual: true) { fixture in
            let url = try XCTUnwrap(URL(string: "manual://host/photo.png"))
            fixture.open([url])
            pump("the request") { fixture.loader.lastLoad(of: url) != nil }
            let load = try XCTUnwrap(fixture.loader.lastLoad(of: url))
            load.begin(expectedByteCount: 1_000)
            load.send(Data(count: 250))
            pump("the progress") { fixture.viewer.canvas.loadState.fraction == 0.25 }
            pump("the bar") { fixture.viewer.progress.widget.isVisible }
            XCTAssertEqual(gtk_progress_bar_get_fraction(fixture.viewer.progress.widget.opaque), 0.25)
            load.end(.failure(.cancelled))
        }
    }

    func testSaysWhatIsWrongAndTriesAgain() throws {
        try ViewerFixture.with { fixture in
            let file = fixture.folder.appendingPathComponent("late.png")
            fixture.open([file])
            pump("the failure") { fixture.viewer.shownError != nil }
            XCTAssertTrue("\(try XCTUnwrap(fixture.viewer.shownError))".contains("late.png"))
            _ = try fixture.write(try picture(8, 8) { _, _ in shade(9) }, "late.png")
            fixture.viewer.retry()
            fixture.settle()
            XCTAssertNil(fixture.viewer.shownError)
            XCTAssertEqual(fixture.middle, shade(9))
        }
    }

    func testZoomedInAllPixelsAreDrawn() throws {
        try ViewerFixture.with { fixture in
            // Columns of one pixel: at another size, or between tiles that do not meet, they would be grey.
            let columns = try picture(2_600, 1_500) { x, y in
                let level: UInt8 = (x + y / 4) % 2 == 0 ? 0 : 255
                return SIMD4(level, level, 200, 255)
            }
            let file = try fixture.write(columns, "columns.png")
            fixture.open([file])
            fixture.settle()
            XCTAssertEqual(fixture.viewer.canvas.imageSize, PixelSize(width: 2_600, height: 1_500))
            XCTAssertEqual(fixture.viewer.canvas.showsFull, false)
            fixture.viewer.canvas.change { geometry in
                geometry.zoom(to: 1)
                // The corner where four tiles meet.
                geometry.pan(by: -geometry.origin - ZoomGeometry.Vector(900, 900))
            }
            pump("all pixels") { fixture.viewer.canvas.showsFull == true && fixture.viewer.isSettled }
            let area = fixture.viewer.canvas.place.area
            let drawn = Rendering(of: fixture.viewer.canvas.widget)
            for y in stride(from: 0, to: fixture.viewer.canvas.height, by: 7) {
                for x in 0..<fixture.viewer.canvas.width {
                    let (column, row) = (x - Int(area.x.rounded()), y - Int(area.y.rounded()))
                    guard drawn[x, y] != columns.pixels[column, row] else { continue }
                    return XCTFail("\(drawn[x, y]) at \(column), \(row)")
                }
            }
        }
    }

    // MARK: Rotation

    func testRotatesOnScreen() throws {
        try ViewerFixture.with { fixture in
            let halves = try picture(400, 200) { x, _ in x < 200 ? Swatch.red.pixel : Swatch.blue.pixel }
            fixture.open([try fixture.write(halves, "halves.png")])
            fixture.settle()
            XCTAssertEqual(fixture.pixel(0.4, 0.5), Swatch.red.pixel)
            fixture.run("rotate-right")
            XCTAssertEqual(fixture.pixel(0.5, 0.4), Swatch.red.pixel)
            XCTAssertEqual(fixture.pixel(0.5, 0.6), Swatch.blue.pixel)
            fixture.run("rotate-left")
            fixture.run("rotate-left")
            XCTAssertEqual(fixture.pixel(0.5, 0.4), Swatch.blue.pixel)
        }
    }

    // MARK: Animation

    func testScrubbingShowsTheFrameAndPauses() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.writeClip(frameCount: 8)])
            fixture.settle()
            let controls = fixture.viewer.animationControls
            let player = try XCTUnwrap(controls.player, "the controls are on display")
            pump("the animation plays") { player.currentFrameIndex > 0 }
            controls.scrub(to: 5)
            pump("the frame") { player.currentFrameIndex == 5 && fixture.middle == shade(25) }
            XCTAssertFalse(player.isPlaying)
            fixture.run("frame-forward")
            pump("the next frame") { player.currentFrameIndex == 6 }
            fixture.run("faster")
            XCTAssertEqual(fixture.viewer.canvas.playback.rate, 1.5)
            fixture.run("play")
            XCTAssertTrue(player.isPlaying)
            fixture.open([try fixture.write(try picture(8, 8) { _, _ in shade(1) }, "still.png")])
            fixture.settle()
            XCTAssertNil(controls.player, "a still image has no controls")
        }
    }

    // MARK: Slide show

    func testTheSlideShowAdvancesUntilTheUserActs() throws {
        try ViewerFixture.with { fixture in
            fixture.session.settings.change { $0.slideSeconds = 0 }
            let urls = try (0..<3).map { number in
                try fixture.write(try picture(8, 8) { _, _ in shade(number) }, "\(number).png")
            }
            var shown: [Int] = []
            fixture.viewer.onCurrentChange = { shown.append(urls.firstIndex(of: $0) ?? -1) }
            fixture.open(urls, at: 1)
            fixture.viewer.toggleSlideShow()
            pump("four images") { shown.count >= 4 }
            XCTAssertEqual(Array(shown.prefix(4)), [1, 2, 0, 1])
            fixture.run("next")
            XCTAssertFalse(fixture.viewer.slideShow.isPlaying)
        }
    }

    // MARK: Clipboard

    func testCopiesTheImageAndItsLocation() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")
            fixture.open([file])
            fixture.settle()
            Task { await fixture.viewer.copyImage() }
            pump("the clipboard") { !fixture.toasts.isEmpty }
            XCTAssertEqual(fixture.toasts, ["Image copied"])
            let formats = gdk_clipboard_get_formats(gtk_widget_get_clipboard(fixture.viewer.widget.widget))
            XCTAssertNotEqual(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()), 0)
            XCTAssertNotEqual(gdk_content_formats_contain_gtype(formats, gdk_file_list_get_type()), 0)
        }
    }

    // MARK: Accessibility

    func testEveryButtonHasAName() throws {
        try ViewerFixture.with { fixture in
            var widgets = [fixture.viewer.widget]
            var buttonCount = 0
            while let widget = widgets.popLast() {
                var child = gtk_widget_get_first_child(widget.widget)
                while let next = child {
                    widgets.append(ObjectPointer(next))
                    child = gtk_widget_get_next_sibling(next)
                }
                guard widget.isInstance(of: gtk_button_get_type()) else { continue }
                // A menu button's name is that of its parent.
                let parent = gtk_widget_get_parent(widget.widget).map { ObjectPointer($0) }
                let hasName = [widget, parent].compactMap(\.self).contains {
                    gtk_widget_get_tooltip_text($0.widget) != nil
                }
                let label = gtk_button_get_label(widget.as())
                XCTAssertTrue(hasName || label != nil || parent?.holdsButtonsOfHeader == true)
                buttonCount += 1
            }
            XCTAssertGreaterThan(buttonCount, 10)
        }
    }

    func testAllKeysAreValid() throws {
        try ViewerFixture.with { fixture in
            let keys = fixture.viewer.actions.flatMap { $0.keys + $0.pageKeys }
            XCTAssertEqual(Set(keys).count, keys.count, "no key has two actions")
            for key in keys { XCTAssertNotNil(gtk_shortcut_trigger_parse_string(key), key) }
        }
    }
}

extension ObjectPointer {
    /// Whether a widget holds the buttons that a header bar adds to its own: the window's, and since libadwaita 1.4 a
    /// back button, which is hidden here.
    @MainActor fileprivate var holdsButtonsOfHeader: Bool {
        let backButton = g_type_from_name("AdwBackButton")
        return isInstance(of: gtk_window_controls_get_type()) || (backButton != 0 && isInstance(of: backButton))
    }
}
