import CWebImageGTK
import FoundationEssentials
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageAnimation

/// Files that are shown while they arrive.
final class PicturePreviewTests: GTKTestCase {
    func testShowsTheArrivedRowsAndThenTheImage() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("photograph")
            let outcomes = Outcomes()
            let file = try CodecRegistry.shared.encode(noise(), as: .png)
            picture.setImage(
                url, placeholder: .color(.white), loadOptions: .progressive, manager: fixture.manager,
                completion: { outcomes.append($0) })
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count / 2))
            pump("a preview") { picture.image?.isPartial == true }
            guard case .loading(let received, _) = picture.loadState else { return XCTFail("\(picture.loadState)") }
            XCTAssertEqual(received, Int64(file.count / 2))
            XCTAssertTrue(outcomes.results.isEmpty)
            // The upper half is sharp, the lower one not there yet.
            let preview = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 64, height: 64)
            XCTAssertEqual(preview[5, 5], picture.image?.pixels[5, 5])
            load?.send(file.dropFirst(file.count / 2))
            load?.end()
            pump("the image") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(picture.image?.isPartial, false)
            let whole = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 64, height: 64)
            XCTAssertEqual(whole[5, 5], preview[5, 5])
            XCTAssertEqual(whole[60, 60], picture.image?.pixels[60, 60])
            XCTAssertNotEqual(whole[60, 60], preview[60, 60])
            pumpUntilIdle()
            XCTAssertEqual(outcomes.successCount, 1)
        }
    }

    func testPreviewsAreLeftToTheirHandlerWithTheImage() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("photograph")
            let outcomes = Outcomes()
            let file = try CodecRegistry.shared.encode(noise(), as: .png)
            var preview: Image?
            picture.setImage(
                url, options: .avoidSettingImage, loadOptions: .progressive, manager: fixture.manager,
                completion: { outcomes.append($0) }, preview: { preview = $0 })
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count / 2))
            pump("a preview") { preview?.isPartial == true }
            XCTAssertNil(picture.image)
            load?.send(file.dropFirst(file.count / 2))
            load?.end()
            pump("the image") { outcomes.successCount == 1 }
            XCTAssertNil(picture.image)
        }
    }

    func testAnAnimationPlaysWhileItArrivesAndContinuesAtItsEnd() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("film")
            // The last frame stays until it is seen, on a busy machine too.
            let file = try film(frameCount: 10, duration: 0.02, lastDuration: 100)
            picture.setImage(url, loadOptions: .progressive, manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count * 6 / 10))
            pump("the end of what is there") {
                picture.player?.isWaiting == true && picture.player?.currentFrameIndex ?? 0 > 1
            }
            let player = picture.player
            load?.send(file.dropFirst(file.count * 6 / 10))
            load?.end()
            pump("the last frame") { picture.player?.currentFrameIndex == 9 }
            XCTAssertTrue(picture.player === player, "it continues, and does not start again")
            XCTAssertEqual(player?.completedLoopCount, 0)
        }
    }

    func testRowsAreDrawnOverTheBestImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.contentMode = .scaleToFill
            let slot = picture.imageSlot
            @MainActor func pixels() -> [SIMD4<UInt8>] {
                let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 8, height: 8)
                return [1, 5, 7].map { drawing[4, $0] }
            }
            let white = SIMD4<UInt8>(255, 255, 255, 255)
            // Over the placeholder, then over a low-resolution image that comes late.
            let url = try fixture.url("photograph")
            var previews: [Bool] = []
            picture.setImage(
                url, placeholder: .color(.white), manager: fixture.manager, preview: { previews.append($0.isPartial) })
            slot.loadDidPreview(slot.sentinel, try rows(4))
            XCTAssertEqual(pixels(), [Swatch.blue.pixel, white, white])
            slot.loadDidPreview(slot.sentinel, try Swatch.green.image())
            XCTAssertEqual(pixels(), [Swatch.blue.pixel, Swatch.green.pixel, Swatch.green.pixel])
            slot.loadDidPreview(slot.sentinel, try rows(6))
            XCTAssertEqual(pixels(), [Swatch.blue.pixel, Swatch.blue.pixel, Swatch.green.pixel])
            XCTAssertEqual(previews, [true, false, true])
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(pixels(), [Swatch.red.pixel, Swatch.red.pixel, Swatch.red.pixel])
            // Over a low-resolution image that comes first.
            picture.setImage(try fixture.url("2"), manager: fixture.manager)
            slot.loadDidPreview(slot.sentinel, try Swatch.green.image())
            slot.loadDidPreview(slot.sentinel, try rows(4))
            XCTAssertEqual(pixels(), [Swatch.blue.pixel, Swatch.green.pixel, Swatch.green.pixel])
            // Not over the image of another URL.
            picture.image = try Swatch.red.image()
            picture.setImage(try fixture.url("3"), options: .ignorePlaceholder, manager: fixture.manager)
            slot.loadDidPreview(slot.sentinel, try rows(4))
            XCTAssertEqual(pixels()[2].w, 0)
        }
    }

    func testRowsOfAFileAreDrawnOverItsLowResolutionImage() throws {
        try MainActor.assumeIsolated {
            for format in [ImageFormat.jpeg, .png] {
                let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
                let (window, picture) = (TestWindow(), WebPicture())
                defer { window.close() }
                picture.fixedSize = PointSize(width: 64, height: 64)
                window.show(picture)
                let file = try CodecRegistry.shared.encode(noise(), as: format)
                let (url, small) = (try fixture.url("large"), try fixture.url("small"))
                var request = WebImageRequest(url, options: .progressive)
                request.lowResolutionURL = small
                picture.setImage(request, options: .fadeIn, manager: fixture.manager)
                let low = fixture.loader.lastLoad(of: small)
                let lowFile = try CodecRegistry.shared.encode(
                    Image(color: Color(red: 0, green: 1, blue: 0), size: PointSize(width: 4, height: 4)), as: .png)
                low?.begin(expectedByteCount: Int64(lowFile.count))
                low?.send(lowFile)
                low?.end()
                pump("the low-resolution image") { picture.image?.width == 4 }
                let load = fixture.loader.lastLoad(of: url)
                load?.begin(expectedByteCount: Int64(file.count))
                load?.send(file.prefix(file.count / 2))
                pump("a preview") { picture.image?.isPartial == true }
                pump("the end of the fade") { !picture.imageSlot.isInTransition }
                let drawing = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 64, height: 64)
                XCTAssertEqual(drawing[5, 5], picture.image?.pixels[5, 5], "\(format)")
                XCTAssertEqual(drawing[60, 62], Swatch.green.pixel, "\(format)")
            }
        }
    }

    func testRowsDoNotFadeOneByOne() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let slot = picture.imageSlot
            let starts = LockBox(0)
            picture.transition = .fade(duration: .milliseconds(30))
            picture.transition?.prepare = { _, _ in starts.withLock { $0 += 1 } }
            picture.setImage(try fixture.url("photograph"), options: .fadeIn, manager: fixture.manager)
            slot.loadDidPreview(slot.sentinel, try rows(2))
            XCTAssertTrue(slot.isInTransition)
            pump("the end of the fade") { !slot.isInTransition }
            for count in 3...6 {
                slot.loadDidPreview(slot.sentinel, try rows(count))
                XCTAssertFalse(slot.isInTransition)
            }
            XCTAssertEqual(starts.withLock { $0 }, 0, "previews have their own fade")
        }
    }

    func testAnotherURLEndsThePreviews() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("photograph")
            let file = try CodecRegistry.shared.encode(noise(), as: .png)
            picture.setImage(url, loadOptions: .progressive, manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count / 2))
            // On its way, but the loop has not turned.
            waitOffMain("a preview") { fixture.manager.counters.previews > 0 }
            picture.setImage(try fixture.url("other"), placeholder: .color(.white), manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
        }
    }
}

/// An image of 8 by 8 pixels whose first rows, in blue, have arrived.
private func rows(_ count: Int) throws -> Image {
    var pixels = try MutablePixelBuffer(width: 8, height: 8)
    pixels.withUnsafeMutableBytes { bytes in
        for index in 0..<64 {
            let pixel = index < count * 8 ? Swatch.blue.pixel : SIMD4(0, 0, 0, 0)
            bytes.storeBytes(of: pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
        }
    }
    var image = Image(pixels: pixels.freeze(isOpaque: false))
    image.isPartial = true
    return image
}

/// An animation of so many frames, each of another grey, as GIF.
func film(frameCount: Int, duration: Double, lastDuration: Double? = nil, width: Int = 40) throws -> Data {
    var animation = EncodableAnimation()
    for number in 0..<frameCount {
        let value = UInt8(number * 200 / frameCount + 20)
        let isLast = number == frameCount - 1
        animation.append(
            try Swatch(red: value, green: value, blue: value, width: width).image(),
            duration: .seconds(isLast ? lastDuration ?? duration : duration))
    }
    return try CodecRegistry.shared.encode(animation, as: .gif)
}

/// 64 by 64 pixels of noise.
private func noise() throws -> Image {
    var pixels = try MutablePixelBuffer(width: 64, height: 64)
    var state: UInt32 = 1
    pixels.withUnsafeMutableBytes { bytes in
        for index in bytes.indices {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: state >> 24)
        }
    }
    return Image(pixels: pixels.freeze(isOpaque: true))
}

/// Failed loads: their image, and how they start again.
final class FailureTests: GTKTestCase {
    func testAFailureImageHasItsOwnContentMode() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.failureImage = .image(try Swatch.blue.image())
            picture.failureContentMode = .center
            let url = try fixture.url("gone")
            picture.setImage(
                url, placeholder: .color(.white), options: .delayPlaceholder, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            XCTAssertNil(picture.image)
            // 4 by 2 points in the center of 20 by 20.
            let failed = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 20, height: 20)
            XCTAssertEqual(failed[10, 10], Swatch.blue.pixel)
            XCTAssertEqual(failed[10, 5].w, 0)
            // Images fit, as before.
            let red = try fixture.remembered(.red, as: "red")
            picture.setImage(red, manager: fixture.manager)
            let loaded = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 20, height: 20)
            XCTAssertEqual(loaded[1, 10], Swatch.red.pixel)
        }
    }

    func testAFailureImageReplacesNoImageOfTheSameURL() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            picture.failureImage = .color(.white)
            let (url, other) = (try fixture.url("red"), try fixture.url("other"))
            try fixture.remember(.red, at: url)
            picture.setImage(url, manager: fixture.manager)
            picture.setImage(WebImageRequest(url, cachePolicy: .reload), manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            // A reload blanks the view; the image of another URL is not kept either.
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            picture.setImage(url, manager: fixture.manager)
            picture.setImage(other, options: .ignorePlaceholder, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            fixture.loader.lastLoad(of: other)?.end(.failure(.invalidResponse(reason: .emptyBody, url: other)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: other)) }
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            XCTAssertNil(picture.image)
            // A preview is better than a failure image.
            picture.setImage(other, manager: fixture.manager)
            picture.imageSlot.loadDidPreview(picture.imageSlot.sentinel, try Swatch.green.image())
            fixture.loader.lastLoad(of: other)?.end(.failure(.invalidResponse(reason: .emptyBody, url: other)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: other)) }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            picture.setImage("no url at all", manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            destroyUnparented(picture)
        }
    }

    func testARetryLoadsTheFailedRequestAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            XCTAssertFalse(picture.retry())
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            picture.setImage(
                WebImageRequest(url, priority: .veryHigh), placeholder: .color(.white), manager: fixture.manager,
                completion: { outcomes.append($0) })
            XCTAssertFalse(picture.retry())
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { outcomes.errors == [.invalidResponse(reason: .emptyBody, url: url)] }
            XCTAssertTrue(picture.retry())
            XCTAssertEqual(picture.loadState, .loading(received: 0, expected: nil))
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .veryHigh)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { drawnPixel(of: picture) == Swatch.red.pixel }
            XCTAssertEqual(outcomes.results.count, 1)
            XCTAssertFalse(picture.retry())
        }
    }

    func testAClickRetriesOnlySlotsThatAskForIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            // All are slots of the same widget.
            let slots = ["asks", "does not ask", "is hidden", "asks no longer"].map { key in
                ImageSlot(on: window.box, key: key) { _ in }
            }
            for (number, slot) in slots.enumerated() {
                let url = try fixture.url("\(number)")
                slot.retriesOnTap = number != 1
                slot.setImage(url, manager: fixture.manager)
                fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            }
            slots[2].isOnShow = false
            slots[3].retriesOnTap = false
            @MainActor func isFailed(_ slot: ImageSlot) -> Bool {
                if case .failed = slot.loadState { true } else { false }
            }
            pump("the failures") { slots.allSatisfy(isFailed) }
            let gestures = ObjectPointer(window.box).controllers(gtk_gesture_click_get_type())
            XCTAssertEqual(gestures.count, 1)
            gestures.first?.emit("released", 1, 2.0, 2.0)
            XCTAssertEqual(slots.map(isFailed), [false, true, true, true])
            pump("the load") { fixture.loader.loads.count == 5 }
            XCTAssertEqual(fixture.loader.loads.last?.url, try fixture.url("0"))
        }
    }

    func testAKeyRetriesAFailedLoadOfAFocusedView() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let widget = ObjectPointer(picture.widget)
            let url = try fixture.url("red")
            @MainActor func fail() {
                fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
                pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            }
            picture.setImage(url, manager: fixture.manager)
            fail()
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 0)
            picture.retriesOnTap = true
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 1)
            XCTAssertEqual(gtk_widget_grab_focus(picture.widget), 1)
            let keys = [GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_space, GDK_KEY_KP_Space]
            for (number, key) in keys.enumerated() {
                XCTAssertTrue(widget.press(key))
                XCTAssertFalse(widget.press(key), "a load is in progress")
                pump("another load") { fixture.loader.loads.count == number + 2 }
                // The focus stays for another attempt.
                XCTAssertEqual(gtk_widget_is_focus(picture.widget), 1)
                fail()
            }
            XCTAssertTrue(widget.press(GDK_KEY_Return))
            pump("another load") { fixture.loader.loads.count == keys.count + 2 }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.loadState == .loaded(.remote) }
            XCTAssertFalse(widget.press(GDK_KEY_Return))
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 1)
            gtk_window_set_focus(window.asWindow, nil)
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 0)
        }
    }

    func testTheFocusOfTheProgramStays() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            gtk_widget_set_focusable(picture.widget, 1)
            picture.retriesOnTap = true
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            picture.prepareForReuse()
            XCTAssertFalse(ObjectPointer(picture.widget).press(GDK_KEY_Return))
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 1)
        }
    }

    func testAWidgetAroundAPictureTakesTheFocusForIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            guard let card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0) else { return XCTFail("no box") }
            gtk_box_append(asBox(card), picture.widget)
            window.add(card)
            window.present()
            pump("the map") { picture.imageSlot.isOnScreen }
            let url = try fixture.url("red")
            @MainActor func fail() {
                fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
                pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            }
            @MainActor func focusable() -> [Bool] {
                [card, picture.widget].map { gtk_widget_get_focusable($0) != 0 }
            }
            XCTAssertEqual(picture.retryFocusWidget, picture.widget)
            picture.retriesOnTap = true
            picture.setImage(url, manager: fixture.manager)
            fail()
            XCTAssertEqual(focusable(), [false, true])

            picture.retryFocusWidget = card
            XCTAssertEqual(picture.retryFocusWidget, card)
            XCTAssertEqual(focusable(), [true, false])
            XCTAssertFalse(ObjectPointer(picture.widget).press(GDK_KEY_Return))
            XCTAssertEqual(ObjectPointer(picture.widget).controllers(gtk_gesture_click_get_type()).count, 1)
            XCTAssertEqual(gtk_widget_grab_focus(card), 1)
            XCTAssertTrue(ObjectPointer(card).press(GDK_KEY_Return))
            pump("another load") { fixture.loader.loads.count == 2 }
            fail()

            picture.retryFocusWidget = picture.widget
            XCTAssertEqual(focusable(), [false, true])
            XCTAssertFalse(ObjectPointer(card).press(GDK_KEY_Return))
            picture.retryFocusWidget = card
            // The picture outlives the card.
            let reference = ObjectReference(retaining: ObjectPointer(picture.widget))
            gtk_box_remove(asBox(card), picture.widget)
            gtk_box_remove(asBox(window.box), card)
            pump("the end of the card") { picture.retryFocusWidget == picture.widget }
            XCTAssertEqual(gtk_widget_get_focusable(picture.widget), 1)
            withExtendedLifetime(reference) {}
        }
    }

    func testAPictureLeavesTheFocusOfTheWidgetAroundItAtItsEnd() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            picture.retryFocusWidget = window.box
            picture.retriesOnTap = true
            window.show(picture)
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            XCTAssertEqual(gtk_widget_get_focusable(window.box), 1)
            gtk_box_remove(asBox(window.box), picture.widget)
            XCTAssertEqual(gtk_widget_get_focusable(window.box), 0)
            XCTAssertEqual(ObjectPointer(window.box).controllers(gtk_shortcut_controller_get_type()).count, 0)
        }
    }

    func testAFailedPictureWithTheFocusHasAnOutline() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.failureImage = .color(.white)
            picture.retriesOnTap = true
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            @MainActor func edge() -> SIMD4<UInt8> {
                Rendering(of: gtk_picture_get_paintable(picture.picture), width: 20, height: 20)[0, 10]
            }
            XCTAssertEqual(edge(), SIMD4(255, 255, 255, 255))
            gtk_window_set_focus_visible(window.asWindow, 1)
            XCTAssertEqual(gtk_widget_grab_focus(picture.widget), 1)
            XCTAssertLessThan(edge().x, 200)
            gtk_window_set_focus(window.asWindow, nil)
            XCTAssertEqual(edge(), SIMD4(255, 255, 255, 255))
        }
    }

    func testAClickRetriesIfTheViewAllowsIt() throws {
        try MainActor.assumeIsolated {
            guard let pointer = Pointer() else { throw XCTSkip("no X server with a test extension: install libxtst6") }
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            gtk_widget_set_size_request(picture.widget, 80, 60)
            picture.retriesOnTap = true
            pointer.moveAway()
            window.show(picture)
            pump("the size") { gtk_widget_get_width(picture.widget) > 0 }
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
            pump("the failure") { picture.loadState == .failed(.invalidResponse(reason: .emptyBody, url: url)) }
            pointer.move(to: picture.widget)
            pumpUntilIdle()
            pointer.press()
            pointer.release()
            pump("another load") { fixture.loader.loads.count == 2 }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.loadState == .loaded(.remote) }
            pointer.moveAway()
        }
    }
}
