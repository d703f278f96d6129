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
    let canvas = PhotoCanvas()
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
    private lazy var neighbors = ImagePrefetcher(manager: session.manager, maximumConcurrentCount: 2)
    private var neighborBatch: PrefetchBatch?
    /// The size in pixels at which the neighbors are fetched.
    private var neighborBox: PixelSize?
    private var labelCall: MainLoopCall?
    private var layerCount = 0
    /// The next image of the slide show, which fades in when it has loaded.
    private(set) var incoming: PhotoLayer?
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
        fullScreen = FullScreenMode(header: header, controls: controls, canvas: canvas)
        buildContent()
        connectParts()
        addDragSource()
        Action.addPageKeys(actions, to: widget)
    }

    // MARK: Content

    private func buildContent() {
        let back = ObjectPointer.iconButton("go-previous-symbolic", "Back") { [weak self] in self?.leave() }
        let inspect = ObjectPointer.iconButton("dialog-information-symbolic", "Inspector") { [weak self] in
            self?.onInspect()
        }
        let menu = ObjectPointer.menuButton("view-more-symbolic", "Image menu", makeMenu())
        adw_header_bar_set_title_widget(header.opaque, title.widget)
        adw_header_bar_pack_start(header.opaque, back.widget)
        for part in [menu, inspect] { adw_header_bar_pack_end(header.opaque, part.widget) }

        // Beside the buttons for the neighbors.
        failure.widget.margins(horizontal: 54, vertical: 0)
        for part in [canvas.widget, failure.widget] { gtk_stack_add_child(stack.opaque, part.widget) }
        let overlay = ObjectPointer(gtk_overlay_new()).expanding()
        gtk_overlay_set_child(overlay.opaque, stack.widget)
        for part in [progress.widget, savingBar.widget] + controls.parts + crop.parts {
            gtk_overlay_add_overlay(overlay.opaque, part.widget)
        }
        animationControls.widget.margins(horizontal: 6).set("margin-bottom", 6).isVisible = false
        adw_toast_overlay_set_child(toasts.opaque, overlay.widget)
        for part in [header, toasts, animationControls.widget, filmstrip.widget] { widget.append(part) }
        updateFilmstrip()
    }

    private func connectParts() {
        canvas.onSwipe = { [weak self] step in self?.userMoves(by: step) }
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
        slideShow.onAdvance = { [weak self] in self?.advanceSlideShow() }
        slideShow.onChange = { [weak self] in self?.slideShowDidChange() }
        session.collection.observe { [weak self] in self?.collectionDidChange($0) }
        canvas.widget.onSignal("map") { [weak self] in self?.fullScreen.attach() }
        widget.onSignal("unmap") { [weak self] in self?.slideShow.stop() }
    }

    // MARK: Opening

    /// Shows an image of the collection.
    func open(index: Int) {
        guard session.collection.urls.indices.contains(index) else { return }
        show(index)
        gtk_widget_grab_focus(canvas.widget.widget)
    }

    /// Releases the image, and ends everything that is in progress.
    func close() {
        slideShow.stop()
        crop.end()
        fullScreen.leave()
        neighborBatch?.cancel()
        (neighborBatch, neighborBox) = (nil, nil)
        canvas.show(nil)
        incoming?.clear()
        incoming = nil
        showAnimation(nil)
        progress.state = .hidden
        (index, currentURL, labelCall) = (nil, nil, nil)
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
        updateTitle()
        // Before the first layout, the size to decode at is unknown.
        canvas.whenSized { [weak self] in if self?.currentURL == url { self?.showLayer(url, fading: fading) } }
        onCurrentChange(url)
    }

    private func showLayer(_ url: URL, fading: Bool) {
        crop.end()
        // Three paintables in turn: one image fades into another, while the next one loads.
        layerCount += 1
        let layer = PhotoLayer(
            url, in: canvas.widget, key: "photo-\(layerCount % 3)", viewport: canvas.viewport, session: session)
        layer.onStateChange = { [weak self, weak layer] in if let layer { self?.stateDidChange(of: layer) } }
        layer.onGeometryChange = { [weak self] in self?.updateLabelsLater() }
        layer.onLaterFailure = { [weak self] in self?.session.showToast($0.userDescription) }
        incoming?.clear()
        incoming = fading ? layer : nil
        if !fading { present(layer, fading: false) }
        layer.load()
        stateDidChange(of: layer)
        neighborBox = nil
        fetchNeighbors()
    }

    private func present(_ layer: PhotoLayer, fading: Bool) {
        canvas.show(layer, fading: fading)
        updateTitle()
        updateLabelsLater()
    }

    /// Fetches the next and the previous image, at low priority; again when the viewer has another size. The image on display
    /// joins a load in progress before its batch is cancelled.
    private func fetchNeighbors() {
        let box = PhotoLayer.box(canvas.viewport, Double(gtk_widget_get_scale_factor(canvas.widget.widget)))
        guard let index, box != neighborBox else { return }
        neighborBox = box
        let urls = session.collection.urls
        // The slide show starts again after the last image.
        let next = slideShow.isPlaying && index + 1 == urls.count ? 0 : index + 1
        let requests = [next, index - 1].filter { $0 != index && urls.indices.contains($0) }.map {
            PhotoLayer.request(urls[$0], box: box)
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
        guard let url = currentURL, let layer = canvas.layer, layer.geometry.quarterTurns != 0 else {
            return reload(cachePolicy: .reload)
        }
        // The rotation may be in the file now: the new image begins without one.
        showLayer(url, fading: true)
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

    private func stateDidChange(of layer: PhotoLayer) {
        if layer === incoming {
            if case .loading = layer.state { return }
            incoming = nil
            present(layer, fading: true)
        }
        guard layer === canvas.layer else { return }
        if case .failed(let error) = layer.state {
            failure.show(error)
            showPage(failure.widget)
        } else {
            showPage(canvas.widget)
        }
        updateTitle()
        updateLabelsLater()
        updateProgress()
        controls.setHasImage(layer.picture.image != nil)
        showAnimation(layer.picture)
        if case .loading = layer.state { return }
        slideShow.imageDidSettle(after: .seconds(session.settings.values.slideSeconds))
    }

    private func showAnimation(_ picture: WebPaintable?) {
        animationControls.show(picture)
        animationControls.widget.isVisible = animationControls.player != nil
    }

    private func updateProgress() {
        if case .loading(let fraction) = canvas.layer?.state {
            progress.state = fraction.map { .fraction($0) } ?? .unknown
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

    private func updateTitle() {
        guard let index, let url = currentURL else { return }
        let isIncomplete = canvas.layer?.url == url && canvas.layer?.isIncomplete == true
        let position = "\(index + 1) of \(session.collection.count)"
        title.set("title", url.displayName)
            .set("subtitle", isIncomplete ? "\(position) · incomplete" : position)
        canvas.widget.setAccessibleLabel(isIncomplete ? "\(url.displayName), incomplete" : url.displayName)
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
            guard let layer = canvas.layer else { return }
            fetchNeighbors()
            controls.showZoom(layer.pixelSize == nil ? nil : layer.geometry.scale, detail: layer.detail)
            controls.showKeeping(layer.url.isFileURL && layer.geometry.quarterTurns != 0)
        }
    }

    /// Loads a failed image again.
    func retry() {
        canvas.layer?.load()
        gtk_widget_grab_focus(canvas.widget.widget)
    }

    /// Loads the image again.
    func reload(cachePolicy: CachePolicy) { canvas.layer?.load(cachePolicy: cachePolicy) }

    /// Whether all loads and transitions have ended. Animations may play.
    var isSettled: Bool {
        guard let layer = canvas.layer else { return currentURL == nil }
        return incoming == nil && !layer.isBusy && !canvas.isMoving && labelCall == nil
    }

    /// The error of the image on display, for tests; `nil` for none.
    var shownError: WebImageError? {
        if case .failed(let error) = canvas.layer?.state { error } else { nil }
    }

    // MARK: Slide show

    func toggleSlideShow() {
        guard index != nil else { return }
        if slideShow.isPlaying { return slideShow.stop() }
        slideShow.start()
        fullScreen.enter()
        if let layer = canvas.layer { stateDidChange(of: layer) }
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
            ? gtk_application_inhibit(pointer.as(), window?.as(), GTK_APPLICATION_INHIBIT_IDLE, "Slide show") : 0
    }
}
