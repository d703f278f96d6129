import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// Content modes, a highlighted image, a `GtkImage`, and indicators over loads that never end.
@MainActor final class ViewsPage: GalleryPage {
    let widget: ObjectPointer
    private var pictures: [any ImageSlotOwner] = []
    private let manager: WebImageManager

    init(session: GallerySession) throws(WebImageError) {
        let manager = session.manager
        var configuration = manager.configuration
        configuration.loaders = ImageLoaderGroup([HalfLoader(), DataURLLoader()])
        self.manager = WebImageManager(configuration: configuration)
        let (grid, attach) = Self.makeGrid()
        widget = .scrolling(ObjectPointer(grid))
        let wide = try Samples.photograph(hour: 0.4)
        let modes: [(ImageContentMode, String)] = [
            (.scaleAspectFit, "Aspect fit"), (.scaleAspectFill, "Aspect fill"), (.scaleToFill, "Scale to fill"),
            (.bottomRight, "Bottom right"),
        ]
        for (column, (mode, name)) in modes.enumerated() {
            let picture = makePicture()
            picture.contentMode = mode
            picture.decodesAtDisplaySize = true
            picture.alternativeText = "A sunrise over hills"
            picture.setImage(wide, manager: self.manager)
            attach(cell(picture, name), column, 0)
            pictures.append(picture)
        }
        let highlighted = makePicture()
        highlighted.contentMode = .scaleAspectFill
        highlighted.setImage(wide, manager: self.manager)
        highlighted.highlighted.setImage(try Samples.photograph(hour: 0.9, hue: 0.7), manager: self.manager)
        attach(cell(highlighted, "Highlighted image under the pointer"), 0, 1)

        let changing = makePicture()
        changing.contentMode = .scaleAspectFill
        changing.transition = .flip(from: GTK_POS_LEFT)
        let urls = [wide, try Samples.photograph(hour: 0.7, hue: 0.5)]
        changing.setImage(wide, manager: self.manager)
        let flip = gtk_button_new_with_label("Flip")
        if let flip {
            var number = 0
            ObjectPointer(flip).onSignal("clicked") { [weak self, weak changing] in
                guard let self else { return }
                number += 1
                changing?.setImage(
                    urls[number % 2], options: [.forceTransition, .ignorePlaceholder], manager: self.manager)
            }
            attach(cell(changing, "Transition"), 1, 1)
            attach(flip, 1, 2)
        }
        pictures += [highlighted, changing]
        attachIcon(wide, attach)
        attachIndicators(attach)
    }

    private func makePicture() -> WebPicture {
        let picture = WebPicture()
        gtk_widget_add_css_class(picture.widget, "image-frame")
        return picture
    }

    private func cell(_ picture: WebPicture, _ text: String) -> UnsafeMutablePointer<GtkWidget>? {
        Self.captioned(Self.sized(picture.widget, width: 240, height: 240), text)
    }

    private func attachIcon(_ url: URL, _ attach: AttachToGrid) {
        guard let image = gtk_image_new() else { return }
        gtk_image_set_pixel_size(ObjectPointer(image).opaque, 96)
        let icon = WebPaintable(in: image)
        icon.contentMode = .scaleAspectFill
        icon.setImage(
            url, thumbnail: Thumbnail(.pixels(width: 192, height: 192), mode: .aspectFill), processors: [.circle()],
            manager: manager)
        attach(Self.captioned(image, "GtkImage with a circular image"), 2, 1)
        pictures.append(icon)
    }

    private func attachIndicators(_ attach: AttachToGrid) {
        let light = Color(red: 1, green: 1, blue: 1, alpha: 0.9)
        let indicators: [ImageIndicator] = [
            .ring(diameter: 48, color: light), .bar(color: light),
            .spinner(diameter: 40, color: light),
        ]
        let box = ObjectPointer(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6))
        for (number, indicator) in indicators.enumerated() {
            let picture = WebPicture()
            gtk_widget_set_size_request(picture.widget, 76, 240)
            picture.indicator = indicator
            picture.setImage(
                "half:\(number < 2 ? "known" : "unknown")/\(number)",
                placeholder: .color(Color(red: 0.2, green: 0.25, blue: 0.3)), manager: manager)
            gtk_box_append(box.address.assumingMemoryBound(to: GtkBox.self), picture.widget)
        }
        attach(Self.captioned(box.widget, "Ring, bar and spinner"), 3, 1)
    }

    var isSettled: Bool { pictures.allSatisfy { $0.imageSlot.isSettled } }
    var isComplete: Bool { pictures.allSatisfy { $0.image != nil } }
}

extension ImageSlot {
    /// Whether its load and transition have ended.
    var isSettled: Bool {
        switch loadState {
        case .loaded, .failed: !isInTransition
        case .idle, .loading: false
        }
    }
}

/// Delivers three fifths of a file and never ends, to show a load in progress. URLs that begin with `half:known` report
/// the length, others do not.
struct HalfLoader: ImageLoader {
    func canLoad(_ url: URL) -> Bool { url.scheme == "half" }

    func isCacheable(_ url: URL) -> Bool { false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let length: Int64? = request.url.absoluteString.hasPrefix("half:known") ? 100 : nil
        handler(.response(LoaderResponse(url: request.url, expectedByteCount: length)))
        handler(.bytes(Data(count: 60)))
        return HalfLoad(handler: handler)
    }

    private final class HalfLoad: LoaderTask {
        private let handler: @Sendable (LoaderEvent) -> Void

        init(handler: @escaping @Sendable (LoaderEvent) -> Void) { self.handler = handler }

        func cancel() { handler(.finished(.failure(.cancelled))) }
    }
}
