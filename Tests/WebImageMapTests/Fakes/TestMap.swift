import CWebImageGTK
import CWebImageShumate
import Foundation

@testable import WebImageGTK
@testable import WebImageGTKTests
@testable import WebImageMap

/// A window of 300 by 200 points with a map without tiles, and a layer of markers on it. Its middle is at 46° north, 10° east.
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

    /// Where the middle of a marker at a place has to be, in points from the map's corner: by Mercator's formula, in a world of
    /// 256 points at level 0.
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
