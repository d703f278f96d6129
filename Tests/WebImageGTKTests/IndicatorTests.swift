import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

final class IndicatorTests: GTKTestCase {
    func testIntervalsHaveLimits() {
        MainActor.assumeIsolated {
            let intervals: [(Duration, Duration)] = [
                (.zero, .seconds(1) / 120), (.milliseconds(50), .milliseconds(50)), (.seconds(9), .seconds(1)),
            ]
            for (interval, limited) in intervals {
                XCTAssertEqual(ImageIndicator(redrawInterval: interval).redrawInterval, limited)
            }
        }
    }

    func testFollowsALoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let indicator = IndicatorLog()
            picture.indicator = indicator.makeIndicator()
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps, ["start", "nil"])
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: 5)
            load?.send(Swatch.red.data.prefix(3))
            pump("three bytes") { indicator.steps.last == "0.6" }
            load?.send(Swatch.red.data.suffix(2))
            load?.end()
            pump("the image") { picture.image != nil }
            XCTAssertEqual(indicator.steps.suffix(2), ["1.0", "stop"])
            XCTAssertEqual(indicator.steps.filter { $0 == "start" }.count, 1)
        }
    }

    func testStopsAfterAFailureACancelAndWhenReplaced() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let indicator = IndicatorLog()
            picture.indicator = indicator.makeIndicator()
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { indicator.steps.last == "stop" }
            picture.setImage(url, manager: fixture.manager)
            picture.cancelCurrentRequest()
            XCTAssertEqual(indicator.steps.last, "stop")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps.last, "nil")
            let other = IndicatorLog()
            picture.indicator = other.makeIndicator()
            XCTAssertEqual(indicator.steps.last, "stop")
            XCTAssertEqual(other.steps, ["start", "nil"])
        }
    }

    func testNeverStartsForAnImageInMemory() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let indicator = IndicatorLog()
            picture.indicator = indicator.makeIndicator()
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(indicator.steps, [])
            destroyUnparented(picture)
        }
    }

    func testMovesOnlyWhileItIsOnScreen() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.indicator = .spinner()
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            XCTAssertFalse(picture.imageSlot.isTicking)
            window.show(picture)
            XCTAssertTrue(picture.imageSlot.isTicking)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertFalse(picture.imageSlot.isTicking)
        }
    }

    func testIsDrawnNoMoreOftenThanItsInterval() throws {
        try MainActor.assumeIsolated {
            let interval = Duration.milliseconds(40)
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.indicator = .slow(interval)
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            window.show(picture)
            var times: [gint64] = []
            picture.picturePaintable.onInvalidate = { times.append(g_get_monotonic_time()) }
            pump("six drawings") { times.count == 6 }
            // However busy the machine is, it takes longer then.
            XCTAssertGreaterThan(Duration.microseconds(times[5] - times[0]), interval * 4)
        }
    }

    func testProgressIsDrawnNoMoreOftenThanTheInterval() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            picture.indicator = .ring()
            picture.setImage(url, manager: fixture.manager)
            var drawingCount = 0
            picture.picturePaintable.onInvalidate = { drawingCount += 1 }
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
                picture.indicator = .slow(.milliseconds(60))
                picture.setImage(try fixture.url("\(index)"), manager: fixture.manager)
                picture.picturePaintable.onInvalidate = { drawingCounts[index] += 1 }
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

    func testIsDrawnInTheMiddleOfTheImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            picture.indicator = .ring(diameter: 32, color: Color(red: 1, green: 1, blue: 1, alpha: 0.9))
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
                let bar = ImageIndicator.bar(
                    widthShare: 0.8, thickness: 4, color: Color(red: 0.2, green: 0.2, blue: 0.2, alpha: 0.9))
                bar.start()
                XCTAssertTrue(bar.isMoving)
                bar.update(progress: 0.25)
                XCTAssertFalse(bar.isMoving)
                let painter = SlotPainter()
                painter.show(.color(.white))
                painter.isRightToLeft = isRightToLeft
                painter.indicatorProgress = bar.progress
                painter.indicator = bar.draw
                let paintable = PicturePaintable(painter)
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
            picture.indicator = .widget(spinner)
            XCTAssertEqual(gtk_widget_get_visible(spinner), 0)
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            XCTAssertNotEqual(gtk_widget_get_visible(spinner), 0)
            XCTAssertNotEqual(gtk_spinner_get_spinning(OpaquePointer(spinner)), 0)
            picture.cancelCurrentRequest()
            XCTAssertEqual(gtk_widget_get_visible(spinner), 0)
        }
    }

    func testAutomaticColorsFollowTheTheme() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            var colors: [Color] = []
            picture.indicator = ImageIndicator(draw: { colors.append($0.foreground(nil)) })
            picture.setImage(try fixture.url("red"), manager: fixture.manager)
            for (isDark, text) in [(true, "white"), (false, "black")] {
                colors = []
                setColor(of: picture.widget, to: text)
                pump("a drawing") {
                    colors.last == Color(gray: isDark ? 1 : 0.2, alpha: 0.9)
                }
            }
        }
    }
}

extension ImageIndicator {
    /// An indicator that moves and draws nothing.
    fileprivate static func slow(_ interval: Duration) -> ImageIndicator {
        ImageIndicator(redrawInterval: interval, moves: { _ in true }, draw: { _ in })
    }
}

/// The calls of an indicator.
@MainActor private final class IndicatorLog {
    private(set) var steps: [String] = []

    func makeIndicator() -> ImageIndicator {
        ImageIndicator(
            start: { [self] in steps.append("start") }, stop: { [self] in steps.append("stop") },
            update: { [self] progress in steps.append(progress.map { "\($0)" } ?? "nil") })
    }
}

extension Color {
    fileprivate init(gray: Double, alpha: Double) { self.init(red: gray, green: gray, blue: gray, alpha: alpha) }
}

/// Sets the text color of one widget.
@MainActor private func setColor(of widget: UnsafeMutablePointer<GtkWidget>, to color: String) {
    guard let provider = gtk_css_provider_new() else { return }
    web_image_css_provider_load(provider, "#indicator-test { color: \(color); }")
    gtk_widget_set_name(widget, "indicator-test")
    gtk_style_context_add_provider_for_display(
        gtk_widget_get_display(widget), ObjectPointer(provider).opaque, guint(GTK_STYLE_PROVIDER_PRIORITY_USER))
    g_object_unref(provider)
}
