public import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
public import WebImage

/// A place for an image in a view: loads the image of a URL, shows it, and reports the state.
///
/// A view has one slot for each image it can show: a ``WebPicture`` has two, a ``WebButton`` two for each state. Any
/// widget can have slots with operation keys, each with a closure that shows the image:
///
/// ```swift
/// let slot = ImageSlot(on: widget, key: "icon") { image in if let image { show(image) } }
/// slot.setImage(url)
/// ```
///
/// The functions and properties of slots and views are in ``ImageSlotOwner``.
///
/// ```
///    none ──┬─ set ──────────────────────► loading ── end ──► ended ◄──┐
///           │ size unknown, or scrolling    ▲ │  ▲              │      │ more pixels, the image stays
///           ├──────────► waiting ───────────┘ ▼  │ on screen    └► refining
///           └─ off screen, if it is lazy ───► paused
///    ended ── off screen, if it releases images ──► released ── on screen ──► loading
/// ```
///
/// The completion handler of each request is called once: when the load ends, or with ``WebImage/WebImageError/cancelled`` when
/// the request is cancelled or replaced or the view is destroyed. A pause cancels the load, not the request.
@MainActor public final class ImageSlot: ImageSlotOwner {
    /// The slot itself.
    public var imageSlot: ImageSlot { self }
    /// The operation key, which identifies the slot in its widget. A load in one slot never cancels one in another.
    public let key: String

    // The values of ImageSlotOwner's public properties.
    var onLoadStateChange: (@MainActor (LoadState) -> Void)?
    var transition: ImageTransition?
    var indicator: ImageIndicator? {
        didSet { indicatorDidChange(from: oldValue) }
    }
    var failureImage: Placeholder?
    var failureContentMode: ImageContentMode? {
        didSet { takesWholeArea?() }
    }
    var contentMode: ImageContentMode {
        get { painter.contentMode ?? defaultContentMode() }
        set {
            painter.contentMode = newValue
            takesWholeArea?()
        }
    }
    var alternativeText: String? {
        didSet {
            guard !isRetired else { return }
            host?.setAlternativeText(alternativeText)
            onAlternativeText?(alternativeText)
        }
    }
    var retriesOnTap = false {
        didSet { if retriesOnTap != oldValue { host?.updateRetryControls() } }
    }
    var pending: WatchedPaintable? {
        didSet { substituteDidChange() }
    }
    var fallback: WatchedPaintable? {
        didSet { substituteDidChange() }
    }
    var loading = ImageSlot.standardLoading {
        didSet { if loading == .eager, isWaitingForPlace { resume() } }
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
        didSet {
            guard isOnShow != oldValue else { return }
            visibilityDidChange()
            if retriesOnTap { host?.updateRetryControls() }
        }
    }
    /// The mode for decoding at display size; `nil` to decode the whole image.
    var resizeMode: @MainActor () -> ResizeMode? = { .aspectFill }
    /// Returns the size to decode at, in points; `nil` while it is unknown. Without this closure, it is that of the widget, and a widget that has
    /// none after the layout shows whole images.
    var displaySize: (@MainActor () -> PointSize?)?
    /// Called with each image that a request has loaded, after it was set.
    var didLoad: (@MainActor (WebImageResponse) -> Void)?
    /// Returns the content mode of the view, for a slot without its own.
    var defaultContentMode: @MainActor () -> ImageContentMode = { .scaleToFill }
    /// Passes the alternative text to another widget of the view.
    var onAlternativeText: (@MainActor (String?) -> Void)?
    /// Makes the view give its paintable the whole area, which a different content mode requires.
    var takesWholeArea: (@MainActor () -> Void)?
    private(set) var isRetired = false

    /// How new slots load. Tests of other matters have widgets that are not mapped.
    static var standardLoading = ImageLoading.lazy

    // Loading, in ImageSlot+Loading.swift.
    /// The image on display or a preview of it; never a placeholder.
    var image: Image?
    var state = LoadState.idle
    /// What ``image`` was loaded with; see ``ImageSlotOwner/response``.
    var response: WebImageResponse?
    /// The last request. It stays after its end, for comparison with the next request.
    var current: SlotRequest?
    /// The current request with the size to decode at, once that is known.
    var sizedRequest: WebImageRequest?
    /// That of the image on display, while one with more pixels loads.
    var coarseRequest: WebImageRequest?
    /// The current request after a look at the caches, until its load starts.
    var prepared: WebImageManager.PreparedRequest?
    var phase = Phase.ended(isShown: false)
    /// The load of the same URL that the current one has replaced. It goes on until the current load, which may have to
    /// wait for its place, has joined its transfer.
    var former: WebImageOperation?
    /// A number that changes when the work in progress becomes stale. Each load captures it, and the slot compares it
    /// on the main thread before it sets the image. A stale image is never set, even if its load was cancelled late.
    var sentinel = 0
    /// Whether ``image`` is a preview of the current request.
    var hasPreview = false
    /// Whether the image on display has fewer bytes than the requested one, which is loaded when it is set again.
    var hasLowDataImage = false
    /// Whether ``image`` is of the current request or an earlier version of it, not of another URL.
    var showsOwnImage = false
    /// The completion handlers of earlier requests whose loads continue, by sentinel. Loads retain it too, so that they
    /// call the handlers even after the view is destroyed.
    let continuedCompletions = LockBox<[Int: CompletionHandler]>([:])

    private var stateContinuations: [AsyncStream<LoadState>.Continuation] = []
    private var transitionRun: TransitionRun?
    private var transitionEnds: [@MainActor @Sendable () -> Void] = []
    private lazy var transitionTicker = FrameTicker(host: host) { [weak self] in
        self?.advanceTransition(to: $0) ?? false
    }
    private var indicatorCall: MainLoopCall?
    private var pauseCall: MainLoopCall?
    /// Checks the size after the layout.
    private var sizeCall: MainLoopCall?
    private var hasNoSize = false
    private var isHostVisible = false

    init(key: String, host: ViewHost?, setImage: (@MainActor (Image?) -> Void)? = nil) {
        self.key = key
        self.host = host
        painter = SlotPainter(host: host, setImage: setImage)
        painter.substitute = { [weak self] in self?.substitute }
    }

    /// Makes a slot for any widget, which owns the slot. An earlier slot with the same key is cancelled and retired.
    ///
    /// - Parameters:
    ///   - widget: any `GtkWidget`.
    ///   - key: the operation key.
    ///   - setImage: shows images, previews and placeholders; `nil` clears the image. A placeholder color is an image
    ///     of one pixel. Called on the main thread, and never after the widget was destroyed.
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

    /// Returns the slot of `widget` with a key; `nil` if there is none.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") -> ImageSlot? {
        ViewHost.known(of: widget)?.slots[key]
    }

    // MARK: Visibility

    /// Whether the slot is the visible one of a view that is on screen.
    var isOnScreen: Bool { isOnShow && isViewOnScreen }

    /// Whether the view is on screen. It may show another slot.
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
            // A load that was started off screen continues, as in a bound list cell.
            pauseWhenIdle()
        }
        updateIndicatorRedraw()
    }

    func pauseWhenIdle() { pauseCall = MainLoopCall.whenIdle { [weak self] in self?.pauseLoading() } }

    /// Cancels a scheduled pause, because a request that is set off screen loads there.
    func keepLoadingOffscreen() { pauseCall = nil }

    /// Cancels the load, releases the image, and ends the slot permanently.
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

    /// Returns `request` with the size to decode at, if the slot decodes at display size; `nil` while that size is
    /// unknown. In that case ``displaySizeDidChange()`` is called later.
    func sized(_ request: WebImageRequest) -> WebImageRequest? {
        guard decodesAtDisplaySize || primary?.decodesAtDisplaySize == true, request.thumbnail == nil,
            let mode = resizeMode(), let host
        else { return request }
        guard let size = displaySize.map({ $0() }) ?? host.displaySize else {
            if displaySize == nil { lookForSize() }
            return hasNoSize ? request : nil
        }
        var sized = request
        sized.thumbnail = Thumbnail(
            .points(width: size.width, height: size.height), scale: host.scaleFactor, mode: mode)
        if request.scale == nil { sized.scale = host.scaleFactor }
        return sized
    }

    /// Checks the size after the layout. A view without a size then decodes whole images.
    private func lookForSize() {
        guard waitsForSize, displaySize == nil else { return }
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
        if pending != nil || fallback != nil { substituteDidChange() }
        if case .loaded = state, releasesImageOffscreen, !isViewOnScreen { pauseWhenIdle() }
        updateIndicator(for: state)
        if retriesOnTap { host?.updateRetryControls() }
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

    /// Returns the image, color or BlurHash of a placeholder; `nil` if it has none, as with an invalid ThumbHash.
    private func resolved(_ placeholder: Placeholder?) -> Placeholder? {
        switch placeholder {
        case .image, .color, .blurHash, nil: return placeholder
        case .thumbHash?, .cachedVariant?, .closure?:
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

    /// Whether a transition to the image is in progress.
    public var isInTransition: Bool { transitionRun != nil }

    /// Calls `body` when the transition in progress ends or is interrupted.
    ///
    /// - Returns: `false` if there is no transition. `body` is not called then.
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
        // The bodies run later, because this runs inside calls of the app.
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
        // The time is a multiple of the interval, so that indicators that start at different times share their frames.
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

    /// Whether a call for a frame or for the indicator is scheduled, for tests.
    var isTicking: Bool { transitionTicker.isRunning || indicatorCall != nil }
}
