public import CWebImageGTK
internal import FoundationEssentials
public import WebImage

/// One place of a view that shows the image of a URL: it loads the image, shows it, and reports its state.
///
/// A view has one slot for each image it can show: a ``WebPicture`` two, a ``WebButton`` two for each state. Any widget can have
/// slots by operation key, with a closure that shows the image:
///
/// ```swift
/// let slot = ImageSlot(on: window, key: "icon") { image in … }
/// slot.setImage(url)
/// ```
///
/// ``ImageSlotOwner`` has everything that slots and views can do.
///
/// ```
///    none ──┬─ set ──────────────────────► loading ── end ──► ended ◄──┐
///           │ size unknown, or scrolling    ▲ │  ▲              │      │ more pixels, the image stays
///           └──────────► waiting ───────────┘ ▼  │ on screen    └► refining
///                                           paused
///    ended ── off screen, if it releases images ──► released ── on screen ──► loading
/// ```
///
/// Each request has its completion handler called once: when its load ends, or with ``WebImageError/cancelled`` when another
/// request replaces it, or when it is cancelled or its view destroyed. A pause cancels the load, not the request.
@MainActor public final class ImageSlot: ImageSlotOwner {
    /// Itself.
    public var imageSlot: ImageSlot { self }
    /// The operation key: the name under which the widget keeps the slot. A load in one slot never cancels one in another.
    public let key: String

    // What ImageSlotOwner has in public.
    var onLoadStateChange: (@MainActor (LoadState) -> Void)?
    var transition: ImageTransition?
    var indicator: ImageIndicator? {
        didSet { indicatorDidChange(from: oldValue) }
    }
    var failureImage: Placeholder?
    var failureContentMode: ImageContentMode? {
        didSet { takesWholeArea?() }
    }
    var retriesOnTap = false {
        didSet { if retriesOnTap { host?.addTapGesture() } }
    }
    var loadsOffscreen = false
    var releasesImageOffscreen = false
    var decodesAtDisplaySize = false

    weak var host: ViewHost?
    /// The slot whose ``decodesAtDisplaySize`` applies too.
    weak var primary: ImageSlot?
    let painter: SlotPainter
    /// Whether this is the visible slot of its view.
    var isOnShow = true {
        didSet { if isOnShow != oldValue { visibilityDidChange() } }
    }
    /// How to decode images for the size of the view; `nil` for whole.
    var resizeMode: @MainActor () -> ResizeMode? = { .aspectFill }
    /// Makes the view give its paintable the whole area, which another content mode needs.
    var takesWholeArea: (@MainActor () -> Void)?
    private(set) var isRetired = false

    // Loading, in ImageSlot+Loading.swift.
    /// The image on display or a preview of it; never a placeholder.
    var image: Image?
    var state = LoadState.idle
    /// The last request, also after its end: it tells whether the next one asks for the same.
    var current: SlotRequest?
    /// The current request at the size that suits the view, once that is known.
    var sizedRequest: WebImageRequest?
    var phase = Phase.ended(isShown: false)
    /// Changes whenever the work in progress becomes stale. Results carry the number they were started under, which is compared on
    /// the main thread when the image is set: a stale image is never set, however late it was cancelled.
    var sentinel = 0
    /// Whether ``image`` is a preview of the current request.
    var hasPreview = false
    /// Whether ``image`` is of the current request or an earlier version of it, not of another URL.
    var showsOwnImage = false
    /// The completion handlers of earlier requests whose loads continue, by their sentinel. Loads hold it too: they call the
    /// handlers also when the view has gone.
    let continuedCompletions = Lock<[Int: CompletionHandler]>([:])

    private var stateContinuations: [AsyncStream<LoadState>.Continuation] = []
    private var transitionRun: TransitionRun?
    private var transitionEnds: [@MainActor @Sendable () -> Void] = []
    private lazy var transitionTicker = FrameTicker(host: host) { [weak self] in
        self?.advanceTransition(to: $0) ?? false
    }
    private var indicatorCall: MainLoopCall?
    private var pauseCall: MainLoopCall?
    /// Looks for the size once the layout is done.
    private var sizeCall: MainLoopCall?
    private var hasNoSize = false
    private var isHostVisible = false

    init(key: String, host: ViewHost?, setImage: (@MainActor (Image?) -> Void)? = nil) {
        self.key = key
        self.host = host
        painter = SlotPainter(host: host, setImage: setImage)
    }

    /// Makes a slot of any widget, which owns the slot. A slot that it has under the same key is cancelled and retired.
    ///
    /// - Parameters:
    ///   - widget: any `GtkWidget`.
    ///   - key: the operation key.
    ///   - setImage: shows images, previews and placeholders, and nothing for `nil`. A placeholder color is an image of one pixel.
    ///     Called on the main thread, and never after the widget was destroyed.
    public convenience init(
        on widget: UnsafeMutablePointer<GtkWidget>, key: String = "image",
        setImage: @escaping @MainActor (Image?) -> Void
    ) {
        let host = ViewHost.of(widget)
        self.init(key: key, host: host, setImage: setImage)
        host.add(self)
        visibilityDidChange()
    }

    isolated deinit { abandonLoad() }

    /// The slot that `widget` has under a key; `nil` if there is none.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") -> ImageSlot? {
        ViewHost.known(of: widget)?.slots[key]
    }

    // MARK: Life

    /// Whether the user can see it, as far as GTK knows.
    package var isOnScreen: Bool { isOnShow && isViewOnScreen }

    /// Whether its view is on screen, which may show another slot.
    var isViewOnScreen: Bool { host?.isVisible == true }

    func visibilityDidChange() {
        let isVisible = isOnScreen
        painter.visibilityDidChange(to: isVisible)
        resumeIfOnScreen()
        if !isVisible { endTransition(isFinished: false) }
        let wasHostVisible = isHostVisible
        isHostVisible = isViewOnScreen
        if isHostVisible {
            pauseCall = nil
            lookForSize()
        } else if wasHostVisible, !loadsOffscreen || releasesImageOffscreen {
            // A load that was started off screen continues, as in a list's cell that is bound.
            pauseWhenIdle()
        }
        updateIndicatorRedraw()
    }

    func pauseWhenIdle() { pauseCall = MainLoopCall.whenIdle { [weak self] in self?.pauseLoading() } }

    /// A request that comes off screen is to load there.
    func keepLoadingOffscreen() { pauseCall = nil }

    /// Cancels everything, releases the image, and ends the slot for good.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        onLoadStateChange = nil
        for continuation in stateContinuations { continuation.finish() }
        stateContinuations = []
        endTransition(isFinished: false)
        clear(keepsWork: true)
        indicator = nil
        painter.visibilityDidChange(to: false)
        (pauseCall, sizeCall) = (nil, nil)
    }

    // MARK: Size

    /// `request` with the size to decode at, where the slot decodes at display size; `nil` while that is unknown. Then
    /// ``displaySizeDidChange()`` follows.
    func sized(_ request: WebImageRequest) -> WebImageRequest? {
        guard decodesAtDisplaySize || primary?.decodesAtDisplaySize == true, request.thumbnail == nil,
            let mode = resizeMode(), let host
        else { return request }
        guard let size = host.displaySize else {
            lookForSize()
            return hasNoSize ? request : nil
        }
        var sized = request
        sized.thumbnail = Thumbnail(width: size.width, height: size.height, scale: host.scaleFactor, mode: mode)
        if request.scale == nil { sized.scale = host.scaleFactor }
        return sized
    }

    /// A view without a size of its own, even after the layout, has its images decoded whole.
    private func lookForSize() {
        guard waitsForSize else { return }
        sizeCall = MainLoopCall.whenIdle { [weak self] in
            guard let self, isOnScreen else { return }
            hasNoSize = host?.displaySize == nil
            displaySizeDidChange()
            hasNoSize = false
        }
    }

    // MARK: State

    func makeStateStream() -> AsyncStream<LoadState> {
        let (stream, continuation) = AsyncStream.makeStream(of: LoadState.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(state)
        if isRetired { continuation.finish() } else { stateContinuations.append(continuation) }
        return stream
    }

    func loadStateDidChange(to state: LoadState) {
        if waitsForSize { lookForSize() }
        if case .loaded = state, releasesImageOffscreen, !isViewOnScreen { pauseWhenIdle() }
        updateIndicator(for: state)
        if case .loaded = state, decodesAtDisplaySize || primary?.decodesAtDisplaySize == true {
            // The view may have grown meanwhile.
            sizeCall = MainLoopCall.whenIdle { [weak self] in self?.displaySizeDidChange() }
        }
        onLoadStateChange?(state)
        stateContinuations.removeAll { if case .terminated = $0.yield(state) { true } else { false } }
    }

    // MARK: Display

    /// Shows `image` with its transition.
    ///
    /// - Parameter draw: shows it in the painter, starting with the first frame of the transition it gets.
    func show(_ image: Image, with transition: ImageTransition?, draw: (ImageTransition?) -> Void) {
        endTransition(isFinished: false)
        guard let transition else { return draw(nil) }
        let takesTime = isOnScreen && host?.allowsAnimations == true && transition.microseconds > 0
        transition.prepare?(self, image)
        if transition.setsImage { draw(takesTime ? transition : nil) }
        let run = TransitionRun(transition, in: self) { [weak self] in self?.painter.setProgress($0) }
        guard takesTime else { return run.end(isFinished: true) }
        transitionRun = run
        transitionTicker.start()
    }

    func showPlaceholder(_ placeholder: Placeholder?, mode: ImageContentMode? = nil) {
        image = nil
        endTransition(isFinished: false)
        // A closure is not called while its widget is being destroyed.
        if isRetired, !painter.drawsImages { return }
        painter.show(resolved(placeholder), mode: mode)
    }

    /// The image or color of a placeholder; `nil` for nothing, such as an invalid hash.
    private func resolved(_ placeholder: Placeholder?) -> Placeholder? {
        switch placeholder {
        case .image, .color, nil: return placeholder
        case .blurHash?, .thumbHash?, .cachedVariant?, .closure?:
            let image =
                if let current {
                    try? placeholder?.image(for: current.request, manager: current.manager)
                } else {
                    try? placeholder?.image()
                }
            return image.map(Placeholder.image)
        }
    }

    // MARK: Transition

    package var isInTransition: Bool { transitionRun != nil }

    /// Calls `body` at the end of the transition in progress, also when it is interrupted.
    ///
    /// - Returns: `false` if there is none; then `body` is not called.
    func waitForTransition(_ body: @escaping @MainActor @Sendable () -> Void) -> Bool {
        guard transitionRun != nil else { return false }
        transitionEnds.append(body)
        return true
    }

    private func advanceTransition(to time: gint64) -> Bool {
        guard let run = transitionRun else { return false }
        if run.advance(to: time) { return true }
        if transitionRun === run {
            transitionRun = nil
            for body in takeTransitionEnds() { body() }
        }
        return transitionRun != nil
    }

    private func takeTransitionEnds() -> [@MainActor @Sendable () -> Void] {
        defer { transitionEnds = [] }
        return transitionEnds
    }

    private func endTransition(isFinished: Bool) {
        guard let run = transitionRun else { return }
        transitionRun = nil
        transitionTicker.stop()
        painter.setProgress(1)
        run.end(isFinished: isFinished)
        // Later: this happens inside the caller's calls.
        let bodies = takeTransitionEnds()
        if !bodies.isEmpty { ApplyQueue.main.enqueue { MainActor.assumeIsolated { for body in bodies { body() } } } }
    }

    // MARK: Indicator

    private func indicatorDidChange(from former: ImageIndicator?) {
        guard former !== indicator else { return }
        if former?.isActive == true { former?.stop() }
        painter.indicator = nil
        updateIndicator(for: state)
    }

    private func updateIndicator(for state: LoadState) {
        guard let indicator, !isRetired else { return }
        guard case .loading = state else {
            guard indicator.isActive else { return }
            if case .loaded = state { indicator.update(progress: 1) }
            indicator.stop()
            painter.indicator = nil
            return updateIndicatorRedraw()
        }
        if !indicator.isActive {
            indicator.start()
            painter.indicator = indicator.draw
        }
        indicator.update(progress: state.fraction)
        painter.indicatorProgress = state.fraction
        updateIndicatorRedraw(isChanged: true)
    }

    /// Schedules the next redraw of the indicator, or ends redrawing.
    private func updateIndicatorRedraw(isChanged: Bool = false) {
        guard isOnScreen, painter.indicator != nil, let indicator, indicator.isActive else {
            indicatorCall = nil
            return
        }
        guard isChanged || indicator.isMoving, indicatorCall == nil else { return }
        // At a multiple of the interval: indicators that start at different times share their frames.
        let interval = gint64(indicator.redrawInterval / .microseconds(1))
        let time = (g_get_monotonic_time() / interval + 1) * interval
        indicatorCall = MainLoopCall.at(time) { [weak self] in
            guard let self else { return }
            indicatorCall = nil
            painter.indicatorTime = g_get_monotonic_time()
            painter.paintable?.invalidateContents()
            updateIndicatorRedraw()
        }
    }

    /// Whether a call for a frame or for the indicator is scheduled.
    var isTicking: Bool { transitionTicker.isRunning || indicatorCall != nil }
}
