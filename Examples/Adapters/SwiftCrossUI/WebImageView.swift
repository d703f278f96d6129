// An image from the web for SwiftCrossUI's GtkBackend. Copy this file into your program.

#if canImport(GtkBackend)
    import Gtk
    import GtkBackend
    import SwiftCrossUI
#else
    import SwiftCrossUIStandIn
#endif
import Foundation
import WebImage
import WebImageGTK

/// Shows the image of a URL.
///
/// ```swift
/// WebImageView(photo.url, placeholder: .color(.black), contentMode: .scaleAspectFill)
///     .frame(width: 320, height: 240)
/// ```
///
/// When the view's state changes, another URL cancels the load of the former one, whose image never appears; the same
/// URL changes nothing. The load is cancelled when the view leaves the hierarchy.
struct WebImageView: View {
    private let values: Values
    @State private var current = Current()

    /// - Parameters:
    ///   - url: the address of the image; `nil` shows the placeholder.
    ///   - placeholder: shown until the image has loaded, and if the load fails. Another one applies with the next URL.
    ///   - contentMode: how the image fills the view.
    ///   - size: the size of the view in points. `nil`, the default, takes the size that the view is proposed, such as
    ///     that of a frame, and the image's size where it is proposed none.
    ///   - alternativeText: a description for assistive technologies.
    ///   - onLoad: called on the main thread after the image was shown. It may change the state of views.
    ///   - onFailure: called on the main thread after the load has failed. It may change the state of views.
    init(
        _ url: URL?, placeholder: Placeholder? = nil, contentMode: ImageContentMode = .scaleAspectFit,
        size: PointSize? = nil, alternativeText: String? = nil, onLoad: (@MainActor (WebImage.Image) -> Void)? = nil,
        onFailure: (@MainActor (WebImageError) -> Void)? = nil
    ) {
        values = Values(
            url: url, placeholder: placeholder, contentMode: contentMode, size: size, alternativeText: alternativeText,
            onLoad: onLoad, onFailure: onFailure)
    }

    var body: some View { PictureView(current: current.updated(to: values)) }

    /// What the view was made with.
    struct Values {
        var url: URL?
        var placeholder: Placeholder?
        var contentMode: ImageContentMode
        var size: PointSize?
        var alternativeText: String?
        var onLoad: (@MainActor (WebImage.Image) -> Void)?
        var onFailure: (@MainActor (WebImageError) -> Void)?
    }

    /// The values of the last update. The framework updates a widget with the first value of its view only, so that
    /// value refers to them.
    @MainActor final class Current {
        private(set) var values: Values?

        func updated(to values: Values) -> Current {
            self.values = values
            return self
        }
    }

    /// The widget.
    struct PictureView: GtkWidgetRepresentable {
        let current: Current

        // The framework keeps the coordinator as long as the widget.
        func makeCoordinator() -> WebPicture {
            let picture = WebPicture()
            picture.decodesAtDisplaySize = true
            return picture
        }

        func makeGtkWidget(context: Context) -> Widget { Widget(context.coordinator.widget) }

        // Called for each layout, so it sets only what has changed.
        func updateGtkWidget(_ gtkWidget: Widget, context: Context) {
            guard let values = current.values else { return }
            let picture = context.coordinator
            if picture.contentMode != values.contentMode { picture.contentMode = values.contentMode }
            if picture.fixedSize != values.size { picture.fixedSize = values.size }
            if picture.alternativeText != values.alternativeText { picture.alternativeText = values.alternativeText }
            picture.onLoadStateChange = { [weak picture] state in
                switch state {
                case .loaded: if let image = picture?.image { values.onLoad?(image) }
                case .failed(let error): values.onFailure?(error)
                case .idle, .loading: break
                }
            }
            // The same URL would start a failed load again.
            guard values.url == nil || picture.imageURL != values.url else { return }
            picture.setImage(values.url, placeholder: values.placeholder, options: .fadeIn)
        }

        func sizeThatFits(_ proposal: ProposedViewSize, gtkWidget: Widget, context: Context) -> ViewSize {
            if let size = current.values?.size { return ViewSize(size.width, size.height) }
            let natural = gtkWidget.getNaturalSize()
            return ViewSize(proposal.width ?? Double(natural.width), proposal.height ?? Double(natural.height))
        }
    }
}
