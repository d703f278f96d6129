import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// An image in the viewer: where it is, and its pixels in the detail that its size on screen needs.
///
///     thumbnail of the grid ──► image at the size of the viewer ──► all pixels, where the image is zoomed in
///      (in memory, at once)      (previews while it arrives)         (at most `fullByteLimit`, drawn in tiles)
@MainActor final class PhotoLayer {
    enum State: Equatable {
        /// - fraction: the progress from 0 to 1; `nil` while the length is unknown.
        case loading(fraction: Double?)
        case loaded
        case failed(WebImageError)
        /// The load pauses while the viewer is out of sight.
        case paused
    }

    /// The maximum memory for the pixels of an image that is zoomed in. Larger images are decoded at a smaller size. Changed in tests only.
    static var fullByteLimit = 160 << 20

    let url: URL
    let picture: WebPaintable
    private(set) var state = State.loading(fraction: nil)
    private(set) var geometry: ZoomGeometry
    /// The size of the file's image, in pixels; `nil` while it is unknown.
    private(set) var pixelSize: PixelSize?
    /// Whether the image on display is only a part of its file, which is incomplete or damaged.
    private(set) var isIncomplete = false
    /// Whether the image itself has been on display, not only a preview of it.
    private(set) var hasLoaded = false
    private let session: GallerySession
    private let scaleFactor: Double
    private var full: TiledImage?
    private var fullLoad: WebImageOperation?
    /// Whether all pixels have been requested, for this image.
    private var needsFull = false
    private var sizeTask: Task<Void, Never>?
    private var detailCall: MainLoopCall?
    /// The box for which the image was decoded last, in pixels.
    private var box: PixelSize
    /// The frame to return to when an animation has been decoded at another size.
    private var keptFrame: (index: Int, isPlaying: Bool)?

    /// Called after each change of the state.
    var onStateChange: () -> Void = {}
    /// Called when the image must be drawn again.
    var onRedraw: () -> Void = {}
    /// Called after a change of the place or scale.
    var onGeometryChange: () -> Void = {}
    /// Called with the error of a load that leaves an image on display.
    var onLaterFailure: (WebImageError) -> Void = { _ in }

    /// - Parameters:
    ///   - widget: the widget that draws the layer and owns the paintable under `key`.
    ///   - viewport: the size of the widget in points.
    init(_ url: URL, in widget: ObjectPointer, key: String, viewport: PointSize, session: GallerySession) {
        (self.url, self.session) = (url, session)
        scaleFactor = Double(max(1, gtk_widget_get_scale_factor(widget.widget)))
        picture = WebPaintable(in: widget.widget, key: key)
        geometry = ZoomGeometry(content: viewport, viewport: viewport)
        box = Self.box(viewport, scaleFactor)
        picture.autoplayFollowsSettings = true
        picture.onLoadStateChange = { [weak self] in self?.loadStateDidChange($0) }
        ObjectPointer(picture.paintable).onSignal("invalidate-contents") { [weak self] in self?.onRedraw() }
    }

    isolated deinit { cancel() }

    // MARK: Loading

    /// Loads the image. It shows at once what memory has of it.
    func load(cachePolicy: CachePolicy = .cacheFirst) {
        let request = Self.request(url, box: box, cachePolicy: cachePolicy)
        stopFullLoad()
        if picture.image == nil, let variant = session.manager.cachedVariant(of: request) { guessSize(from: variant) }
        var options: SetImageOptions = []
        if picture.image != nil { options.insert(.ignorePlaceholder) }
        picture.setImage(
            request, placeholder: .cachedVariant, options: options, manager: session.manager,
            completion: { [weak self] in self?.loadDidEnd($0) },
            preview: { [weak self] in self?.guessSize(from: $0) })
    }

    /// Cancels all loads.
    func cancel() {
        picture.onLoadStateChange = nil
        sizeTask?.cancel()
        stopFullLoad()
        detailCall = nil
    }

    /// Cancels all loads, and releases the image.
    func clear() {
        cancel()
        picture.prepareForReuse()
        full = nil
    }

    /// The request for an image at the size of a viewer. It is the same for images that are fetched in advance.
    static func request(_ url: URL, box: PixelSize, cachePolicy: CachePolicy = .cacheFirst) -> WebImageRequest {
        var request = WebImageRequest(
            url, cachePolicy: cachePolicy, thumbnail: Thumbnail(.pixels(width: box.width, height: box.height)),
            scale: 1)
        // A folder of photographs would fill the disk with pixels that are decoded in a moment.
        request.keepsPixels = false
        if !url.isFileURL { request.options.insert(.progressive) }
        return request.forOwnFiles
    }

    static func box(_ viewport: PointSize, _ scaleFactor: Double) -> PixelSize {
        PixelSize(
            width: max(1, Int((viewport.width * scaleFactor).rounded(.up))),
            height: max(1, Int((viewport.height * scaleFactor).rounded(.up))))
    }

    private func loadStateDidChange(_ loadState: LoadState) {
        switch loadState {
        case .loading: state = .loading(fraction: loadState.fraction)
        case .loaded: state = .loaded
        case .failed(let error):
            if hasLoaded {
                state = .loaded
                onLaterFailure(error)
            } else {
                state = .failed(error)
            }
        case .idle: state = .paused
        }
        onStateChange()
    }

    private func loadDidEnd(_ result: Result<WebImageResponse, WebImageError>) {
        guard case .success(let response) = result else { return }
        let image = response.image
        (hasLoaded, isIncomplete) = (true, image.isPartial)
        if image.isThumbnail {
            if pixelSize == nil { guessSize(from: image) }
            findSize(response.data)
        } else {
            setSize(image.pixels.size)
        }
        if let kept = keptFrame, let player = picture.player {
            keptFrame = nil
            player.seek(toFrame: kept.index)
            if kept.isPlaying { player.play() } else { player.pause() }
        }
        scheduleDetail()
        onRedraw()
        if isIncomplete { onStateChange() }
    }

    // MARK: Size

    /// Takes the proportions of a smaller image until the size is known.
    private func guessSize(from image: Image) {
        guard pixelSize == nil else { return }
        guard image.isThumbnail else { return setSize(image.pixels.size, isKnown: !image.isPartial) }
        let viewport = PixelSize(width: box.width, height: box.height)
        setSize(ResizeMode.aspectFit.size(of: image.pixels.size, in: viewport, allowsUpscaling: true), isKnown: false)
    }

    private func setSize(_ size: PixelSize, isKnown: Bool = true) {
        if isKnown { pixelSize = size }
        geometry.setContent(
            PointSize(width: Double(size.width) / scaleFactor, height: Double(size.height) / scaleFactor))
        geometryDidChange()
    }

    /// Reads the size in the file's header.
    private func findSize(_ data: Data?) {
        sizeTask?.cancel()
        sizeTask = Task { [weak self, session, url] in
            var size: PixelSize?
            if let data {
                size = await DispatchQueue.files.run { _ in
                    try? CodecRegistry.shared.info(of: data, limits: .ownFiles).size
                }
            } else {
                let policy: CachePolicy = url.isFileURL ? .cacheFirst : .cacheOnly
                let request = WebImageRequest(url, options: .ignoreDecoding, priority: .low, cachePolicy: policy)
                size = try? await session.manager.response(for: request).info?.size
            }
            guard let self, !Task.isCancelled, let size else { return }
            sizeTask = nil
            setSize(size)
            scheduleDetail()
            onStateChange()
        }
    }

    // MARK: Place

    func changeGeometry(_ body: (inout ZoomGeometry) -> Void) {
        let former = geometry
        body(&geometry)
        if geometry != former { geometryDidChange() }
    }

    private func geometryDidChange() {
        onRedraw()
        onGeometryChange()
        scheduleDetail()
    }

    // MARK: Detail

    /// Loads more pixels once the size on screen has been the same for a moment.
    private func scheduleDetail() {
        guard needsDetail else { return }
        detailCall = MainLoopCall.after(milliseconds: 120) { [weak self] in
            self?.detailCall = nil
            self?.loadDetail()
        }
    }

    /// The pixels that the image covers on screen, before its rotation.
    private var shownWidth: Double { geometry.content.x * geometry.scale * scaleFactor }

    private var needsDetail: Bool {
        guard case .loaded = state, let image = picture.image, image.isThumbnail, !needsFull else { return false }
        return min(shownWidth, Double(pixelSize?.width ?? .max)) > Double(image.width) * 1.05
    }

    private func loadDetail() {
        guard needsDetail, let image = picture.image else { return }
        if geometry.isFitted {
            // The viewer has grown.
            let viewport = PointSize(width: geometry.viewport.x, height: geometry.viewport.y)
            let size = Self.box(viewport, scaleFactor)
            let isTurned = geometry.quarterTurns % 2 == 1
            let needed = isTurned ? PixelSize(width: size.height, height: size.width) : size
            guard needed != box else { return }
            box = needed
            keepFrame()
            return load()
        }
        needsFull = true
        var request = WebImageRequest(url, priority: .high, scale: 1).forOwnFiles
        request.keepsPixels = false
        request.decodedByteLimit = Self.fullByteLimit
        if image.animation != nil {
            keepFrame()
            return picture.setImage(
                request, options: .ignorePlaceholder, manager: session.manager,
                completion: { [weak self] in self?.loadDidEnd($0) })
        }
        // The large image would displace hundreds of small ones from memory.
        request.options.insert(.avoidForcedDecode)
        fullLoad = session.manager.load(request, callbackQueue: MainLoop.callbackQueue) { [weak self] result in
            MainActor.assumeIsolated { self?.fullLoadDidEnd(result) }
        }
        onStateChange()
    }

    private func fullLoadDidEnd(_ result: Result<WebImageResponse, WebImageError>) {
        fullLoad = nil
        switch result {
        case .success(let response):
            full = TiledImage(response.image)
            if !response.image.isThumbnail { setSize(response.image.pixels.size) }
            onRedraw()
        case .failure(.cancelled): break
        // Its format is not decoded at a smaller size. The image at the size of the viewer stays.
        case .failure(.limitExceeded): break
        case .failure(let error): onLaterFailure(error)
        }
        onStateChange()
    }

    private func stopFullLoad() {
        fullLoad?.cancel()
        (fullLoad, full, needsFull) = (nil, nil, false)
    }

    private func keepFrame() { keptFrame = picture.player.map { ($0.currentFrameIndex, $0.isPlaying) } }

    /// The share of the pixels in each direction, where the image is too large to have all in memory, and is shown larger than what it
    /// has; `nil` otherwise.
    var detail: Double? {
        guard needsFull, fullLoad == nil, case .loaded = state, let pixelSize, let image = full?.image ?? picture.image,
            image.isThumbnail, pixelSize.width > 0
        else { return nil }
        let share = Double(image.width) / Double(pixelSize.width)
        return geometry.scale > share * 1.005 ? share : nil
    }

    /// Whether a load is in progress or about to start.
    var isBusy: Bool {
        if case .loading = state { return true }
        return fullLoad != nil || sizeTask != nil || detailCall != nil || picture.imageSlot.isInTransition
    }

    /// Whether the tiles of all pixels are drawn.
    var showsFull: Bool {
        guard full != nil, let image = picture.image else { return false }
        return shownWidth > Double(image.width) * 1.05
    }

    // MARK: Drawing

    /// Draws the image where `geometry` has it.
    func draw(into snapshot: OpaquePointer, _ geometry: ZoomGeometry) {
        let grid = 1 / scaleFactor
        let area = geometry.area.snapped(to: grid)
        if let full, showsFull { return full.draw(into: snapshot, geometry, area: area, grid: grid) }
        snapshot.draw(in: area, quarterTurns: geometry.quarterTurns) { width, height in
            gdk_paintable_snapshot(picture.paintable, snapshot, width, height)
        }
    }

    /// Returns the image as it is on screen as a small `GdkPaintable`, which the caller owns; `nil` without an image.
    ///
    /// - Parameters:
    ///   - side: the limit of both sides, in points.
    ///   - crop: the part to show, in pixels of the rotated image; `nil` for all.
    func miniature(side: Double, crop: PixelRect? = nil) -> ObjectPointer? {
        guard picture.image != nil, let snapshot = gtk_snapshot_new() else { return nil }
        let whole = geometry.rotatedContent * scaleFactor
        let part =
            crop.map { PointRect(x: Double($0.x), y: Double($0.y), width: Double($0.width), height: Double($0.height)) }
            ?? PointRect(x: 0, y: 0, width: whole.x, height: whole.y)
        let scale = min(1, side / max(part.width, part.height))
        var bounds = graphene_rect_t(PointRect(x: 0, y: 0, width: part.width * scale, height: part.height * scale))
        gtk_snapshot_push_clip(snapshot, &bounds)
        let area = PointRect(
            x: -part.x * scale, y: -part.y * scale, width: whole.x * scale, height: whole.y * scale)
        snapshot.draw(in: area, quarterTurns: geometry.quarterTurns) { width, height in
            gdk_paintable_snapshot(picture.paintable, snapshot, width, height)
        }
        gtk_snapshot_pop(snapshot)
        return gtk_snapshot_free_to_paintable(snapshot, &bounds.size).map { ObjectPointer($0) }
    }
}
