internal import FoundationEssentials
internal import WebImage

/// Brings the picture of a URL into one place of a view, and never the picture of another URL than the last one set.
///
/// ```
///             set(_:)              the load ends
///    none ──────────────► loading ──────────────► ended
///                          │   ▲
///     off screen for good  ▼   │  on screen again
///                          paused
/// ```
///
/// Each wish has its completion called once: when its load ends, or with ``WebImageError/cancelled`` when it is given up
/// for another wish, by ``cancel()`` or with the view. A pause gives up the load but not the wish.
@MainActor final class ImageSetter {
    weak var display: (any ImageDisplay)?
    /// The picture on display; a placeholder is none.
    private(set) var image: Image?
    private(set) var state = LoadState.idle

    /// The last wish, also after its end: it tells whether the next one wants the same.
    private var wish: ImageWish?
    private var phase = Phase.ended(isShown: false)
    /// Grows whenever what is under way stops being wanted. Results carry the number they were started under, and it is
    /// compared on main at the moment of setting: a stale picture can't be set, however late its cancel came.
    private var sentinel = 0

    private enum Phase {
        case loading(WebImageOperation)
        case paused
        /// `isShown`: the picture on display is the one the wish asked for.
        case ended(isShown: Bool)

        var isEnded: Bool {
            if case .ended = self { true } else { false }
        }
    }

    isolated deinit { giveUp() }

    /// The URL last asked for.
    var url: URL? { wish?.request.url }

    // MARK: Wishes

    /// Puts the picture that `newWish` asks for on display as soon as it can be had: if it is in memory, before this
    /// returns.
    func set(_ newWish: ImageWish) {
        if isServed(newWish) { return }
        giveUp()
        wish = newWish
        if showFromMemory() { return }
        let options = newWish.request.options
        if !options.contains(.ignorePlaceholder) {
            showPlaceholder(options.contains(.delayPlaceholder) ? nil : newWish.placeholder)
        }
        startLoading()
    }

    /// Shows `placeholder`, or nothing, and no picture.
    ///
    /// - Parameter error: why there will be none, if somebody wanted one.
    func clear(placeholder: Placeholder? = nil, because error: WebImageError? = nil) {
        giveUp()
        wish = nil
        showPlaceholder(placeholder)
        move(to: error.map(LoadState.failed) ?? .idle)
    }

    /// Gives up the picture that is not there yet; what is on display stays.
    func cancel() {
        guard !phase.isEnded else { return }
        giveUp()
        move(to: .idle)
    }

    /// Whether `newWish` wants what is on display, or under way, already; then it takes the place of the last one.
    private func isServed(_ newWish: ImageWish) -> Bool {
        guard let wish, newWish.canShare(with: wish) else { return false }
        switch phase {
        case .ended(isShown: true):
            guard let image, !newWish.request.options.contains(.avoidSettingImage) else { return false }
            self.wish = newWish
            let response = WebImageResponse(image: image, url: newWish.request.url, origin: .memoryCacheFast)
            closeWish()?(.success(response))
            return true
        case .loading(let operation) where newWish.canJoin(wish):
            cancelWish()
            self.wish = newWish
            operation.priority = priority
            return true
        case .ended(isShown: false), .loading, .paused:
            return false
        }
    }

    private func giveUp() {
        stopLoading()
        if !phase.isEnded { cancelWish() }
        phase = .ended(isShown: false)
    }

    // MARK: Visibility

    /// The view came on screen: its load goes before those off screen, and a paused one starts again.
    func didAppear() {
        switch phase {
        case .loading(let operation): operation.priority = priority
        case .paused: if !showFromMemory() { startLoading() }
        case .ended: break
        }
    }

    /// The view went off screen, perhaps for a moment only.
    func didDisappear() {
        if case .loading(let operation) = phase { operation.priority = priority }
    }

    /// The view stays off screen: gives up the load until ``didAppear()``.
    func pause() {
        guard case .loading = phase else { return }
        stopLoading()
        phase = .paused
        move(to: .idle)
    }

    private var isOnScreen: Bool { display?.isOnScreen ?? false }

    private var priority: LoadPriority { wish?.priority(isOnScreen: isOnScreen) ?? .low }

    // MARK: Loading

    private func startLoading() {
        guard let wish else { return }
        sentinel += 1
        var request = wish.request
        request.priority = priority
        // Callbacks come from the apply queue, hence on main, and never before this returns.
        let operation = wish.manager.load(
            request, callbackQueue: ApplyQueue.main,
            progress: { [weak self, sentinel] received, expected in
                MainActor.assumeIsolated { self?.loadDidProgress(sentinel, received, expected) }
            },
            completion: { [weak self, sentinel] result in
                MainActor.assumeIsolated { self?.loadDidEnd(sentinel, result) }
            })
        phase = .loading(operation)
        move(to: .loading(received: 0, expected: nil))
    }

    private func stopLoading() {
        sentinel += 1
        if case .loading(let operation) = phase { operation.cancel() }
    }

    private func loadDidProgress(_ number: Int, _ received: Int64, _ expected: Int64?) {
        guard number == sentinel else { return }
        move(to: .loading(received: received, expected: expected))
        // The observer may have set another URL just now.
        guard number == sentinel else { return }
        wish?.progress?(received, expected)
    }

    private func loadDidEnd(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        guard number == sentinel else { return }
        switch result {
        case .success(let response):
            succeed(with: response)
        case .failure(let error):
            if let wish, wish.request.options.contains(.delayPlaceholder) { showPlaceholder(wish.placeholder) }
            end(as: error == .cancelled ? .idle : .failed(error), with: result, isShown: false)
        }
    }

    private func showFromMemory() -> Bool {
        guard let wish, let image = wish.manager.cachedImage(for: wish.request) else { return false }
        succeed(with: WebImageResponse(image: image, url: wish.request.url, origin: .memoryCacheFast))
        return true
    }

    private func succeed(with response: WebImageResponse) {
        let options = wish?.request.options ?? []
        let isShown = !options.contains(.avoidSettingImage)
        if isShown {
            let isFromMemory = response.origin == .memoryCacheFast || response.origin == .memoryCache
            image = response.image
            display?.show(
                response.image,
                isFading: options.contains(.fadeIn) && (!isFromMemory || options.contains(.forceTransition)))
        }
        end(as: .loaded(response.origin), with: .success(response), isShown: isShown)
    }

    // MARK: Ends

    /// Calls out last, with everything in its final state: observer and completion may set another URL.
    private func end(as newState: LoadState, with result: Result<WebImageResponse, WebImageError>, isShown: Bool) {
        phase = .ended(isShown: isShown)
        let completion = closeWish()
        move(to: newState)
        completion?(result)
    }

    /// Later, because this happens inside calls of the client's.
    private func cancelWish() {
        guard let completion = closeWish() else { return }
        ApplyQueue.main.enqueue { MainActor.assumeIsolated { completion(.failure(.cancelled)) } }
    }

    /// Lets go of what the wish holds, but for its request, and gives back the completion, which is to be called now.
    private func closeWish() -> ImageWish.CompletionHandler? {
        defer { wish = wish.map { ImageWish(request: $0.request, manager: $0.manager) } }
        return wish?.completion
    }

    private func showPlaceholder(_ placeholder: Placeholder?) {
        image = nil
        display?.show(placeholder)
    }

    private func move(to newState: LoadState) {
        state = newState
        display?.loadStateDidChange(to: newState)
    }
}
