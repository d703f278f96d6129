internal import WebImage

/// What a call of `setImage` asks for.
struct ImageWish {
    /// Its priority applies while the view is on screen, and is `high` if the request sets none. Off screen it is at most `low`.
    var request: WebImageRequest
    var placeholder: Placeholder?
    var manager: WebImageManager
    var progress: ProgressHandler?
    var completion: CompletionHandler?
    /// Whether it has waited for scrolling to end.
    var hasRested = false

    typealias ProgressHandler = @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias CompletionHandler = @MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    /// Whether what was found for `earlier` is what this one wants.
    func canShare(with earlier: ImageWish) -> Bool {
        // The key is made anew each time: the URL tells most apart for less.
        request.cachePolicy != .reload && manager === earlier.manager && request.url == earlier.request.url
            && request.cacheKey == earlier.request.cacheKey
    }

    /// Whether the load under way for `earlier`, whose picture it can share, asks the same places in the same way.
    func canJoin(_ earlier: ImageWish) -> Bool {
        request.cachePolicy == earlier.request.cachePolicy && request.headers == earlier.request.headers
            && request.options.intersection(.ignoreDiskCache) == earlier.request.options.intersection(.ignoreDiskCache)
    }

    /// Keeps what tells whether another one wants the same, and lets go of the rest.
    mutating func forgetCaller(keepingPlaceholder keepsPlaceholder: Bool) {
        if !keepsPlaceholder { placeholder = nil }
        (progress, completion, hasRested) = (nil, nil, false)
    }

    /// The priority on screen.
    var priority: LoadPriority { request.priority(otherwise: .high) }

    func priority(isOnScreen: Bool) -> LoadPriority { isOnScreen ? priority : min(priority, .low) }
}
