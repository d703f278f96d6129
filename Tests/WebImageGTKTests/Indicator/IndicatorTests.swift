import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class IndicatorTests: GTKTestCase {
    func testFollowsALoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let indicator = RecordingIndicator()
            picture.imageSlot.indicator = indicator
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps, ["start", "nil"])
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: 5)
            load?.send(Swatch.red.data.prefix(3))
            pump("three bytes") { indicator.steps.last == "0.6" }
            load?.send(Swatch.red.data.suffix(2))
            load?.end()
            pump("the picture") { picture.image != nil }
            XCTAssertEqual(indicator.steps.suffix(2), ["1.0", "stop"])
            XCTAssertEqual(indicator.steps.filter { $0 == "start" }.count, 1)
        }
    }

    func testStopsAfterAFailureACancelAndWhenReplaced() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let indicator = RecordingIndicator()
            picture.imageSlot.indicator = indicator
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.emptyBody(url: url)))
            pump("the failure") { indicator.steps.last == "stop" }
            picture.setImage(url, manager: fixture.manager)
            picture.cancelCurrentRequest()
            XCTAssertEqual(indicator.steps.last, "stop")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps.last, "nil")
            let other = RecordingIndicator()
            picture.imageSlot.indicator = other
            XCTAssertEqual(indicator.steps.last, "stop")
            XCTAssertEqual(other.steps, ["start", "nil"])
        }
    }

    func testNeverStartsForAPictureInMemory() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let indicator = RecordingIndicator()
            picture.imageSlot.indicator = indicator
            let url = try fixture.url("red")
            try fixture.remember(.red, at: url)
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps, [])
            destroyUnparented(picture)
        }
    }

    func testMovesOnlyWhileItIsOnScreen() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.imageSlot.indicator = SpinnerIndicator()
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            XCTAssertFalse(picture.imageSlot.isTicking)
            window.show(picture)
            XCTAssertTrue(picture.imageSlot.isTicking)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertFalse(picture.imageSlot.isTicking)
        }
    }

    func testIsDrawnNoMoreOftenThanItsIntervalWants() throws {
        try MainActor.assumeIsolated {
            let interval = Duration.milliseconds(40)
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            let indicator = SlowIndicator(redrawInterval: interval)
            picture.imageSlot.indicator = indicator
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            window.show(picture)
            var times: [gint64] = []
            picture.paintable.onInvalidate = { times.append(g_get_monotonic_time()) }
            pump("six drawings") { times.count == 6 }
            // However busy the machine is, it takes longer then.
            XCTAssertGreaterThan(Duration.microseconds(times[5] - times[0]), interval * 4)
        }
    }

    func testProgressIsDrawnNoMoreOftenThanTheIntervalWants() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            picture.imageSlot.indicator = RingIndicator()
            picture.setImage(url, manager: fixture.manager)
            var drawingCount = 0
            picture.paintable.onInvalidate = { drawingCount += 1 }
            for received in Int64(1)...100 {
                picture.imageSlot.loadStateDidChange(to: .loading(received: received, expected: 100))
            }
            XCTAssertEqual(drawingCount, 0)
            pump("the last one") { drawingCount > 0 }
            pumpUntilIdle()
            XCTAssertLessThan(drawingCount, 4)
        }
    }

    func testIndicatorsShareTheirFrames() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let pictures = [WebPicture(), WebPicture()]
            var drawingCounts = [0, 0]
            for (index, picture) in pictures.enumerated() {
                window.show(picture)
                picture.imageSlot.indicator = SlowIndicator(redrawInterval: .milliseconds(60))
                picture.setImage(try fixture.url("\(index)"), manager: fixture.manager)
                picture.paintable.onInvalidate = { drawingCounts[index] += 1 }
                // The second one begins in the middle of the first one's interval.
                var isHalf = false
                let call = MainLoopCall.after(milliseconds: 30) { isHalf = true }
                pump("half an interval") { isHalf }
                withExtendedLifetime(call) {}
            }
            var frameCount = 0
            guard let clock = gtk_widget_get_frame_clock(window.window) else { return XCTFail("no frame clock") }
            ObjectPointer(clock).onSignal("after-paint") { frameCount += 1 }
            drawingCounts = [0, 0]
            pump("ten drawings") { drawingCounts[0] == 10 }
            XCTAssertGreaterThan(drawingCounts[1], 8)
            XCTAssertLessThan(frameCount, 15)
        }
    }

    func testIsDrawnInTheMiddleOfThePicture() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            picture.imageSlot.indicator = RingIndicator(diameter: 32, style: .light)
            let url = try fixture.url("red")
            picture.setImage(url, placeholder: .color(.black), manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: 4)
            load?.send(Swatch.red.data.prefix(2))
            pump("half of it") { picture.loadState.fraction == 0.5 }
            let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 100, height: 60)
            // The ring's middle line is 14 points from the centre: right of it done, left of it not.
            // White at 0.9 over white at 0.25 over black.
            XCTAssertEqual(Double(drawing[50 + 14, 30].x), 0.925 * 255, accuracy: 4)
            XCTAssertEqual(Double(drawing[50 - 14, 30].x), 0.25 * 255, accuracy: 4)
            XCTAssertEqual(drawing[50, 30], SIMD4(0, 0, 0, 255))
            XCTAssertEqual(drawing[2, 2], SIMD4(0, 0, 0, 255))
            destroyUnparented(picture)
        }
    }

    func testABarFillsInTheDirectionOfText() {
        MainActor.assumeIsolated {
            for isRightToLeft in [false, true] {
                let bar = BarIndicator(widthShare: 0.8, thickness: 4, style: .dark)
                bar.start()
                XCTAssertTrue(bar.isMoving)
                bar.update(progress: 0.25)
                XCTAssertFalse(bar.isMoving)
                let layers = PaintableLayers()
                layers.show(.color(.white))
                layers.indicator = { snapshot, width, height in
                    bar.draw(
                        IndicatorFrame(
                            snapshot: snapshot, width: width, height: height, time: 0, isDark: false,
                            isRightToLeft: isRightToLeft))
                }
                let paintable = PicturePaintable(layers)
                let drawing = Rendering(of: paintable.reference.pointer.opaque, width: 100, height: 20)
                // 80 points from 10 to 90, of which 20 are done.
                let (done, left) = isRightToLeft ? (80, 60) : (20, 40)
                XCTAssertLessThan(drawing[done, 10].x, 90)
                XCTAssertGreaterThan(drawing[left, 10].x, 180)
                XCTAssertEqual(drawing[5, 10], SIMD4(255, 255, 255, 255))
            }
        }
    }

    func testAWidgetIsVisibleWhileSomethingLoads() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            picture.imageSlot.indicator = WidgetIndicator(spinner)
            XCTAssertEqual(gtk_widget_get_visible(spinner), 0)
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            XCTAssertNotEqual(gtk_widget_get_visible(spinner), 0)
            XCTAssertNotEqual(gtk_spinner_get_spinning(OpaquePointer(spinner)), 0)
            picture.cancelCurrentRequest()
            XCTAssertEqual(gtk_widget_get_visible(spinner), 0)
        }
    }

    func testAutomaticColorsFollowTheTheme() throws {
        MainActor.assumeIsolated {
            let snapshot = gtk_snapshot_new()
            defer { snapshot.map { g_object_unref(UnsafeMutableRawPointer($0)) } }
            guard let snapshot else { return XCTFail("no snapshot") }
            @MainActor func frame(isDark: Bool) -> IndicatorFrame {
                IndicatorFrame(
                    snapshot: snapshot, width: 1, height: 1, time: 0, isDark: isDark,
                    isRightToLeft: false)
            }
            XCTAssertEqual(
                IndicatorStyle.automatic.foreground(in: frame(isDark: true)),
                IndicatorStyle.light.foreground(in: frame(isDark: false)))
            XCTAssertEqual(
                IndicatorStyle.automatic.foreground(in: frame(isDark: false)),
                IndicatorStyle.dark.foreground(in: frame(isDark: true)))
        }
    }
}

/// One that moves, and draws nothing.
private final class SlowIndicator: DrawnImageIndicator {
    let isMoving = true
    let redrawInterval: Duration

    init(redrawInterval: Duration) { self.redrawInterval = redrawInterval }

    func start() {}
    func stop() {}
    func update(progress: Double?) {}
    func draw(_ frame: IndicatorFrame) {}
}

private final class RecordingIndicator: ImageIndicator {
    private(set) var steps: [String] = []

    func start() { steps.append("start") }
    func stop() { steps.append("stop") }
    func update(progress: Double?) { steps.append(progress.map { "\($0)" } ?? "nil") }
}
