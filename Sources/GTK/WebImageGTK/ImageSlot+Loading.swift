internal import FoundationEssentials
internal import WebImage

extension ImageSlot {
    typealias ProgressHandler = @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias PreviewHandler = @MainActor @Sendable (_ preview: Image) -> Void
    typealias CompletionHandler = @MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    enum Phase {
        case waiting(Obstacle)
        case loading(WebImageOperation)
        case paused
        /// `isShown`: the requested image is on display.
        case ended(isShown: Bool)
        /// The image was on display, and is shown again when the view returns.
        case released
        case refining(WebImageOperation)

        enum Obstacle { case size, scrolling }

        /// Whether the completion handler of the request has been called.
        var isEnded: Bool {
            switch self {
            case .ended, .released, .refining: true
            case .waiting, .loading, .paused: false
            }
        }

        /// Whether the requested image is on display.
        var showsImage: Bool {
            switch self {
            case .ended(let isShown): isShown
            case .refining: true
            case .waiting, .loading, .paused, .released: false
            }
        }

        var operation: WebImageOperation? {
            switch self {
            case .loading(let operation), .refining(let operation): operation
            case .waiting, .paused, .ended, .released: nil
            }
        }
    }

    /// Whether the load waits for the size of the view.
    var waitsForSize: Bool { if case .waiting(.size) = phase { true } else { false } }

    // MARK: Requests

    /// Shows the requested image as soon as it is available. An image in memory is shown before this returns.
    func set(_ new: SlotRequest) {
        guard !isRetired else { return complete(new.completion, with: .cancelled) }
        keepLoadingOffscreen()
        let isSame = current.map(new.isForSameImage) ?? false
        if isSame, serve(new) { return }
        // Content of the same image stays on display until the load ends.
        let isInProgress = isSame && !phase.isEnded
        let keepsPreview = isInProgress && hasPreview
        let keepsImage = keepsPreview || isSame && phase.showsImage
        if new.options.contains(.avoidAutoCancel) { leaveRunning() }
        // The load before the current one, if that has not joined its transfer.
        let operation = (former ?? phase.operation).flatMap { new.sharesTransfer(of: $0, current) ? $0 : nil }
        abandonLoad(keeping: operation)
        (current, former, hasPreview) = (new, operation, keepsPreview)
        start(keepingImage: keepsImage, keepingPlaceholder: isInProgress)
    }

    /// Shows an image without loading.
    func set(_ newImage: Image) {
        guard !isRetired else { return }
        abandonLoad()
        current = nil
        image = newImage
        show(newImage, with: nil) { _ in painter.show(newImage) }
        response = nil
        move(to: .loaded(.memoryCacheFast))
    }

    /// Shows nothing.
    ///
    /// - Parameter keepsWork: whether a load with ``WebImageOptions/continueInBackground`` continues.
    func clear(keepsWork: Bool = false) {
        abandonLoad(keepsWork: keepsWork)
        current = nil
        showPlaceholder(nil)
        move(to: .idle)
    }

    /// Applies `placeholder` and `options` as for a load that fails at once, because of a missing or invalid URL. The
    /// completion handler is called later.
    ///
    /// - Parameter state: the new state.
    func fail(
        _ error: WebImageError, placeholder: Placeholder?, options: SetImageOptions, state: LoadState,
        completion: CompletionHandler?
    ) {
        guard !isRetired else { return complete(completion, with: error) }
        keepLoadingOffscreen()
        if options.contains(.avoidAutoCancel) { leaveRunning() }
        abandonLoad()
        current = nil
        let isDelayed = options.delaysPlaceholder
        if case .failed = state, let failureImage {
            showPlaceholder(failureImage, mode: failureContentMode)
        } else if !options.contains(.ignorePlaceholder) {
            showPlaceholder(isDelayed ? nil : placeholder)
        }
        let number = sentinel
        ApplyQueue.main.enqueue { [weak self] in
            MainActor.assumeIsolated {
                if isDelayed, let self, number == self.sentinel, self.failureImage == nil || state == .idle {
                    self.showPlaceholder(placeholder)
                }
                completion?(.failure(error))
            }
        }
        move(to: state)
    }

    /// Cancels the load in progress. The content on display stays.
    ///
    /// - Parameter keepsURL: whether the URL stays too. If `false`, the image on display counts as one that was set
    ///   without a URL.
    func cancel(keepsURL: Bool) {
        stopRefining()
        let isEnded = phase.isEnded
        if !isEnded { abandonLoad() }
        // A released image is shown again when its view returns, which requires the URL.
        if case .released = phase { return }
        if !keepsURL {
            sentinel += 1
            current = nil
            phase = .ended(isShown: false)
        }
        if !isEnded { move(to: .idle) }
    }

    /// Starts the failed request again. Returns `false` if there is none.
    func retryRequest() -> Bool {
        guard case .failed = state, let current, !isRetired else { return false }
        set(current)
        return true
    }

    /// Serves `new` with the image on display or the load in progress, and makes it the current request.
    ///
    /// - Parameter new: a request for the image of the current one.
    /// - Returns: `false` if `new` needs a separate load.
    private func serve(_ new: SlotRequest) -> Bool {
        guard let current, !hasLowDataImage else { return false }
        switch phase {
        case .ended(isShown: true), .refining:
            guard let image, new.request.isAnswered(byImageOf: current.request),
                !new.options.contains(.avoidSettingImage)
            else { return false }
            self.current = new
            var response = WebImageResponse(image: image, url: new.request.url, origin: .memoryCacheFast)
            response.userInfo = new.request.userInfo
            closeRequest()?(.success(response))
            return true
        case .loading(let operation)
        where new.request.isLoaded(like: current.request) && !new.options.contains(.avoidAutoCancel):
            cancelRequest()
            self.current = new
            operation.priority = priority
            showOwnPlaceholder(keepingContent: true)
            return true
        case .ended(isShown: false), .released, .waiting, .loading, .paused:
            return false
        }
    }

    /// Lets the load in progress continue without the view, only for its completion handler.
    private func leaveRunning() {
        guard case .loading = phase else { return }
        if let completion = closeRequest() { continuedCompletions.withLock { $0[sentinel] = completion } }
        phase = .ended(isShown: false)
    }

    /// - Parameter keeping: an operation that is not cancelled.
    func abandonLoad(keepsWork: Bool = false, keeping kept: WebImageOperation? = nil) {
        stopLoading(keepsWork: keepsWork, keeping: kept)
        if !phase.isEnded { cancelRequest() }
        phase = .ended(isShown: false)
        (hasPreview, hasLowDataImage) = (false, false)
    }

    // MARK: Visibility and size

    /// Updates the priority. On screen, resumes a paused load and shows a released image again.
    func resumeIfOnScreen() {
        if let operation = phase.operation { operation.priority = priority }
        guard isViewOnScreen else { return }
        switch phase {
        case .paused: if mayLoad { resume() } else { host?.awaitPlace() }
        case .released: start()
        // A load of more pixels may have ended when it left.
        case .ended(isShown: true): displaySizeDidChange()
        case .waiting, .loading, .ended, .refining: break
        }
    }

    /// Pauses the slot of a view that stays off screen: cancels its load, and releases its image if
    /// ``releasesImageOffscreen`` is set.
    func pauseLoading() {
        if case .refining = phase { stopRefining() }
        switch phase {
        case .loading, .waiting:
            stopLoading(keepsWork: true)
            phase = .paused
            if releasesImageOffscreen, hasPreview {
                hasPreview = false
                showPlaceholder(current?.placeholder)
            }
            move(to: .idle)
        case .ended(isShown: true) where releasesImageOffscreen:
            phase = .released
            // The request has already reached the server.
            if let policy = current?.request.cachePolicy, policy == .reload || policy == .refresh {
                current?.request.cachePolicy = .cacheFirst
            }
            showPlaceholder(nil)
            move(to: .idle)
        case .paused:
            endFormer()
        case .refining, .released, .ended:
            break
        }
    }

    /// Called when the view's size may have changed. Starts a load that waits for it, or loads more pixels if the view
    /// has grown.
    func displaySizeDidChange() {
        guard let current else { return }
        switch phase {
        case .waiting(.size):
            resume()
        case .ended(isShown: true), .refining:
            guard isOnScreen, image?.isThumbnail == true, let request = sized(current.request),
                request.needsMorePixels(than: sizedRequest)
            else { return }
            stopRefining()
            (coarseRequest, sizedRequest) = (sizedRequest, request)
            refine(request)
        case .waiting(.scrolling), .loading, .paused, .released, .ended(isShown: false):
            break
        }
    }

    /// Starts a load that was paused, or has waited for the size.
    func resume() {
        sizedRequest = current.flatMap { sized($0.request) }
        if !showAtOnce(isRepeated: current?.hasWaited == true) { begin() }
    }

    var priority: LoadPriority { current?.priority(isOnScreen: isOnScreen) ?? .low }

    // MARK: Loading

    /// Starts the current request.
    ///
    /// - Parameters:
    ///   - keepsImage: whether the image on display, a preview or an earlier version, stays until the new image has
    ///     loaded.
    ///   - keepsPlaceholder: whether the content on display stays if the request has no placeholder.
    private func start(keepingImage keepsImage: Bool = false, keepingPlaceholder keepsPlaceholder: Bool = false) {
        guard let current else { return }
        showsOwnImage = keepsImage
        sizedRequest = sized(current.request)
        if showAtOnce() { return }
        showOwnPlaceholder(keepingContent: keepsPlaceholder)
        begin()
    }

    /// Shows the placeholder of the current request, unless an image of it is on display.
    ///
    /// - Parameter keepsContent: whether the content on display stays if there is no placeholder.
    private func showOwnPlaceholder(keepingContent keepsContent: Bool) {
        guard let current, !showsOwnImage, !current.options.contains(.ignorePlaceholder) else { return }
        let placeholder = current.options.delaysPlaceholder ? nil : current.placeholder
        if placeholder != nil || !keepsContent { showPlaceholder(placeholder) }
    }

    private func begin() {
        guard mayLoad else { return waitForPlace() }
        guard let current, let prepared else { return wait(for: .size) }
        // Loads with low priority wait until scrolling has ended.
        if current.priority <= .low, !current.hasWaited, let watch = host?.scrollWatch, watch.isScrolling {
            let number = sentinel
            watch.whenAtRest { [weak self] in self?.scrollingDidEnd(number) }
            return wait(for: .scrolling)
        }
        startLoading(prepared)
    }

    private func wait(for obstacle: Phase.Obstacle) {
        phase = .waiting(obstacle)
        moveToLoading()
    }

    private func scrollingDidEnd(_ number: Int) {
        guard number == sentinel, case .waiting(.scrolling) = phase else { return }
        current?.hasWaited = true
        resume()
    }

    private func startLoading(_ prepared: WebImageManager.PreparedRequest) {
        guard let current else { return }
        sentinel += 1
        self.prepared = nil
        // Callbacks run in the apply queue: on the main thread, and never before this returns.
        let receiver = LoadReceiver(self, sentinel)
        let callbacks = WebImageOperation.Callbacks(
            ApplyQueue.main,
            progress: { received, expected in
                MainActor.assumeIsolated { receiver.slot?.loadDidProgress(receiver.number, received, expected) }
            },
            preview: { image in MainActor.assumeIsolated { receiver.slot?.loadDidPreview(receiver.number, image) } },
            completion: { result in MainActor.assumeIsolated { receiver.loadDidEnd(result) } })
        phase = .loading(current.manager.load(prepared, callbacks))
        if isLoadingNear { host?.followPlace() }
        moveToLoading()
    }

    /// Moves to the state of a load without progress. The state of a transfer that the load has joined stays.
    private func moveToLoading() {
        if former != nil, case .loading = state { return }
        move(to: .loading(received: 0, expected: nil))
    }

    /// - Parameter keepsWork: whether a load with ``WebImageOptions/continueInBackground`` continues, to fill the
    ///   caches.
    func stopLoading(keepsWork: Bool = false, keeping kept: WebImageOperation? = nil) {
        sentinel += 1
        if former !== kept { endFormer() }
        guard let operation = phase.operation, operation !== kept else { return }
        if keepsWork, operation.request.options.contains(.continueInBackground) {
            operation.priority = .low
        } else {
            operation.cancel()
        }
    }

    private func endFormer() {
        former?.cancel()
        former = nil
    }

    private func loadDidProgress(_ number: Int, _ received: Int64, _ expected: Int64?) {
        guard number == sentinel else { return }
        endFormer()
        move(to: .loading(received: received, expected: expected))
        // The observer may have set another URL.
        guard number == sentinel else { return }
        current?.progress?(received, expected)
    }

    func loadDidPreview(_ number: Int, _ preview: Image) {
        guard number == sentinel, let current else { return }
        if !current.options.contains(.avoidSettingImage) {
            let showsRows = hasPreview && image?.hasMissingRows == true
            let keepsContent = showsOwnImage || image == nil
            hasPreview = true
            if image?.isSameImage(as: preview) != true {
                show(preview, showsRows: showsRows, keepsContent: keepsContent)
                showsOwnImage = true
            }
        }
        current.preview?(preview)
    }

    /// Shows a preview. Arriving rows are drawn over the best available content: a low-resolution image, an earlier
    /// version or a placeholder.
    ///
    /// - Parameters:
    ///   - showsRows: whether the preview on display has missing rows.
    ///   - keepsContent: whether the content on display represents the same image.
    private func show(_ preview: Image, showsRows: Bool, keepsContent: Bool) {
        let hasMissingRows = preview.hasMissingRows && preview.animation == nil
        // A low-resolution image that arrives after the first rows is drawn below them, because the rows are better.
        if showsRows, !preview.isPartial { return painter.showBelowRows(preview) }
        image = preview
        if hasMissingRows, showsRows { return painter.showMoreRows(of: preview) }
        show(preview, with: fades ? .previewFade : nil) { transition in
            if hasMissingRows {
                painter.showFirstRows(of: preview, keepsContent: keepsContent, with: transition)
            } else {
                painter.show(preview, with: transition)
            }
        }
    }

    /// Receives what a load reports: one object, which each callback needs only a reference to.
    @MainActor private final class LoadReceiver: Sendable {
        private(set) weak var slot: ImageSlot?
        let number: Int
        private let continuedCompletions: LockBox<[Int: CompletionHandler]>

        init(_ slot: ImageSlot, _ number: Int) {
            (self.slot, self.number, continuedCompletions) = (slot, number, slot.continuedCompletions)
        }

        func loadDidEnd(_ result: Result<WebImageResponse, WebImageError>) {
            let completion = continuedCompletions.withLock { $0.removeValue(forKey: number) }
            if let completion { completion(result) } else { slot?.loadDidEnd(number, result) }
        }
    }

    private func loadDidEnd(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        guard number == sentinel else { return }
        switch result {
        case .success(let response):
            hasLowDataImage = phase.operation?.request.isReplaced(in: response) == true
            succeed(with: response)
        case .failure(.cancelled):
            end(as: .idle, with: result, isShown: false)
        case .failure(let error):
            if let failureImage {
                if image == nil || !showsOwnImage { showPlaceholder(failureImage, mode: failureContentMode) }
            } else if let current, current.options.delaysPlaceholder {
                showPlaceholder(current.placeholder)
            }
            end(as: .failed(error), with: result, isShown: false)
        }
    }

    /// Shows the image if memory, or the disk with ``WebImage/WebImageOptions/queryDiskSync``, has it.
    ///
    /// - Returns: whether that has ended the request. Otherwise a load follows.
    /// - Parameter isRepeated: whether it has been looked for before.
    private func showAtOnce(isRepeated: Bool = false) -> Bool {
        prepared = nil
        guard let current, var request = sizedRequest else { return false }
        request.priority = priority
        if request.keepsPixels == nil { request.keepsPixels = true }
        switch current.manager.answerAtOnce(to: request, isRepeated: isRepeated) {
        case .end(let response):
            succeed(with: response)
            return true
        case .image(let image, let prepared):
            self.prepared = prepared
            guard !current.options.contains(.avoidSettingImage) else { return false }
            showResult(image, isFromMemory: true)
            (hasPreview, showsOwnImage) = (true, true)
            return false
        case .none(let prepared):
            self.prepared = prepared
            return false
        }
    }

    private func succeed(with response: WebImageResponse) {
        let isShown = current?.options.contains(.avoidSettingImage) != true
        let isConfirmed = response.isUnchanged && hasPreview && image?.hasMissingRows != true
        if isShown, !isConfirmed {
            showResult(response.image, isFromMemory: [.memoryCacheFast, .memoryCache].contains(response.origin))
        }
        hasPreview = false
        self.response = isShown ? response.withoutData : nil
        if isShown { didLoad?(response) }
        end(as: .loaded(response.origin), with: .success(response), isShown: isShown)
    }

    /// Shows the requested image, unless it is on display.
    private func showResult(_ result: Image, isFromMemory: Bool) {
        guard image?.isSameImage(as: result) != true else { return }
        let hasTransition = !isFromMemory || current?.options.contains(.forceTransition) == true
        let effect = hasPreview ? fades ? .fade() : nil : transition ?? (fades ? .fade() : nil)
        // An animation that has played while it was loading continues.
        let continues = hasPreview && image?.animation?.isComplete == false && result.animation != nil
        image = result
        if continues {
            painter.refine(result)
        } else {
            show(result, with: hasTransition ? effect : nil) { painter.show(result, with: $0) }
        }
    }

    private var fades: Bool { current?.options.contains(.fadeIn) == true || transition != nil }

    // MARK: Ends

    /// Ends the request. The observer and the completion handler are called last, in the final state, because they may
    /// set another URL.
    private func end(as newState: LoadState, with result: Result<WebImageResponse, WebImageError>, isShown: Bool) {
        endFormer()
        phase = .ended(isShown: isShown)
        let waits = current?.options.contains(.waitTransition) == true
        let completion = closeRequest(keepsPlaceholder: !isShown)
        if waits, let completion, waitForTransition({ completion(result) }) { return move(to: newState) }
        move(to: newState)
        completion?(result)
    }

    /// Calls the completion handler later, because this runs inside calls of the app.
    private func cancelRequest() { complete(closeRequest(), with: .cancelled) }

    private func complete(_ completion: CompletionHandler?, with error: WebImageError) {
        guard let completion else { return }
        ApplyQueue.main.enqueue { MainActor.assumeIsolated { completion(.failure(error)) } }
    }

    /// Releases the closures of the current request, and returns the completion handler for the caller to call.
    ///
    /// - Parameter keepsPlaceholder: whether the placeholder stays for a retry. It also stays with
    ///   ``releasesImageOffscreen``.
    private func closeRequest(keepsPlaceholder: Bool = false) -> CompletionHandler? {
        defer {
            if !keepsPlaceholder, !releasesImageOffscreen { current?.placeholder = nil }
            current?.releaseClosures()
        }
        return current?.completion
    }

    func move(to newState: LoadState) {
        state = newState
        if case .loaded = newState {} else { response = nil }
        loadStateDidChange(to: newState)
    }
}

extension Image {
    /// Whether the image has the same pixel buffer and frames as `other`.
    fileprivate func isSameImage(as other: Image) -> Bool {
        pixels === other.pixels && animation?.identity == other.animation?.identity
            && animation?.frames.count == other.animation?.frames.count && isPartial == other.isPartial
    }
}

extension WebImageResponse {
    /// The response for a view, which does not retain the bytes of the file.
    fileprivate var withoutData: WebImageResponse {
        guard data != nil else { return self }
        var response = self
        response.data = nil
        return response
    }
}

extension WebImageRequest {
    /// Whether this request decodes more pixels than `other`, because the view has grown or moved to a screen with more
    /// pixels per point.
    fileprivate func needsMorePixels(than other: WebImageRequest?) -> Bool {
        guard let other, let size = thumbnail?.size, let known = other.thumbnail?.size else { return false }
        return size.width > known.width || size.height > known.height
    }
}
