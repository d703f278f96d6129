/// Switches of a request; all are off by default.
///
/// Each names the step where it acts. Where two say opposite things, this is decided:
///
/// - ``cacheOnly`` goes before ``loaderOnly``, that before ``refreshCache``, and that before ``httpCache``: what a request
///   must not do counts more than what it wants.
/// - ``highPriority`` goes before ``lowPriority``.
/// - ``ignoreDecoding`` leaves nothing for ``progressive``, ``progressiveBlur``, ``firstFrameOnly``, ``preloadAllFrames``,
///   ``scaleDownLarge`` and processors to do.
/// - ``firstFrameOnly`` goes before ``preloadAllFrames``, ``matchAnimatedKind`` and ``transformAnimated``.
/// - ``ignoreDiskCache`` goes before ``memoryOnly``, ``queryDiskSync``, ``queryMemoryData`` and ``queryMemoryDataSync``; with
///   ``cacheOnly``, memory alone may answer.
/// - ``retryFailed`` goes before ``ignoreFailedURL``.
///
/// Those that say what a property of the request says too (``WebImageRequest/priority``,
/// ``WebImageRequest/cachePolicy``) give that property its value unless it is set.
public struct WebImageOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt64

    /// Makes options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Who answers.
extension WebImageOptions {
    /// Neither reads the disk cache nor writes it; memory and loader answer.
    public static let ignoreDiskCache = WebImageOptions(rawValue: 1 << 0)
    /// Writes nothing to the disk cache, which may still answer.
    public static let memoryOnly = WebImageOptions(rawValue: 1 << 27)
    /// Memory and disk only: the policy ``CachePolicy/cacheOnly``.
    public static let cacheOnly = WebImageOptions(rawValue: 1 << 22)
    /// The loader only; its answer is stored as ever: the policy ``CachePolicy/reload``.
    public static let loaderOnly = WebImageOptions(rawValue: 1 << 23)
    /// For pictures that change while their URL stays: the server is asked in any case, and what is stored is a preview
    /// meanwhile: the policy ``CachePolicy/refresh``.
    public static let refreshCache = WebImageOptions(rawValue: 1 << 9)
    /// Answers are used for as long as their servers say, as a browser does: the policy ``CachePolicy/http``.
    public static let httpCache = WebImageOptions(rawValue: 1 << 7)
    /// Where memory answers, the file's bytes are fetched from the disk for ``WebImageResponse/data`` before the end is
    /// delivered. Without it they are `nil` unless the picture kept them.
    public static let queryMemoryData = WebImageOptions(rawValue: 1 << 19)
    /// As ``queryMemoryData``, within the call that asks: **it blocks on the disk**. Functions that are `async` don't block;
    /// there it is ``queryMemoryData``.
    public static let queryMemoryDataSync = WebImageOptions(rawValue: 1 << 20)
    /// Where memory does not have the picture, the disk is read and the file decoded within the call that asks, so that
    /// ``WebImageManager/cachedImage(for:)-(WebImageRequest)`` finds it too: **it blocks for as long as that takes**.
    /// Functions that are `async` don't block; there it does nothing.
    public static let queryDiskSync = WebImageOptions(rawValue: 1 << 21)
    /// A still in memory does not do where the file is an animation: it is decoded with its frames. Only caches that keep
    /// first frames alone (`ImageCache.Configuration.allowsAnimated`) have such stills.
    public static let matchAnimatedKind = WebImageOptions(rawValue: 1 << 25)
}

/// How the loader goes about it.
extension WebImageOptions {
    /// Takes cookies from the downloader's jar, and keeps those that servers set there.
    ///
    /// The cache tells pictures that came with cookies from those that came without, not one log-in from the next: empty
    /// it when another user logs in.
    public static let handleCookies = WebImageOptions(rawValue: 1 << 1)
    /// Keeps credentials that worked in memory, and uses them again.
    ///
    /// The cache tells such pictures from others, not one stored credential from the next: empty it when another user logs
    /// in.
    public static let useCredentialStorage = WebImageOptions(rawValue: 1 << 2)
    /// Takes any certificate: **anybody on the way can then read and change what is loaded**. Such pictures have cache keys
    /// of their own, so that no request that checks certificates ever gets them; nor do such loads use the cookies and stored
    /// credentials of others.
    public static let allowInvalidCertificates = WebImageOptions(rawValue: 1 << 3)
    /// Counts the transfer, while a loader is asked, in the manager's ``WebImageManager/Configuration/networkActivity``. A transfer
    /// that several requests share counts once. Images from a cache, a file or a `data:` URL do not count.
    public static let showNetworkActivity = WebImageOptions(rawValue: 1 << 4)
    /// Asks the program for time while the load runs, through ``WebImageManager/Hooks/beginBackgroundTask``; the load is
    /// cancelled when that time is over. In a view the load goes on when that goes away or off screen, so that the caches have
    /// the picture next time, and the program's `GApplication` runs until it has ended; another URL in the same view still
    /// cancels it.
    public static let continueInBackground = WebImageOptions(rawValue: 1 << 8)
    /// ``LoadPriority/low``. A view waits until what scrolls around it has come to rest before it starts the load.
    public static let lowPriority = WebImageOptions(rawValue: 1 << 14)
    /// ``LoadPriority/high``.
    public static let highPriority = WebImageOptions(rawValue: 1 << 15)
    /// Once memory and disk have missed, a URL on the manager's block list fails with ``WebImageError/blocked(url:cause:)``
    /// instead of being loaded. A URL that fails for good goes on that list. See ``WebImageManager/blockedURLs``.
    public static let ignoreFailedURL = WebImageOptions(rawValue: 1 << 12)
    /// Loads a URL whether it is on the block list or not, and takes it off when that succeeds. A failure puts it on if
    /// ``ignoreFailedURL`` is set too. It tries once: repeating is a matter of retry policies.
    public static let retryFailed = WebImageOptions(rawValue: 1 << 13)
}

/// What is made of the bytes.
extension WebImageOptions {
    /// Shows what has arrived while the rest is under way: previews of every file that can be decoded in part. They pass the
    /// request's processors, have ``Image/isPartial`` set, and are never cached.
    public static let progressive = WebImageOptions(rawValue: 1 << 5)
    /// As ``progressive``, blurred, less and less as more arrives: of progressive JPEG and interlaced PNG, whose first bytes
    /// show the whole picture. Other files have no previews, unless ``progressive`` is set too: then theirs are not
    /// blurred.
    public static let progressiveBlur = WebImageOptions(rawValue: 1 << 6)
    /// Decodes no pixels: the response has the file's bytes and what it says about itself (``WebImageResponse/info``), and its
    /// picture is a stand-in, one clear pixel with ``Image/isPartial`` set, which no cache keeps. The bytes are stored on
    /// disk if their head is sound; should they prove damaged later, they are loaded again. No processor runs.
    public static let ignoreDecoding = WebImageOptions(rawValue: 1 << 10)
    /// Keeps no decoded pixels once nobody holds the picture: it goes to the disk alone, and is decoded again for the next
    /// request. SDWebImage's option saves that memory by leaving the decoding to each drawing; nothing is drawn here that has
    /// not been decoded. A picture that memory has already answers as always.
    public static let avoidForcedDecode = WebImageOptions(rawValue: 1 << 28)
    /// Decodes the first frame of an animation only, as a still. It has a cache key of its own; where memory has the
    /// animation, that one's first frame will do.
    public static let firstFrameOnly = WebImageOptions(rawValue: 1 << 11)
    /// Decodes every frame of an animation before the end is delivered, and keeps them with the picture, instead of decoding
    /// them when they are due. Animations whose frames take more than 256 MiB stay as they are. Such pictures have a cache
    /// key of their own.
    public static let preloadAllFrames = WebImageOptions(rawValue: 1 << 24)
    /// Decodes a picture that would take more than ``WebImageManager/Configuration/scaleDownByteLimit`` at a smaller size. Such
    /// pictures have a cache key of their own. ``WebImageRequest/decodedByteLimit`` names another limit.
    public static let scaleDownLarge = WebImageOptions(rawValue: 1 << 18)
    /// Lets processors work on animations where the manager would leave those alone
    /// (``WebImageManager/Configuration/transformsAnimations``). By default it does not: **every frame of an animation is
    /// processed**, each when it is shown, and this changes nothing.
    public static let transformAnimated = WebImageOptions(rawValue: 1 << 16)
    /// Lets processors work on pictures in vector formats where the manager would leave those alone
    /// (``WebImageManager/Configuration/transformsVectors``). By default they are processed like others.
    public static let transformVector = WebImageOptions(rawValue: 1 << 17)
    /// Delivers the end only when what is to be stored is on disk. By default it is on its way there; look-ups find it
    /// at once.
    public static let waitForStore = WebImageOptions(rawValue: 1 << 26)
}
