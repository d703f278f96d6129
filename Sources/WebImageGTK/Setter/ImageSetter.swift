internal import FoundationEssentials
internal import WebImage

/// Brings the picture of a URL into one place of a view, and never the picture of another URL than the last one set.
///
/// ```
///             set(_:)                          the load ends
///    none ──┬────────────────────────► loading ──────────► ended ◄──┐
///           │ room or rest missing      ▲ │  ▲               │      │ more pixels, the picture stays
///           └──────────► waiting ───────┘ ▼  │ on screen     └► refining
///                                       paused  again
///    ended ──► released ──► loading        off screen, where the display lets go, and on screen again
/// ```
///
/// Each wish has its completion called once: when its load ends, or with ``WebImageError/cancelled`` when it is given up
/// for another wish, by ``cancel()`` or with the view. A pause gives up the load but not the wish.
@MainActor final class ImageSetter {
    weak var display: (any ImageDisplay)?
    /// The picture on display, or a preview of it; a placeholder is none.
    private(set) var image: Image?
    private(set) var state = LoadState.idle

    /// The last wish, also after its end: it tells whether the next one wants the same.
    private var wish: ImageWish?
    /// What the wish asks for at the size that suits the view; as soon as that is known.
    private var fitted: WebImageRequest?
    private var phase = Phase.ended(isShown: false)
    /// Grows whenever what is under way stops being wanted. Results carry the number they were started under, and it is
    /// compared on main at the moment of setting: a stale picture can't be set, however late its cancel came.
    private(set) var sentinel = 0
    /// Whether ``image`` is a preview of what is under way.
    private var hasPreview = false
    /// The completions of earlier wishes whose loads go on, by the sentinel they were started under. Loads hold it too: they
    /// call their completions also when the view has gone.
    private let completionsBeside = Lock<[Int: ImageWish.CompletionHandler]>([:])

    private enum Phase {
        case waiting(Obstacle)
        case loading(WebImageOperation)
        case paused
        /// `isShown`: the picture on display is the one the wish asked for.
        case ended(isShown: Bool)
        /// What the wish asked for was on display, and comes back with the view.
        case released
        case refining(WebImageOperation)

        enum Obstacle { case room, scrolling }

        /// Whether the wish has been told its end.
        var isEnded: Bool {
            switch self {
            case .ended, .released, .refining: true
            case .waiting, .loading, .paused: false
            }
        }

        /// Whether the picture that the wish asked for is on display.
        var showsPicture: Bool {
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

    isolated deinit { giveUp() }

    /// The URL last asked for.
    var url: URL? { wish?.request.url }

    /// Whether it can't begin before it knows the view's size.
    var waitsForRoom: Bool { if case .waiting(.room) = phase { true } else { false } }

    // MARK: Wishes

    /// Puts the picture that `newWish` asks for on display as soon as it can be had: if it is in memory, before this
    /// returns.
    func set(_ newWish: ImageWish) {
        let isSame = wish.map(newWish.canShare) ?? false
        if isSame, serve(newWish) { return }
        // Asked for again because the server may have another one by now, a picture stays until that is known.
        let keepsPicture = isSame && phase.showsPicture
        if newWish.request.options.contains(.avoidAutoCancel) { leaveRunning() }
        giveUp()
        wish = newWish
        start(keepingPicture: keepsPicture)
    }

    /// Shows a picture that needs no loading.
    func set(_ newImage: Image) {
        giveUp()
        wish = nil
        image = newImage
        display?.show(newImage, with: nil)
        move(to: .loaded(.memoryCacheFast))
    }

    /// Shows nothing.
    ///
    /// - Parameter keepsWork: whether a load with ``WebImageOptions/continueInBackground`` goes on.
    func clear(keepsWork: Bool = false) {
        giveUp(keepsWork: keepsWork)
        wish = nil
        showPlaceholder(nil)
        move(to: .idle)
    }

    /// Does with `placeholder` and `options` what a load does that fails at once: for a URL that is missing or invalid. The
    /// completion is called later.
    ///
    /// - Parameter state: what follows.
    func fail(
        _ error: WebImageError, placeholder: Placeholder?, options: WebImageOptions, state: LoadState,
        completion: ImageWish.CompletionHandler?
    ) {
        if options.contains(.avoidAutoCancel) { leaveRunning() }
        giveUp()
        wish = nil
        let isDelayed = options.isPlaceholderDelayed
        if !options.contains(.ignorePlaceholder) { showPlaceholder(isDelayed ? nil : placeholder) }
        let number = sentinel
        ApplyQueue.main.enqueue { [weak self] in
            MainActor.assumeIsolated {
                if isDelayed, let self, number == self.sentinel { self.showPlaceholder(placeholder) }
                completion?(.failure(error))
            }
        }
        move(to: state)
    }

    /// Cancels the load in progress. The content on display stays.
    ///
    /// - Parameter keepsURL: whether the URL stays too; without it, the image on display is as one that was set without a URL.
    func cancel(keepsURL: Bool) {
        stopRefining()
        let isEnded = phase.isEnded
        if !isEnded { giveUp() }
        // An image that was let go off screen comes back with its view; without the URL it could not.
        if case .released = phase { return }
        if !keepsURL {
            sentinel += 1
            wish = nil
            phase = .ended(isShown: false)
        }
        if !isEnded { move(to: .idle) }
    }

    /// Gives `newWish`, which can share with the last one, what is on display, or under way; then it takes the place of that.
    ///
    /// - Returns: `false` if it wants more.
    private func serve(_ newWish: ImageWish) -> Bool {
        guard let wish else { return false }
        switch phase {
        case .ended(isShown: true), .refining:
            guard let image, !newWish.request.asksServerAgain,
                !newWish.request.options.contains(.avoidSettingImage)
            else { return false }
            self.wish = newWish
            let response = WebImageResponse(image: image, url: newWish.request.url, origin: .memoryCacheFast)
            closeWish()?(.success(response))
            return true
        case .loading(let operation) where newWish.canJoin(wish):
            cancelWish()
            self.wish = newWish
            operation.priority = priority
            return true
        case .ended(isShown: false), .released, .waiting, .loading, .paused:
            return false
        }
    }

    /// Lets the load under way go on, for its completion alone.
    private func leaveRunning() {
        guard case .loading = phase else { return }
        if let completion = closeWish() { completionsBeside.withLock { $0[sentinel] = completion } }
        phase = .ended(isShown: false)
    }

    private func giveUp(keepsWork: Bool = false) {
        stopLoading(keepsWork: keepsWork)
        if !phase.isEnded { cancelWish() }
        phase = .ended(isShown: false)
        hasPreview = false
    }

    // MARK: Visibility and room

    /// The view came on screen, or went off it, perhaps for a moment only: what is seen loads before what is not, and what
    /// was paused or let go starts again.
    func visibilityDidChange() {
        if let operation = phase.operation { operation.priority = priority }
        guard display?.isViewOnScreen == true else { return }
        switch phase {
        case .paused: resume()
        case .released: start()
        case .waiting, .loading, .ended, .refining: break
        }
    }

    /// The view stays off screen: gives up the load until it comes back, and the picture where the display wants it so.
    func pause() {
        if case .refining = phase { stopRefining() }
        let releases = display?.releasesOffscreen == true
        switch phase {
        case .loading, .waiting:
            stopLoading(keepsWork: true)
            phase = .paused
            if releases, hasPreview {
                hasPreview = false
                showPlaceholder(wish?.placeholder)
            }
            move(to: .idle)
        case .ended(isShown: true) where releases:
            release()
        case .refining, .paused, .released, .ended:
            break
        }
    }

    private func release() {
        phase = .released
        // The server has been asked already.
        if let policy = wish?.request.cachePolicy, policy == .reload || policy == .refresh {
            wish?.request.cachePolicy = .cacheFirst
        }
        showPlaceholder(nil)
        move(to: .idle)
    }

    /// The view knows its size, or has another one: begins, or loads more pixels if it has grown.
    func roomDidChange() {
        guard let wish, let display else { return }
        switch phase {
        case .waiting(.room):
            resume()
        case .ended(isShown: true), .refining:
            guard isOnScreen, image?.isThumbnail == true, let request = display.fitted(wish.request),
                request.needsMorePixels(than: fitted)
            else { return }
            stopRefining()
            fitted = request
            refine(request)
        case .waiting(.scrolling), .loading, .paused, .released, .ended(isShown: false):
            break
        }
    }

    private func resume() {
        fitted = wish.flatMap { display?.fitted($0.request) }
        if !showFromMemory() { begin() }
    }

    private var isOnScreen: Bool { display?.isOnScreen ?? false }

    private var priority: LoadPriority { wish?.priority(isOnScreen: isOnScreen) ?? .low }

    // MARK: Loading

    /// Begins with the wish.
    ///
    /// - Parameter keepsPicture: whether what is on display is the picture wanted, which stays until there is another.
    private func start(keepingPicture keepsPicture: Bool = false) {
        guard let wish else { return }
        fitted = display?.fitted(wish.request)
        if showFromMemory() { return }
        let options = wish.request.options
        if !keepsPicture, !options.contains(.ignorePlaceholder) {
            showPlaceholder(options.isPlaceholderDelayed ? nil : wish.placeholder)
        }
        begin()
    }

    private func begin() {
        guard let wish, let fitted else { return wait(for: .room) }
        // What the user is to see soon is not to disturb what is seen now.
        if wish.priority <= .low, !wish.hasRested {
            let number = sentinel
            let waits = display?.waitsForRest { [weak self] in self?.didRest(number) } ?? false
            if waits { return wait(for: .scrolling) }
        }
        startLoading(fitted)
    }

    private func wait(for obstacle: Phase.Obstacle) {
        phase = .waiting(obstacle)
        move(to: .loading(received: 0, expected: nil))
    }

    private func didRest(_ number: Int) {
        guard number == sentinel, case .waiting(.scrolling) = phase else { return }
        wish?.hasRested = true
        resume()
    }

    private func startLoading(_ fitted: WebImageRequest) {
        guard let wish else { return }
        sentinel += 1
        var request = fitted
        request.priority = priority
        // Callbacks come from the apply queue, hence on main, and never before this returns.
        let operation = wish.manager.load(
            request, callbackQueue: ApplyQueue.main,
            progress: { [weak self, sentinel] received, expected in
                MainActor.assumeIsolated { self?.loadDidProgress(sentinel, received, expected) }
            },
            preview: { [weak self, sentinel] image in
                MainActor.assumeIsolated { self?.loadDidPreview(sentinel, image) }
            },
            completion: { [weak self, completionsBeside, sentinel] result in
                MainActor.assumeIsolated {
                    let completion = completionsBeside.withLock { $0.removeValue(forKey: sentinel) }
                    if let completion { completion(result) } else { self?.loadDidEnd(sentinel, result) }
                }
            })
        phase = .loading(operation)
        move(to: .loading(received: 0, expected: nil))
    }

    /// - Parameter keepsWork: whether the work goes on if its request says so: nobody waits for it any more, but the caches.
    private func stopLoading(keepsWork: Bool = false) {
        sentinel += 1
        guard let operation = phase.operation else { return }
        if keepsWork, operation.request.options.contains(.continueInBackground) {
            operation.priority = .low
        } else {
            operation.cancel()
        }
    }

    private func loadDidProgress(_ number: Int, _ received: Int64, _ expected: Int64?) {
        guard number == sentinel else { return }
        move(to: .loading(received: received, expected: expected))
        // The observer may have set another URL just now.
        guard number == sentinel else { return }
        wish?.progress?(received, expected)
    }

    func loadDidPreview(_ number: Int, _ preview: Image) {
        guard number == sentinel, let wish, !wish.request.options.contains(.avoidSettingImage) else { return }
        hasPreview = true
        guard image?.isSamePicture(as: preview) != true else { return }
        image = preview
        display?.show(preview, with: fades ? .previewFade : nil)
    }

    private func loadDidEnd(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        guard number == sentinel else { return }
        switch result {
        case .success(let response):
            succeed(with: response)
        case .failure(let error):
            if let wish, error != .cancelled, wish.request.options.isPlaceholderDelayed {
                showPlaceholder(wish.placeholder)
            }
            end(as: error == .cancelled ? .idle : .failed(error), with: result, isShown: false)
        }
    }

    private func showFromMemory() -> Bool {
        guard let wish, let fitted, let image = wish.manager.imageBeforeLoad(for: fitted) else { return false }
        succeed(with: WebImageResponse(image: image, url: fitted.url, origin: .memoryCacheFast))
        return true
    }

    private func succeed(with response: WebImageResponse) {
        let options = wish?.request.options ?? []
        let isShown = !options.contains(.avoidSettingImage)
        let isOnDisplay = response.isUnchanged && hasPreview || image?.isSamePicture(as: response.image) == true
        if isShown, !isOnDisplay {
            let isFromMemory = response.origin == .memoryCacheFast || response.origin == .memoryCache
            let hasTransition = !isFromMemory || options.contains(.forceTransition)
            let transition = hasPreview ? fades ? .fade : nil : display?.transition ?? (fades ? .fade : nil)
            // What has played while it arrived plays on.
            let playsOn = hasPreview && image?.animation?.isComplete == false && response.image.animation != nil
            image = response.image
            if playsOn {
                display?.refine(response.image)
            } else {
                display?.show(response.image, with: hasTransition ? transition : nil)
            }
        }
        hasPreview = false
        end(as: .loaded(response.origin), with: .success(response), isShown: isShown)
    }

    /// Whether changes may take their time.
    private var fades: Bool { wish?.request.options.contains(.fadeIn) == true || display?.transition != nil }

    // MARK: Refining

    /// Loads the picture on display with more pixels. Nobody is told: to the program, it is there already.
    private func refine(_ fitted: WebImageRequest) {
        guard let wish else { return }
        sentinel += 1
        var request = fitted
        request.priority = priority
        request.cachePolicy = .cacheFirst
        let operation = wish.manager.load(request, callbackQueue: ApplyQueue.main) { [weak self, sentinel] result in
            MainActor.assumeIsolated { self?.refinementDidEnd(sentinel, result) }
        }
        phase = .refining(operation)
    }

    private func refinementDidEnd(_ number: Int, _ result: Result<WebImageResponse, WebImageError>) {
        guard number == sentinel else { return }
        phase = .ended(isShown: true)
        // What was good enough for the smaller view stays.
        guard case .success(let response) = result else { return }
        image = response.image
        display?.refine(response.image)
        // It may have grown on.
        roomDidChange()
    }

    private func stopRefining() {
        guard case .refining = phase else { return }
        stopLoading()
        phase = .ended(isShown: true)
    }

    // MARK: Ends

    /// Calls out last, with everything in its final state: observer and completion may set another URL.
    private func end(as newState: LoadState, with result: Result<WebImageResponse, WebImageError>, isShown: Bool) {
        phase = .ended(isShown: isShown)
        let waits = wish?.request.options.contains(.waitTransition) == true
        let completion = closeWish()
        if waits, let completion, display?.waitsForTransition({ completion(result) }) == true {
            return move(to: newState)
        }
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
        let completion = wish?.completion
        // A picture that is let go off screen has its placeholder back before it.
        wish?.forgetCaller(keepingPlaceholder: display?.releasesOffscreen == true)
        return completion
    }

    private func showPlaceholder(_ placeholder: Placeholder?) {
        image = nil
        display?.show(placeholder?.resolved(for: wish))
    }

    private func move(to newState: LoadState) {
        state = newState
        display?.loadStateDidChange(to: newState)
    }
}

extension WebImageOptions {
    /// Whether the placeholder is for a failed load alone: where there is to be none at all, there is none then either.
    fileprivate var isPlaceholderDelayed: Bool { contains(.delayPlaceholder) && !contains(.ignorePlaceholder) }
}

extension Image {
    /// Whether it has the very pixels and frames of `other`.
    fileprivate func isSamePicture(as other: Image) -> Bool {
        pixels === other.pixels && animation?.identity == other.animation?.identity
            && animation?.frames.count == other.animation?.frames.count && isPartial == other.isPartial
    }
}

extension WebImageRequest {
    /// Whether its policy has the server say if what is here is still good.
    fileprivate var asksServerAgain: Bool { cachePolicy == .refresh || cachePolicy == .http }

    /// Whether a view that has what `other` brought has grown, or moved to a screen with more pixels.
    fileprivate func needsMorePixels(than other: WebImageRequest?) -> Bool {
        guard let other, let size = thumbnail?.size, let known = other.thumbnail?.size else { return false }
        return size.width > known.width || size.height > known.height
    }
}
