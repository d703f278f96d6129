import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// A view in a window of 600 by 400 points, with files of a pattern.
final class ZoomViewTests: GTKTestCase {
    private typealias Vector = ZoomGeometry.Vector

    func testAFileIsDecodedForTheSizeOfTheView() throws {
        try MainActor.assumeIsolated {
            let image = try pattern(2_400, 800)
            try withView(try CodecRegistry.shared.encode(image, as: .png), "a.png") { view in
                XCTAssertEqual(view.image?.width, view.width)
                XCTAssertEqual(view.imageSize, PixelSize(width: 2_400, height: 800))
                XCTAssertEqual(view.zoom, .fit)
                XCTAssertEqual(view.scale, Double(view.width) / 2_400, accuracy: 1e-6)
                view.zoom = .fill
                XCTAssertEqual(view.zoom, .fill)
                XCTAssertEqual(view.place.area.height, Double(view.height), accuracy: 0.5)
                view.zoom = .scale(400)
                XCTAssertEqual(view.scale, 20, "the maximum")
                view.maximumScale = 3
                XCTAssertEqual(view.scale, 3)
            }
        }
    }

    func testTheIndicatorHasTheSizeOfTheView() throws {
        try MainActor.assumeIsolated {
            try withView(try CodecRegistry.shared.encode(try pattern(1_200, 800), as: .png), "a.png") { view in
                var sizes: [PointSize] = []
                view.zoom = .scale(8)
                view.imageSlot.painter.indicator = { sizes.append(PointSize(width: $0.width, height: $0.height)) }
                pump("a frame") { !sizes.isEmpty }
                XCTAssertEqual(sizes, [PointSize(width: Double(view.width), height: Double(view.height))])
            }
        }
    }

    func testAFileTooLargeForMemoryIsShownInTilesWithAllPixels() throws {
        try MainActor.assumeIsolated {
            let image = try pattern(2_600, 1_900)
            try withView(
                try CodecRegistry.shared.encode(image, as: .png), "a.png",
                configure: { view, _ in view.pixelByteLimit = 6 << 20 }
            ) { view in
                view.zoom = .scale(1)
                view.change { $0.pan(by: -$0.origin - Vector(700, 600)) }
                pump("the tiles") { view.showsTiles && !view.isBusy }
                XCTAssertNil(view.detail)
                expectEveryPixel(of: image, in: view)
                view.pan(x: -1_000, y: -500)
                pump("other tiles") { !view.isBusy }
                expectEveryPixel(of: image, in: view)
                XCTAssertLessThanOrEqual(try XCTUnwrap(view.tiles).byteCount, 6 << 20, "the limit")
            }
        }
    }

    func testAFileThatCannotBeTiledIsShownWithFewerPixelsAndSaysSo() throws {
        try MainActor.assumeIsolated {
            let image = try pattern(3_000, 2_000)
            try withView(
                try CodecRegistry.shared.encode(image, as: .bmp), "a.bmp",
                configure: { view, request in
                    view.pixelByteLimit = 2 << 20
                    var limits = DecodingLimits.default
                    limits.memoryByteCount = 20 << 20
                    request.decodingLimits = limits
                }
            ) { view in
                view.zoom = .scale(1)
                pump("the detail") { view.detail != nil && !view.isBusy }
                XCTAssertLessThan(try XCTUnwrap(view.detail), 0.5)
                XCTAssertFalse(view.showsTiles)
            }
        }
    }

    func testKeysZoomAndMoveTheImage() throws {
        try MainActor.assumeIsolated {
            let file = try CodecRegistry.shared.encode(try pattern(1_200, 800), as: .png)
            try withView(file, "a.png") { view in
                XCTAssertFalse(view.press(GDK_KEY_Left), "a fitted image leaves the key to others")
                let fitted = view.scale
                XCTAssertTrue(view.press(GDK_KEY_plus))
                XCTAssertEqual(view.scale, fitted * 1.5, accuracy: 1e-9)
                XCTAssertTrue(view.press(GDK_KEY_1))
                XCTAssertEqual(view.scale, 1)
                let before = view.place.area
                XCTAssertTrue(view.press(GDK_KEY_Right))
                XCTAssertLessThan(view.place.area.x, before.x)
                XCTAssertTrue(view.press(GDK_KEY_0))
                XCTAssertEqual(view.zoom, .fit)
            }
        }
    }

    func testTheWheelShowsTheNextImageIfTheProgramWantsIt() throws {
        try MainActor.assumeIsolated {
            try withView(try CodecRegistry.shared.encode(try pattern(60, 40), as: .png), "a.png") { view in
                var steps: [Int] = []
                view.onSwipe = { steps.append($0) }
                view.scroll(by: Vector(0, -1), isWheel: true, hasControl: false)
                XCTAssertGreaterThan(view.scale, 1)
                view.zoom = .fit
                view.wheelTurnsPages = true
                view.scroll(by: Vector(0, 1), isWheel: true, hasControl: false)
                view.scroll(by: Vector(0, -1), isWheel: true, hasControl: false)
                XCTAssertEqual(steps, [1, -1])
                XCTAssertEqual(view.scale, 1)
                view.scroll(by: Vector(0, -1), isWheel: true, hasControl: true)
                XCTAssertGreaterThan(view.scale, 1, "Control zooms")
                XCTAssertEqual(steps.count, 2)
            }
        }
    }

    func testTheSamePartIsShownAsInAnotherView() throws {
        try MainActor.assumeIsolated {
            let file = try CodecRegistry.shared.encode(try pattern(1_200, 800), as: .png)
            try withView(file, "a.png") { first in
                try withView(try CodecRegistry.shared.encode(try pattern(300, 200), as: .png), "b.png") { second in
                    first.zoom = .scale(2)
                    first.pan(x: 200, y: 100)
                    second.place = first.place
                    let (one, other) = (first.place.area, second.place.area)
                    XCTAssertEqual(
                        second.scale / second.geometry.fittedScale, 2 / first.geometry.fittedScale, accuracy: 1e-6)
                    XCTAssertEqual(
                        (Double(first.width) / 2 - one.x) / one.width,
                        (Double(second.width) / 2 - other.x) / other.width,
                        accuracy: 0.01)
                    first.zoom = .fit
                    second.place = first.place
                    XCTAssertEqual(second.zoom, .fit)
                }
            }
        }
    }

    func testAMovementGlidesOnAndStopsAtTheEdge() throws {
        try MainActor.assumeIsolated {
            let file = try CodecRegistry.shared.encode(try pattern(1_200, 800), as: .png)
            try withView(file, "a.png") { view in
                view.zoom = .scale(2)
                let before = view.place.area
                view.glide(Vector(400, 0))
                pump("it moves") { view.place.area.x > before.x }
                pump("it stops") { view.motion == nil }
                XCTAssertEqual(view.place.area.x, before.x + 100, accuracy: 5, "slows down by its friction")
                view.glide(Vector(90_000, 0))
                pump("the edge") { view.motion == nil }
                XCTAssertEqual(view.place.area.x, 0, accuracy: 1)
            }
        }
    }

    func testAChangeIsReportedOnceWithTheScale() throws {
        try MainActor.assumeIsolated {
            let file = try CodecRegistry.shared.encode(try pattern(1_200, 800), as: .png)
            try withView(file, "a.png") { view in
                var scales: [Double] = []
                view.onZoomChange = { [weak view] in scales.append(view?.scale ?? 0) }
                view.zoom = .scale(0.7)
                view.rotate(by: 1)
                view.zoom = .scale(0.9)
                pump("the call") { !scales.isEmpty && view.changeCall == nil }
                XCTAssertEqual(scales, [0.9])
                XCTAssertEqual(view.quarterTurns, 1)
                view.resetZoom()
                XCTAssertEqual(view.quarterTurns, 0)
                XCTAssertEqual(view.zoom, .fit)
            }
        }
    }

    func testTheOverlayIsDrawnAtThePlaceOfTheImage() throws {
        try MainActor.assumeIsolated {
            let file = try CodecRegistry.shared.encode(try pattern(400, 200), as: .png)
            try withView(file, "a.png") { view in
                view.drawOverlay = { snapshot, place in
                    var area = graphene_rect_t(place.area(of: PixelRect(x: 100, y: 50, width: 100, height: 50)))
                    var red = GdkRGBA(red: 1, green: 0, blue: 0, alpha: 1)
                    gtk_snapshot_append_color(snapshot, &red, &area)
                }
                view.rotate(by: 2)
                let (drawn, area) = (Rendering(of: view.widget), view.place.area)
                XCTAssertEqual(drawn[Int(area.x) + 250, Int(area.y) + 125], SIMD4(255, 0, 0, 255))
                XCTAssertNotEqual(drawn[Int(area.x) + 150, Int(area.y) + 75], SIMD4(255, 0, 0, 255))
            }
        }
    }

    func testADestroyedViewIsReleased() throws {
        try MainActor.assumeIsolated {
            weak var released: ZoomView?
            let file = try CodecRegistry.shared.encode(try pattern(40, 20), as: .png)
            try withView(file, "a.png") { released = $0 }
            pump("the end") { released == nil }
        }
    }
}

/// Every pixel tells where it is, and neighbors differ.
private func pattern(_ width: Int, _ height: Int) throws -> Image {
    var pixels = try MutablePixelBuffer(width: width, height: height)
    pixels.withUnsafeMutableBytes { bytes in
        for index in 0..<width * height {
            let (x, y) = (index % width, index / width)
            let color = SIMD4(UInt8((x + y) % 2 * 255), UInt8(x / 8 % 256), UInt8(y / 8 % 256), 255)
            bytes.storeBytes(of: color, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
        }
    }
    return Image(pixels: pixels.freeze(isOpaque: true))
}

@MainActor private func withView(
    _ file: Data, _ name: String, configure: (ZoomView, inout WebImageRequest) -> Void = { _, _ in },
    _ body: (ZoomView) throws -> Void
) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "zoom-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appending(path: name)
    try file.write(to: url)
    let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 28), disk: nil)
    let manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache))
    let view = ZoomView()
    let window = ObjectPointer(gtk_window_new())
    gtk_window_set_default_size(window.as(), 600, 400)
    gtk_window_set_child(window.as(), view.widget)
    gtk_window_present(window.as())
    defer {
        gtk_window_destroy(window.as())
        end(manager)
    }
    var request = WebImageRequest(url)
    configure(view, &request)
    view.setImage(request, manager: manager)
    pump("the image") { view.image != nil && !view.isBusy }
    try body(view)
}

/// Fails if a pixel on screen is not that of the image at 100 %.
@MainActor private func expectEveryPixel(
    of image: Image, in view: ZoomView, file: StaticString = #filePath, line: UInt = #line
) {
    let (area, drawn) = (view.place.area, Rendering(of: view.widget))
    for y in stride(from: 0, to: view.height, by: 3) {
        for x in 0..<view.width {
            let (column, row) = (x - Int(area.x.rounded()), y - Int(area.y.rounded()))
            guard drawn[x, y] != image.pixels[column, row] else { continue }
            return XCTFail("\(drawn[x, y]) at \(column), \(row)", file: file, line: line)
        }
    }
}
