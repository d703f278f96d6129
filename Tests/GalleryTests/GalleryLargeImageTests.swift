import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Photographs with more pixels than the viewer has in memory at once, which are fewer here.
final class GalleryLargeImageTests: GTKTestCase {
    private static let (width, height) = (1_400, 1_240)

    @MainActor private static func file(_ format: ImageFormat) throws -> Data {
        let pixels = try MutablePixelBuffer(width: width, height: height)
        var options = EncodingOptions()
        options.pngLevel = 1
        return try CodecRegistry.shared.encode(
            Image(pixels: pixels.freeze(isOpaque: false)), as: format, options: options)
    }

    @MainActor private static func zoomText(of viewer: PhotoViewer) -> String? {
        var text: String?
        func visit(_ widget: UnsafeMutablePointer<GtkWidget>) {
            let pointer = ObjectPointer(widget)
            if pointer.isInstance(of: gtk_button_get_type()),
                let label = gtk_button_get_label(pointer.as()).map({ String(cString: $0) }), label.contains("%")
            {
                text = label
            }
            var next = gtk_widget_get_first_child(widget)
            while let child = next {
                visit(child)
                next = gtk_widget_get_next_sibling(child)
            }
        }
        for part in viewer.controls.parts { visit(part.widget) }
        return text
    }

    private func check(_ format: ImageFormat) throws {
        try ViewerFixture.with { fixture in
            fixture.viewer.canvas.pixelByteLimit = Self.width * Self.height * 2
            let url = try fixture.write(try Self.file(format), "large." + format.fileExtension)
            fixture.open([url])
            pump("the image") { fixture.viewer.isSettled }
            XCTAssertEqual(fixture.viewer.canvas.imageSize, PixelSize(width: Self.width, height: Self.height))
            fixture.run("actual-size")
            pump("the tiles") { fixture.viewer.canvas.showsTiles && fixture.viewer.isSettled }
            XCTAssertEqual(fixture.viewer.canvas.scale, 1, accuracy: 0.001)
            XCTAssertNil(fixture.viewer.canvas.detail)
            XCTAssertEqual(Self.zoomText(of: fixture.viewer), "100 %")
            XCTAssertEqual(fixture.toasts, [])
            let record = try XCTUnwrap(fixture.session.loads.record(of: url))
            XCTAssertNil(record.error, "the image is on display")
            XCTAssertEqual(fixture.session.loads.failedURLs, [])
        }
    }

    func testAllPixelsOfALargeJPEGAreShown() throws { try check(.jpeg) }

    func testAllPixelsOfALargePNGAreShown() throws { try check(.png) }
}
