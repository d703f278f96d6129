// An image from the web for SwiftGtk. Copy this file into your program.

#if canImport(Gtk)
    import GLibObject
    import Gtk
#else
    import SwiftGtkStandIn
#endif
import Foundation
import WebImage
import WebImageGTK

/// A widget that shows the image of a URL.
///
/// ```swift
/// let portrait = WebImageView(url, placeholder: .color(.black))
/// portrait.setSizeRequest(width: 96, height: 96)
/// box.append(child: portrait)
/// ```
///
/// Another URL cancels the load of the former one, whose image never appears. The load is cancelled when the widget is
/// destroyed. In a cell that shows one item after the other, set ``url`` when an item is bound, and call
/// ``prepareForReuse()`` when it is unbound.
///
/// The class is not isolated, because its base class is not. Its members are: use them on the main thread.
final class WebImageView: Widget {
    /// What loads and draws the image, for everything else: `portrait.picture.indicator = .ring()`.
    let picture: WebPicture

    /// The address of the image; `nil` shows the placeholder. Setting the same one again changes nothing:
    /// `picture.retry()` repeats a failed load.
    @MainActor var url: URL? { didSet { if url != oldValue { load() } } }
    /// Shown until the image has loaded, and if the load fails. Another one applies with the next URL.
    @MainActor var placeholder: Placeholder?
    /// How the image fills the widget.
    @MainActor var contentMode: ImageContentMode {
        get { picture.contentMode }
        set { picture.contentMode = newValue }
    }
    /// Called after the image was shown. Capture the widget weakly.
    @MainActor var onLoad: (@MainActor (WebImage.Image) -> Void)?
    /// Called after the load has failed. Capture the widget weakly.
    @MainActor var onFailure: (@MainActor (WebImageError) -> Void)?

    @MainActor init(
        _ url: URL? = nil, placeholder: Placeholder? = nil, contentMode: ImageContentMode = .scaleAspectFit
    ) {
        picture = WebPicture()
        super.init(raw: UnsafeMutableRawPointer(picture.widget))
        // The base class releases a reference, and has not taken one.
        _ = refSink()
        configure()
        picture.contentMode = contentMode
        (self.url, self.placeholder) = (url, placeholder)
        load()
    }

    /// Takes ownership of a `GtkPicture`, as the base class demands.
    required init(raw pointer: UnsafeMutableRawPointer) {
        picture = Self.picture(of: pointer)
        super.init(raw: pointer)
        nonisolated(unsafe) let view = self
        MainActor.assumeIsolated { view.configure() }
    }

    /// Retains a `GtkPicture`, as the base class demands.
    required init(retainingRaw pointer: UnsafeMutableRawPointer) {
        picture = Self.picture(of: pointer)
        super.init(retainingRaw: pointer)
        nonisolated(unsafe) let view = self
        MainActor.assumeIsolated { view.configure() }
    }

    /// That of another `WebImageView` keeps its image.
    private static func picture(of pointer: UnsafeMutableRawPointer) -> WebPicture {
        nonisolated(unsafe) let widget = OpaquePointer(pointer)
        return MainActor.assumeIsolated {
            WebPicture.attached(to: UnsafeMutablePointer(widget))
                ?? WebPicture(wrapping: UnsafeMutablePointer(widget))
        }
    }

    /// Cancels the load and shows nothing.
    @MainActor func prepareForReuse() {
        (url, placeholder) = (nil, nil)
        picture.prepareForReuse()
    }

    @MainActor private func load() { picture.setImage(url, placeholder: placeholder, options: .fadeIn) }

    @MainActor private func configure() {
        picture.decodesAtDisplaySize = true
        picture.onLoadStateChange = { [weak self] state in
            switch state {
            case .loaded: if let self, let image = picture.image { onLoad?(image) }
            case .failed(let error): self?.onFailure?(error)
            case .idle, .loading: break
            }
        }
    }
}
