/// Options of a request; all are off by default.
///
/// ```swift
/// let image = try await manager.image(for: WebImageRequest(url, options: [.firstFrameOnly, .waitForStore]))
/// ```
///
/// Settings with a value are properties of ``WebImageRequest``: priority, cache policy, caches, credentials, limits.
///
/// If options conflict:
///
/// - ``ignoreDecoding`` takes precedence over ``progressive``, ``progressiveBlur``, ``progressiveThumbnail``,
///   ``firstFrameOnly``, ``preloadAllFrames``, ``WebImageRequest/decodedByteLimit`` and processors.
/// - ``firstFrameOnly`` takes precedence over ``preloadAllFrames``, ``matchAnimatedKind`` and
///   ``WebImageRequest/transformsAnimations``.
public struct WebImageOptions: OptionSet, Sendable, Hashable {
    /// The raw bits.
    public let rawValue: UInt64

    /// Creates options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

// MARK: Results

extension WebImageOptions {
    /// Shows the bytes received so far: previews of every file that can be decoded in part. They pass the request's
    /// processors, have ``Image/isPartial`` set, and are never cached.
    public static let progressive = WebImageOptions(rawValue: 1 << 0)
    /// Like ``progressive``, but blurred, less and less as more bytes arrive. Only progressive JPEG and interlaced PNG,
    /// whose first bytes show the whole image, have such previews. With ``progressive`` too, other files have previews
    /// that are not blurred.
    public static let progressiveBlur = WebImageOptions(rawValue: 1 << 1)
    /// Shows the thumbnail in a JPEG's EXIF data, as cameras write them, until there is more of the image: with ``progressive`` its rows.
    /// The first tens of kilobytes have it. It is turned, scaled and processed like the image.
    ///
    /// Thumbnails with other proportions than the image, such as those with black bars, are not shown.
    public static let progressiveThumbnail = WebImageOptions(rawValue: 1 << 12)
    /// Delivers the end when everything that is to be stored is on disk; for an image from memory, when the bytes of its
    /// original are. By default it is on its way there, and look-ups find it.
    public static let waitForStore = WebImageOptions(rawValue: 1 << 2)
    /// If memory answers, the file's bytes are read from disk for ``WebImageResponse/data`` before the end is
    /// delivered. Otherwise they are `nil`. With ``queryDiskSync`` the call blocks until they are read. A view shows the
    /// image at once in either case.
    public static let queryMemoryData = WebImageOptions(rawValue: 1 << 3)
    /// If memory does not have the image, the disk is read and the file decoded within the call: **the call blocks for
    /// that time**. A view then shows the image at once. `async` functions ignore this, because they must not block.
    /// Without a load, use ``WebImageManager/blockingCachedImage(for:)``.
    public static let queryDiskSync = WebImageOptions(rawValue: 1 << 4)
}

// MARK: Decoding

extension WebImageOptions {
    /// Decodes no pixels. The response has the file's bytes and what its header says (``WebImageResponse/info``); its
    /// image is a placeholder of one clear pixel with ``Image/isPartial`` set, which is not cached. The bytes are
    /// stored on disk if their header is valid; if they prove damaged later, they are loaded again. No processor runs.
    public static let ignoreDecoding = WebImageOptions(rawValue: 1 << 5)
    /// Keeps the decoded image out of memory: it is stored on disk only, and decoded again for the next request.
    /// (SDWebImage's option saves that memory by decoding at each drawing.) An image that is in memory already is used.
    public static let avoidForcedDecode = WebImageOptions(rawValue: 1 << 6)
    /// Decodes only the first frame of an animation, as a still image with a separate cache key. If memory has the
    /// animation, its first frame is used.
    public static let firstFrameOnly = WebImageOptions(rawValue: 1 << 7)
    /// Decodes all frames of an animation before the end is delivered, and keeps them with the image, which has a
    /// separate cache key. Animations whose frames take more than 256 MiB are not changed.
    public static let preloadAllFrames = WebImageOptions(rawValue: 1 << 8)
    /// Does not use a still image in memory if the file is an animation, but decodes the file. Only caches that hold
    /// first frames (`ImageCache.Configuration.allowsAnimated`) have such stills.
    public static let matchAnimatedKind = WebImageOptions(rawValue: 1 << 9)
}

// MARK: Environment

extension WebImageOptions {
    /// Counts the transfer in the manager's ``WebImageManager/Configuration/networkActivity`` from its connection slot
    /// to its end. A transfer that several requests share counts once. Images from a cache, a file or a `data:` URL do
    /// not count.
    public static let showNetworkActivity = WebImageOptions(rawValue: 1 << 10)
    /// Requests time in the background from the program while the load runs, through
    /// ``WebImageManager/Configuration/beginBackgroundTask``, and cancels the load when that time is over. In a view,
    /// the load continues when the view disappears, so that the caches have the image next time, and the program's
    /// `GApplication` runs until it has ended; another URL in the same view cancels it.
    public static let continueInBackground = WebImageOptions(rawValue: 1 << 11)
}

// MARK: Derived

extension WebImageOptions {
    /// The options for previews of arriving files.
    static let allPreviews: WebImageOptions = [.progressive, .progressiveBlur, .progressiveThumbnail]

    /// The previews of the options; `nil` for none.
    var previews: PreviewStyle? {
        guard !contains(.ignoreDecoding) else { return nil }
        let content: PreviewStyle.Content? =
            switch (contains(.progressive), contains(.progressiveBlur)) {
            case (false, false): nil
            case (true, false): .sharp
            case (false, true): .blurred
            case (true, true): .blurredIfWhole
            }
        let style = PreviewStyle(content: content, showsThumbnail: contains(.progressiveThumbnail))
        return style == PreviewStyle() ? nil : style
    }
}
