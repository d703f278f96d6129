import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Pictures that ask for a size whatever their image.
final class FixedSizeTests: GTKTestCase {
    func testAsksForTheSizeItIsTold() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            XCTAssertNil(picture.fixedSize)
            picture.setImage(try Swatch(red: 9, green: 9, blue: 9, width: 100).image())
            XCTAssertEqual(naturalSize(of: picture), [100, 50])
            picture.fixedSize = PointSize(width: 29.5, height: 20)
            XCTAssertEqual(naturalSize(of: picture), [30, 20])
            picture.setImage(try Swatch(red: 9, green: 9, blue: 9, width: 200).image())
            XCTAssertEqual(naturalSize(of: picture), [30, 20])
            picture.fixedSize = PointSize(width: -5, height: .infinity)
            XCTAssertEqual(naturalSize(of: picture), [16, 16], "as of a GtkPicture without any")
            picture.fixedSize = nil
            XCTAssertEqual(naturalSize(of: picture), [200, 100])
            destroyUnparented(picture)
        }
    }

    func testLaysThePictureOutInThatSize() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.fixedSize = PointSize(width: 40, height: 40)
            picture.setImage(try Swatch(red: 255, green: 0, blue: 0, width: 80).image())
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
            pump("the picture") { picture.image != nil }
            // 240 by 120 pixels that cover 40 by 30 points.
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            XCTAssertEqual([picture.image?.width, picture.image?.height], [60 * scale, 30 * scale])
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
