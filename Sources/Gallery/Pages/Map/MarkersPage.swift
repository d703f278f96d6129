import CWebImageGTK
import CWebImageShumate
import WebImageMap

/// Peaks of the Alps on a map, each with an image. One image is an animation, and one marker is selected. A marker
/// under the pointer or with the keyboard focus shows another image.
@MainActor final class MarkersPage: GalleryPage {
    let widget: ObjectPointer
    private var markers: [WebMarker] = []

    private struct Peak {
        let name: String
        let latitude, longitude: Double
    }

    private static let peaks = [
        Peak(name: "Mont Blanc", latitude: 45.8327, longitude: 6.8652),
        Peak(name: "Matterhorn", latitude: 45.9763, longitude: 7.6586),
        Peak(name: "Eiger", latitude: 46.5775, longitude: 8.0053),
        Peak(name: "Säntis", latitude: 47.2494, longitude: 9.3433),
        Peak(name: "Piz Bernina", latitude: 46.3823, longitude: 9.9081),
        Peak(name: "Zugspitze", latitude: 47.4212, longitude: 10.9863),
        Peak(name: "Marmolada", latitude: 46.4347, longitude: 11.8506),
        Peak(name: "Großglockner", latitude: 47.0742, longitude: 12.6947),
        Peak(name: "Triglav", latitude: 46.3783, longitude: 13.8367),
        Peak(name: "Dachstein", latitude: 47.4753, longitude: 13.6064),
    ]

    init(session: GallerySession) throws(WebImageError) {
        let manager = session.manager
        let map = AlpineMap()
        widget = ObjectPointer(map.widget)
        let moving = try Samples.animation(of: Samples.day(), .gif)
        let highlighted = try Samples.photograph(hour: 0.9, hue: 0.7, width: 240, height: 160)
        for (number, peak) in Self.peaks.enumerated() {
            let part = Double(number) / Double(Self.peaks.count - 1)
            let marker = WebMarker(latitude: peak.latitude, longitude: peak.longitude)
            marker.size = PointSize(width: 84, height: 84)
            marker.alternativeText = peak.name
            gtk_widget_set_tooltip_text(marker.widget, peak.name)
            let isMoving = peak.name == "Zugspitze"
            marker.setImage(
                isMoving ? moving : try Samples.photograph(hour: 0.15 + 0.7 * part, width: 240, height: 160),
                processors: Self.badge(.white), manager: manager)
            marker.highlighted.setImage(
                highlighted, processors: Self.badge(Color(red: 0.85, green: 0.2, blue: 0.1)), manager: manager)
            shumate_marker_layer_add_marker(map.markers, marker.marker)
            markers.append(marker)
        }
        markers.first { $0.alternativeText == "Piz Bernina" }?.select()
        map.center(latitude: 46.7, longitude: 10.3, zoomLevel: 7.4)
    }

    /// Returns processors that make a round image with a border.
    private static func badge(_ color: Color) -> [ImageProcessor] {
        [
            .resize(toFill: .points(width: 84, height: 84)),
            .circle(border: Border(width: 3, color: color)),
        ]
    }

    private var markersInSight: [WebMarker] { markers.filter { gtk_widget_get_mapped($0.widget) != 0 } }

    /// Whether all visible markers are settled. Markers off screen do not load.
    var isSettled: Bool {
        !markersInSight.isEmpty && markersInSight.allSatisfy { $0.imageSlot.isSettled && $0.highlighted.isSettled }
    }
    var isComplete: Bool { !markersInSight.isEmpty && markersInSight.allSatisfy { $0.image != nil } }
}

/// A map of the Alps that draws rivers and lines of latitude and longitude. It has no tiles, so it needs no server.
@MainActor struct AlpineMap {
    /// The `ShumateMap`.
    let widget: UnsafeMutablePointer<GtkWidget>
    /// The layer of the markers. One marker can be selected at a time.
    let markers: OpaquePointer

    private let map: OpaquePointer
    private let viewport: OpaquePointer

    init() {
        let map = ObjectPointer(shumate_map_new())
        widget = map.widget
        self.map = map.opaque
        viewport = shumate_map_get_viewport(map.opaque)
        // Only the source's projection is used. No layer draws its tiles.
        let source = shumate_raster_renderer_new_full_from_url(
            "alps", "Alps", "", "", 0, 18, 256, SHUMATE_MAP_PROJECTION_MERCATOR, "")
        let sourcePointer = source.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: ShumateMapSource.self) }
        shumate_viewport_set_reference_map_source(viewport, sourcePointer)
        g_object_unref(sourcePointer)
        markers = shumate_marker_layer_new_full(viewport, GTK_SELECTION_SINGLE)
        gtk_widget_add_css_class(widget, "alps")
        let grey = GdkRGBA(red: 0.4, green: 0.4, blue: 0.35, alpha: 0.25)
        for degree in stride(from: 4.0, through: 18, by: 1) {
            addLine([(42, degree), (51, degree)], color: grey, width: 1)
            let parallel = 40 + degree
            addLine([(parallel, 2), (parallel, 20)], color: grey, width: 1)
        }
        for river in Self.rivers {
            addLine(river, color: GdkRGBA(red: 0.35, green: 0.55, blue: 0.75, alpha: 1), width: 3)
        }
        addLayer(markers)
    }

    /// - Parameter zoomLevel: at level 0 the world is 256 points wide. Each further level doubles the width.
    func center(latitude: Double, longitude: Double, zoomLevel: Double) {
        shumate_viewport_set_zoom_level(viewport, zoomLevel)
        shumate_map_center_on(map, latitude, longitude)
    }

    private typealias Place = (latitude: Double, longitude: Double)

    private func addLine(_ places: [Place], color: GdkRGBA, width: Double) {
        guard let line = shumate_path_layer_new(viewport) else { return }
        var color = color
        shumate_path_layer_set_stroke_color(line, &color)
        shumate_path_layer_set_stroke_width(line, width)
        for place in places {
            let node = shumate_coordinate_new_full(place.latitude, place.longitude)
            shumate_path_layer_add_node(line, node.map { ObjectPointer($0).opaque })
        }
        addLayer(line)
    }

    private func addLayer(_ layer: OpaquePointer) {
        shumate_map_add_layer(map, UnsafeMutablePointer<ShumateLayer>(layer))
    }

    /// The rivers from source to mouth, as the coordinates of towns.
    private static let rivers: [[Place]] = [
        // The Rhine.
        [
            (46.63, 8.67), (46.77, 9.20), (46.85, 9.53), (47.25, 9.59), (47.50, 9.65), (47.66, 9.18), (47.68, 8.62),
            (47.56, 7.59), (48.03, 7.58), (48.58, 7.75), (49.01, 8.30), (50.00, 8.27),
        ],
        // The Rhône.
        [
            (46.57, 8.38), (46.32, 7.99), (46.23, 7.36), (46.10, 7.07), (46.39, 6.86), (46.20, 6.15), (45.76, 4.84),
            (44.93, 4.89), (43.95, 4.80),
        ],
        // The Po.
        [(44.70, 7.09), (45.07, 7.69), (45.14, 8.45), (45.06, 9.70), (45.13, 10.02), (44.89, 11.60), (44.95, 12.45)],
        // The Inn, and the Danube from Passau.
        [
            (46.40, 9.69), (46.50, 9.84), (46.80, 10.30), (47.14, 10.57), (47.27, 11.40), (47.58, 12.17),
            (48.24, 12.52),
            (48.57, 13.46), (48.31, 14.29), (48.21, 16.37),
        ],
        // The Danube down to Passau.
        [(47.95, 8.52), (48.40, 9.99), (48.76, 11.42), (49.02, 12.10), (48.57, 13.46)],
        // The Adige.
        [(46.83, 10.51), (46.67, 11.16), (46.50, 11.35), (46.07, 11.12), (45.44, 10.99), (45.15, 12.30)],
        // The Drava and the Sava.
        [(46.74, 12.28), (46.83, 12.77), (46.62, 13.85), (46.56, 15.65), (46.30, 16.34)],
        [(46.49, 13.74), (46.37, 14.11), (46.06, 14.51), (45.80, 15.98)],
    ]
}
