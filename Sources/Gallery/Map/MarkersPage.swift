import CWebImageGTK
import CWebImageShumate
import WebImageMap

/// Peaks of the Alps on a map, each with an image. One image is an animation, and one marker is selected. A marker under the
/// pointer or with the keyboard focus shows another image.
@MainActor final class MarkersPage: GalleryPage {
    let widget: UnsafeMutablePointer<GtkWidget>
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

    init(manager: WebImageManager) throws(WebImageError) {
        let map = AlpineMap()
        widget = map.widget
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
    private static func badge(_ color: Color) -> [any ImageProcessor] {
        [
            .resize(to: .points(width: 84, height: 84), mode: .aspectFillCropped),
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
