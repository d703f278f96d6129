import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Visibility and the life of the widget.
final class PictureLifeTests: GTKTestCase {
    func testALoadOffScreenHasLowPriorityUntilItIsSeen() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
            window.show(picture)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .high)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
        }
    }

    func testALoadOnScreenHasItsOwnPriority() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            picture.setImage(url, priority: .veryLow, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .veryLow)
        }
    }

    func testUnmappingCancelsTheLoadAndMappingRestartsIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })

            gtk_widget_set_visible(picture.widget, gboolean(0))
            let first = fixture.loader.lastLoad(of: url)
            pump("the cancel") { first?.isCancelled == true }
            XCTAssertEqual(picture.loadState, .idle)
            pumpUntilIdle()
            XCTAssertTrue(outcomes.results.isEmpty)

            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("a second load") { fixture.loader.loads.count == 2 }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testMovingAWidgetDoesNotCancel() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            let (first, second) = (gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
            for case let box? in [first, second] { window.add(box) }
            gtk_box_append(first.map(asBox), picture.widget)
            window.present()
            pump("the map") { picture.imageSlot.isOnScreen }
            let url = try fixture.url("red")
            picture.setImage(url, manager: fixture.manager)

            let reference = ObjectReference(retaining: ObjectPointer(picture.widget))
            gtk_box_remove(first.map(asBox), picture.widget)
            XCTAssertFalse(picture.imageSlot.isOnScreen)
            gtk_box_append(second.map(asBox), picture.widget)
            withExtendedLifetime(reference) {}
            pump("the map") { picture.imageSlot.isOnScreen }
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.loads.count, 1)
            XCTAssertEqual(fixture.loader.loads.first?.isCancelled, false)
            XCTAssertEqual(fixture.loader.loads.first?.priority, .high)
        }
    }

    func testAURLSetOffScreenIsLoadedAfterTheUnmapOfAnother() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            picture.setImage(try fixture.url("old"), manager: fixture.manager)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            let new = try fixture.url("new")
            picture.setImage(new, manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: new)?.isCancelled, false)
            fixture.loader.lastLoad(of: new)?.answer(.blue)
            pump("the image") { picture.image != nil }
        }
    }

    func testDestroyingTheWidgetCancelsAndFrees() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            weak var weakPicture: WebPicture?
            do {
                let picture = WebPicture()
                weakPicture = picture
                window.show(picture)
                picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            }
            weakPicture?.onLoadStateChange = { XCTFail("told \($0) in the middle of the destruction") }
            XCTAssertNotNil(weakPicture)
            window.close()
            XCTAssertNil(weakPicture)
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true && !outcomes.results.isEmpty }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testDestroyingTheWidgetReleasesThePixels() throws {
        try MainActor.assumeIsolated {
            // Never drawn: GTK's renderers keep small textures for some frames.
            let picture = WebPicture()
            weak var pixels: PixelBuffer?
            do {
                let fixture = PictureFixture()
                let url = try fixture.remembered(.red, as: "red")
                picture.setImage(url, manager: fixture.manager)
                pixels = picture.image?.pixels
            }
            XCTAssertNotNil(pixels)
            destroyUnparented(picture)
            XCTAssertNil(pixels)
        }
    }

    func testAPictureThatOutlivesItsWidgetStaysUsable() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            let picture = WebPicture()
            window.show(picture)
            window.close()
            pumpUntilIdle()
            let outcomes = Outcomes()
            picture.setImage(try fixture.url("red"), manager: fixture.manager, completion: { outcomes.append($0) })
            pump("completion") { !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            XCTAssertEqual(gtk_widget_get_mapped(picture.widget), 0)
        }
    }

    func testWrapsAPictureThatExists() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            guard let widget = gtk_picture_new() else { return XCTFail("no picture") }
            window.add(widget)
            XCTAssertNil(WebPicture.attached(to: widget))
            let picture = WebPicture(wrapping: widget)
            XCTAssertEqual(picture.widget, widget)
            XCTAssertTrue(WebPicture.attached(to: widget) === picture)
            let url = try fixture.remembered(.red, as: "red")
            picture.setImage(url, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testWrappingTwiceRetiresTheFirst() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            let first = WebPicture()
            window.show(first)
            let url = try fixture.url("red")
            first.setImage(url, manager: fixture.manager)
            let second = WebPicture(wrapping: first.widget)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            XCTAssertTrue(WebPicture.attached(to: first.widget) === second)
            try fixture.remember(.blue, at: url)
            second.setImage(url, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: second), Swatch.blue.pixel)
            window.close()
        }
    }
}

/// Views whose images go when they leave the screen, and come back with them.
final class OffscreenReleaseTests: GTKTestCase {
    func testTheImageIsReleasedAndComesBackFromMemory() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            let outcomes = Outcomes()
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }

            gtk_widget_set_visible(picture.widget, gboolean(0))
            XCTAssertNotNil(picture.image, "moving a widget does not count")
            pump("the release") { picture.image == nil }
            XCTAssertEqual(picture.loadState, .idle)
            XCTAssertEqual(picture.imageURL, url)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(0, 0, 0, 0))

            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("the map") { picture.imageSlot.isOnScreen }
            XCTAssertEqual(picture.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertEqual(fixture.loader.loads.count, 1)
            pumpUntilIdle()
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testAReleasedImageComesBackThoughItsRequestIsCancelled() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            picture.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the release") { picture.image == nil }
            picture.cancelCurrentRequest()
            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("the map") { picture.imageSlot.isOnScreen }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testAnImageNoLongerInMemoryIsLoadedAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            let endCount = LockBox(0)
            picture.setImage(
                url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager,
                completion: { _ in endCount.withLock { $0 += 1 } })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            weak let pixels = picture.image?.pixels
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the release") { picture.image == nil }
            fixture.cache.memory.removeAll()
            pump("the end of the pixels") { pixels == nil }

            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("a second load") { fixture.loader.loads.count == 2 }
            XCTAssertEqual(fixture.loader.loads.last?.priority, .high)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
            fixture.loader.lastLoad(of: url)?.answer(.blue)
            pump("the image") { drawnPixel(of: picture) == Swatch.blue.pixel }
            pumpUntilIdle()
            XCTAssertEqual(endCount.withLock { $0 }, 1)
        }
    }

    func testAPreviewIsReleasedWithItsLoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            picture.setImage(url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager)
            let slot = picture.imageSlot
            slot.loadDidPreview(slot.sentinel, try Swatch.blue.image())
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true }
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
        }
    }

    func testImagesLoadedOffScreenAreCached() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the end") { outcomes.successCount == 1 }
            pump("the release") { picture.image == nil && picture.loadState == .idle }
            window.show(picture)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testAReloadIsNotRepeated() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            picture.setImage(WebImageRequest(url, cachePolicy: .reload), manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { picture.image != nil }
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the release") { picture.image == nil }
            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("the image") { picture.image != nil }
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testTheSameURLSetOffScreenIsShownAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let (red, blue) = (try fixture.url("red"), try fixture.url("blue"))
            try fixture.remember(.red, at: red)
            try fixture.remember(.blue, at: blue)
            window.show(picture)
            picture.setImage(red, manager: fixture.manager)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the release") { picture.image == nil }
            let outcomes = Outcomes()
            picture.setImage(red, manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            // Another one takes its place, and it is that which comes back.
            picture.setImage(blue, manager: fixture.manager)
            pump("the release") { picture.image == nil }
            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("the image") { drawnPixel(of: picture) == Swatch.blue.pixel }
        }
    }

    func testImagesWithoutAURLStay() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), makePicture())
            defer { window.close() }
            window.show(picture)
            picture.image = try Swatch.red.image()
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pumpUntilIdle()
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testImagesOfHiddenStatesComeBackToo() throws {
        try MainActor.assumeIsolated {
            for releases in [false, true] {
                let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
                defer { window.close() }
                picture.releasesImageOffscreen = releases
                XCTAssertEqual(picture.highlighted.releasesImageOffscreen, releases)
                let (normal, other) = (try fixture.url("normal"), try fixture.url("other"))
                try fixture.remember(.red, at: normal)
                picture.setImage(normal, manager: fixture.manager)
                window.show(picture)
                picture.highlighted.setImage(other, manager: fixture.manager)
                gtk_widget_set_visible(picture.widget, gboolean(0))
                pump("the cancel") { fixture.loader.lastLoad(of: other)?.isCancelled == true }
                gtk_widget_set_visible(picture.widget, gboolean(1))
                pump("a second load") { fixture.loader.loads.count == 2 }
                XCTAssertEqual(fixture.loader.lastLoad(of: other)?.priority, .low)
                fixture.loader.lastLoad(of: other)?.answer(.blue)
                pump("the other picture") { picture.highlighted.image != nil }
                gtk_widget_set_visible(picture.widget, gboolean(0))
                pumpUntilIdle()
                XCTAssertEqual(picture.highlighted.image == nil, releases)
                picture.isHighlighted = true
                gtk_widget_set_visible(picture.widget, gboolean(1))
                pump("the other picture") { drawnPixel(of: picture) == Swatch.blue.pixel }
            }
        }
    }
}

@MainActor private func makePicture() -> WebPicture {
    let picture = WebPicture()
    picture.releasesImageOffscreen = true
    return picture
}
