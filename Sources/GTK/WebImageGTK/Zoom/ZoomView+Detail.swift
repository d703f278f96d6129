internal import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
internal import WebImage

/// The pixels of the image, in the detail that its size on screen needs.
///
///     placeholder ──► image at the size of the view ──┬─► all pixels, in memory, in textures of 1,024 × 1,024
///                      (previews while it arrives)    ├─► tiles of the part in sight, for more than `pixelByteLimit`
///                                                     └─► a larger size of the whole animation
extension ZoomView {
    /// Which image is on display.
    struct Identity: Equatable {
        var url: URL?
        /// For an image that was set without a URL.
        var pixels: ObjectIdentifier?
    }

    var hasContent: Bool { !imageSlot.painter.top.isEmpty }

    // MARK: Size of the view

    var viewport: PointSize { PointSize(width: Double(max(1, width)), height: Double(max(1, height))) }
    var width: Int { canvas.width }
    var height: Int { canvas.height }

    func layOut() {
        motion = nil
        change(keepsStart: true) { $0.resize(to: viewport) }
        // A window grows in many steps. The first size is used at once, but not inside the layout.
        guard sizeCall == nil || imageSlot.waitsForSize else { return }
        sizeCall = MainLoopCall.after(milliseconds: imageSlot.waitsForSize ? 0 : 100) { [weak self] in
            self?.sizeCall = nil
            self?.host.displaySizeDidChange()
        }
    }

    /// The size to decode at: that of the view, or of an animation that is zoomed in.
    var displaySize: PointSize? {
        guard width > 0, height > 0 else { return nil }
        var size = geometry.quarterTurns % 2 == 0 ? viewport : PointSize(width: viewport.height, height: viewport.width)
        guard isAnimated, !geometry.isFitted else { return size }
        let zoomed = geometry.content * geometry.scale
        let factor = host.scaleFactor
        let share = (Double(pixelByteLimit / 4) / max(1, zoomed.x * zoomed.y * factor * factor)).squareRoot()
        let shown = zoomed * min(1, share)
        if shown.x > size.width || shown.y > size.height { size = PointSize(width: shown.x, height: shown.y) }
        return size
    }

    private var isAnimated: Bool { imageSlot.image?.animation != nil }

    // MARK: Content

    /// Called by the painter for each image, preview or placeholder.
    func contentDidChange() {
        outgoing.map { gsk_render_node_unref($0) }
        outgoing = imageSlot.painter.isInTransition ? lastDrawing.map { gsk_render_node_ref($0) } ?? nil : nil
        let image = imageSlot.image
        var identity = Identity(url: imageSlot.current?.request.url)
        if imageSlot.current == nil, let image { identity.pixels = ObjectIdentifier(image.pixels) }
        stopDetail()
        if identity != shown {
            shown = identity
            sizeTask?.cancel()
            (sizeTask, imageSize) = (nil, nil)
            geometry.setContent(viewport)
            resetZoom()
        }
        guessSize()
        canvas.queueDraw()
        scheduleDetail()
    }

    /// Takes the proportions of a smaller image until the size is known.
    private func guessSize() {
        if let image = imageSlot.image, !image.isThumbnail || imageSlot.current == nil {
            return setSize(image.pixels.size, isKnown: !image.isPartial || imageSlot.current == nil)
        }
        guard imageSize == nil else { return }
        let factor = host.scaleFactor
        let box = PixelSize(
            width: Int((viewport.width * factor).rounded(.up)), height: Int((viewport.height * factor).rounded(.up)))
        guard let size = imageSlot.painter.top.size else { return setSize(box, isKnown: false) }
        let pixels = PixelSize(
            width: max(1, Int((size.width * 16).rounded())), height: max(1, Int((size.height * 16).rounded())))
        setSize(ResizeMode.aspectFit.size(of: pixels, in: box, allowsUpscaling: true), isKnown: false)
    }

    private func setSize(_ size: PixelSize, isKnown: Bool = true) {
        if isKnown { imageSize = size }
        let factor = host.scaleFactor
        geometry.setContent(PointSize(width: Double(size.width) / factor, height: Double(size.height) / factor))
        if isAtStart { applyInitialZoom() }
        geometryDidChange()
    }

    func didLoad(_ response: WebImageResponse) {
        if response.image.isThumbnail { findSize(response.data) }
        scheduleDetail()
    }

    /// Reads the size in the file's header.
    private func findSize(_ data: Data?) {
        sizeTask?.cancel()
        guard let current = imageSlot.current else { return }
        let identity = shown
        sizeTask = Task { [weak self] in
            let size = await Self.size(of: data, current)
            guard let self, !Task.isCancelled else { return }
            sizeTask = nil
            guard let size, identity == shown else { return }
            // Only for tiles.
            fileData = size.pixelCount * 4 > pixelByteLimit ? data : nil
            setSize(size)
            scheduleDetail()
        }
    }

    private nonisolated static func size(of data: Data?, _ current: SlotRequest) async -> PixelSize? {
        let request = current.request
        if let data {
            let (codecs, limits) = current.decoding
            return await DecodingQueue.run(priority: .high) { cancellation in
                try? codecs.info(of: data, limits: limits, cancellation: cancellation).size
            } ?? nil
        }
        // From a server only what is in the caches.
        var header = request.forFile
        header.priority = .low
        header.cachePolicy = request.url.isFileURL ? .cacheFirst : .cacheOnly
        return try? await current.manager.response(for: header).info?.size
    }

    // MARK: More pixels

    /// Loads more pixels once the size on screen has been the same for a moment. Tiles do not wait for the end of a
    /// movement.
    func scheduleDetail() {
        guard needsDetail || showsTiles else { return }
        if showsTiles, detailCall != nil { return }
        detailCall = MainLoopCall.after(milliseconds: 120) { [weak self] in
            self?.detailCall = nil
            self?.loadDetail()
        }
    }

    /// The pixels that the image covers on screen, before its rotation.
    private var shownWidth: Double { geometry.content.x * geometry.scale * host.scaleFactor }

    private var needsDetail: Bool {
        guard case .loaded = imageSlot.state, let image = imageSlot.image, image.isThumbnail, !needsFull,
            let current = imageSlot.current, current.request.thumbnail == nil
        else { return false }
        return min(shownWidth, Double(imageSize?.width ?? .max)) > Double(image.width) * 1.05
    }

    private func loadDetail() {
        if showsTiles { tiles?.request(geometry, unit: 1 / host.scaleFactor) }
        guard needsDetail, let current = imageSlot.current else { return }
        // The slot decodes a view's image again that has grown, and that of an animation.
        if geometry.isFitted || isAnimated { return imageSlot.displaySizeDidChange() }
        needsFull = true
        let byteCount = imageSize.map { $0.pixelCount * 4 } ?? 0
        if byteCount > pixelByteLimit, current.request.isDecodedOnly { loadTiles(current) } else { loadFull(current) }
    }

    private func loadFull(_ current: SlotRequest) {
        var request = current.request
        request.priority = .high
        request.cachePolicy = .cacheFirst
        request.keepsPixels = false
        request.decodedByteLimit = pixelByteLimit
        // The large image would displace hundreds of small ones from memory.
        request.options.insert(.avoidForcedDecode)
        fullLoad = current.manager.load(request, callbackQueue: MainLoop.callbackQueue) { [weak self] result in
            MainActor.assumeIsolated { self?.fullLoadDidEnd(result) }
        }
        geometryDidChange()
    }

    private func fullLoadDidEnd(_ result: Result<WebImageResponse, WebImageError>) {
        fullLoad = nil
        switch result {
        case .success(let response):
            full = TiledImage(response.image)
            if !response.image.isThumbnail { setSize(response.image.pixels.size) }
        case .failure(.cancelled): break
        // Its format is not decoded at a smaller size. The image at the size of the view stays.
        case .failure(.limitExceeded): break
        case .failure(let error): onDetailFailure?(error)
        }
        geometryDidChange()
    }

    private func loadTiles(_ current: SlotRequest) {
        if let fileData { return showTiles(of: fileData, current) }
        var request = current.request.forFile
        request.priority = .high
        request.cachePolicy = .cacheFirst
        let identity = shown
        fileTask = Task { [weak self, request] in
            let data = try? await current.manager.response(for: request).data
            guard let self, !Task.isCancelled, identity == shown else { return }
            fileTask = nil
            if let data { showTiles(of: data, current) } else { loadFull(current) }
        }
    }

    private func showTiles(of data: Data, _ current: SlotRequest) {
        guard let imageSize else { return }
        fileData = data
        let (codecs, limits) = current.decoding
        let source = FileTiles.Source(data: data, size: imageSize, codecs: codecs, limits: limits)
        let new = FileTiles(source, byteLimit: pixelByteLimit, host: host)
        new.onChange = { [weak self] in self?.canvas.queueDraw() }
        new.onFailure = { [weak self] error in
            // The whole image, with fewer pixels.
            guard let self, tiles != nil else { return }
            tiles = nil
            if case .cancelled = error { return }
            loadFull(current)
        }
        tiles = new
        new.request(geometry, unit: 1 / host.scaleFactor)
    }

    func stopDetail() {
        fullLoad?.cancel()
        fileTask?.cancel()
        tiles?.cancel()
        (fullLoad, full, fileTask, tiles, fileData, detailCall, needsFull) = (nil, nil, nil, nil, nil, nil, false)
    }

    /// The share of the pixels in each direction, where the image is too large to have all in memory, cannot be decoded in
    /// tiles, and is shown larger than what there is of it; `nil` otherwise.
    public var detail: Double? {
        guard needsFull, fullLoad == nil, fileTask == nil, tiles == nil, case .loaded = imageSlot.state, let imageSize,
            let image = full?.image ?? imageSlot.image, image.isThumbnail, imageSize.width > 0
        else { return nil }
        let share = Double(image.width) / Double(imageSize.width)
        return geometry.scale > share * 1.005 ? share : nil
    }

    /// Whether the image is larger on screen than the one that was decoded for the view.
    private var exceedsImage: Bool { imageSlot.image.map { shownWidth > Double($0.width) * 1.05 } ?? false }
    var showsTiles: Bool { tiles != nil && exceedsImage }
    var showsFull: Bool { full != nil && exceedsImage }
}

extension SlotRequest {
    /// How the file is decoded.
    fileprivate var decoding: (CodecRegistry, DecodingLimits) {
        (
            request.codecs ?? manager.configuration.codecs,
            request.decodingLimits ?? manager.configuration.decodingLimits
        )
    }
}

extension WebImageRequest {
    /// The same request for the file only.
    fileprivate var forFile: WebImageRequest {
        var request = self
        request.options.insert(.ignoreDecoding)
        (request.thumbnail, request.processors) = (nil, [])
        return request
    }

    /// Whether the image is that of the file, so that a part of it can be decoded from there.
    fileprivate var isDecodedOnly: Bool { processors.isEmpty && page == nil && !keepsColors }
}
