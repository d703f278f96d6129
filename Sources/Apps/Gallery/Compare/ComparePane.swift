import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// One of the images that are compared, with its name and its position below.
@MainActor final class ComparePane {
    let widget: ObjectPointer
    let canvas = ZoomView()
    private let session: GallerySession
    private let caption = ObjectPointer.label("", "caption", "numeric").set("wrap", false).set("xalign", 0.5)
    private(set) var index: Int?
    /// Called after the image was zoomed or moved, but not by ``follow(_:)``.
    var onPlaceChange: () -> Void = {}
    /// The place that another pane has set.
    private var followedPlace: ZoomPlace?

    init(session: GallerySession) {
        self.session = session
        gtk_label_set_ellipsize(caption.opaque, PANGO_ELLIPSIZE_MIDDLE)
        widget = .column([ObjectPointer(canvas.widget).expanding(), caption.margins(6)])
        // The window has keys for both panes.
        canvas.handlesKeys = false
        canvas.autoplayFollowsSettings = true
        canvas.onSwipe = { [weak self] step in self?.move(by: step) }
        canvas.onZoomChange = { [weak self] in
            guard let self, canvas.place != followedPlace else { return }
            followedPlace = nil
            onPlaceChange()
        }
    }

    /// Shows an image of the collection.
    func show(_ index: Int) {
        guard session.collection.urls.indices.contains(index) else { return }
        self.index = index
        let url = session.collection.urls[index]
        canvas.setImage(WebImageRequest.photo(url), placeholder: .cachedVariant, manager: session.manager)
        let stars = session.index.facts[url]?.starText ?? ""
        let position = localized("{number} of {count}", ["number": index + 1, "count": session.collection.count])
        caption.text = [url.displayName, position, stars].filter { !$0.isEmpty }.joined(separator: " · ")
        canvas.alternativeText = url.displayName
    }

    /// Shows the next image or the previous one. It stops at the ends.
    func move(by step: Int) {
        guard let index else { return }
        let target = min(max(index + step, 0), session.collection.count - 1)
        if target != index { show(target) }
    }

    /// Shows the part that another pane shows.
    func follow(_ place: ZoomPlace) {
        canvas.place = place
        followedPlace = canvas.place
    }

    /// Releases the image.
    func close() {
        index = nil
        canvas.prepareForReuse()
    }
}
