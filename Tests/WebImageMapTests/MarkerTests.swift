import CWebImageGTK
import CWebImageShumate
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageMap
@testable import WebImageAnimation

/// The image and the position of a marker.
final class WebMarkerTests: GTKTestCase {
    func testShowsTheImageOfItsURLAtItsPlace() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = WebMarker(latitude: 46.31, longitude: 11.13)
            marker.size = PointSize(width: 24, height: 16)
            marker.contentMode = .scaleAspectFill
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            map.show(marker)
            marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertEqual(marker.imageURL, url)
            XCTAssertEqual(marker.loadState, .loading(received: 0, expected: nil))
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { marker.loadState == .loaded(.remote) }
            XCTAssertEqual(outcomes.successCount, 1)

            let drawing = Rendering(of: map.widget)
            let middle = map.point(latitude: 46.31, longitude: 11.13)
            let (left, top) = (Int((middle.x - 12).rounded(.down)), Int((middle.y - 8).rounded(.down)))
            for (x, y) in [(0, 0), (23, 0), (0, 15), (23, 15), (12, 8)] {
                XCTAssertEqual(drawing[left + x, top + y], Swatch.red.pixel, "\(x), \(y)")
            }
            for (x, y) in [(-1, 0), (24, 0), (0, -1), (0, 16)] {
                XCTAssertNotEqual(drawing[left + x, top + y], Swatch.red.pixel, "\(x), \(y)")
            }
        }
    }

    func testIsAsLargeAsItsImageUntilItHasASize() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(decodesPNG: true), TestMap())
            defer { map.close() }
            let marker = WebMarker(latitude: TestMap.center.latitude, longitude: TestMap.center.longitude)
            map.add(marker)
            map.window.present()
            let url = try fixture.url("photograph")
            let file = try CodecRegistry.shared.encode(Swatch(red: 1, green: 2, blue: 3, width: 120).image(), as: .png)
            @MainActor func answer() {
                fixture.loader.lastLoad(of: url)?.send(file)
                fixture.loader.lastLoad(of: url)?.end()
            }
            marker.setImage(url, manager: fixture.manager)
            answer()
            pump("the picture's size") { size(of: marker) == [120, 60] }
            XCTAssertNil(marker.size)
            XCTAssertEqual(marker.image?.isThumbnail, false)

            marker.size = PointSize(width: 30, height: 30)
            XCTAssertEqual(marker.contentMode, .scaleAspectFit)
            pump("the size") { size(of: marker) == [30, 30] }
            marker.imageURL = nil
            fixture.cache.memory.removeAll()
            marker.setImage(url, manager: fixture.manager)
            answer()
            pump("the image") { marker.image != nil }
            // 120 by 60 pixels that fit into 30 by 30 points.
            let scale = Int(gtk_widget_get_scale_factor(marker.widget))
            XCTAssertEqual([marker.image?.width, marker.image?.height], [30 * scale, 15 * scale])
            pumpUntilIdle()
            XCTAssertEqual(size(of: marker), [30, 30])
        }
    }

    func testLoadsAnotherURLAtOnce() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let (old, new) = (try fixture.url("old"), try fixture.url("new"))
            let outcomes = Outcomes()
            marker.setImage(old, manager: fixture.manager, completion: { outcomes.append($0) })
            marker.setImage(
                new, placeholder: .image(try Swatch.green.image()), manager: fixture.manager,
                completion: { outcomes.append($0) })
            XCTAssertEqual(fixture.loader.lastLoad(of: old)?.isCancelled, true)
            XCTAssertEqual(drawnPixel(of: marker), Swatch.green.pixel)
            fixture.loader.lastLoad(of: new)?.answer(.blue)
            pump("the image") { marker.image != nil }
            fixture.loader.lastLoad(of: old)?.answer(.red)
            pump("both ends") { outcomes.results.count == 2 }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertEqual(drawnPixel(of: marker), Swatch.blue.pixel)
            marker.imageURL = nil
            XCTAssertEqual(drawnPixel(of: marker), SIMD4(0, 0, 0, 0))
        }
    }

    func testReportsProgressAndCanBeCancelled() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            var states: [LoadState] = []
            marker.onLoadStateChange = { states.append($0) }
            marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            fixture.loader.lastLoad(of: url)?.begin(expectedByteCount: 10)
            pump("the length") { states.contains(.loading(received: 0, expected: 10)) }
            XCTAssertEqual(marker.loadState.fraction, 0)
            marker.cancelCurrentRequest()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            pump("the end") { outcomes.errors == [.cancelled] }
            XCTAssertEqual(marker.loadState, .idle)
        }
    }

    func testProcessesItsImage() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            marker.setImage(url, processors: [.inverted()], manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { marker.image != nil }
            XCTAssertEqual(drawnPixel(of: marker), SIMD4(0, 255, 255, 255))
        }
    }

    func testKnowsItsPlace() {
        MainActor.assumeIsolated {
            let marker = WebMarker(latitude: 46.5, longitude: 11.25)
            XCTAssertEqual([marker.latitude, marker.longitude], [46.5, 11.25])
            marker.latitude = -33.9
            XCTAssertEqual([marker.latitude, marker.longitude], [-33.9, 11.25])
            marker.longitude = 18.4
            XCTAssertEqual([marker.latitude, marker.longitude], [-33.9, 18.4])
            marker.setLocation(latitude: 90, longitude: 200)
            XCTAssertEqual(marker.latitude, 85.0511287798)
            XCTAssertEqual(marker.longitude, 180)
            destroyUnparented(marker)
        }
    }

    func testMovesOnTheMap() throws {
        try MainActor.assumeIsolated {
            let (map, marker) = (TestMap(), makeMarker())
            defer { map.close() }
            marker.image = try Swatch.red.image()
            map.show(marker)
            marker.setLocation(latitude: 45.5, longitude: 9)
            let middle = map.point(latitude: 45.5, longitude: 9)
            let drawing = Rendering(of: map.widget)
            XCTAssertEqual(drawing[Int(middle.x), Int(middle.y)], Swatch.red.pixel)
            XCTAssertNotEqual(drawing[150, 100], Swatch.red.pixel)
        }
    }

    func testPlaysAnimationsOnlyWhileVisible() throws {
        try MainActor.assumeIsolated {
            let (map, marker) = (TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            marker.image = try TestAnimation([.red, .green, .blue]).image()
            XCTAssertEqual(marker.player?.status, .playing)
            var seen: Set<SIMD4<UInt8>> = []
            pump("each frame") {
                seen.insert(drawnPixel(of: marker))
                return seen.count == 3
            }
            map.lookAway(from: marker)
            pumpUntilIdle()
            let index = marker.player?.currentFrameIndex
            var isOver = false
            let call = MainLoopCall.after(milliseconds: 100) { isOver = true }
            pump("some frames' time") { isOver }
            withExtendedLifetime(call) {}
            XCTAssertEqual(marker.player?.currentFrameIndex, index)
            map.lookBack(at: marker)
            pump("the next frame") { marker.player?.currentFrameIndex != index }
        }
    }

    func testTransitionsFollowTheDirectionOfText() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer {
                gtk_widget_set_default_direction(GTK_TEXT_DIR_LTR)
                map.close()
            }
            gtk_widget_set_default_direction(GTK_TEXT_DIR_RTL)
            map.show(marker)
            let url = try fixture.url("red")
            try fixture.remember(.red, at: url)
            marker.transition = .slide(from: .leading, duration: .seconds(60))
            marker.setImage(url, options: .forceTransition, manager: fixture.manager)
            marker.imageSlot.painter.setProgress(0.5)
            let paintable = gtk_picture_get_paintable(OpaquePointer(marker.imageWidget))
            let drawing = paintable.map { Rendering(of: $0, width: 20, height: 20) }
            XCTAssertEqual(drawing?[15, 10], Swatch.red.pixel)
            XCTAssertEqual(drawing?[5, 10].w, 0)
            // The place stays where it is.
            let middle = map.point(latitude: marker.latitude, longitude: marker.longitude)
            var bounds = graphene_rect_t()
            XCTAssertNotEqual(gtk_widget_compute_bounds(marker.widget, map.widget, &bounds), 0)
            XCTAssertEqual(Double(bounds.origin.x), (middle.x - 10).rounded(.down))
        }
    }
}

/// In the middle of the map, 20 by 20 points; it loads whole images, as the fixture remembers them.
@MainActor func makeMarker() -> WebMarker {
    let marker = WebMarker(latitude: TestMap.center.latitude, longitude: TestMap.center.longitude)
    marker.size = PointSize(width: 20, height: 20)
    marker.contentMode = .scaleToFill
    marker.decodesAtDisplaySize = false
    return marker
}

@MainActor private func size(of marker: WebMarker) -> [gint] {
    [gtk_widget_get_width(marker.widget), gtk_widget_get_height(marker.widget)]
}

/// A window of 300 by 200 points with a map without tiles, and a layer of markers on it. Its middle is at 46° north,
/// 10° east.
@MainActor final class TestMap {
    static let center = (latitude: 46.0, longitude: 10.0)
    private static let zoomLevel = 6.0

    let window = TestWindow()
    let widget: UnsafeMutablePointer<GtkWidget>
    let layer: OpaquePointer
    private let map: OpaquePointer

    init(selection: GtkSelectionMode = GTK_SELECTION_SINGLE) {
        let map = ObjectPointer(shumate_map_new())
        (self.map, widget) = (map.opaque, map.widget)
        let viewport = shumate_map_get_viewport(map.opaque)
        let source = shumate_raster_renderer_new_full_from_url(
            "none", "None", "", "", 0, 18, 256, SHUMATE_MAP_PROJECTION_MERCATOR, "")
        let sourcePointer = source.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: ShumateMapSource.self) }
        shumate_viewport_set_reference_map_source(viewport, sourcePointer)
        g_object_unref(sourcePointer)
        shumate_viewport_set_zoom_level(viewport, Self.zoomLevel)
        layer = shumate_marker_layer_new_full(viewport, selection)
        shumate_map_add_layer(map.opaque, UnsafeMutablePointer<ShumateLayer>(layer))
        gtk_widget_set_size_request(map.widget, 300, 200)
        for setAlign in [gtk_widget_set_halign, gtk_widget_set_valign] { setAlign(map.widget, GTK_ALIGN_START) }
        window.add(map.widget)
        lookAtCenter()
    }

    func close() { window.close() }

    func add(_ marker: WebMarker) { shumate_marker_layer_add_marker(layer, marker.marker) }

    func remove(_ marker: WebMarker) { shumate_marker_layer_remove_marker(layer, marker.marker) }

    /// Adds markers and waits until they are on screen.
    func show(_ markers: WebMarker...) {
        for marker in markers { add(marker) }
        window.present()
        pump("the map") { markers.allSatisfy(\.imageSlot.isOnScreen) && gtk_widget_get_width(widget) == 300 }
    }

    // MARK: Panning

    func lookAtCenter() { shumate_map_center_on(map, Self.center.latitude, Self.center.longitude) }

    /// At the other side of the earth.
    func lookAway() { shumate_map_center_on(map, 0, -170) }

    /// Pans until `marker` is out of sight, and until nothing is left to do.
    func lookAway(from marker: WebMarker) {
        lookAway()
        pump("the unmap") { gtk_widget_get_mapped(marker.widget) == 0 }
    }

    /// Pans back.
    func lookBack(at marker: WebMarker) {
        lookAtCenter()
        pump("the map") { gtk_widget_get_mapped(marker.widget) != 0 }
    }

    // MARK: Expectations

    /// Where the middle of a marker at a place has to be, in points from the map's corner: by Mercator's formula, in a
    /// world of 256 points at level 0.
    func point(latitude: Double, longitude: Double) -> (x: Double, y: Double) {
        let world = 256 * pow(2, Self.zoomLevel)
        func x(_ longitude: Double) -> Double { (longitude + 180) / 360 * world }
        func y(_ latitude: Double) -> Double { (1 - asinh(tan(latitude * .pi / 180)) / .pi) / 2 * world }
        return (
            150 + x(longitude) - x(Self.center.longitude), 100 + y(latitude) - y(Self.center.latitude)
        )
    }
}

/// The pixel in the middle of what the marker draws.
@MainActor func drawnPixel(of marker: WebMarker) -> SIMD4<UInt8> {
    Rendering(of: gtk_picture_get_paintable(OpaquePointer(marker.imageWidget)), width: 9, height: 9)[4, 4]
}

/// Ends the life of a marker that no layer has taken.
@MainActor func destroyUnparented(_ marker: WebMarker) {
    withExtendedLifetime(ObjectReference(retaining: ObjectPointer(marker.widget))) {}
}
