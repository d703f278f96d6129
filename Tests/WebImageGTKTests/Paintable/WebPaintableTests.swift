import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class WebPaintableTests: GTKTestCase {
    func testNeedsNoWidget() throws {
        try MainActor.assumeIsolated {
            let (fixture, paintable) = (PictureFixture(), WebPaintable())
            let url = try fixture.url("red")
            paintable.setImage(url, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
            _ = Rendering(of: paintable.paintable, width: 4, height: 4)
            pump("the priority of what is drawn") { fixture.loader.lastLoad(of: url)?.priority == .high }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { paintable.image != nil }
            XCTAssertEqual(Rendering(of: paintable.paintable, width: 4, height: 4)[2, 2], Swatch.red.pixel)
        }
    }

    func testPlaysForAsLongAsSomebodyDrawsIt() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.setImage(try TestAnimation([.red, .green, .blue]).image())
            XCTAssertEqual(paintable.player?.isVisible, false)
            var seen: Set<SIMD4<UInt8>> = []
            pump("all frames") {
                seen.insert(Rendering(of: paintable.paintable, width: 2, height: 2)[1, 1])
                return seen.count == 3
            }
            pump("the end of patience") { paintable.player?.isVisible == false }
        }
    }

    func testEndsWithItsObject() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            do {
                let paintable = WebPaintable()
                paintable.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            }
            pump("the cancel") { outcomes.errors == [.cancelled] }
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
        }
    }

    func testShowsItselfInAGtkImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            guard let widget = gtk_image_new() else { return XCTFail("no image") }
            gtk_image_set_pixel_size(OpaquePointer(widget), 24)
            window.add(widget)
            _ = WebPaintable(in: widget)
            weak let icon = WebPaintable.attached(to: widget)
            XCTAssertNotNil(icon)
            XCTAssertEqual(gtk_image_get_paintable(OpaquePointer(widget)), icon?.paintable)
            let url = try fixture.url("red")
            icon?.setImage(url, manager: fixture.manager)
            window.present()
            pump("the map") { icon?.imageSlot.isOnScreen == true }
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .high)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { icon?.image != nil }
            window.close()
            pump("the end") { icon == nil }
        }
    }

    func testHasAContentMode() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.setImage(try Swatch(red: 255, green: 0, blue: 0, width: 4).image())
            // 4 by 2 points in 8 by 8.
            let expectations: [(ImageContentMode, inside: (Int, Int), outside: (Int, Int)?)] = [
                (.scaleToFill, (0, 0), nil), (.scaleAspectFill, (0, 0), nil), (.scaleAspectFit, (0, 3), (0, 0)),
                (.center, (3, 4), (1, 4)), (.topLeft, (0, 0), (5, 0)), (.bottomRight, (7, 7), (0, 7)),
                (.top, (4, 0), (4, 4)), (.left, (0, 4), (5, 4)),
            ]
            for (mode, inside, outside) in expectations {
                paintable.contentMode = mode
                let drawing = Rendering(of: paintable.paintable, width: 8, height: 8)
                XCTAssertEqual(drawing[inside.0, inside.1], Swatch.red.pixel, "\(mode)")
                if let outside { XCTAssertEqual(drawing[outside.0, outside.1].w, 0, "\(mode)") }
            }
        }
    }
}
