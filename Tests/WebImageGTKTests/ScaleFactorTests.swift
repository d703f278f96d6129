import CWebImageGTK
import FoundationEssentials
import Glibc
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Screens with two pixels per point.
final class ScaleFactorTests: GTKTestCase {
    func testDecodesAllPixelsOfAScreenWithTwoPerPoint() throws {
        try MainActor.assumeIsolated {
            let screen = try ScaledScreen()
            defer { screen.setScale(1) }
            screen.setScale(2)
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            let (image, request) = try showPhotograph(in: picture, window, fixture)
            XCTAssertEqual(gtk_widget_get_scale_factor(picture.widget), 2)
            // 400 by 200 pixels in 60 by 30 points.
            XCTAssertEqual(request.thumbnail?.size, PixelSize(width: 120, height: 60))
            XCTAssertEqual(image.pixels.size, PixelSize(width: 120, height: 60))
            XCTAssertEqual(image.scale, 2)
            XCTAssertEqual(image.size, PointSize(width: 60, height: 30))
        }
    }

    func testDecodesAgainWhenTheScreenGetsTwoPixelsPerPoint() throws {
        try MainActor.assumeIsolated {
            let screen = try ScaledScreen()
            defer { screen.setScale(1) }
            screen.setScale(1)
            let (fixture, window, picture) = (PhotographFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            let (image, _) = try showPhotograph(in: picture, window, fixture)
            XCTAssertEqual(image.pixels.size, PixelSize(width: 60, height: 30))
            XCTAssertEqual(image.scale, 1)
            screen.setScale(2)
            // By the signal, not by the next layout, which other widgets may not have.
            XCTAssertEqual(picture.imageSlot.sizedRequest?.thumbnail?.size, PixelSize(width: 120, height: 60))
            pump("more pixels") { picture.image?.pixels.size == PixelSize(width: 120, height: 60) }
            XCTAssertEqual(picture.image?.scale, 2)
            XCTAssertEqual(picture.loadState, .loaded(.remote))
        }
    }
}

/// Shows a photograph in 60 by 30 points, and returns its image and request.
@MainActor private func showPhotograph(
    in picture: WebPicture, _ window: TestWindow, _ fixture: PhotographFixture
) throws -> (Image, WebImageRequest) {
    picture.decodesAtDisplaySize = true
    gtk_widget_set_size_request(picture.widget, 60, 30)
    gtk_widget_set_halign(picture.widget, GTK_ALIGN_START)
    gtk_widget_set_valign(picture.widget, GTK_ALIGN_START)
    window.show(picture)
    pump("the layout") { gtk_widget_get_width(picture.widget) == 60 && gtk_widget_get_height(picture.widget) == 30 }
    picture.setImage(fixture.url, manager: fixture.manager)
    pump("the image") { picture.image != nil }
    return (try XCTUnwrap(picture.image), try XCTUnwrap(picture.imageSlot.sizedRequest))
}

/// An X server's screen, whose scale factor tests set. GTK's headers for X are not needed for that.
@MainActor private struct ScaledScreen {
    private typealias Call = @convention(c) (OpaquePointer) -> Void
    private let set: @convention(c) (OpaquePointer, gint) -> Void
    private let beginIgnoringErrors, endIgnoringErrors: Call
    private let display: OpaquePointer

    init() throws {
        let type = g_type_from_name("GdkX11Display")
        guard type != 0, let display = gdk_display_get_default(), ObjectPointer(display).isInstance(of: type),
            let library = dlopen(nil, RTLD_NOW), let set = dlsym(library, "gdk_x11_display_set_surface_scale"),
            let begin = dlsym(library, "gdk_x11_display_error_trap_push"),
            let end = dlsym(library, "gdk_x11_display_error_trap_pop_ignored")
        else { throw XCTSkip("GTK uses no X server") }
        self.set = unsafeBitCast(set, to: (@convention(c) (OpaquePointer, gint) -> Void).self)
        beginIgnoringErrors = unsafeBitCast(begin, to: Call.self)
        endIgnoringErrors = unsafeBitCast(end, to: Call.self)
        self.display = display
    }

    /// Sets the pixels per point of all windows. Those that are being destroyed no longer have one, which is no error.
    func setScale(_ scale: gint) {
        beginIgnoringErrors(display)
        set(display, scale)
        endIgnoringErrors(display)
    }
}
