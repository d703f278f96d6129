public import CWebImageGTK
internal import WebImage

/// One place of a view that shows the picture of a URL: it loads, shows what comes, and tells how far it is.
///
/// Views have one slot for each picture they can show: a ``WebPicture`` two, a ``WebButton`` two for each state. Any widget
/// gets slots of its own by operation key, with a closure that shows the picture:
///
/// ```swift
/// let slot = ImageSlot(on: window, key: "icon") { content in
///     if case .image(let image) = content { … }
/// }
/// slot.setImage(url)
/// ```
///
/// What can be done with a slot is in ``ImageSlotOwner``, which views share.
@MainActor public final class ImageSlot: ImageSlotOwner {
    /// Itself.
    public var imageSlot: ImageSlot { self }
    /// The operation key: the name under which its widget keeps it. A load in a slot cancels none in another.
    public let key: String

    /// Called after each change of ``ImageSlotOwner/loadState``, on the main thread: inside `setImage` for what is known at
    /// once. Not called when the widget is destroyed, since its neighbours may be gone by then.
    public var onLoadStateChange: (@MainActor (LoadState) -> Void)?
    private var stateReaders: [AsyncStream<LoadState>.Continuation] = []
    /// How a picture from disk or network takes the place of what is shown; `nil`, the default, changes at once, or fades
    /// where a request has ``WebImageOptions/fadeIn``.
    public var transition: ImageTransition?
    /// What shows that something is loading; nothing by default. The one before is stopped.
    public var indicator: (any ImageIndicator)? {
        didSet { indicatorDidChange(from: oldValue) }
    }
    /// What becomes of a load when the view leaves the screen; ``OffscreenLoading/pause`` by default.
    public var offscreenLoading = OffscreenLoading.pause
    /// Whether requests without a size of their own are decoded at the size of the view on its screen, and again when it
    /// grows; `false` by default. Layouts that take their size from the picture need the whole of it.
    public var decodesAtDisplaySize = false

    weak var host: ViewHost?
    let setter = ImageSetter()
    let surface: any ImageSurface
    /// Whether this is the slot of its view that is to be seen.
    var isOnShow = true {
        didSet { if isOnShow != oldValue { visibilityDidChange() } }
    }
    /// How pictures are to be decoded for the view's room; `nil` for whole.
    var resizeMode: @MainActor () -> ResizeMode? = { .aspectFill }
    private(set) var isRetired = false

    private var transitionRun: TransitionRun?
    private var transitionEnds: [@MainActor @Sendable () -> Void] = []
    private lazy var transitionTicker = FrameTicker(host: host) { [weak self] in
        self?.advanceTransition(to: $0) ?? false
    }
    private var indicatorCall: MainLoopCall?
    private var isIndicating = false
    private var indicatorTime: gint64 = 0
    private var pauseCall: MainLoopCall?
    /// Looks for room once the layout is done.
    private var roomCall: MainLoopCall?
    private var isRoomless = false
    private var isHostVisible = false

    init(key: String, host: ViewHost?, surface: any ImageSurface) {
        self.key = key
        self.host = host
        self.surface = surface
        setter.display = self
    }

    /// Makes a slot of any widget, which owns it from then on. One that it has under the same key is cancelled and retired.
    ///
    /// - Parameters:
    ///   - widget: any `GtkWidget`.
    ///   - key: the operation key.
    ///   - setContent: shows pictures, placeholders and nothing; called on the main thread only, and not any more once the
    ///     widget is destroyed.
    public convenience init(
        on widget: UnsafeMutablePointer<GtkWidget>, key: String = "image",
        setContent: @escaping @MainActor (SlotContent) -> Void
    ) {
        let host = ViewHost.of(widget)
        self.init(key: key, host: host, surface: ClosureSurface(setContent))
        host.add(self)
        visibilityDidChange()
    }

    /// The slot that `widget` has under a key; `nil` if there is none.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") -> ImageSlot? {
        ViewHost.known(of: widget)?.slots[key]
    }

    // MARK: Life

    /// Whether the user can see it, as far as the toolkit knows.
    public var isOnScreen: Bool { isOnShow && isViewOnScreen }

    var isViewOnScreen: Bool { host?.isVisible == true }

    func visibilityDidChange() {
        let isVisible = isOnScreen
        surface.visibilityDidChange(to: isVisible)
        setter.visibilityDidChange()
        if !isVisible { endTransition(isFinished: false) }
        let wasHostVisible = isHostVisible
        isHostVisible = isViewOnScreen
        if isHostVisible {
            pauseCall = nil
            lookForRoom()
        } else if wasHostVisible, offscreenLoading != .demote {
            // Not what was asked for off screen, as a cell that is bound does.
            pauseWhenIdle()
        }
        updateIndicatorRedraw()
    }

    private func pauseWhenIdle() {
        pauseCall = MainLoopCall.whenIdle { [weak self] in self?.setter.pause() }
    }

    /// A change of URL while the view is off screen counts as a wish to load it there.
    func willSet() { pauseCall = nil }

    func roomDidChange() { setter.roomDidChange() }

    /// Ends everything: cancels, lets the picture go, and never does anything again.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        onLoadStateChange = nil
        for reader in stateReaders { reader.finish() }
        stateReaders = []
        endTransition(isFinished: false)
        setter.clear(keepsWork: true)
        indicator = nil
        surface.visibilityDidChange(to: false)
        (pauseCall, roomCall) = (nil, nil)
    }

    /// A view that the layout gives nothing has its pictures decoded whole.
    private func lookForRoom() {
        guard setter.waitsForRoom else { return }
        roomCall = MainLoopCall.whenIdle { [weak self] in
            guard let self, isOnScreen else { return }
            isRoomless = host?.room == nil
            setter.roomDidChange()
            isRoomless = false
        }
    }

    // MARK: State

    func makeStateReader() -> AsyncStream<LoadState> {
        let (stream, continuation) = AsyncStream.makeStream(of: LoadState.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(setter.state)
        if isRetired { continuation.finish() } else { stateReaders.append(continuation) }
        return stream
    }

    // MARK: Transition

    /// Whether a transition is under way.
    public var isInTransition: Bool { transitionRun != nil }

    private func advanceTransition(to time: gint64) -> Bool {
        guard let run = transitionRun else { return false }
        if run.advance(to: time) { return true }
        if transitionRun === run {
            transitionRun = nil
            tellTransitionEnd()
        }
        return transitionRun != nil
    }

    private func tellTransitionEnd() {
        let bodies = transitionEnds
        transitionEnds = []
        for body in bodies { body() }
    }

    private func endTransition(isFinished: Bool) {
        guard let run = transitionRun else { return }
        transitionRun = nil
        transitionTicker.stop()
        surface.setProgress(1)
        run.end(isFinished: isFinished)
        // Later, because this happens inside calls of the client's.
        let bodies = transitionEnds
        transitionEnds = []
        if !bodies.isEmpty { ApplyQueue.main.enqueue { MainActor.assumeIsolated { for body in bodies { body() } } } }
    }

    // MARK: Indicator

    private func indicatorDidChange(from former: (any ImageIndicator)?) {
        guard former !== indicator else { return }
        if isIndicating { former?.stop() }
        isIndicating = false
        painted?.layers.indicator = nil
        updateIndicator(for: setter.state)
    }

    private func updateIndicator(for state: LoadState) {
        guard let indicator, !isRetired else { return }
        guard case .loading = state else {
            guard isIndicating else { return }
            if case .loaded = state { indicator.update(progress: 1) }
            isIndicating = false
            indicator.stop()
            painted?.layers.indicator = nil
            return updateIndicatorRedraw()
        }
        if !isIndicating {
            isIndicating = true
            indicator.start()
            if let drawn = indicator as? any DrawnImageIndicator { show(drawn) }
        }
        indicator.update(progress: state.fraction)
        updateIndicatorRedraw(isChanged: true)
    }

    private func show(_ indicator: any DrawnImageIndicator) {
        painted?.layers.indicator = { [weak self] snapshot, width, height in
            guard let self else { return }
            indicator.draw(
                IndicatorFrame(
                    snapshot: snapshot, width: width, height: height, time: Double(indicatorTime) / 1_000_000,
                    isDark: host?.isDark ?? false, isRightToLeft: host?.isRightToLeft ?? false))
        }
    }

    /// Redraws the indicator soon, or not any more.
    private func updateIndicatorRedraw(isChanged: Bool = false) {
        guard isIndicating, isOnScreen, painted != nil, let drawn = indicator as? any DrawnImageIndicator else {
            indicatorCall = nil
            return
        }
        guard isChanged || drawn.isMoving else { return }
        guard indicatorCall == nil else { return }
        // At a whole multiple of the interval: indicators that begin at different times share their frames.
        let duration = min(max(drawn.redrawInterval, Self.shortestRedrawInterval), .seconds(1))
        let interval = gint64(duration / .microseconds(1))
        let time = (g_get_monotonic_time() / interval + 1) * interval
        indicatorCall = MainLoopCall.at(time) { [weak self] in self?.redrawIndicator() }
    }

    /// A timer that is always due would leave no time to frames.
    private static let shortestRedrawInterval = Duration.seconds(1) / 120

    private func redrawIndicator() {
        indicatorCall = nil
        indicatorTime = g_get_monotonic_time()
        painted?.layers.paintable?.invalidateContents()
        updateIndicatorRedraw()
    }

    /// For the tests: whether something is called for each frame, or each drawing of the indicator.
    var isTicking: Bool { transitionTicker.isRunning || indicatorCall != nil }

    var painted: PaintedSurface? { surface as? PaintedSurface }
}

/// What becomes of a load whose view leaves the screen.
public enum OffscreenLoading: String, Sendable, Hashable, CaseIterable {
    /// It is given up once the main loop is idle, so that moving a widget between containers does not count, and starts again
    /// when the view comes back.
    case pause
    /// It goes on, with a low priority: for lists, which unbind what is far away.
    case demote
    /// As ``pause``, and the picture goes too: the view shows it again, from memory if it is still there, when it comes back.
    /// What a load off screen brings goes into the caches alone. For views that are many and never unbound, as markers on a
    /// map: how much memory they take is up to the memory cache then. Pictures that were set without a URL stay.
    case release
}

extension ImageSlot: ImageDisplay {
    func fitted(_ request: WebImageRequest) -> WebImageRequest? {
        guard decodesAtDisplaySize, request.thumbnail == nil, let mode = resizeMode(), let host else { return request }
        guard let room = host.room else {
            lookForRoom()
            return isRoomless ? request : nil
        }
        var fitted = request
        fitted.thumbnail = Thumbnail(width: room.width, height: room.height, scale: host.scaleFactor, mode: mode)
        if request.scale == nil { fitted.scale = host.scaleFactor }
        return fitted
    }

    func waitsForRest(_ body: @escaping @MainActor () -> Void) -> Bool {
        guard let watch = host?.scrollWatch, watch.isScrolling else { return false }
        watch.whenAtRest(body)
        return true
    }

    func waitsForTransition(_ body: @escaping @MainActor @Sendable () -> Void) -> Bool {
        guard transitionRun != nil else { return false }
        transitionEnds.append(body)
        return true
    }

    func show(_ image: Image, with transition: ImageTransition?) {
        endTransition(isFinished: false)
        guard let transition else { return surface.show(image, beginning: nil) }
        let takesTime = isOnScreen && host?.allowsAnimations == true && transition.microseconds > 0
        transition.prepare?(self, image)
        if transition.setsImage { surface.show(image, beginning: takesTime ? transition : nil) }
        let run = TransitionRun(transition, in: self) { [weak self] in self?.surface.setProgress($0) }
        guard takesTime else { return run.end(isFinished: true) }
        transitionRun = run
        transitionTicker.start()
    }

    func show(_ placeholder: Placeholder?) {
        endTransition(isFinished: false)
        // Drawn pictures are let go; a closure is not called in the middle of its widget's destruction.
        if isRetired, painted == nil { return }
        surface.show(placeholder)
    }

    var releasesOffscreen: Bool { offscreenLoading == .release }

    func loadStateDidChange(to state: LoadState) {
        if setter.waitsForRoom { lookForRoom() }
        if case .loaded = state, releasesOffscreen, !isViewOnScreen { pauseWhenIdle() }
        updateIndicator(for: state)
        if case .loaded = state, decodesAtDisplaySize {
            // The view may have grown meanwhile.
            roomCall = MainLoopCall.whenIdle { [weak self] in self?.setter.roomDidChange() }
        }
        onLoadStateChange?(state)
        stateReaders.removeAll { if case .terminated = $0.yield(state) { true } else { false } }
    }

    func refine(_ image: Image) { surface.refine(image) }
}
