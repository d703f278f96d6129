public import FoundationEssentials
public import WebImage

/// What shows the picture of a URL: a slot, or a view by its main slot. Everything here is said of that slot.
@MainActor public protocol ImageSlotOwner: AnyObject {
    /// Where the picture goes.
    var imageSlot: ImageSlot { get }
}

extension ImageSlotOwner {
    /// Receives a load's progress on the main thread; `expected` is `nil` where the length is unknown. In bytes.
    public typealias ProgressHandler = @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    /// Receives the end of a load on the main thread.
    public typealias CompletionHandler = @MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    // MARK: Setting

    /// Shows the picture at `url`; the one of an earlier call can't appear any more.
    ///
    /// A picture in memory is on display when this returns. Otherwise the placeholder, or nothing, is, until the picture
    /// comes. The URL on display or under way already is neither blanked nor loaded again; one that failed is tried anew.
    ///
    /// - Parameters:
    ///   - url: where the picture is. `nil` fails at once: it shows `placeholder` or nothing, with
    ///     ``WebImageOptions/delayPlaceholder`` when the completion is called, and with ``WebImageOptions/ignorePlaceholder`` keeps
    ///     what is on display.
    ///   - placeholder: shown until the picture is there, and if it fails.
    ///   - options: switches of loading and showing; none by default.
    ///   - thumbnail: the size to decode at, in pixels. `nil`, the default, decodes every pixel the file has, or as many as the
    ///     view needs if its slot ``ImageSlot/decodesAtDisplaySize``.
    ///   - processors: what is made of the decoded picture; nothing by default.
    ///   - priority: the load's priority while the view is on screen; off screen it is at most `low`. `nil`, the default, leaves it
    ///     to `options`, and is `high` if those set none. In a list that is being scrolled, a load with `low` and less begins when
    ///     it rests.
    ///   - manager: who loads; the shared one by default.
    ///   - progress: called for each piece that arrives, coalesced.
    ///   - completion: called exactly once, after the picture was set: inside this call when the picture was in memory,
    ///     otherwise later. It gets ``WebImageError/cancelled`` when another URL is set first or the widget is destroyed,
    ///     and ``WebImageError/invalidURL(_:)`` for `nil`.
    public func setImage(
        _ url: URL?, placeholder: Placeholder? = nil, options: WebImageOptions = [], thumbnail: Thumbnail? = nil,
        processors: [any ImageProcessor] = [], priority: LoadPriority? = nil, manager: WebImageManager = .shared,
        progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        guard let url else {
            return imageSlot.fail(.invalidURL(""), placeholder, options, state: .idle, completion)
        }
        setImage(
            WebImageRequest(
                url, options: options, priority: priority, thumbnail: thumbnail, processors: processors),
            placeholder: placeholder, manager: manager, progress: progress, completion: completion)
    }

    /// Shows the picture at the URL that `text` spells; text that is none fails with ``WebImageError/invalidURL(_:)``.
    ///
    /// Everything else is as for a `URL`.
    public func setImage(
        _ text: String, placeholder: Placeholder? = nil, options: WebImageOptions = [], thumbnail: Thumbnail? = nil,
        processors: [any ImageProcessor] = [], priority: LoadPriority? = nil, manager: WebImageManager = .shared,
        progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        guard let url = URL(string: text), url.scheme != nil else {
            let error = WebImageError.invalidURL(text)
            return imageSlot.fail(error, placeholder, options, state: .failed(error), completion)
        }
        setImage(
            url, placeholder: placeholder, options: options, thumbnail: thumbnail, processors: processors,
            priority: priority, manager: manager, progress: progress, completion: completion)
    }

    /// Shows the picture that `request` describes; everything else is as for a `URL`. A request that sets no priority has `high`
    /// while the view is on screen.
    public func setImage(
        _ request: WebImageRequest, placeholder: Placeholder? = nil, manager: WebImageManager = .shared,
        progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        imageSlot.set(
            ImageWish(
                request: request, placeholder: placeholder, manager: manager, progress: progress,
                completion: completion))
    }

    /// Shows a picture that is there already, and gives up what was under way. An animation plays.
    public func setImage(_ image: Image) {
        guard !imageSlot.isRetired else { return }
        imageSlot.setter.set(image)
    }

    /// Shows an animation, of a file or of one's own making.
    public func setImage(_ image: AnimatedImage) { setImage(image.image) }

    /// Cancels the request. The image or placeholder on display stays.
    ///
    /// - Parameter keepsURL: whether ``imageURL`` stays, as SDWebImage's `sd_cancelCurrentImageLoad` has it. `false`, the default,
    ///   clears it, as YYWebImage's `yy_cancelCurrentImageRequest` does. An image on display then counts as one that was set
    ///   without a URL: it is not decoded again when the view grows. An image that was let go off screen
    ///   (``OffscreenLoading/release``) keeps its URL.
    public func cancelCurrentRequest(keepsURL: Bool = false) { imageSlot.setter.cancel(keepsURL: keepsURL) }

    /// Makes the slot as good as new for another item of a list: cancels, and shows nothing.
    public func prepareForReuse() { imageSlot.setter.clear() }

    // MARK: State

    /// The URL last set; setting it is `setImage` with the defaults.
    public var imageURL: URL? {
        get { imageSlot.setter.url }
        set { setImage(newValue) }
    }

    /// How far the picture is.
    public var loadState: LoadState { imageSlot.setter.state }

    /// The picture on display, or a preview of it; `nil` while there is none or only a placeholder.
    public var image: Image? { imageSlot.setter.image }

    /// ``loadState`` as it is and as it becomes, until the widget is destroyed; for any number of readers. One that falls
    /// behind gets the latest only.
    public func loadStates() -> AsyncStream<LoadState> { imageSlot.makeStateReader() }

    /// Called after each change of ``loadState``; see ``ImageSlot/onLoadStateChange``. There is one; others read
    /// ``loadStates()``.
    public var onLoadStateChange: (@MainActor (LoadState) -> Void)? {
        get { imageSlot.onLoadStateChange }
        set { imageSlot.onLoadStateChange = newValue }
    }

    // MARK: Animation

    /// Plays the animation on display; `nil` for a still, and where slots hand pictures to a closure. Its clock is the
    /// window's, and it stands still while the view is off screen.
    public var player: AnimationPlayer? { imageSlot.surface.player }

    /// How animations play, also the next ones: order, rate, loops.
    public var playback: AnimationPlayer.Configuration {
        get { imageSlot.painted?.configuration ?? AnimationPlayer.Configuration() }
        set { imageSlot.painted?.configuration = newValue }
    }

    /// When animations begin by themselves.
    public var autoplay: AnimationAutoplay {
        get { imageSlot.painted?.autoplay ?? .never }
        set { imageSlot.painted?.autoplay = newValue }
    }

    /// Gets what the player tells, on main, after the frame was set.
    public var onAnimationEvent: (@MainActor (AnimationPlayer.Event) -> Void)? {
        get { imageSlot.painted?.onEvent }
        set { imageSlot.painted?.onEvent = newValue }
    }

    /// Whether an animation plays, or would if it were on screen.
    public var isPlaying: Bool { player?.status == .playing }

    /// Plays the animation, or goes on.
    public func play() { player?.play() }

    /// Holds the frame.
    public func pause() { player?.pause() }

    /// Goes to a frame, which is shown as soon as it is decoded; limited to those there are.
    public func seek(toFrame index: Int) { player?.seek(toFrame: index) }
}

extension ImageSlot {
    func set(_ wish: ImageWish) {
        guard !isRetired else { return end(wish.completion, with: .cancelled) }
        willSet()
        setter.set(wish)
    }

    /// - Parameter state: what follows.
    fileprivate func fail(
        _ error: WebImageError, _ placeholder: Placeholder?, _ options: WebImageOptions, state: LoadState,
        _ completion: CompletionHandler?
    ) {
        guard !isRetired else { return end(completion, with: error) }
        willSet()
        setter.fail(error, placeholder: placeholder, options: options, state: state, completion: completion)
    }

    private func end(_ completion: CompletionHandler?, with error: WebImageError) {
        guard let completion else { return }
        ApplyQueue.main.enqueue { MainActor.assumeIsolated { completion(.failure(error)) } }
    }
}
