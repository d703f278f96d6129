import CWebImageAdwaita
import CWebImageGTK
import CWebImageShumate
import GTKObjects
import WebImageMap

/// A map of the Alps that draws rivers and lines of latitude and longitude. It has no tiles, so it needs no server.
@MainActor final class AlpineMap {
    /// The `ShumateMap`.
    let widget: UnsafeMutablePointer<GtkWidget>
    /// The layer of the markers. One marker can be selected at a time.
    let markers: OpaquePointer

    private let map: OpaquePointer
    private let viewport: OpaquePointer
    private var lines: [(layer: OpaquePointer, kind: LineKind)] = []

    private enum LineKind { case grid, river }

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
        for degree in stride(from: 4.0, through: 18, by: 1) {
            addLine([(42, degree), (51, degree)], .grid)
            let parallel = 40 + degree
            addLine([(parallel, 2), (parallel, 20)], .grid)
        }
        for river in Self.rivers { addLine(river, .river) }
        setColors()
        followColorScheme()
        addLayer(markers)
    }

    /// - Parameter zoomLevel: at level 0 the world is 256 points wide. Each further level doubles the width.
    func center(latitude: Double, longitude: Double, zoomLevel: Double) {
        shumate_viewport_set_zoom_level(viewport, zoomLevel)
        shumate_map_center_on(map, latitude, longitude)
    }

    private typealias Place = (latitude: Double, longitude: Double)

    private func addLine(_ places: [Place], _ kind: LineKind) {
        guard let line = shumate_path_layer_new(viewport) else { return }
        lines.append((line, kind))
        shumate_path_layer_set_stroke_width(line, kind == .river ? 3 : 1)
        for place in places {
            let node = shumate_coordinate_new_full(place.latitude, place.longitude)
            shumate_path_layer_add_node(line, node.map { ObjectPointer($0).opaque })
        }
        addLayer(line)
    }

    // MARK: Colors

    /// The style sheet colors the ground, but not the lines.
    private func setColors() {
        let isDark = adw_style_manager_get_dark(adw_style_manager_get_default()) != 0
        for (line, kind) in lines {
            var color =
                switch kind {
                case .grid:
                    isDark
                        ? GdkRGBA(red: 1, green: 1, blue: 1, alpha: 0.12)
                        : GdkRGBA(red: 0, green: 0, blue: 0, alpha: 0.12)
                case .river: GdkRGBA(red: 0.35, green: 0.55, blue: isDark ? 0.85 : 0.75, alpha: 1)
                }
            shumate_path_layer_set_stroke_color(line, &color)
        }
    }

    private func followColorScheme() {
        guard let style = adw_style_manager_get_default() else { return }
        let manager = ObjectPointer(style)
        let connection = manager.onChange(of: "dark") { [weak self] in self?.setColors() }
        // The manager outlives the map.
        ObjectPointer(widget).onSignal("destroy") { manager.disconnect(connection) }
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
