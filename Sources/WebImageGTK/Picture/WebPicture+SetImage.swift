public import FoundationEssentials
public import WebImage

extension WebPicture {
    /// Receives a load's progress on the main thread; `expected` is `nil` where the length is unknown. In bytes.
    public typealias ProgressHandler = @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    /// Receives the end of a load on the main thread.
    public typealias CompletionHandler = @MainActor @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    /// Shows the picture at `url`; the one of an earlier call can't appear any more.
    ///
    /// A picture in memory is on display when this returns. Otherwise the placeholder, or nothing, is, until the picture
    /// comes. The URL on display or under way already is neither blanked nor loaded again; one that failed is tried anew.
    ///
    /// - Parameters:
    ///   - url: where the picture is; `nil` shows `placeholder` or nothing.
    ///   - placeholder: shown until the picture is there, and if it fails.
    ///   - options: switches of loading and showing; none by default.
    ///   - thumbnail: the size to decode at, in pixels. `nil`, the default, decodes every pixel the file has: name a size
    ///     for anything that may be larger than the widget.
    ///   - priority: that of the load while the widget is on screen; off screen it is at most `low`.
    ///   - manager: who loads; the shared one by default.
    ///   - progress: called for each piece that arrives, coalesced.
    ///   - completion: called exactly once, after the picture was set: inside this call when the picture was in memory,
    ///     otherwise later. It gets ``WebImageError/cancelled`` when another URL is set first or the widget is destroyed,
    ///     and ``WebImageError/invalidURL(_:)`` for `nil`.
    public func setImage(
        _ url: URL?, placeholder: Placeholder? = nil, options: WebImageOptions = [], thumbnail: Thumbnail? = nil,
        priority: LoadPriority = .high, manager: WebImageManager = .shared, progress: ProgressHandler? = nil,
        completion: CompletionHandler? = nil
    ) {
        guard let url else {
            setter.clear(placeholder: placeholder)
            end(completion, with: .invalidURL(""))
            return
        }
        setImage(
            WebImageRequest(url, options: options, priority: priority, thumbnail: thumbnail), placeholder: placeholder,
            manager: manager, progress: progress, completion: completion)
    }

    /// Shows the picture at the URL that `text` spells; text that is none fails with ``WebImageError/invalidURL(_:)``.
    ///
    /// Everything else is as for a `URL`.
    public func setImage(
        _ text: String, placeholder: Placeholder? = nil, options: WebImageOptions = [], thumbnail: Thumbnail? = nil,
        priority: LoadPriority = .high, manager: WebImageManager = .shared, progress: ProgressHandler? = nil,
        completion: CompletionHandler? = nil
    ) {
        guard let url = URL(string: text), url.scheme != nil else {
            setter.clear(placeholder: placeholder, because: .invalidURL(text))
            end(completion, with: .invalidURL(text))
            return
        }
        setImage(
            url, placeholder: placeholder, options: options, thumbnail: thumbnail, priority: priority,
            manager: manager, progress: progress, completion: completion)
    }

    /// Shows the picture that `request` describes; everything else is as for a `URL`.
    public func setImage(
        _ request: WebImageRequest, placeholder: Placeholder? = nil, manager: WebImageManager = .shared,
        progress: ProgressHandler? = nil, completion: CompletionHandler? = nil
    ) {
        guard !isDestroyed else { return end(completion, with: .cancelled) }
        pauseCall = nil
        setter.set(
            ImageWish(
                request: request, placeholder: placeholder, manager: manager, progress: progress,
                completion: completion))
    }

    /// Gives up the picture that is not there yet; what is on display stays, and ``imageURL`` too.
    public func cancelCurrentRequest() { setter.cancel() }

    /// Makes the view as good as new for another item of a list: cancels, and shows nothing.
    public func prepareForReuse() { setter.clear() }

    private func end(_ completion: CompletionHandler?, with error: WebImageError) {
        guard let completion else { return }
        ApplyQueue.main.enqueue { MainActor.assumeIsolated { completion(.failure(error)) } }
    }
}
