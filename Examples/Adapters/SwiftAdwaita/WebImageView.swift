// An image from the web for swift-adwaita. Copy this file into your program.

#if canImport(Adwaita)
    import Adwaita
#else
    import SwiftAdwaitaStandIn
#endif
import Foundation
import WebImage
import WebImageGTK

/// A widget that shows the image of a URL.
///
/// ```swift
/// let portrait = WebImageView(url, placeholder: .color(.black))
/// portrait.setSizeRequest(width: 96, height: 96)
/// box.append(portrait)
/// ```
///
/// Another URL cancels the load of the former one, whose image never appears. The load is cancelled when the widget is
/// destroyed. In a cell that shows one item after the other, set ``url`` when an item is bound, and call
/// ``prepareForReuse()`` when it is unbound.
@MainActor final class WebImageView: Widget {
    /// What loads and draws the image, for everything else: `portrait.picture.indicator = .ring()`.
    let picture: WebPicture

    /// The address of the image; `nil` shows the placeholder. Setting the same one again changes nothing:
    /// `picture.retry()` repeats a failed load.
    var url: URL? { didSet { if url != oldValue { load() } } }
    /// Shown until the image has loaded, and if the load fails. Another one applies with the next URL.
    var placeholder: Placeholder?
    /// How the image fills the widget.
    var contentMode: ImageContentMode {
        get { picture.contentMode }
        set { picture.contentMode = newValue }
    }
    /// Called after the image was shown.
    var onLoad: (@MainActor (WebImage.Image) -> Void)?
    /// Called after the load has failed.
    var onFailure: (@MainActor (WebImageError) -> Void)?

    init(_ url: URL? = nil, placeholder: Placeholder? = nil, contentMode: ImageContentMode = .scaleAspectFit) {
        picture = WebPicture()
        super.init(raw: UnsafeMutableRawPointer(picture.widget))
        configure()
        picture.contentMode = contentMode
        (self.url, self.placeholder) = (url, placeholder)
        load()
    }

    /// Wraps a `GtkPicture`, as the base class demands. That of another `WebImageView` keeps its image.
    required init(raw pointer: UnsafeMutableRawPointer) {
        let widget = OpaquePointer(pointer)
        picture =
            WebPicture.attached(to: UnsafeMutablePointer(widget))
            ?? WebPicture(wrapping: UnsafeMutablePointer(widget))
        super.init(raw: pointer)
        configure()
    }

    /// Cancels the load and shows nothing.
    func prepareForReuse() {
        url = nil
        picture.prepareForReuse()
    }

    private func load() { picture.setImage(url, placeholder: placeholder, options: .fadeIn) }

    private func configure() {
        picture.decodesAtDisplaySize = true
        // The widget owns the picture, and its wrapper this object: a strong reference would be a cycle.
        picture.onLoadStateChange = { [weak self] state in
            switch state {
            case .loaded: if let self, let image = picture.image { onLoad?(image) }
            case .failed(let error): self?.onFailure?(error)
            case .idle, .loading: break
            }
        }
    }
}
