import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// Pixels, without a display.
final class PicturePaintableTests: XCTestCase {
    /// Registers the types of render nodes, also where it finds no display.
    override func setUp() { _ = gtk_init_check() }

    func testDrawsAPictureOverTheWholeArea() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.layers.show(.image(try Swatch(red: 10, green: 20, blue: 30).image()))
            let drawing = render(paintable)
            XCTAssertEqual(drawing[0, 0], SIMD4(10, 20, 30, 255))
            XCTAssertEqual(drawing[7, 7], SIMD4(10, 20, 30, 255))
        }
    }

    func testDrawsPremultipliedPixelsAsTheyAre() throws {
        try MainActor.assumeIsolated {
            var pixels = try MutablePixelBuffer(width: 1, height: 1)
            pixels.withUnsafeMutableBytes { $0.storeBytes(of: SIMD4(100, 50, 0, 128), as: SIMD4<UInt8>.self) }
            let paintable = PicturePaintable()
            paintable.layers.show(.image(Image(pixels: pixels.freeze(isOpaque: false))))
            let pixel = render(paintable)[4, 4]
            for (drawn, expected) in [(pixel.x, 100), (pixel.y, 50), (pixel.z, 0), (pixel.w, 128)] {
                XCTAssertEqual(Double(drawn), Double(expected), accuracy: 1)
            }
        }
    }

    func testDrawsAColor() {
        MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.layers.show(.placeholder(.color(Color(red: 0, green: 1, blue: 0))))
            XCTAssertEqual(render(paintable)[3, 5], SIMD4(0, 255, 0, 255))
            XCTAssertEqual(size(of: paintable), PixelSize(width: 0, height: 0))
        }
    }

    func testDrawsNothingWithoutContent() {
        MainActor.assumeIsolated {
            XCTAssertEqual(render(PicturePaintable())[0, 0], SIMD4(0, 0, 0, 0))
        }
    }

    func testHasThePicturesSizeInPoints() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            var image = try Swatch(red: 0, green: 0, blue: 0, width: 8).image()
            image.scale = 2
            paintable.layers.show(.image(image))
            XCTAssertEqual(size(of: paintable), PixelSize(width: 4, height: 2))
        }
    }

    func testMixesBothPicturesInAFade() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.layers.show(.image(try Swatch.red.image()))
            paintable.layers.begin(.fade, to: .image(try Swatch.blue.image()))
            XCTAssertEqual(render(paintable)[4, 4], Swatch.red.pixel)

            paintable.layers.setProgress(0.5)
            let middle = render(paintable)[4, 4]
            XCTAssertEqual(Double(middle.x), 127.5, accuracy: 2)
            XCTAssertEqual(middle.y, 0)
            XCTAssertEqual(Double(middle.z), 127.5, accuracy: 2)
            XCTAssertTrue(paintable.layers.isInTransition)

            paintable.layers.setProgress(1)
            XCTAssertEqual(render(paintable)[4, 4], Swatch.blue.pixel)
            XCTAssertFalse(paintable.layers.isInTransition)
        }
    }

    func testKeepsTheOldPicturesProportionsInAFade() throws {
        try MainActor.assumeIsolated {
            // A column of red, six of green, a column of red: in a square, the red columns must be cut off.
            var pixels = try MutablePixelBuffer(width: 8, height: 4)
            pixels.withUnsafeMutableBytes { bytes in
                for index in 0..<32 {
                    let swatch = (1...6).contains(index % 8) ? Swatch.green : Swatch.red
                    bytes.storeBytes(of: swatch.pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
                }
            }
            let paintable = PicturePaintable()
            paintable.layers.show(.image(Image(pixels: pixels.freeze(isOpaque: true))))
            paintable.layers.begin(.fade, to: .image(try Swatch.blue.image()))
            let drawing = render(paintable)
            for x in [0, 7] { XCTAssertEqual(drawing[x, 4], Swatch.green.pixel) }
        }
    }

    func testAsksForALayoutOnlyWhenTheSizeChanges() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            let changes = ChangeCount()
            paintable.reference.pointer.onSignal("invalidate-size") { changes.sizes += 1 }
            paintable.reference.pointer.onSignal("invalidate-contents") { changes.contents += 1 }

            paintable.layers.show(.image(try Swatch.red.image()))
            XCTAssertEqual([changes.sizes, changes.contents], [1, 1])
            paintable.layers.show(.image(try Swatch.blue.image()))
            XCTAssertEqual([changes.sizes, changes.contents], [1, 2])
            paintable.layers.show(.empty)
            XCTAssertEqual([changes.sizes, changes.contents], [2, 3])
        }
    }

    private final class ChangeCount {
        var sizes = 0
        var contents = 0
    }
}

@MainActor private func render(_ paintable: PicturePaintable) -> Rendering {
    Rendering(of: paintable.reference.pointer.opaque, width: 8, height: 8)
}

@MainActor private func size(of paintable: PicturePaintable) -> PixelSize {
    let pointer = paintable.reference.pointer.opaque
    return PixelSize(
        width: Int(gdk_paintable_get_intrinsic_width(pointer)),
        height: Int(gdk_paintable_get_intrinsic_height(pointer)))
}
