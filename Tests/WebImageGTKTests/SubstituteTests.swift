import CWebImageGTK
import FoundationEssentials
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// What a paintable draws without an image, and how its image fits.
final class SubstituteTests: GTKTestCase {
    func testPendingIsDrawnDuringALoadAndFallbackWithoutOne() throws {
        try MainActor.assumeIsolated {
            let (fixture, paintable) = (PictureFixture(), WebPaintable())
            let (green, blue) = (try texture(.green), try texture(Swatch(red: 0, green: 0, blue: 255, width: 8)))
            (paintable.pending, paintable.fallback) = (green.pointer.opaque, blue.pointer.opaque)
            @MainActor func pixel() -> SIMD4<UInt8> { Rendering(of: paintable.paintable, width: 8, height: 8)[4, 4] }
            @MainActor func width() -> gint { gdk_paintable_get_intrinsic_width(paintable.paintable) }
            XCTAssertEqual(pixel(), Swatch.blue.pixel, "without a URL")
            XCTAssertEqual(width(), 8)
            let url = try fixture.url("missing")
            paintable.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            XCTAssertEqual(pixel(), SIMD4(255, 255, 255, 255), "a placeholder is over it")
            paintable.setImage(try fixture.url("other"), manager: fixture.manager)
            XCTAssertEqual(pixel(), Swatch.green.pixel)
            XCTAssertEqual(width(), 4)
            paintable.setImage(url, placeholder: .color(.white), manager: fixture.manager)
            pump("the load") { fixture.loader.lastLoad(of: url) != nil }
            fixture.loader.lastLoad(of: url)?.end(.failure(.httpStatus(code: 404, url: url)))
            pump("the failure") { if case .failed = paintable.loadState { true } else { false } }
            XCTAssertEqual(pixel(), Swatch.blue.pixel, "in place of the placeholder")
            paintable.fallback = nil
            XCTAssertEqual(pixel(), SIMD4(255, 255, 255, 255))
            paintable.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { paintable.image != nil }
            XCTAssertEqual(pixel(), Swatch.red.pixel)
        }
    }

    func testChangesOfASubstituteAreItsChanges() throws {
        MainActor.assumeIsolated {
            let (paintable, inner) = (WebPaintable(), WebPaintable())
            paintable.fallback = inner.paintable
            var count = 0
            let connection = ObjectPointer(paintable.paintable).onSignal("invalidate-contents") { count += 1 }
            gdk_paintable_invalidate_contents(inner.paintable)
            XCTAssertEqual(count, 1)
            paintable.fallback = nil
            count = 0
            gdk_paintable_invalidate_contents(inner.paintable)
            XCTAssertEqual(count, 0)
            ObjectPointer(paintable.paintable).disconnect(connection)
        }
    }

    func testAnImageThatFitsHasNoSizeOfItsOwn() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.image = try Swatch.red.image()
            let expectations: [(GtkContentFit, size: gint, inside: (Int, Int), outside: (Int, Int)?)] = [
                (GTK_CONTENT_FIT_FILL, 4, (0, 0), nil), (GTK_CONTENT_FIT_COVER, 0, (0, 0), nil),
                (GTK_CONTENT_FIT_CONTAIN, 0, (0, 3), (0, 0)), (GTK_CONTENT_FIT_SCALE_DOWN, 0, (3, 4), (1, 4)),
            ]
            for (fit, size, inside, outside) in expectations {
                paintable.contentFit = fit
                XCTAssertEqual(gdk_paintable_get_intrinsic_width(paintable.paintable), size, "\(fit)")
                let drawing = Rendering(of: paintable.paintable, width: 8, height: 8)
                XCTAssertEqual(drawing[inside.0, inside.1], Swatch.red.pixel, "\(fit)")
                if let outside { XCTAssertEqual(drawing[outside.0, outside.1].w, 0, "\(fit)") }
            }
        }
    }
}

/// The focal point of views.
final class FocusTests: GTKTestCase {
    func testAPaintableThatCoversShowsTheFocus() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.image = try stripes()
            @MainActor func pixel() -> SIMD4<UInt8> { Rendering(of: paintable.paintable, width: 9, height: 9)[4, 4] }
            paintable.contentFit = GTK_CONTENT_FIT_COVER
            XCTAssertEqual(pixel(), Swatch.green.pixel)
            paintable.focus = FocalPoint(x: -1, y: 0)
            XCTAssertEqual(pixel(), Swatch.red.pixel)
            paintable.focus = FocalPoint(x: 0.9, y: 0)
            XCTAssertEqual(pixel(), Swatch.blue.pixel)
        }
    }

    func testAPictureThatCoversShowsTheFocusWhicheverLaysItOut() throws {
        try MainActor.assumeIsolated {
            for isLaidOutByGTK in [true, false] {
                let (window, view) = (TestWindow(), WebPicture())
                defer { window.close() }
                gtk_widget_set_size_request(view.widget, 30, 30)
                for align in [gtk_widget_set_halign, gtk_widget_set_valign] { align(view.widget, GTK_ALIGN_START) }
                if isLaidOutByGTK {
                    gtk_picture_set_content_fit(view.picture, GTK_CONTENT_FIT_COVER)
                } else {
                    view.contentMode = .scaleAspectFill
                }
                view.image = try stripes()
                window.show(view)
                @MainActor func pixel(_ x: Double) -> SIMD4<UInt8> {
                    view.focus = FocalPoint(x: x, y: 0)
                    return Rendering(of: view.widget)[15, 15]
                }
                XCTAssertEqual(pixel(-0.7), Swatch.red.pixel, "\(isLaidOutByGTK)")
                XCTAssertEqual(pixel(0), Swatch.green.pixel, "\(isLaidOutByGTK)")
                XCTAssertEqual(pixel(1), Swatch.blue.pixel, "\(isLaidOutByGTK)")
            }
        }
    }
}

@MainActor private func texture(_ swatch: Swatch) throws -> ObjectReference {
    ObjectReference(owning: ObjectPointer(try swatch.image().makeTexture()))
}

/// Red, green and blue from left to right, each square.
private func stripes() throws -> Image {
    try picture(30, 10) { x, _ in [Swatch.red, .green, .blue][x / 10].pixel }
}
