import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class TextureTests: XCTestCase {
    /// Registers the types of render nodes, also where it finds no display.
    override func setUp() { _ = gtk_init_check() }

    func testIsSharedByViewsOfTheSamePixels() throws {
        try MainActor.assumeIsolated {
            let image = try Swatch.red.image()
            let (first, second) = (Texture.of(image.pixels), Texture.of(image.pixels))
            XCTAssertEqual(first.pointer, second.pointer)
            XCTAssertNotEqual(Texture.of(try Swatch.red.image().pixels).pointer, first.pointer)
        }
    }

    func testKeepsThePixelsAliveAndThenReturnsThem() throws {
        try MainActor.assumeIsolated {
            var image: Image? = try Swatch.green.image()
            weak let pixels = image?.pixels
            var texture = image.map { Texture.of($0.pixels) }
            image = nil
            XCTAssertNotNil(pixels)
            withExtendedLifetime(texture) {}
            texture = nil
            XCTAssertNil(pixels)
        }
    }

    func testShowsAPartOfAPicturesMemory() throws {
        try MainActor.assumeIsolated {
            let white = try Image(color: .white, size: PointSize(width: 20, height: 20))
            let both = try white.inset(by: PointInsets(left: -20), color: .black)
            let part = try both.cropped(to: PointRect(x: 15, y: 2, width: 25, height: 18))
            XCTAssertEqual(part.pixels.bytesPerRow, 160)
            let paintable = PicturePaintable()
            paintable.layers.show(.image(part))
            let drawing = Rendering(of: paintable.reference.pointer.opaque, width: 25, height: 18)
            for y in [0, 17] {
                XCTAssertEqual(drawing[4, y], SIMD4(0, 0, 0, 255))
                XCTAssertEqual(drawing[5, y], SIMD4(255, 255, 255, 255))
                XCTAssertEqual(drawing[24, y], SIMD4(255, 255, 255, 255))
            }
        }
    }

    func testOldPixelsAreNeverTakenForNewOnes() throws {
        try MainActor.assumeIsolated {
            // The allocator likes to hand the same address out again.
            for number in 0..<200 {
                let swatch = Swatch(red: UInt8(number), green: 7, blue: 9)
                let paintable = PicturePaintable()
                paintable.layers.show(.image(try swatch.image()))
                let drawing = Rendering(of: paintable.reference.pointer.opaque, width: 2, height: 2)
                XCTAssertEqual(drawing[1, 1], swatch.pixel)
            }
        }
    }
}
