public import FoundationEssentials
public import WebImage

/// An object that shows the image of a URL: a slot, or a view with a main slot. All members apply to that slot.
///
/// ```swift
/// func show(_ url: URL, in views: [any ImageSlotOwner]) {
///     for view in views { view.setImage(url, options: .fadeIn) }
/// }
/// ```
@MainActor public protocol ImageSlotOwner: AnyObject {
    /// The slot that shows the image.
    var imageSlot: ImageSlot { get }
}

extension ImageSlotOwner {
    // MARK: Setting

    /// Shows the image at `url`. Images of earlier calls no longer appear.
    ///
    /// An image in memory is on display when this returns. Otherwise the placeholder, or nothing, is on display until
    /// the image has loaded. A failed URL is loaded again.
    ///
    /// If the same URL is on display or loading, the view is not blanked, and the new call's request, options and
    /// handlers replace those of the call before, which ends with ``WebImage/WebImageError/cancelled``:
    ///
    /// - An image on display answers like one in memory. It is loaded again, and stays on display meanwhile, if the
    ///   request contacts a server again, needs the file's bytes or header, waits for the store, or has other headers,
    ///   caches, loaders or codecs.
    /// - A load in progress continues for an equal request. For another one it is replaced by a load with all that is
    ///   new, which joins the transfer and the bytes that have arrived. A request that the transfer does not fit, with
    ///   another retry policy or other headers for example, starts a transfer of its own.
    ///
    /// The guide <doc:Views> says what each setting of a request does then.
    ///
    /// - Parameters:
    ///   - url: the image's URL. `nil` fails at once and shows `placeholder` or nothing. With
    ///     ``SetImageOptions/delayPlaceholder`` the placeholder appears when the completion handler is called. With
    ///     ``SetImageOptions/ignorePlaceholder`` the content on display stays.
    ///   - placeholder: shown until the image has loaded, and if the load fails.
    ///   - options: how to show the image; none by default.
    ///   - loadOptions: how to load the image; none by default. A `WebImageRequest` has more settings.
    ///   - thumbnail: the size to decode at, in pixels. `nil`, the default, decodes the whole image, or as many pixels
    ///     as the view needs if it ``WebImageGTK/ImageSlotOwner/decodesAtDisplaySize``.
    ///   - processors: applied to the decoded image; none by default.
    ///   - priority: the load's priority while the view is on screen; off screen it is at most `low`. `nil`, the
    ///     default, is `high`. In a list that is being scrolled, a load with `low` or less starts when scrolling ends.
    ///   - manager: loads the image; the shared one by default.
    ///   - completion: called exactly once on the main thread, after the image was set: inside this call if the image
    ///     was in memory, or on disk with ``WebImage/WebImageOptions/queryDiskSync``; otherwise later. With
    ///     ``WebImage/WebImageOptions/queryMemoryData`` or ``WebImage/WebImageOptions/waitForStore`` an image in memory
    ///     is set inside this call, and the handler is called when the bytes are read or stored. It gets
    ///     ``WebImage/WebImageError/cancelled`` when another request is set first or the widget is destroyed, and
    ///     ``WebImage/WebImageError/invalidURL(_:reason:)`` for `nil`. A trailing closure is the completion handler.
    ///   - progress: called on the main thread while bytes arrive, coalesced. `expected` is `nil` while the length is
    ///     unknown.
    ///   - preview: called on the main thread for each preview, after it was set.
    public func setImage(
        _ url: URL?, placeholder: Placeholder? = nil, options: SetImageOptions = [], loadOptions: WebImageOptions = [],
        thumbnail: Thumbnail? = nil, processors: [ImageProcessor] = [], priority: LoadPriority? = nil,
        manager: WebImageManager = .shared,
        completion: (@MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void)? = nil,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        preview: (@MainActor @Sendable (_ preview: Image) -> Void)? = nil
    ) {
        guard let url else {
            return imageSlot.fail(
                .invalidURL(""), placeholder: placeholder, options: options, state: .idle, completion: completion)
        }
        setImage(
            WebImageRequest(
                url, options: loadOptions, priority: priority, thumbnail: thumbnail, processors: processors),
            placeholder: placeholder, options: options, manager: manager, completion: completion, progress: progress,
            preview: preview)
    }

    /// Shows the image at the URL in `text`, such as `https://example.org/photo.jpg`. A text that is not a URL with a
    /// scheme fails with ``WebImage/WebImageError/invalidURL(_:reason:)``.
    ///
    /// Everything else is as for a `URL`.
    public func setImage(
        _ text: String, placeholder: Placeholder? = nil, options: SetImageOptions = [],
        loadOptions: WebImageOptions = [], thumbnail: Thumbnail? = nil, processors: [ImageProcessor] = [],
        priority: LoadPriority? = nil, manager: WebImageManager = .shared,
        completion: (@MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void)? = nil,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        preview: (@MainActor @Sendable (_ preview: Image) -> Void)? = nil
    ) {
        do throws(WebImageError) {
            let request = try WebImageRequest(
                text, options: loadOptions, priority: priority, thumbnail: thumbnail, processors: processors)
            setImage(
                request, placeholder: placeholder, options: options, manager: manager, completion: completion,
                progress: progress, preview: preview)
        } catch {
            imageSlot.fail(
                error, placeholder: placeholder, options: options, state: .failed(error), completion: completion)
        }
    }

    /// Shows the image that `request` describes. Everything else is as for a `URL`. A request without a priority has
    /// `high` while the view is on screen.
    public func setImage(
        _ request: WebImageRequest, placeholder: Placeholder? = nil, options: SetImageOptions = [],
        manager: WebImageManager = .shared,
        completion: (@MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void)? = nil,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        preview: (@MainActor @Sendable (_ preview: Image) -> Void)? = nil
    ) {
        imageSlot.set(
            SlotRequest(
                request: request, options: options, placeholder: placeholder, manager: manager, progress: progress,
                preview: preview, completion: completion))
    }

    /// Starts a failed load again, with the same request and placeholder. Its completion handler has been called and is
    /// not called again.
    ///
    /// - Returns: `false` if the state is not ``LoadState/failed(_:)`` or there is no URL.
    @discardableResult public func retry() -> Bool { imageSlot.retryRequest() }

    /// Whether a click or tap on the widget starts a failed load again; `false` by default. While the load has failed, the widget also takes
    /// the focus, and Enter and Space start it.
    public var retriesOnTap: Bool {
        get { imageSlot.retriesOnTap }
        set { imageSlot.retriesOnTap = newValue }
    }

    /// Cancels the request. The image or placeholder on display stays.
    ///
    /// - Parameter keepsURL: whether ``imageURL`` stays, as with SDWebImage's `sd_cancelCurrentImageLoad`. `false`, the
    ///   default, clears it, as YYWebImage's `yy_cancelCurrentImageRequest` does. An image on display then counts as
    ///   one that was set without a URL, and is not decoded again when the view grows. An image that was released off
    ///   screen keeps its URL.
    public func cancelCurrentRequest(keepsURL: Bool = false) { imageSlot.cancel(keepsURL: keepsURL) }

    /// Resets the slot for reuse: cancels the request and shows nothing.
    public func prepareForReuse() { imageSlot.clear() }

    // MARK: State

    /// The URL last set. Setting it calls `setImage` with the defaults.
    public var imageURL: URL? {
        get { imageSlot.current?.request.url }
        set { setImage(newValue) }
    }

    /// The current state.
    public var loadState: LoadState { imageSlot.state }

    /// The image on display or a preview of it; `nil` while there is none or only a placeholder.
    ///
    /// Setting it cancels the request and shows the image without loading. An animation plays. `nil` shows nothing,
    /// like ``prepareForReuse()``.
    public var image: Image? {
        get { imageSlot.image }
        set { if let newValue { imageSlot.set(newValue) } else { imageSlot.clear() } }
    }

    /// The response that the image on display came with, without the bytes of the file; `nil` unless the state is
    /// ``LoadState/loaded(_:)``, and for an image that was set without a URL.
    ///
    /// ```swift
    /// picture.onLoadStateChange = { _ in
    ///     guard let head = picture.response?.head else { return }
    ///     print(head.statusCode ?? 0, head.url, head.headerValue("Content-Type") ?? "")
    /// }
    /// ```
    public var response: WebImageResponse? { imageSlot.response }

    /// Returns a stream of the current state and each change, until the widget is destroyed. Any number of streams can
    /// exist. A slow reader gets the latest state only.
    public func loadStates() -> AsyncStream<LoadState> { imageSlot.makeStateStream() }

    /// Called on the main thread after each change of ``loadState``, inside `setImage` for changes known at once. A
    /// load starts with ``LoadState/loading(received:expected:)`` and 0 bytes. Not called when the widget is destroyed,
    /// because its neighbors may be gone by then.
    public var onLoadStateChange: (@MainActor (LoadState) -> Void)? {
        get { imageSlot.onLoadStateChange }
        set { imageSlot.onLoadStateChange = newValue }
    }

    // MARK: Display

    /// How images are laid out in the area of the view. ``WebImage/ImageContentMode/scaleAspectFill`` fills the area and crops
    /// the image.
    ///
    /// The default is aspect fit (the widget's `content-fit`) for a ``WebPicture`` and its highlighted image, the same
    /// without enlarging for images of a ``WebButton``, aspect fill for its backgrounds, and scale to fill for a
    /// ``WebPaintable``, because widgets draw a paintable with its own proportions. Slots with a closure ignore it.
    public var contentMode: ImageContentMode {
        get { imageSlot.contentMode }
        set { imageSlot.contentMode = newValue }
    }

    /// The point of the image that stays visible where ``WebImage/ImageContentMode/scaleAspectFill``, or `content-fit` of a `GtkPicture` that
    /// covers, crops it; the center by default. Slots with a closure ignore it.
    public var focus: FocalPoint {
        get { imageSlot.painter.focus }
        set { imageSlot.painter.focus = newValue }
    }

    /// The accessible description of the image, or the accessible label of a widget that is not a `GtkPicture`; `nil`
    /// by default.
    public var alternativeText: String? {
        get { imageSlot.alternativeText }
        set { imageSlot.alternativeText = newValue }
    }

    /// How an image from disk or network replaces the content on display. `nil`, the default, changes at once, or fades
    /// with ``SetImageOptions/fadeIn``.
    public var transition: ImageTransition? {
        get { imageSlot.transition }
        set { imageSlot.transition = newValue }
    }

    /// Shows that the slot is loading; none by default.
    public var indicator: ImageIndicator? {
        get { imageSlot.indicator }
        set { imageSlot.indicator = newValue }
    }

    /// Shown when a load has failed, unless a preview or an earlier version of the image is on display; `nil`, the
    /// default, leaves the placeholder. It takes precedence over ``SetImageOptions/delayPlaceholder``.
    public var failureImage: Placeholder? {
        get { imageSlot.failureImage }
        set { imageSlot.failureImage = newValue }
    }

    /// How ``failureImage`` is laid out; `nil`, the default, uses the content mode of other images.
    public var failureContentMode: ImageContentMode? {
        get { imageSlot.failureContentMode }
        set { imageSlot.failureContentMode = newValue }
    }

    /// Whether requests without a thumbnail size are decoded at the size of the view in pixels, and again when the view
    /// grows; `false` by default. A layout that takes its size from the image needs the whole image.
    public var decodesAtDisplaySize: Bool {
        get { imageSlot.decodesAtDisplaySize }
        set { imageSlot.decodesAtDisplaySize = newValue }
    }

    /// When the image is loaded; ``ImageLoading/lazy`` by default: while the view is on screen or less than a page away.
    /// An image in memory is shown at once in any case.
    ///
    /// The completion handler of a request that waits for its view is called after the load that follows, or with
    /// ``WebImage/WebImageError/cancelled``. A slot made for a ``WebPaintable`` without a widget is
    /// ``ImageLoading/eager``.
    public var loading: ImageLoading {
        get { imageSlot.loading }
        set { imageSlot.loading = newValue }
    }

    /// Whether a load continues with low priority when the view leaves the screen. Use it in lists, which unbind
    /// distant items.
    ///
    /// `false` by default: the load is cancelled once the main loop is idle, so that moving a widget between containers
    /// does not count, and starts again when the view returns.
    public var loadsOffscreen: Bool {
        get { imageSlot.loadsOffscreen }
        set { imageSlot.loadsOffscreen = newValue }
    }

    /// Whether the view releases its image off screen and shows it again when it returns, from memory if it is still
    /// cached; `false` by default. It takes precedence over ``loadsOffscreen``: loads stop off screen, and the result
    /// of a load that starts there is only cached.
    ///
    /// Use it for many views that are never unbound, such as markers on a map. Only the memory cache then limits their
    /// memory. Images without a URL are not released.
    public var releasesImageOffscreen: Bool {
        get { imageSlot.releasesImageOffscreen }
        set { imageSlot.releasesImageOffscreen = newValue }
    }

    // MARK: Animation

    /// Plays the animation on display; `nil` for a still image, and for slots with a closure. It uses the window's
    /// frame clock and pauses while the view is off screen.
    public var player: AnimationPlayer? { imageSlot.painter.player }

    /// How animations play, including later ones: order, rate, loops.
    public var playback: AnimationPlayer.Configuration {
        get { imageSlot.painter.configuration }
        set { imageSlot.painter.configuration = newValue }
    }

    /// Whether animations start when they are on screen; `true` by default. Otherwise `player?.play()` starts them.
    public var autoplay: Bool {
        get { imageSlot.painter.autoplay }
        set { imageSlot.painter.autoplay = newValue }
    }

    /// Whether ``autoplay`` applies only where the user allows animations (`gtk-enable-animations`); `false` by
    /// default.
    public var autoplayFollowsSettings: Bool {
        get { imageSlot.painter.autoplayFollowsSettings }
        set { imageSlot.painter.autoplayFollowsSettings = newValue }
    }

    /// Called on the main thread with the player's events, after the frame was set.
    public var onAnimationEvent: (@MainActor (AnimationPlayer.Event) -> Void)? {
        get { imageSlot.painter.onAnimationEvent }
        set { imageSlot.painter.onAnimationEvent = newValue }
    }
}
