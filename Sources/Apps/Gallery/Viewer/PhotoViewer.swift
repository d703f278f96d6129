import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// A page that shows one image of the collection at a time.
///
///     page ─┬─ header: back, name, "3 of 240", inspector, menu
///           ├─ overlay ─┬─ stack: canvas, or what is wrong with a retry
///           │           ├─ progress, and what is being saved, at the top
///           │           ├─ previous, next at the sides
///           │           └─ zoom and rotation at the bottom
///           ├─ controls of an animation
///           └─ filmstrip
@MainActor final class PhotoViewer {
    let widget = ObjectPointer.column()
    let session: GallerySession
    let canvas = ZoomView()
    let header = ObjectPointer(adw_header_bar_new())
    let controls = ViewerControls()
    let animationControls = AnimationControls()
    let slideShow = SlideShow()
    let fullScreen: FullScreenMode
    private let title = ObjectPointer(adw_window_title_new("", ""))
    private let stack = ObjectPointer(gtk_stack_new())
    private let failure = FailureView()
    let progress = ProgressIndicator()
    let savingBar = SavingBar()
    /// Messages, above the buttons over the image.
    let toasts = ObjectPointer(adw_toast_overlay_new())
    let filmstrip: Filmstrip
    private(set) lazy var crop = CropMode(canvas: canvas)
    private let targetsMenu: TargetsMenu
    private lazy var neighbors = ImagePrefetcher(manager: session.manager, maximumConcurrentCount: 2)
    private var neighborBatch: PrefetchBatch?
    /// The size in points for which the neighbors are fetched.
    private var neighborSize: PointSize?
    private var labelCall: MainLoopCall?
    /// Whether the image itself has been on display, not only a preview of it.
    private var hasLoaded = false
    /// Whether the former image is on display until the current one has loaded, such as the next one of the slide show.
    private(set) var isIncoming = false
    /// GTK's number for keeping the screen on during a slide show; 0 outside of one.
    private var inhibition: guint = 0

    /// The position in the collection; `nil` while the viewer is closed.
    private(set) var index: Int?
    /// The image on display; `nil` while the viewer is closed.
    private(set) var currentURL: URL?
    /// Called when the user leaves the viewer.
    var onClose: () -> Void = {}
    /// Called when the user opens the inspector.
    var onInspect: () -> Void = {}
    var onCurrentChange: (URL) -> Void = { _ in }
    /// Called when the name of the image on display may have changed.
    var onTitleChange: () -> Void = {}
    /// The actions for the window, which has them as `win.NAME`.
    private(set) lazy var actions = Self.actions { [weak self] in self }

    init(session: GallerySession) {
        self.session = session
        filmstrip = Filmstrip(session: session)
        targetsMenu = TargetsMenu(settings: session.settings)
        fullScreen = FullScreenMode(header: header, controls: controls, canvas: canvas)
        buildContent()
        connectParts()
        addDragSource()
        Action.addPageKeys(actions, to: widget)
    }

    // MARK: Content

    private func buildContent() {
        let back = ObjectPointer.iconButton("go-previous-symbolic", localized("Back")) { [weak self] in self?.leave() }
        let inspect = ObjectPointer.iconButton(LoadInspector.iconName, localized("Inspector")) { [weak self] in
            self?.onInspect()
        }
        let menu = ObjectPointer.menuButton(
            "view-more-symbolic", localized("Image menu"), targetsMenu.added(to: makeMenu()))
        adw_header_bar_set_title_widget(header.opaque, title.widget)
        adw_header_bar_pack_start(header.opaque, back.widget)
        for part in [menu, inspect] { adw_header_bar_pack_end(header.opaque, part.widget) }

        // Beside the buttons for the neighbors.
        failure.widget.margins(horizontal: 54, vertical: 0)
        let area = ObjectPointer(canvas.widget).expanding().style("photo-canvas")
        for part in [area, failure.widget] { gtk_stack_add_child(stack.opaque, part.widget) }
        let overlay = ObjectPointer(gtk_overlay_new()).expanding()
        gtk_overlay_set_child(overlay.opaque, stack.widget)
        for part in [progress.widget, savingBar.widget] + controls.parts + crop.parts {
            gtk_overlay_add_overlay(overlay.opaque, part.widget)
        }
        animationControls.widget.margins(horizontal: 6).set("margin-bottom", 6).isVisible = false
        adw_toast_overlay_set_child(toasts.style("photo-viewer").opaque, overlay.widget)
        for part in [header, toasts, animationControls.widget, filmstrip.widget] { widget.append(part) }
        updateFilmstrip()
    }

    private func connectParts() {
        // The actions have keys.
        canvas.handlesKeys = false
        canvas.autoplayFollowsSettings = true
        canvas.onSwipe = { [weak self] step in self?.userMoves(by: step) }
        canvas.onLoadStateChange = { [weak self] _ in self?.loadStateDidChange() }
        canvas.onZoomChange = { [weak self] in self?.updateLabelsLater() }
        canvas.onDetailFailure = { [weak self] in self?.session.showToast($0.userDescription) }
        crop.onSave = { [weak self] in self?.saveAs(crop: $0) }
        crop.onChange = { [weak self] in if let self { controls.setObscured(crop.isActive) } }
        savingBar.onChange = { [weak self] in self?.updateProgress() }
        failure.onRetry = { [weak self] in self?.retry() }
        fullScreen.onChange = { [weak self] in self?.updateFilmstrip() }
        filmstrip.onSelect = { [weak self] index in
            self?.slideShow.stop()
            self?.move(to: index)
        }
        session.settings.observe(\.showsFilmstrip) { [weak self] _ in self?.updateFilmstrip() }
        followChoices()
        slideShow.onAdvance = { [weak self] in self?.advanceSlideShow() }
        slideShow.onChange = { [weak self] in self?.slideShowDidChange() }
        session.collection.observe { [weak self] in self?.collectionDidChange($0) }
        ObjectPointer(canvas.widget).onSignal("map") { [weak self] in self?.fullScreen.attach() }
        widget.onSignal("unmap") { [weak self] in self?.slideShow.stop() }
    }

    // MARK: Opening

    /// Shows an image of the collection.
    func open(index: Int) {
        guard session.collection.urls.indices.contains(index) else { return }
        show(index)
        gtk_widget_grab_focus(canvas.widget)
    }

    /// Releases the image, and ends everything that is in progress.
    func close() {
        slideShow.stop()
        crop.end()
        fullScreen.leave()
        neighborBatch?.cancel()
        (neighborBatch, neighborSize) = (nil, nil)
        (index, currentURL, labelCall, isIncoming) = (nil, nil, nil, false)
        canvas.prepareForReuse()
        showAnimation(nil)
        progress.state = .hidden
        updateFilmstrip()
    }

    /// Goes back: from the slide show, then from the full screen, then from the viewer, whose owner closes it.
    func leave() {
        if slideShow.isPlaying { return slideShow.stop() }
        if fullScreen.isActive { return fullScreen.leave() }
        onClose()
    }

    /// Shows the image at `index`.
    private func show(_ index: Int, fading: Bool = false) {
        let url = session.collection.urls[index]
        (self.index, currentURL) = (index, url)
        session.index.need(url)
        load(url, fading: fading)
        onCurrentChange(url)
    }

    /// - Parameters:
    ///   - fading: whether the former image stays until the new one has loaded, and fades into it.
    ///   - startsAnew: whether the image begins without a rotation, also if it is the same one.
    private func load(
        _ url: URL, fading: Bool = false, startsAnew: Bool = false, cachePolicy: CachePolicy = .cacheFirst
    ) {
        crop.end()
        let isOther = canvas.imageURL != url
        (isIncoming, hasLoaded) = (fading, hasLoaded && !isOther && !fading)
        canvas.transition = fading ? .fade(duration: .milliseconds(600)) : nil
        var options: SetImageOptions = []
        if fading { options = [.ignorePlaceholder, .forceTransition] }
        if !isOther, canvas.image != nil { options.insert(.ignorePlaceholder) }
        canvas.setImage(
            WebImageRequest.photo(url, cachePolicy: cachePolicy), placeholder: .cachedVariant, options: options,
            manager: session.manager,
            completion: { [weak self] result in
                if startsAnew, case .success = result { self?.canvas.resetZoom() }
            })
        loadStateDidChange()
        if isOther { neighborSize = nil }
        fetchNeighbors()
    }

    /// Fetches the next and the previous image, at low priority; again when the viewer has another size. The image on display
    /// joins a load in progress before its batch is cancelled.
    private func fetchNeighbors() {
        let size = PointSize(
            width: Double(gtk_widget_get_width(canvas.widget)), height: Double(gtk_widget_get_height(canvas.widget)))
        guard let index, size.width > 0, size != neighborSize else { return }
        neighborSize = size
        let scale = Double(gtk_widget_get_scale_factor(canvas.widget))
        let urls = session.collection.urls
        // The slide show starts again after the last image.
        let next = slideShow.isPlaying && index + 1 == urls.count ? 0 : index + 1
        let requests = [next, index - 1].filter { $0 != index && urls.indices.contains($0) }.map {
            WebImageRequest.photo(urls[$0], for: size, scale: scale)
        }
        let former = neighborBatch
        neighborBatch = requests.isEmpty ? nil : neighbors.prefetch(requests) { _ in }
        former?.cancel()
    }

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        switch change {
        case .shapes, .dates: break
        case .content(let urls): if let currentURL, urls.contains(currentURL) { contentDidChange() }
        case .rearranged: itemsDidChange(staysOpen: true)
        case .replaced, .appended: itemsDidChange(staysOpen: false)
        }
    }

    /// - Parameter staysOpen: whether another image takes the place of one that has left.
    private func itemsDidChange(staysOpen: Bool) {
        guard let index, let url = currentURL else { return }
        let urls = session.collection.urls
        if urls.indices.contains(index), urls[index] == url { return updateTitle() }
        if let newIndex = urls.firstIndex(of: url) {
            self.index = newIndex
            updateTitle()
        } else if staysOpen, !urls.isEmpty {
            show(min(index, urls.count - 1))
        } else {
            onClose()
        }
    }

    private func contentDidChange() {
        guard let url = currentURL, canvas.quarterTurns != 0 else { return reload(cachePolicy: .reload) }
        // The rotation may be in the file now: the new image begins without one.
        load(url, fading: true, startsAnew: true, cachePolicy: .reload)
    }

    // MARK: Moving

    /// Moves by a number of images. It stops at the ends.
    func move(by step: Int) {
        guard let index else { return }
        move(to: index + step)
    }

    /// Moves to a position; to the nearest one outside the collection.
    func move(to position: Int) {
        let target = min(max(position, 0), session.collection.count - 1)
        guard let index, target != index, target >= 0 else { return }
        show(target)
    }

    /// Moves on the user's request, which ends the slide show.
    func userMoves(by step: Int) {
        slideShow.stop()
        move(by: step)
    }

    // MARK: State

    private func loadStateDidChange() {
        guard currentURL != nil else { return }
        switch canvas.loadState {
        case .loading where isIncoming: return updateTitle()
        case .loading, .idle: showPage(ObjectPointer(canvas.widget))
        case .loaded:
            hasLoaded = true
            showPage(ObjectPointer(canvas.widget))
        // The image stays.
        case .failed(let error) where hasLoaded: session.showToast(error.userDescription)
        case .failed(let error):
            failure.show(error)
            showPage(failure.widget)
        }
        isIncoming = false
        updateTitle()
        updateLabelsLater()
        updateProgress()
        controls.setHasImage(canvas.image != nil)
        showAnimation(canvas)
        if case .loading = canvas.loadState { return }
        slideShow.imageDidSettle(after: .seconds(session.settings.values.slideSeconds))
    }

    private func showAnimation(_ picture: ZoomView?) {
        animationControls.show(picture)
        animationControls.widget.isVisible = animationControls.player != nil
    }

    private func updateProgress() {
        if case .loading = canvas.loadState, currentURL != nil, !isIncoming {
            progress.state = canvas.loadState.fraction.map { .fraction($0) } ?? .unknown
        } else {
            progress.state = savingBar.isActive ? .unknown : .hidden
        }
    }

    private func showPage(_ page: ObjectPointer) {
        guard gtk_stack_get_visible_child(stack.opaque) != page.widget else { return }
        let hadFocus = gtk_stack_get_visible_child(stack.opaque).map { gtk_widget_get_focus_child(stack.widget) == $0 }
        gtk_stack_set_visible_child(stack.opaque, page.widget)
        if hadFocus == true { gtk_widget_child_focus(page.widget, GTK_DIR_TAB_FORWARD) }
    }

    func updateTitle() {
        guard let index, let url = currentURL else { return }
        let isIncomplete = hasLoaded && canvas.image?.isPartial == true
        let stars = session.index.facts[url]?.starText ?? ""
        let position = localized("{number} of {count}", ["number": index + 1, "count": session.collection.count])
        let parts = [position, stars, isIncomplete ? localized("incomplete") : ""].filter { !$0.isEmpty }
        title.set("title", url.displayName).set("subtitle", parts.joined(separator: " · "))
        canvas.alternativeText =
            isIncomplete ? localized("{file}, incomplete", ["file": url.displayName]) : url.displayName
        onTitleChange()
        controls.setEnds(isFirst: index == 0, isLast: index == session.collection.count - 1)
        updateFilmstrip()
    }

    /// In full screen, nothing but the image is shown.
    func updateFilmstrip() {
        let isShown =
            session.settings.values.showsFilmstrip && session.collection.count > 1 && index != nil
            && !fullScreen.isActive
        filmstrip.widget.isVisible = isShown
        filmstrip.current = isShown ? index : nil
    }

    /// Updates labels after the layout, in which they must not change.
    private func updateLabelsLater() {
        guard labelCall == nil else { return }
        labelCall = MainLoopCall.whenIdle { [weak self] in
            guard let self else { return }
            labelCall = nil
            guard let url = currentURL else { return }
            fetchNeighbors()
            controls.showZoom(canvas.imageSize == nil ? nil : canvas.scale, detail: canvas.detail)
            controls.showKeeping(url.isFileURL && canvas.quarterTurns != 0)
        }
    }

    /// Loads a failed image again.
    func retry() {
        reload(cachePolicy: .cacheFirst)
        gtk_widget_grab_focus(canvas.widget)
    }

    /// Loads the image again.
    func reload(cachePolicy: CachePolicy) { if let currentURL { load(currentURL, cachePolicy: cachePolicy) } }

    /// Whether all loads and transitions have ended. Animations may play.
    var isSettled: Bool {
        currentURL == nil || !canvas.isBusy && labelCall == nil
    }

    /// The texts of the header, for tests.
    var titleTexts: (title: String, subtitle: String) { (title.get("title"), title.get("subtitle")) }

    /// The error of the image on display, for tests; `nil` for none.
    var shownError: WebImageError? {
        if case .failed(let error) = canvas.loadState, !hasLoaded { error } else { nil }
    }

    // MARK: Slide show

    func toggleSlideShow() {
        guard index != nil else { return }
        if slideShow.isPlaying { return slideShow.stop() }
        slideShow.start()
        fullScreen.enter()
        loadStateDidChange()
    }

    private func advanceSlideShow() {
        guard let index, session.collection.count > 1 else { return }
        show((index + 1) % session.collection.count, fading: true)
    }

    private func slideShowDidChange() {
        controls.showSlideShow(slideShow.isPlaying)
        guard let application = g_application_get_default() else { return }
        let pointer = ObjectPointer(application)
        if inhibition != 0 { gtk_application_uninhibit(pointer.as(), inhibition) }
        let window = gtk_widget_get_root(widget.widget).map { ObjectPointer($0) }
        inhibition =
            slideShow.isPlaying
            ? gtk_application_inhibit(pointer.as(), window?.as(), GTK_APPLICATION_INHIBIT_IDLE, localized("Slide show"))
            : 0
    }
}
