import CWebImageGTK
import FoundationEssentials
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageAnimation

/// Decoding at the size of the view.
final class DisplaySizeTests: GTKTestCase {
    func testDecodesAtTheSizeTheLayoutGivesAndAgainWhenItGrows() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            picture.contentMode = .scaleAspectFill
            gtk_widget_set_size_request(picture.widget, 60, 40)
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
            window.show(picture)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 60 }
            let outcomes = Outcomes()
            picture.setImage(fixture.url, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the image") { picture.image != nil }
            let scale = gtk_widget_get_scale_factor(picture.widget)
            // 400 by 200 pixels that cover 60 by 40 points.
            XCTAssertEqual(picture.image?.height, 40 * Int(scale))
            XCTAssertEqual(picture.image?.width, 80 * Int(scale))

            var states: [LoadState] = []
            picture.onLoadStateChange = { states.append($0) }
            gtk_widget_set_size_request(picture.widget, 120, 100)
            pump("more pixels") { picture.image?.height == 100 * Int(scale) }
            XCTAssertEqual(picture.loadState, .loaded(.remote))
            gtk_widget_set_size_request(picture.widget, 600, 400)
            pump("all there are") { picture.image?.height == 200 }
            gtk_widget_set_size_request(picture.widget, 60, 40)
            pumpUntilIdle()
            XCTAssertEqual(picture.image?.height, 200)
            XCTAssertEqual(states, [], "no state changes")
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testTheImageHasTheScaleOfItsRequestIfThatSetsOne() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            picture.setImage(WebImageRequest(fixture.url, scale: 3), manager: fixture.manager)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.image?.scale, 3)
        }
    }

    func testTheImageHasTheScaleOfTheScreen() throws {
        let run = try ProgramRun("AdwaitaProbe", scale: 2)
        try XCTSkipIf(run.exitStatus == 77, "no libadwaita: install libadwaita-1-0")
        XCTAssertTrue(run.output.contains("\nscale 2.0\n"), run.output + run.errors)
    }

    func testWaitsForTheLayout() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            gtk_widget_set_hexpand(picture.widget, gboolean(1))
            gtk_widget_set_vexpand(picture.widget, gboolean(1))
            picture.setImage(fixture.url, placeholder: .color(.white), manager: fixture.manager)
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            pumpUntilIdle()
            XCTAssertNil(picture.image)
            window.show(picture)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, Int(gtk_widget_get_width(picture.widget)))
            XCTAssertEqual(picture.image?.isThumbnail, true)
        }
    }

    func testAViewWithoutASizeDecodesTheFullImage() {
        MainActor.assumeIsolated {
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.decodesAtDisplaySize = true
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
            gtk_widget_set_valign(picture.widget, GTK_ALIGN_START)
            picture.setImage(fixture.url, manager: fixture.manager)
            window.show(picture)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, 400)
        }
    }

    func testNoticesThatTheViewHasGrownWhileItLoaded() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(decodesPNG: true), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            let url = try fixture.url("photograph")
            picture.setImage(url, manager: fixture.manager)
            gtk_widget_set_size_request(picture.widget, 200, 100)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 200 }
            let file = try CodecRegistry.shared.encode(Swatch(red: 1, green: 2, blue: 3, width: 250).image(), as: .png)
            pump("the larger one") {
                answer(fixture.loader.lastLoad(of: url), with: file)
                return picture.image?.width == 200 * Int(gtk_widget_get_scale_factor(picture.widget))
            }
        }
    }

    func testAnAnimationContinuesWhenTheViewGrows() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(decodesPNG: true), TestWindow(), WebPicture())
            defer { window.close() }
            showSmall(picture, in: window)
            let url = try fixture.url("film")
            let file = try film(frameCount: 8, duration: 0.02, width: 200)
            var shownFrames: [Int] = []
            picture.onAnimationEvent = { if case .frame(let index, _) = $0 { shownFrames.append(index) } }
            picture.setImage(url, manager: fixture.manager)
            answer(fixture.loader.lastLoad(of: url), with: file)
            pump("the second time round") {
                picture.player?.completedLoopCount ?? 0 > 0 && picture.player?.currentFrameIndex == 5
            }
            picture.player?.pause()
            XCTAssertEqual(picture.player?.currentFrame?.width, 40)
            let player = picture.player
            let loopCount = player?.completedLoopCount
            shownFrames = []
            gtk_widget_set_size_request(picture.widget, 160, 80)
            pump("more pixels") {
                answer(fixture.loader.lastLoad(of: url), with: file)
                return player?.currentFrame?.width == 160
            }
            XCTAssertTrue(picture.player === player)
            XCTAssertEqual(player?.currentFrameIndex, 5)
            XCTAssertEqual(player?.completedLoopCount, loopCount)
            XCTAssertEqual(player?.status, .paused)
            pump("the frame on show") { !shownFrames.isEmpty }
            // The small one may be reported after the pause.
            XCTAssertEqual(Set(shownFrames), [5], "the first frame was not to be seen again")
            picture.player?.play()
            pump("it continues") { player?.currentFrameIndex == 6 }
            XCTAssertEqual(player?.currentFrame?.width, 160)
        }
    }

    func testTheRequestsSizeIsKept() {
        MainActor.assumeIsolated {
            let (fixture, picture) = (PhotographFixture(), WebPicture())
            picture.decodesAtDisplaySize = true
            picture.setImage(
                fixture.url, thumbnail: Thumbnail(.pixels(width: 20, height: 20)), manager: fixture.manager)
            pump("the image") { picture.image != nil }
            XCTAssertEqual(picture.image?.width, 20)
            destroyUnparented(picture)
        }
    }
}

/// An image of 400 by 200 pixels in a `data:` URL.
struct PhotographFixture {
    let url: URL
    let manager = WebImageManager(
        configuration: WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 24), disk: nil)))

    init() {
        let pixels = try? Image(color: Color(red: 0.5, green: 0.2, blue: 0.1), size: PointSize(width: 400, height: 200))
        let data = pixels.flatMap { try? CodecRegistry.shared.encode($0, as: .png) } ?? Data()
        url = URL(string: "data:image/png;base64,\(data.base64EncodedString())") ?? URL(filePath: "/")
    }
}

private func answer(_ load: ManualLoad?, with file: Data) {
    guard let load, !load.isEnded else { return }
    load.begin(expectedByteCount: Int64(file.count))
    load.send(file)
    load.end()
}

/// Lays the image out at 40 by 20 points, at whose size it decodes.
@MainActor private func showSmall(_ picture: WebPicture, in window: TestWindow) {
    picture.decodesAtDisplaySize = true
    gtk_widget_set_size_request(picture.widget, 40, 20)
    gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
    window.show(picture)
    pump("the layout") { gtk_widget_get_width(picture.widget) == 40 }
}

/// Images that ask for a size whatever their image.
final class FixedSizeTests: GTKTestCase {
    func testRequestsTheGivenSize() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            XCTAssertNil(picture.fixedSize)
            picture.image = try Swatch(red: 9, green: 9, blue: 9, width: 100).image()
            XCTAssertEqual(naturalSize(of: picture), [100, 50])
            picture.fixedSize = PointSize(width: 29.5, height: 20)
            XCTAssertEqual(naturalSize(of: picture), [30, 20])
            picture.image = try Swatch(red: 9, green: 9, blue: 9, width: 200).image()
            XCTAssertEqual(naturalSize(of: picture), [30, 20])
            picture.fixedSize = PointSize(width: -5, height: .infinity)
            XCTAssertEqual(naturalSize(of: picture), [16, 16], "as of a GtkPicture without any")
            picture.fixedSize = nil
            XCTAssertEqual(naturalSize(of: picture), [200, 100])
            destroyUnparented(picture)
        }
    }

    func testLaysTheImageOutInThatSize() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.fixedSize = PointSize(width: 40, height: 40)
            picture.image = try Swatch(red: 255, green: 0, blue: 0, width: 80).image()
            @MainActor func pixels() -> [SIMD4<UInt8>] {
                let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 40, height: 40)
                return [drawing[20, 5], drawing[20, 20], drawing[20, 34]]
            }
            // Twice as wide as high: 40 by 20 in the middle.
            XCTAssertEqual(picture.contentMode, .scaleAspectFit)
            XCTAssertEqual(pixels(), [SIMD4(0, 0, 0, 0), Swatch.red.pixel, SIMD4(0, 0, 0, 0)])
            picture.contentMode = .scaleAspectFill
            XCTAssertEqual(pixels(), [Swatch.red.pixel, Swatch.red.pixel, Swatch.red.pixel])
            destroyUnparented(picture)
        }
    }

    func testDecodesAtThatSizeBeforeAnyLayout() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(decodesPNG: true), WebPicture())
            picture.fixedSize = PointSize(width: 40, height: 30)
            picture.contentMode = .scaleAspectFill
            picture.decodesAtDisplaySize = true
            let url = try fixture.url("photograph")
            picture.setImage(url, manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.send(
                try CodecRegistry.shared.encode(Swatch(red: 1, green: 2, blue: 3, width: 240).image(), as: .png))
            load?.end()
            pump("the image") { picture.image != nil }
            // 240 by 120 pixels that cover 40 by 30 points.
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            XCTAssertEqual([picture.image?.width, picture.image?.height], [60 * scale, 30 * scale])
            destroyUnparented(picture)
        }
    }
}

/// Images that prefer a size whatever their image.
final class NaturalSizeTests: GTKTestCase {
    func testPrefersTheGivenSizeWithAndWithoutAnImage() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.naturalSize = PointSize(width: 60, height: 30)
            XCTAssertEqual(naturalSize(of: picture), [60, 30])
            picture.image = try Swatch(red: 9, green: 9, blue: 9, width: 200).image()
            XCTAssertEqual(naturalSize(of: picture), [60, 30])
            picture.fixedSize = PointSize(width: 8, height: 8)
            XCTAssertEqual(naturalSize(of: picture), [8, 8], "the fixed size takes precedence")
            picture.fixedSize = nil
            XCTAssertEqual(naturalSize(of: picture), [60, 30])
            picture.naturalSize = nil
            XCTAssertEqual(naturalSize(of: picture), [200, 100])
            destroyUnparented(picture)
        }
    }

    func testTheHeightFollowsFromTheWidth() {
        MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.naturalSize = PointSize(width: 60, height: 30)
            @MainActor func height(for width: gint) -> [gint] {
                var (minimum, natural): (gint, gint) = (0, 0)
                gtk_widget_measure(picture.widget, GTK_ORIENTATION_VERTICAL, width, &minimum, &natural, nil, nil)
                return [minimum, natural]
            }
            XCTAssertEqual(height(for: 40), [0, 20], "narrower than it prefers")
            XCTAssertEqual(height(for: 120), [0, 60])
            destroyUnparented(picture)
        }
    }

    func testAnImageOfOtherProportionsFillsTheGivenOnes() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.naturalSize = PointSize(width: 40, height: 40)
            picture.contentMode = .scaleAspectFill
            picture.image = try Swatch(red: 255, green: 0, blue: 0, width: 80).image()
            let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 40, height: 40)
            XCTAssertEqual([drawing[20, 1], drawing[20, 38]], [Swatch.red.pixel, Swatch.red.pixel])
            destroyUnparented(picture)
        }
    }
}

@MainActor private func naturalSize(of picture: WebPicture) -> [gint] {
    [GTK_ORIENTATION_HORIZONTAL, GTK_ORIENTATION_VERTICAL].map { orientation in
        var natural: gint = 0
        gtk_widget_measure(picture.widget, orientation, -1, nil, &natural, nil, nil)
        return natural
    }
}

/// How images lie in their widget, by what the window draws.
final class ContentModeTests: GTKTestCase {
    func testFillsAndCropsFitsAndStretches() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            // Red, green and blue columns: 48 by 16.
            var pixels = try MutablePixelBuffer(width: 48, height: 16)
            pixels.withUnsafeMutableBytes { bytes in
                for index in 0..<(48 * 16) {
                    let swatch = [Swatch.red, .green, .blue][index % 48 / 16]
                    bytes.storeBytes(of: swatch.pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
                }
            }
            picture.image = Image(pixels: pixels.freeze(isOpaque: true))
            for align in [gtk_widget_set_halign, gtk_widget_set_valign] { align(picture.widget, GTK_ALIGN_CENTER) }
            gtk_widget_set_size_request(picture.widget, 60, 60)
            XCTAssertEqual(picture.contentMode, .scaleAspectFit)
            window.show(picture)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 60 }

            let (red, green, blue) = (Swatch.red.pixel, Swatch.green.pixel, Swatch.blue.pixel)
            let clear = SIMD4<UInt8>(0, 0, 0, 0)
            let expectations: [(ImageContentMode, left: SIMD4<UInt8>, right: SIMD4<UInt8>, top: SIMD4<UInt8>)] = [
                // A third of the height: from 20 to 40.
                (.scaleAspectFit, red, blue, clear),
                // Three times as wide: the middle column alone.
                (.scaleAspectFill, green, green, green),
                (.center, clear, clear, clear),
                (.scaleToFill, red, blue, green),
            ]
            for (mode, left, right, top) in expectations {
                picture.contentMode = mode
                XCTAssertEqual(picture.contentMode, mode)
                pumpUntilIdle()
                let drawing = Rendering(of: picture.widget)
                XCTAssertEqual(drawing[3, 30], left, "\(mode)")
                XCTAssertEqual(drawing[57, 30], right, "\(mode)")
                XCTAssertEqual(drawing[30, 5], top, "\(mode)")
                XCTAssertEqual(drawing[30, 30], green, "\(mode)")
            }
        }
    }

    func testHasAlternativeText() {
        MainActor.assumeIsolated {
            let picture = WebPicture()
            XCTAssertNil(picture.alternativeText)
            picture.alternativeText = "A lake at dawn"
            XCTAssertEqual(
                gtk_picture_get_alternative_text(picture.picture).map { String(cString: $0) }, "A lake at dawn")
            destroyUnparented(picture)
        }
    }
}

final class HighlightTests: GTKTestCase {
    func testShowsItsOtherImageUnderThePointer() throws {
        try MainActor.assumeIsolated {
            guard let pointer = Pointer() else { throw XCTSkip("no X server with a test extension: install libxtst6") }
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            gtk_widget_set_size_request(picture.widget, 60, 40)
            try setBoth(of: picture, fixture)
            pointer.moveAway()
            window.show(picture)
            pump("the layout") { gtk_widget_get_width(picture.widget) > 0 }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            pointer.move(to: picture.widget)
            pump("the highlight") { drawnPixel(of: picture) == Swatch.blue.pixel }
            XCTAssertTrue(picture.highlighted.isOnShow)
            XCTAssertFalse(picture.imageSlot.isOnShow)
            pointer.moveAway()
            pump("the end of it") { drawnPixel(of: picture) == Swatch.red.pixel }
        }
    }

    func testIsHighlightedByStateOrByTheApp() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            try setBoth(of: picture, fixture)
            for flag in [
                GTK_STATE_FLAG_PRELIGHT, GTK_STATE_FLAG_ACTIVE, GTK_STATE_FLAG_SELECTED, GTK_STATE_FLAG_CHECKED,
            ] {
                gtk_widget_set_state_flags(picture.widget, flag, gboolean(0))
                XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
                gtk_widget_unset_state_flags(picture.widget, flag)
                XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            }
            picture.isHighlighted = true
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            destroyUnparented(picture)
        }
    }

    func testShowsTheNormalImageUntilTheOtherIsLoaded() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            let (normal, other) = (try fixture.url("normal"), try fixture.url("other"))
            try fixture.remember(.red, at: normal)
            picture.setImage(normal, manager: fixture.manager)
            picture.isHighlighted = true
            picture.highlighted.setImage(other, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            fixture.loader.lastLoad(of: other)?.answer(.blue)
            pump("the other picture") { drawnPixel(of: picture) == Swatch.blue.pixel }
            picture.highlighted.cancelCurrentRequest()
            picture.highlighted.imageURL = nil
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertEqual(picture.imageURL, normal)
            destroyUnparented(picture)
        }
    }
}

@MainActor private func setBoth(of picture: WebPicture, _ fixture: PictureFixture) throws {
    let (normal, other) = (try fixture.url("normal"), try fixture.url("other"))
    try fixture.remember(.red, at: normal)
    try fixture.remember(.blue, at: other)
    picture.setImage(normal, manager: fixture.manager)
    picture.highlighted.setImage(other, manager: fixture.manager)
}
