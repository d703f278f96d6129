import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class HighlightTests: GTKTestCase {
    func testShowsItsOtherPictureUnderThePointer() throws {
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

    func testIsHighlightedByStateOrByTheProgram() throws {
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

    func testShowsTheNormalPictureUntilTheOtherIsThere() throws {
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
