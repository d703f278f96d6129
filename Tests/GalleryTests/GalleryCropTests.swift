import CWebImageGTK
import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Cropping in the viewer.
final class GalleryCropTests: GTKTestCase {
    private static let size = PixelSize(width: 600, height: 400)

    // MARK: Selection

    func testEdgesAndCornersFollowTheDrag() {
        var selection = CropSelection(size: Self.size)
        XCTAssertEqual(selection.pixels, PixelRect(x: 0, y: 0, width: 600, height: 400))
        selection.drag([-1, -1], by: [100, 50])
        XCTAssertEqual(selection.pixels, PixelRect(x: 100, y: 50, width: 500, height: 350))
        selection.drag([1, 0], by: [-200, 99])
        XCTAssertEqual(selection.pixels, PixelRect(x: 100, y: 50, width: 300, height: 350))
        selection.drag(.zero, by: [1_000, -1_000])
        XCTAssertEqual(selection.pixels, PixelRect(x: 300, y: 0, width: 300, height: 350), "it stays in the image")
        selection.drag([0, 1], by: [0, -1_000])
        XCTAssertEqual(selection.pixels.height, 16, "it never vanishes")
    }

    func testTheSelectionKeepsItsShape() {
        for shape in CropSelection.Shape.allCases where shape != .free {
            var selection = CropSelection(size: Self.size)
            selection.shape = shape
            let ratio = shape.ratio(of: selection.size) ?? 0
            var state: UInt64 = 7
            func random(_ range: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % range
            }
            for _ in 0..<500 {
                let handle = CropSelection.Handle(random(3) - 1, random(3) - 1)
                selection.drag(handle, by: [Double(random(801) - 400), Double(random(801) - 400)])
                XCTAssertEqual(selection.extent.x / selection.extent.y, ratio, accuracy: 1e-6)
                XCTAssertGreaterThanOrEqual(selection.origin.min(), -1e-6)
                XCTAssertLessThanOrEqual(selection.origin.x + selection.extent.x, 600 + 1e-6)
                XCTAssertLessThanOrEqual(selection.origin.y + selection.extent.y, 400 + 1e-6)
                XCTAssertGreaterThan(selection.extent.min(), 8)
            }
        }
        XCTAssertEqual(CropSelection.Shape.threeToTwo.ratio(of: [400, 600]), 2.0 / 3, "upright images stay upright")
    }

    func testThePointerTakesWhatIsNearest() {
        let selection = CropSelection(size: Self.size)
        let area = PointRect(x: 10, y: 20, width: 300, height: 200)
        func handle(_ x: Double, _ y: Double) -> CropSelection.Handle? {
            selection.handle(at: [x, y], in: area, reach: 18)
        }
        XCTAssertEqual(handle(12, 22), [-1, -1])
        XCTAssertEqual(handle(305, 120), [1, 0])
        XCTAssertEqual(handle(160, 215), [0, 1])
        XCTAssertEqual(handle(160, 120), .zero)
        XCTAssertNil(handle(340, 120))
    }

    // MARK: Viewer

    func testTheSelectedPartOfTheRotatedImageIsSaved() throws {
        try ViewerFixture.with { fixture in
            let quarters = try picture(60, 40) { x, y in SIMD4(x < 30 ? 10 : 200, y < 20 ? 20 : 220, 0, 255) }
            let file = try fixture.write(quarters, "a.png")
            fixture.open([file])
            fixture.settle()
            fixture.run("rotate-right")
            fixture.run("crop")
            let crop = fixture.viewer.crop
            XCTAssertTrue(crop.isActive && crop.bar.isVisible && crop.view.widget.isVisible)
            XCTAssertEqual(crop.view.selection?.size, [40, 60])
            var saved: PixelRect?
            crop.onSave = { saved = $0 }
            // The right half of the rotated image is the upper one of the file.
            let area = fixture.viewer.canvas.place.area
            crop.view.drag([-1, 0], area.width / 2, 0)
            crop.save()
            XCTAssertFalse(crop.isActive || crop.bar.isVisible)
            XCTAssertEqual(saved, PixelRect(x: 20, y: 0, width: 20, height: 60))
            let copy = fixture.folder.appendingPathComponent("copy.png")
            fixture.save(file, PhotoExport(format: .png, quarterTurns: 1, crop: saved), to: copy)
            let result = try CodecRegistry.shared.decode(try Data(contentsOf: copy))
            XCTAssertEqual(result.pixels.size, PixelSize(width: 20, height: 60))
            XCTAssertEqual(result.pixels[0, 0], SIMD4(10, 20, 0, 255))
            XCTAssertEqual(result.pixels[19, 59], SIMD4(200, 20, 0, 255))
        }
    }

    func testKeysChangeTheSelection() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.write(try picture(60, 40) { _, _ in shade(3) }, "a.png")])
            fixture.settle()
            fixture.run("crop")
            let view = fixture.viewer.crop.view
            @MainActor func press(_ key: Int32, shift: Bool = false) {
                for controller in view.widget.controllers(gtk_event_controller_key_get_type()) {
                    controller.emit("key-pressed", Int(key), 0, shift ? Int(GDK_SHIFT_MASK.rawValue) : 0)
                }
            }
            press(GDK_KEY_Left, shift: true)
            XCTAssertEqual(view.selection?.pixels, PixelRect(x: 0, y: 0, width: 52, height: 40))
            press(GDK_KEY_Right)
            XCTAssertEqual(view.selection?.pixels, PixelRect(x: 8, y: 0, width: 52, height: 40))
            press(GDK_KEY_Escape)
            XCTAssertFalse(fixture.viewer.crop.isActive)
        }
    }

    func testTheBarHasTheKeysOfTheSelection() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.write(try picture(60, 40) { _, _ in shade(3) }, "a.png")])
            fixture.settle()
            fixture.run("crop")
            let crop = fixture.viewer.crop
            @MainActor func press(_ key: Int32, shift: Bool = false) {
                for controller in crop.bar.controllers(gtk_event_controller_key_get_type()) {
                    controller.emit("key-pressed", Int(key), 0, shift ? Int(GDK_SHIFT_MASK.rawValue) : 0)
                }
            }
            press(GDK_KEY_Left, shift: true)
            press(GDK_KEY_Right)
            XCTAssertEqual(crop.view.selection?.pixels, PixelRect(x: 8, y: 0, width: 52, height: 40))
            press(GDK_KEY_Escape)
            XCTAssertFalse(crop.isActive)
            XCTAssertNotNil(fixture.viewer.currentURL)
        }
    }

    func testObscuredButtonsHaveNoFocus() throws {
        try WindowFixture.withImages { fixture in
            fixture.window.view(0)
            pump("the viewer") { fixture.window.shownViewer != nil && fixture.window.isSettled }
            let viewer = try XCTUnwrap(fixture.window.shownViewer)
            let bar = try XCTUnwrap(viewer.controls.parts.last)
            XCTAssertEqual(gtk_widget_child_focus(bar.widget, GTK_DIR_TAB_FORWARD), 1)
            fixture.run("viewer-crop")
            XCTAssertTrue(viewer.crop.isActive)
            XCTAssertEqual(gtk_widget_child_focus(bar.widget, GTK_DIR_TAB_FORWARD), 0)
            viewer.crop.end()
            XCTAssertEqual(gtk_widget_child_focus(bar.widget, GTK_DIR_TAB_FORWARD), 1)
        }
    }

    func testMovingOnEndsCropping() throws {
        try ViewerFixture.with { fixture in
            let urls = try (0..<2).map { try fixture.write(try picture(60, 40) { _, _ in shade(3) }, "\($0).png") }
            fixture.open(urls)
            fixture.settle()
            fixture.run("crop")
            XCTAssertTrue(fixture.viewer.crop.isActive)
            fixture.run("next")
            XCTAssertEqual(fixture.viewer.index, 1)
            XCTAssertFalse(fixture.viewer.crop.isActive)
        }
    }

    func testACopyHasANameOfItsOwn() throws {
        let url = URL(filePath: "/a/photo.jpg")
        let crop = PixelRect(x: 0, y: 0, width: 1, height: 1)
        XCTAssertEqual(
            PhotoExport(format: .jpeg, crop: crop).fileName(for: url, original: .jpeg), "photo (cropped).jpg")
    }
}
