import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// How pictures lie in their widget, by what the window draws.
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
            picture.setImage(Image(pixels: pixels.freeze(isOpaque: true)))
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
