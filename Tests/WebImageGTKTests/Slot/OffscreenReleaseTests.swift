import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Views whose pictures go when they leave the screen, and come back with them.
final class OffscreenReleaseTests: GTKTestCase {
    func testThePictureGoesAndComesBackFromMemory() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            let outcomes = Outcomes()
            picture.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { picture.image != nil }

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

    func testAnImageThatWasLetGoComesBackThoughItsRequestIsCancelled() throws {
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

    func testWhatMemoryNoLongerHasIsLoadedAgain() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            let endCount = Lock(0)
            picture.setImage(
                url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager,
                completion: { _ in endCount.withLock { $0 += 1 } })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { picture.image != nil }
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
            pump("the picture") { drawnPixel(of: picture) == Swatch.blue.pixel }
            pumpUntilIdle()
            XCTAssertEqual(endCount.withLock { $0 }, 1)
        }
    }

    func testAPreviewGoesWithItsLoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), makePicture())
            defer { window.close() }
            let url = try fixture.url("red")
            window.show(picture)
            picture.setImage(url, placeholder: .image(try Swatch.green.image()), manager: fixture.manager)
            let setter = picture.imageSlot.setter
            setter.loadDidPreview(setter.sentinel, try Swatch.blue.image())
            XCTAssertEqual(drawnPixel(of: picture), Swatch.blue.pixel)
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true }
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel)
        }
    }

    func testWhatLoadsOffScreenGoesIntoTheCache() throws {
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
            pump("the picture") { picture.image != nil }
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pump("the release") { picture.image == nil }
            gtk_widget_set_visible(picture.widget, gboolean(1))
            pump("the picture") { picture.image != nil }
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testTheSameURLSetOffScreenIsThereAgain() throws {
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
            pump("the picture") { drawnPixel(of: picture) == Swatch.blue.pixel }
        }
    }

    func testPicturesWithoutAURLStay() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), makePicture())
            defer { window.close() }
            window.show(picture)
            picture.setImage(try Swatch.red.image())
            gtk_widget_set_visible(picture.widget, gboolean(0))
            pumpUntilIdle()
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
        }
    }

    func testPicturesOfHiddenStatesComeBackToo() throws {
        try MainActor.assumeIsolated {
            for offscreenLoading in [OffscreenLoading.pause, .release] {
                let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
                defer { window.close() }
                picture.imageSlot.offscreenLoading = offscreenLoading
                XCTAssertEqual(picture.highlighted.offscreenLoading, offscreenLoading)
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
                XCTAssertEqual(picture.highlighted.image == nil, offscreenLoading == .release)
                picture.isHighlighted = true
                gtk_widget_set_visible(picture.widget, gboolean(1))
                pump("the other picture") { drawnPixel(of: picture) == Swatch.blue.pixel }
            }
        }
    }
}

@MainActor private func makePicture() -> WebPicture {
    let picture = WebPicture()
    picture.imageSlot.offscreenLoading = .release
    return picture
}
