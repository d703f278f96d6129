internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage
internal import WebImageGTK

/// The place of an image in a widget or a paintable of C code.
@MainActor final class Slot: Handle {
    private let owner: any ImageSlotOwner
    /// The owner, if it shows the image in a `GtkPicture`.
    var picture: WebPicture? { owner as? WebPicture }
    /// The owner, if it has no widget.
    var ownPaintable: WebPaintable? { owner as? WebPaintable }
    /// The owner, if the user zooms the image.
    var zoomView: ZoomView? { owner as? ZoomView }

    /// - Parameter onChange: called after each change of the state, until ``retire()``.
    init(_ owner: any ImageSlotOwner, onChange: @escaping @MainActor () -> Void) {
        self.owner = owner
        owner.onLoadStateChange = { _ in onChange() }
    }

    /// - Parameter picture: a `GtkPicture`, whose parent takes the focus.
    convenience init(
        picture: UnsafeMutablePointer<GtkWidget>, onChange: @escaping @MainActor () -> Void
    ) {
        let view = WebPicture(wrapping: picture)
        if let parent = gtk_widget_get_parent(view.widget) { view.retryFocusWidget = parent }
        self.init(view, onChange: onChange)
    }

    /// Ends the slot before its owner is disposed.
    func retire() {
        owner.onLoadStateChange = nil
        zoomView?.onZoomChange = nil
        zoomView?.onSwipe = nil
        owner.prepareForReuse()
    }

    // MARK: Loading

    func load(_ request: WebImageBridgeRequest, _ placeholder: WebImageBridgePlaceholder, with manager: WebImageManager)
    {
        let placeholder = Placeholder(placeholder)
        guard request.uri != nil || request.source != nil else {
            guard placeholder != nil else { return owner.prepareForReuse() }
            return owner.setImage(URL?.none, placeholder: placeholder, manager: manager)
        }
        do throws(WebImageError) {
            owner.setImage(try WebImageRequest(request), placeholder: placeholder, manager: manager)
        } catch {
            // The text shows the same error, and takes the place of what is on display.
            owner.setImage(String(optional: request.uri) ?? "", placeholder: placeholder, manager: manager)
        }
    }

    func clear() { owner.prepareForReuse() }

    func cancel() { owner.cancelCurrentRequest(keepsURL: true) }

    // MARK: Display

    func configure(_ display: WebImageBridgeDisplay) {
        owner.transition = ImageTransition(display)
        owner.retriesOnTap = display.retry_on_click != 0
        owner.decodesAtDisplaySize = display.decode_at_size != 0
        owner.focus = FocalPoint(x: display.focus_x, y: display.focus_y)
        picture?.isDraggable = display.draggable != 0
        if let ownPaintable, ownPaintable.contentFit != display.fit { ownPaintable.contentFit = display.fit }
        owner.loading = display.is_eager != 0 ? .eager : .lazy
        let isAnimated = display.animate != 0
        guard owner.autoplay != isAnimated else { return }
        owner.autoplay = isAnimated
        if isAnimated { owner.player?.play() } else { owner.player?.pause() }
    }

    // MARK: State

    var state: WebImageBridgeState {
        var state = WebImageBridgeState()
        state.phase =
            switch owner.loadState {
            case .idle: WEBIMAGE_BRIDGE_PHASE_IDLE
            case .loading: WEBIMAGE_BRIDGE_PHASE_LOADING
            case .loaded: WEBIMAGE_BRIDGE_PHASE_LOADED
            case .failed: WEBIMAGE_BRIDGE_PHASE_FAILED
            }
        state.progress = owner.loadState.fraction ?? -1
        if let size = owner.image.map({ zoomView?.imageSize ?? $0.pixels.size }) {
            (state.width, state.height) = (gint(size.width), gint(size.height))
        }
        state.in_transition = gboolean(owner.imageSlot.isInTransition ? 1 : 0)
        return state
    }

    /// Makes a texture of what is on display; `nil` without an image.
    func makeTexture() -> OpaquePointer? {
        guard let picture else { return owner.image?.makeTexture() }
        let texture = picture.paintable
        if let texture { g_object_ref(UnsafeMutableRawPointer(texture)) }
        return texture
    }

    func setAlternativeText(_ text: String?) { owner.alternativeText = text }

    /// What the image on display was loaded with.
    var response: WebImageResponse? { owner.response }

    var error: WebImageError? { if case .failed(let error) = owner.loadState { error } else { nil } }
}

extension Placeholder {
    /// The first of a BlurHash, a ThumbHash and a color; `nil` if there is none.
    init?(_ placeholder: WebImageBridgePlaceholder) {
        if let hash = String(optional: placeholder.blur_hash) {
            self = .blurHash(hash)
        } else if let hash = String(optional: placeholder.thumb_hash) {
            self = .thumbHash(hash)
        } else if let color = placeholder.color?.pointee {
            self = .color(
                Color(
                    red: Double(color.red), green: Double(color.green), blue: Double(color.blue),
                    alpha: Double(color.alpha)))
        } else {
            return nil
        }
    }
}

extension ImageTransition {
    fileprivate init?(_ display: WebImageBridgeDisplay) {
        let duration = Duration.milliseconds(Int(display.transition_milliseconds))
        switch display.transition {
        case WEB_IMAGE_TRANSITION_FADE: self = .fade(duration: duration)
        case WEB_IMAGE_TRANSITION_FLIP: self = .flip(from: GTK_POS_LEFT, duration: duration)
        case WEB_IMAGE_TRANSITION_SLIDE: self = .slide(from: GTK_POS_RIGHT, duration: duration)
        case WEB_IMAGE_TRANSITION_ZOOM: self = .zoomIn(duration: duration)
        default: return nil
        }
    }
}
