import CWebImageGTK
import XCTest

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

    func testUnmappingGivesTheLoadUpAndMappingStartsItAgain() throws {
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
            pump("the picture") { picture.image != nil }
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
            pump("the picture") { picture.image != nil }
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

    func testDestroyingTheWidgetLetsThePixelsGo() throws {
        try MainActor.assumeIsolated {
            // Never drawn: GTK's renderers keep small textures for some frames.
            let picture = WebPicture()
            weak var pixels: PixelBuffer?
            do {
                let fixture = PictureFixture()
                let url = try fixture.url("red")
                try fixture.remember(.red, at: url)
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
            let picture = WebPicture(wrapping: OpaquePointer(widget))
            XCTAssertEqual(picture.widget, widget)
            XCTAssertTrue(WebPicture.attached(to: widget) === picture)
            let url = try fixture.url("red")
            try fixture.remember(.red, at: url)
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
