import CWebImageGTK
import CWebImageShumate
import GTKObjects
import WebImageMap

/// Peaks of the Alps on a map, each with an image. One image is an animation, and one marker is selected. A marker
/// under the pointer or with the keyboard focus shows another image.
@MainActor final class MarkersPage: PhotographPage {
    private let map = AlpineMap()
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

    init(samples: Samples) {
        let introduction = ObjectPointer.label(
            localized(
                "A WebMarker shows an image at a place. Its load is paused while it is off the map. Hover a marker, or move the focus to it with Tab, to see its highlighted image; drag and scroll to move the map."
            )
        )
        let frame = ObjectPointer(map.widget).expanding()
        map.center(latitude: 46.7, longitude: 10.3, zoomLevel: 7.4)
        super.init(
            samples: samples,
            widget: .column(spacing: 12, [.clamped(introduction.margins(horizontal: 12), width: 1_100), frame]))
    }

    override func fill(with photographs: [Photograph]) {
        for (number, peak) in Self.peaks.enumerated() {
            let marker = WebMarker(latitude: peak.latitude, longitude: peak.longitude)
            marker.size = PointSize(width: 84, height: 84)
            marker.alternativeText = peak.name
            gtk_widget_set_tooltip_text(ObjectPointer(marker.marker).widget, peak.name)
            let photograph = photographs[around: number]
            let isMoving = peak.name == "Zugspitze"
            let animation = SampleFile(.animation, .webp, width: 160, of: photograph).url
            marker.setImage(
                isMoving ? animation : photograph.url, processors: Self.badge(.white), manager: samples.manager)
            marker.highlighted.setImage(
                photographs[around: number + 1].url, processors: Self.badge(Color(red: 0.85, green: 0.2, blue: 0.1)),
                manager: samples.manager)
            shumate_marker_layer_add_marker(map.markers, marker.marker)
            markers.append(marker)
        }
        markers.first { $0.alternativeText == "Piz Bernina" }?.isSelected = true
    }

    /// Returns processors that make a round image with a border.
    private static func badge(_ color: Color) -> [ImageProcessor] {
        [
            .resize(toFill: .points(width: 84, height: 84)),
            .circle(border: Border(width: 3, color: color)),
        ]
    }

    private var markersInSight: [WebMarker] {
        markers.filter { gtk_widget_get_mapped(ObjectPointer($0.marker).widget) != 0 }
    }

    /// Whether all visible markers are settled. Markers off screen do not load.
    override var isSettled: Bool {
        !markersInSight.isEmpty && markersInSight.allSatisfy { $0.imageSlot.isSettled && $0.highlighted.isSettled }
    }
    override var isComplete: Bool { !markersInSight.isEmpty && markersInSight.allSatisfy { $0.image != nil } }
}
