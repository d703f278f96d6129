// An image from the web for Adwaita for Swift (adwaita-swift). Copy this file into your program.

#if canImport(Adwaita)
    import Adwaita
#else
    import AdwaitaSwiftStandIn
#endif
import Foundation
import WebImage
import WebImageGTK

/// Shows the image of a URL.
///
/// ```swift
/// WebImageView(photo.url, placeholder: .color(.black), contentMode: .scaleAspectFill)
///     .frame(minWidth: 320, minHeight: 240)
/// ```
///
/// When the view's state changes, another URL cancels the load of the former one, whose image never appears; the same
/// URL changes nothing. The load is cancelled when the widget leaves the window.
struct WebImageView: AdwaitaWidget {
    /// The address of the image; `nil` shows the placeholder.
    var url: URL?
    /// Shown until the image has loaded, and if the load fails. Another one applies with the next URL.
    var placeholder: Placeholder?
    /// How the image fills the view.
    var contentMode = ImageContentMode.scaleAspectFit
    /// The size of the view in points; `nil` for the image's size, unless the layout gives the view another one.
    var size: PointSize?
    /// A description for assistive technologies.
    var alternativeText: String?
    /// Called on the main thread after the image was shown. It may change the state of views.
    var onLoad: (@MainActor (WebImage.Image) -> Void)?
    /// Called on the main thread after the load has failed. It may change the state of views.
    var onFailure: (@MainActor (WebImageError) -> Void)?

    init(
        _ url: URL?, placeholder: Placeholder? = nil, contentMode: ImageContentMode = .scaleAspectFit,
        size: PointSize? = nil, alternativeText: String? = nil, onLoad: (@MainActor (WebImage.Image) -> Void)? = nil,
        onFailure: (@MainActor (WebImageError) -> Void)? = nil
    ) {
        self.url = url
        self.placeholder = placeholder
        self.contentMode = contentMode
        self.size = size
        self.alternativeText = alternativeText
        self.onLoad = onLoad
        self.onFailure = onFailure
    }

    func container<Data: ViewRenderData>(data: WidgetData, type: Data.Type) -> ViewStorage {
        // The framework calls views on the main thread, and does not say so.
        nonisolated(unsafe) var pointer: OpaquePointer?
        MainActor.assumeIsolated {
            let picture = WebPicture()
            picture.decodesAtDisplaySize = true
            pointer = OpaquePointer(picture.widget)
        }
        let storage = ViewStorage(pointer)
        update(storage, data: data, updateProperties: true, type: type)
        return storage
    }

    func update<Data: ViewRenderData>(
        _ storage: ViewStorage, data: WidgetData, updateProperties: Bool, type: Data.Type
    ) {
        nonisolated(unsafe) let pointer = storage.opaquePointer
        MainActor.assumeIsolated {
            // The widget owns its picture.
            guard let pointer, let picture = WebPicture.attached(to: UnsafeMutablePointer(pointer)) else { return }
            listen(to: picture)
            if updateProperties { apply(to: picture) }
        }
        if updateProperties { storage.previousState = self }
    }

    @MainActor private func apply(to picture: WebPicture) {
        if picture.contentMode != contentMode { picture.contentMode = contentMode }
        if picture.fixedSize != size { picture.fixedSize = size }
        if picture.alternativeText != alternativeText { picture.alternativeText = alternativeText }
        // The same URL would start a failed load again.
        guard url == nil || picture.imageURL != url else { return }
        picture.setImage(url, placeholder: placeholder, options: .fadeIn)
    }

    /// Closures see the state of the update that they come from, so each update sets them.
    @MainActor private func listen(to picture: WebPicture) {
        picture.onLoadStateChange = { [weak picture, onLoad, onFailure] state in
            switch state {
            case .loaded: if let image = picture?.image { onLoad?(image) }
            case .failed(let error): onFailure?(error)
            case .idle, .loading: break
            }
        }
    }
}
