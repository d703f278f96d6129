import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Pixels, without a display.
final class PicturePaintableTests: XCTestCase {
    /// Registers the types of render nodes, also where it finds no display.
    override func setUp() { _ = gtk_init_check() }

    func testDrawsAnImageOverTheWholeArea() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.painter.show(try Swatch(red: 10, green: 20, blue: 30).image())
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
            paintable.painter.show(Image(pixels: pixels.freeze(isOpaque: false)))
            let pixel = render(paintable)[4, 4]
            for (drawn, expected) in [(pixel.x, 100), (pixel.y, 50), (pixel.z, 0), (pixel.w, 128)] {
                XCTAssertEqual(Double(drawn), Double(expected), accuracy: 1)
            }
        }
    }

    func testDrawsAColor() {
        MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.painter.show(.color(Color(red: 0, green: 1, blue: 0)))
            XCTAssertEqual(render(paintable)[3, 5], SIMD4(0, 255, 0, 255))
            XCTAssertEqual(size(of: paintable), PixelSize(width: 0, height: 0))
        }
    }

    func testDrawsNothingWithoutContent() {
        MainActor.assumeIsolated {
            XCTAssertEqual(render(PicturePaintable())[0, 0], SIMD4(0, 0, 0, 0))
        }
    }

    func testHasTheImagesSizeInPoints() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            var image = try Swatch(red: 0, green: 0, blue: 0, width: 8).image()
            image.scale = 2
            paintable.painter.show(image)
            XCTAssertEqual(size(of: paintable), PixelSize(width: 4, height: 2))
        }
    }

    func testMixesBothImagesInAFade() throws {
        try MainActor.assumeIsolated {
            let paintable = PicturePaintable()
            paintable.painter.show(try Swatch.red.image())
            paintable.painter.show(try Swatch.blue.image(), with: .fade())
            XCTAssertEqual(render(paintable)[4, 4], Swatch.red.pixel)

            paintable.painter.setProgress(0.5)
            let middle = render(paintable)[4, 4]
            XCTAssertEqual(Double(middle.x), 127.5, accuracy: 2)
            XCTAssertEqual(middle.y, 0)
            XCTAssertEqual(Double(middle.z), 127.5, accuracy: 2)
            XCTAssertTrue(paintable.painter.isInTransition)

            paintable.painter.setProgress(1)
            XCTAssertEqual(render(paintable)[4, 4], Swatch.blue.pixel)
            XCTAssertFalse(paintable.painter.isInTransition)
        }
    }

    func testKeepsTheOldImagesProportionsInAFade() throws {
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
            paintable.painter.show(Image(pixels: pixels.freeze(isOpaque: true)))
            paintable.painter.show(try Swatch.blue.image(), with: .fade())
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

            paintable.painter.show(try Swatch.red.image())
            XCTAssertEqual([changes.sizes, changes.contents], [1, 1])
            paintable.painter.show(try Swatch.blue.image())
            XCTAssertEqual([changes.sizes, changes.contents], [1, 2])
            paintable.painter.show(nil)
            XCTAssertEqual([changes.sizes, changes.contents], [2, 3])
            // Another slot may be as large.
            paintable.painter = SlotPainter()
            XCTAssertEqual([changes.sizes, changes.contents], [2, 4])
            let painter = SlotPainter()
            painter.show(try Swatch.red.image())
            paintable.painter = painter
            XCTAssertEqual([changes.sizes, changes.contents], [3, 5])
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
            pump("the image") { paintable.image != nil }
            XCTAssertEqual(Rendering(of: paintable.paintable, width: 4, height: 4)[2, 2], Swatch.red.pixel)
        }
    }

    func testPlaysWhileItIsDrawn() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.image = try TestAnimation([.red, .green, .blue]).image()
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
            pump("the image") { icon?.image != nil }
            window.close()
            pump("the end") { icon == nil }
        }
    }

    func testHasAContentMode() throws {
        try MainActor.assumeIsolated {
            let paintable = WebPaintable()
            paintable.image = try Swatch(red: 255, green: 0, blue: 0, width: 4).image()
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

    func testIsMadeOnAnotherThreadForOneUserAlone() throws {
        let image = try Swatch.green.image()
        let isMade = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var made: OpaquePointer?
        Thread.detachNewThread {
            made = image.makeUnsharedTexture()
            isMade.signal()
        }
        isMade.wait()
        try MainActor.assumeIsolated {
            let texture = ObjectReference(owning: ObjectPointer(try XCTUnwrap(made)))
            XCTAssertNotEqual(Texture.of(image.pixels).pointer, texture.pointer)
            XCTAssertEqual(Rendering(of: texture.pointer.opaque, width: 4, height: 4)[2, 2], Swatch.green.pixel)
        }
    }

    func testShowsAPartOfAnImagesMemory() throws {
        try MainActor.assumeIsolated {
            let white = try Image(color: .white, size: PointSize(width: 20, height: 20))
            let both = try white.processed(by: [.inset(left: -20, color: .black)])
            let part = try both.processed(by: [.crop(toPoints: PointRect(x: 15, y: 2, width: 25, height: 18))])
            XCTAssertEqual(part.pixels.bytesPerRow, 160)
            let paintable = PicturePaintable()
            paintable.painter.show(part)
            let drawing = Rendering(of: paintable.reference.pointer.opaque, width: 25, height: 18)
            for y in [0, 17] {
                XCTAssertEqual(drawing[4, y], SIMD4(0, 0, 0, 255))
                XCTAssertEqual(drawing[5, y], SIMD4(255, 255, 255, 255))
                XCTAssertEqual(drawing[24, y], SIMD4(255, 255, 255, 255))
            }
        }
    }

    /// GTK 4.8's GL renderer repeats the first row left of a small texture, in place of the left column.
    func testAnEnlargedImageHasItsOwnLeftEdge() throws {
        try XCTSkipIf(gdk_display_get_default() == nil, "no display")
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            let blue = try Image(color: Color(red: 0, green: 0, blue: 1), size: PointSize(width: 20, height: 19))
            picture.image = try blue.processed(by: [.inset(top: -1, color: Color(red: 1, green: 0, blue: 0))])
            gtk_widget_set_size_request(picture.widget, 200, 200)
            window.show(picture)
            pump("the layout") { gtk_widget_get_width(picture.widget) == 200 }
            let pixels = pixelsByRenderer(of: picture.widget)
            XCTAssertEqual(pixels[100 * 200], SIMD4(0, 0, 255, 255))
            XCTAssertEqual(pixels[100 * 200 + 199], SIMD4(0, 0, 255, 255))
        }
    }

    func testOldPixelsAreNeverTakenForNewOnes() throws {
        try MainActor.assumeIsolated {
            // The allocator likes to hand the same address out again.
            for number in 0..<200 {
                let swatch = Swatch(red: UInt8(number), green: 7, blue: 9)
                let paintable = PicturePaintable()
                paintable.painter.show(try swatch.image())
                let drawing = Rendering(of: paintable.reference.pointer.opaque, width: 2, height: 2)
                XCTAssertEqual(drawing[1, 1], swatch.pixel)
            }
        }
    }
}

/// What the renderer of the window draws of a widget of 200 by 200 points, in rows.
@MainActor private func pixelsByRenderer(of widget: UnsafeMutablePointer<GtkWidget>) -> [SIMD4<UInt8>] {
    let native = gtk_widget_get_native(widget)
    let paintable = ObjectReference(owning: ObjectPointer(gtk_widget_paintable_new(widget)))
    let snapshot = gtk_snapshot_new()
    gdk_paintable_snapshot(paintable.pointer.opaque, snapshot, 200, 200)
    guard let node = gtk_snapshot_free_to_node(snapshot) else { return [] }
    defer { gsk_render_node_unref(node) }
    var area = graphene_rect_t(width: 200, height: 200)
    let texture = ObjectReference(
        owning: ObjectPointer(gsk_renderer_render_texture(gtk_native_get_renderer(native), node, &area)))
    var pixels = [SIMD4<UInt8>](repeating: .zero, count: 200 * 200)
    pixels.withUnsafeMutableBytes { bytes in
        gdk_texture_download(
            texture.pointer.opaque, bytes.baseAddress?.assumingMemoryBound(to: guchar.self), gsize(200 * 4))
    }
    // cairo's order: blue, green, red, alpha.
    return pixels.map { SIMD4($0.z, $0.y, $0.x, $0.w) }
}
