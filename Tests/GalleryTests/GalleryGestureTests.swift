import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What pointers, fingers and touchpads do to an image in the viewer.
final class GalleryGestureTests: GTKTestCase {
    private typealias Vector = ZoomGeometry.Vector

    /// Three images, which the tests share: a debug build draws and encodes them slowly.
    private static let files = Result {
        try (0..<3).map { number in
            try CodecRegistry.shared.encode(try picture(1_200, 800) { _, _ in shade(number) }, as: .png)
        }
    }

    /// Opens the first of three images, each twice as wide as the viewer.
    private func withPhotographs(_ body: @MainActor (ViewerFixture, ZoomView) throws -> Void) throws {
        try ViewerFixture.with { fixture in
            let urls = try Self.files.get().enumerated().map { try fixture.write($1, "\($0).png") }
            fixture.open(urls)
            fixture.settle()
            try body(fixture, fixture.viewer.canvas)
        }
    }

    func testAPinchScalesTheImageFromItsScaleAtTheBeginning() throws {
        try withPhotographs { _, canvas in
            let pinch = try controller(gtk_gesture_zoom_get_type(), of: canvas)
            // GTK's own handler, which is the last one, needs an event.
            pinch.onEvent("begin") { g_signal_stop_emission_by_name(pinch.address, "begin") }
            let fitted = try geometry(canvas).scale
            pinch.emit("begin")
            for factor in [1.5, 3, 2] {
                pinch.emit("scale-changed", factor)
                XCTAssertEqual(try geometry(canvas).scale, fitted * factor, accuracy: 1e-9)
            }
            pinch.emit("begin")
            pinch.emit("scale-changed", 0.75)
            XCTAssertEqual(try geometry(canvas).scale, fitted * 1.5, accuracy: 1e-9, "the next one goes on from there")
            pinch.emit("scale-changed", 0.1)
            XCTAssertTrue(try geometry(canvas).isFitted, "the whole image is the smallest")
        }
    }

    func testTheWheelZoomsAtThePointer() throws {
        try withPhotographs { _, canvas in
            // The canvas and the full screen have one each.
            let motions = ObjectPointer(canvas.widget).controllers(gtk_event_controller_motion_get_type())
            let wheel = try controller(gtk_event_controller_scroll_get_type(), of: canvas)
            canvas.change { $0.zoom(to: 0.8) }
            let place = Vector(100, 60)
            for motion in motions { motion.emit("motion", place.x, place.y) }
            let before = try geometry(canvas)
            wheel.emit("scroll", 0.0, -2.0)
            let after = try geometry(canvas)
            XCTAssertEqual(after.scale, 0.8 * 1.44, accuracy: 1e-9)
            let (former, point) = (imagePoint(at: place, before), imagePoint(at: place, after))
            XCTAssertEqual(point.x, former.x, accuracy: 1e-6)
            XCTAssertEqual(point.y, former.y, accuracy: 1e-6)
            wheel.emit("scroll", 0.0, 2.0)
            XCTAssertEqual(try geometry(canvas).scale, 0.8, accuracy: 1e-9)
            for motion in motions { motion.emit("leave") }
            XCTAssertNil(canvas.pointer)
        }
    }

    func testTwoFingersMoveAZoomedImageAndZoomItWithControl() throws {
        try withPhotographs { fixture, canvas in
            canvas.change { $0.zoom(to: 1) }
            let before = try geometry(canvas)
            canvas.scroll(by: Vector(70, -30), isWheel: false, hasControl: false)
            XCTAssertEqual(try geometry(canvas).origin.x, before.origin.x - 70, accuracy: 1e-9)
            XCTAssertEqual(try geometry(canvas).origin.y, before.origin.y + 30, accuracy: 1e-9)
            XCTAssertEqual(fixture.viewer.index, 0, "the fingers move no further than the image")
            canvas.scroll(by: Vector(0, -40), isWheel: false, hasControl: true)
            XCTAssertEqual(try geometry(canvas).scale, 1.2, accuracy: 1e-9)
        }
    }

    func testTwoFingersSwipeAFittedImageOnceForEachMovement() throws {
        try withPhotographs { fixture, canvas in
            let scroll = try controller(gtk_event_controller_scroll_get_type(), of: canvas)
            @MainActor func move(_ distances: Double...) {
                scroll.emit("scroll-begin")
                for distance in distances { canvas.scroll(by: Vector(distance, 0), isWheel: false, hasControl: false) }
            }
            move(30, 29)
            XCTAssertEqual(fixture.viewer.index, 0, "too short")
            move(30, 29, 2, 500)
            XCTAssertEqual(fixture.viewer.index, 1)
            fixture.settle()
            canvas.scroll(by: Vector(20, 900), isWheel: false, hasControl: false)
            XCTAssertEqual(fixture.viewer.index, 1, "upwards is no swipe")
            move(-70)
            XCTAssertEqual(fixture.viewer.index, 0)
        }
    }

    func testADragMovesAZoomedImage() throws {
        try withPhotographs { fixture, canvas in
            let drag = try controller(gtk_gesture_drag_get_type(), of: canvas)
            canvas.change { $0.zoom(to: 1) }
            let before = try geometry(canvas)
            drag.emit("drag-begin", 200.0, 200.0)
            drag.emit("drag-update", 40.0, 10.0)
            drag.emit("drag-update", 90.0, -20.0)
            drag.emit("drag-end", 90.0, -20.0)
            XCTAssertEqual(try geometry(canvas).origin.x, before.origin.x + 90, accuracy: 1e-9)
            XCTAssertEqual(try geometry(canvas).origin.y, before.origin.y - 20, accuracy: 1e-9)
            XCTAssertEqual(fixture.viewer.index, 0)
        }
    }

    func testADragOverAFittedImageIsASwipe() throws {
        try withPhotographs { fixture, canvas in
            let drag = try controller(gtk_gesture_drag_get_type(), of: canvas)
            let before = try geometry(canvas)
            for (x, y, index) in [(-100.0, 20.0, 1), (-59, 0, 1), (-70, 200, 1), (-100, 0, 2), (100, 0, 1)] {
                drag.emit("drag-begin", 300.0, 200.0)
                drag.emit("drag-update", x / 2, y / 2)
                XCTAssertEqual(try geometry(canvas).area.x, before.area.x, accuracy: 1e-9)
                drag.emit("drag-end", x, y)
                XCTAssertEqual(fixture.viewer.index, index, "\(x), \(y)")
                fixture.settle()
            }
        }
    }

    func testADoubleClickShowsAllPixelsOfThePlaceAndFitsAgain() throws {
        try withPhotographs { _, canvas in
            let click = try controller(gtk_gesture_click_get_type(), of: canvas)
            let place = Vector(canvas.viewport.width / 2 + 30, canvas.viewport.height / 2 - 20)
            let before = try geometry(canvas)
            click.emit("pressed", 1, place.x, place.y)
            XCTAssertEqual(try geometry(canvas), before, "one click")
            click.emit("pressed", 2, place.x, place.y)
            let after = try geometry(canvas)
            XCTAssertEqual(after.scale, 1)
            let (former, point) = (imagePoint(at: place, before), imagePoint(at: place, after))
            XCTAssertEqual(point.x, former.x, accuracy: 1e-6)
            XCTAssertEqual(point.y, former.y, accuracy: 1e-6)
            click.emit("pressed", 2, place.x, place.y)
            XCTAssertTrue(try geometry(canvas).isFitted)
        }
    }

    func testTheSliderOfAnAnimationPausesAndShowsItsFrame() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.writeClip(frameCount: 8)])
            fixture.settle()
            let controls = fixture.viewer.animationControls
            let player = try XCTUnwrap(controls.player)
            pump("the animation plays") { player.currentFrameIndex > 0 }
            XCTAssertTrue(player.isPlaying)
            // 1: GTK_SCROLL_JUMP
            controls.slider.emit("change-value", 1, 5.4)
            XCTAssertFalse(player.isPlaying)
            pump("the frame") { player.currentFrameIndex == 5 && fixture.middle == shade(25) }
            XCTAssertEqual(gtk_range_get_value(controls.slider.as()), 5, "the place of the frame")
            controls.slider.emit("change-value", 1, 99.0)
            pump("the last frame") { player.currentFrameIndex == 7 }
        }
    }
}

@MainActor private func geometry(_ canvas: ZoomView) throws -> ZoomGeometry {
    canvas.geometry
}

/// Returns the only controller of a type on the canvas.
@MainActor private func controller(_ type: GType, of canvas: ZoomView) throws -> ObjectPointer {
    let controllers = ObjectPointer(canvas.widget).controllers(type)
    XCTAssertEqual(controllers.count, 1)
    return try XCTUnwrap(controllers.first)
}

/// Returns the point of the image below a point of the canvas.
private func imagePoint(at place: ZoomGeometry.Vector, _ geometry: ZoomGeometry) -> ZoomGeometry.Vector {
    (place - geometry.origin) / geometry.scale
}
