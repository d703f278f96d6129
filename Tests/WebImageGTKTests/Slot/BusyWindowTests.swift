import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Loads beside a widget that redraws all the time, with frames that take as long as a frame may.
final class BusyWindowTests: GTKTestCase {
    func testEachResultIsOnScreenTwoFramesAfterItIsReady() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), BusyWindow())
            defer { window.close() }
            for number in 0..<10 {
                let picture = WebPicture()
                window.content.show(picture)
                let url = try fixture.url("\(number)")
                picture.setImage(url, manager: fixture.manager)
                pump("the load") { fixture.loader.lastLoad(of: url) != nil }
                fixture.loader.lastLoad(of: url)?.answer(.red)
                waitOffMain("the decode") { fixture.manager.cachedImage(for: url) != nil }
                let readyFrame = window.frameCount
                var shownFrame: Int?
                picture.paintable.onSnapshot = { [weak picture] in
                    if shownFrame == nil, picture?.image != nil { shownFrame = window.frameCount }
                }
                pump("the image on screen") { shownFrame != nil }
                // At most one that has begun, and the one that shows it.
                XCTAssertLessThanOrEqual((shownFrame ?? .max) - readyFrame, 2)
            }
        }
    }

    func testManyResultsAreOnScreenInAFewFrames() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), BusyWindow())
            defer { window.close() }
            let pictures = (0..<100).map { _ in WebPicture() }
            for (number, picture) in pictures.enumerated() {
                window.content.add(picture.widget)
                picture.setImage(try fixture.url("\(number)"), manager: fixture.manager)
            }
            pump("the loads") { fixture.loader.loads.count == pictures.count }
            for load in fixture.loader.loads { load.answer(.green) }
            waitOffMain("the decodes") {
                fixture.loader.loads.allSatisfy { fixture.manager.cachedImage(for: $0.url) != nil }
            }
            let readyFrame = window.frameCount
            pump("the images") { pictures.allSatisfy { $0.image != nil } }
            XCTAssertLessThan(window.frameCount - readyFrame, 10)
        }
    }
}

/// A window with a picture that is redrawn in every frame and takes 25 ms for it.
@MainActor private final class BusyWindow {
    let content = TestWindow()
    private(set) var frameCount = 0
    private let busy = WebPicture()
    private var ticker: FrameTicker?

    init() {
        gtk_widget_set_size_request(busy.widget, 20, 20)
        busy.paintable.onSnapshot = { [weak self] in
            self?.frameCount += 1
            g_usleep(25_000)
        }
        content.show(busy)
        let widget = busy.widget
        ticker = FrameTicker(host: ViewHost.of(widget)) { _ in
            gtk_widget_queue_draw(widget)
            return true
        }
        ticker?.start()
        pump("three frames") { frameCount > 2 }
    }

    func close() {
        ticker?.stop()
        content.close()
    }
}
