public import FoundationEssentials
public import WebImageCaching
public import WebImageCoding
public import WebImageCore
public import WebImageIsolation
public import WebImageLoading

extension WebImageManager {
    /// The configuration of a manager.
    ///
    /// Some of its closures decide about a load, or observe it. Each runs on the thread that its documentation names,
    /// never under a lock:
    ///
    ///     load ─► memory, disk ─► shouldLoad ─► willLoad ─► loader ─► decode ─► processors ─► willCache ─► end ─► didFinish
    ///                                                                                               └ failed ─► shouldBlock
    ///
    /// ```swift
    /// var configuration = WebImageManager.Configuration()
    /// configuration.isolation = .allFormats
    /// configuration.shouldLoad = { $0.url.host() == "images.example.org" }
    /// let manager = WebImageManager(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The cache for images; by default ``ImageCache/shared``.
        public var cache: any ImageCaching
        /// The loaders that fetch bytes; by default ``ImageLoaderGroup/shared``, which loads http and https, files, and
        /// `data:` URLs.
        public var loaders: ImageLoaderGroup
        /// The codecs that decode images; by default ``CodecRegistry/shared``.
        public var codecs: CodecRegistry
        /// The limits for decoding; by default ``DecodingLimits/default``.
        public var decodingLimits: DecodingLimits
        /// Which images are decoded in processes of their own; ``IsolationPolicy/libraryFormats`` by default: AVIF, HEIC, JPEG XL, TIFF,
        /// JPEG 2000 and SVG.
        public var isolation = IsolationPolicy.libraryFormats
        /// The processes that decode; by default ``IsolatedDecoding/shared``.
        public var isolatedDecoding = IsolatedDecoding.shared
        /// Whether truncated and damaged files are decoded up to the damage, as browsers do. `false` by default: they
        /// fail, so that half an image is never taken for a whole one.
        ///
        /// Such an image has ``Image/isPartial`` set and is not cached.
        public var allowsDamage = false
        /// The queue of callbacks for loads without their own; `nil`, the default, uses a private serial queue of the
        /// manager.
        var callbackQueue: (any CallbackQueue)?
        /// The minimum step between progress reports, as a fraction of the whole length from 0 to 1; 0, the default,
        /// reports each piece. The beginning and the end are always reported. If the length is unknown, each piece is
        /// reported.
        public var minimumProgressInterval = 0.0
        /// Where bodies are stored while they arrive and afterwards: in memory up to 8 MiB, otherwise in a temporary
        /// file. Bytes that a loader reads from this machine's disk always stay in memory.
        var bodyStorage = BodyStorage()
        /// Whether the bytes of interrupted transfers are stored in the disk cache's directory, so that the next load
        /// resumes them, also after a restart of the program; `true` by default. Transfers of requests that do not
        /// store originals are not stored.
        public var resumesTransfers = true

        /// Tells whether there is a network, for requests that wait for one; by default from the kernel's routes.
        var connectivity: any ConnectivityMonitor {
            get { environment.connectivity }
            set { environment.connectivity = newValue }
        }
        /// How long one load may wait for a network in total; 5 minutes by default.
        var connectivityTimeLimit: Duration {
            get { environment.connectivityTimeLimit }
            set { environment.connectivityTimeLimit = newValue }
        }
        /// The clocks and the network. Tests replace them.
        var environment = LoadEnvironment()
        /// Tells whether the network is metered.
        var network = MeteredNetwork.shared

        /// Changes each request before it is used, for example to set defaults; `nil` by default. It runs on the
        /// calling thread, also for look-ups in memory, so it must return quickly.
        ///
        /// ```swift
        /// var configuration = WebImageManager.Configuration()
        /// configuration.optionsProcessor = { request in
        ///     request.idleTimeout = request.idleTimeout ?? .seconds(5)
        ///     request.headers.merge(["X-App": "photos"]) { own, _ in own }
        /// }
        /// ```
        public var optionsProcessor: (@Sendable (_ request: inout WebImageRequest) -> Void)?
        /// The header fields of requests that are not part of cache keys; by default ``HarmlessHeaders/standard``.
        ///
        /// A field that has another value in each request, and is not listed here, ends caching. The manager warns once
        /// about such a field, in the load's trace and in ``log``.
        ///
        /// ```swift
        /// var configuration = WebImageManager.Configuration()
        /// configuration.harmlessHeaders.insert("X-Client-Version")
        /// ```
        public var harmlessHeaders = HarmlessHeaders.standard
        /// Whether a larger image in memory is scaled down for a request for a smaller one, and a smaller one is the
        /// preview of a larger; `true` by default.
        var reusesVariants = true
        /// Whether stored responses answer requests of several users: with ``CachePolicy/http``, those for one user
        /// (`Cache-Control: private`) are neither stored nor used, and `s-maxage` counts. `false` by default, and `true` in ``server``.
        public var servesSeveralUsers = false
        /// The minimum time between two previews of one file; 0.2 s by default, and twice that for blurred previews.
        /// The time is longer if a preview takes more than a fifth of it to make.
        public var previewInterval: Duration = .milliseconds(200)
        /// The counter for transfers of loads with ``WebImageOptions/showNetworkActivity``; by default one that
        /// all managers share.
        public var networkActivity = Self.sharedNetworkActivity
        /// How long a URL stays on the block list; 5 minutes by default.
        public var blockDuration: Duration = .seconds(300)
        /// Receives log messages, which contain no credentials, on any thread and never under a lock; `nil` by default.
        ///
        /// The closure that it gets creates the text. Call it for the levels of interest:
        ///
        /// ```swift
        /// var configuration = WebImageManager.Configuration()
        /// configuration.log = { level, message in if level >= .info { print(level, message()) } }
        /// ```
        public var log: (@Sendable (_ level: WebImageLogLevel, _ message: () -> String) -> Void)?

        // MARK: Hooks

        /// Returns whether a loader may be called, once memory and disk have missed; `false` ends the load with
        /// ``WebImageError/BlockReason/hook``, or with a stored answer that may be served without the server.
        ///
        /// A request that joins a transfer in progress gets its result. The hook is called for
        /// ``WebImageRequest/lowResolutionURL`` as for any URL. It runs on the thread that calls the loader, and must
        /// return quickly.
        public var shouldLoad: (@Sendable (WebImageRequest) -> Bool)?

        /// Returns the request to send in place of `request`, before a loader is called; `nil`, the default, sends requests as they are. It
        /// can refresh a token or sign a URL, and wait for that.
        ///
        /// It is called once memory and disk have missed, for URLs of any scheme but `file` and `data`: once for requests that share a
        /// transfer, again for each further attempt, and for each alternative URL. After a 401 response it is called once more, with the
        /// head of that response; the request is sent again if it then differs. ``WebImageManager/data(for:)`` returns a 401 response
        /// instead, as any other.
        ///
        /// It runs in a task of its own, which is cancelled with the load, and its time counts towards no limit. An error that it throws
        /// is that of the load: a ``WebImageError`` as it is, others as ``WebImageError/custom(id:message:)``.
        ///
        /// What it changes is not part of cache keys. What separates the images of users belongs in the request or in
        /// ``optionsProcessor``. The fields that it adds are not compared with the `Vary` of stored responses.
        ///
        /// ```swift
        /// var configuration = WebImageManager.Configuration()
        /// configuration.willLoad = { request, refusal in
        ///     guard request.url.host() == "photos.example.org" else { return request }
        ///     var request = request
        ///     request.headers["Authorization"] = "Bearer \(try await accessToken(isRenewed: refusal != nil))"
        ///     return request
        /// }
        /// ```
        public var willLoad:
            (@Sendable (_ request: LoaderRequest, _ refusal: LoaderResponse?) async throws -> LoaderRequest)?

        /// Returns what memory stores of a finished image; `nil` for nothing.
        ///
        /// It may drop what the program does not need, such as the frames of an animation. It must not make a different
        /// image; that is for processors, which are part of cache keys. It runs on a decoding thread, or on the calling
        /// thread with ``WebImageOptions/queryDiskSync``.
        public var willCache: (@Sendable (_ image: Image, _ request: WebImageRequest) -> Image?)?

        /// Returns whether a URL that failed goes on the block list. It is called only for requests with
        /// ``WebImageRequest/respectsBlockList``, on the thread of the failure.
        ///
        /// By default, URLs are blocked after errors that will happen again, as after a 404, for a body that is not an
        /// image, or for a damaged image; not after 401 and 407, nor after errors that depend on the request's own
        /// limits or codecs.
        public var shouldBlock: (@Sendable (_ url: URL, _ error: WebImageError) -> Bool)?

        /// Called at every end, right before the completion and on its queue; without a completion on the thread that ends the load, which
        /// may be the one that started it. The response has the transfer's ``WebImageResponse/metrics``.
        public var didFinish:
            (@Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void)?

        /// Called on the main thread when a view gets an image from memory at once, without an operation. For such requests
        /// ``didFinish`` is not called.
        public var didAnswer: (@Sendable (_ response: WebImageResponse) -> Void)?

        /// Requests time to continue in the background, for a load with ``WebImageOptions/continueInBackground``.
        /// Returns a closure that is called once when the load has ended. `onExpiration` cancels the load. The hook
        /// runs on the calling thread.
        ///
        /// Without a hook, `WebImageGTK` holds the `GApplication`. Elsewhere the option then has no effect, since a
        /// process on Linux continues in the background anyway. A program can take an inhibitor lock of the session
        /// instead.
        public var beginBackgroundTask:
            (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?

        /// Creates a configuration. The defaults suit most programs.
        ///
        /// - Parameters:
        ///   - cache: the cache of all loads; ``ImageCache/shared`` by default.
        ///   - loaders: the loaders, of which the last one that accepts a URL loads it.
        ///   - codecs: the formats that are decoded.
        ///   - decodingLimits: the largest images that are decoded.
        ///   - callbackQueue: the queue of callbacks for loads without their own; `nil`, the default, uses a private
        ///     serial queue of the manager.
        public init(
            cache: any ImageCaching = ImageCache.shared, loaders: ImageLoaderGroup = .shared,
            codecs: CodecRegistry = .shared, decodingLimits: DecodingLimits = .default,
            callbackQueue: (any CallbackQueue)? = nil
        ) {
            self.cache = cache
            self.loaders = loaders
            self.codecs = codecs
            self.decodingLimits = decodingLimits
            self.callbackQueue = callbackQueue
        }
    }
}

extension WebImageManager.Configuration {
    /// A configuration for servers that load URLs given by users.
    ///
    /// It loads only http and https URLs from the public internet, and no files. The limits on time and size are those
    /// of ``ImageDownloader/Configuration/server``. All formats are decoded in processes of the program `webimage-decoder`, without which nothing
    /// is decoded. One of these processes is always ready. A decode has 256 MiB of memory and 5 s of processor time.
    ///
    /// A response for one user (`Cache-Control: private`) answers no other, where the policy is ``CachePolicy/http``.
    ///
    /// All these configurations share one downloader and one cache. The cache is separate from ``ImageCache/shared``,
    /// so that users cannot get images that the program itself has loaded from elsewhere.
    public static var server: Self {
        var configuration = Self(
            cache: serverCache, loaders: ImageLoaderGroup([serverDownloader]), decodingLimits: .server)
        configuration.servesSeveralUsers = true
        configuration.isolation = .allFormats
        configuration.isolatedDecoding = serverDecoding
        return configuration
    }

    private static let serverDecoding: IsolatedDecoding = {
        var configuration = IsolatedDecoding.Configuration()
        configuration.keepsProcessReady = true
        return IsolatedDecoding(configuration: configuration)
    }()

    /// The counter that managers use by default.
    private static let sharedNetworkActivity = NetworkActivity()

    private static let serverDownloader = ImageDownloader(configuration: .server)
    private static let serverCache = ImageCache(
        disk: DiskCache(
            configuration: DiskCache.Configuration(
                directory: DiskCache.Configuration.defaultDirectory().deletingLastPathComponent()
                    .appending(path: "server-images"))),
        configuration: ImageCache.Configuration(
            codecs: CodecRegistry.shared.isolated(by: .allFormats), decodingLimits: .server))
}

/// The default for ``WebImageManager/Configuration/beginBackgroundTask``. A toolkit sets it before the first load.
package let standardBackgroundTask = Lock<
    (@Sendable (_ onExpiration: @escaping @Sendable () -> Void) -> (@Sendable () -> Void))?
>(nil)

extension LoadEnvironment {
    /// Makes a manager's loads wait, and its stored responses age, as these clocks say: for tests.
    package func apply(to configuration: inout WebImageManager.Configuration) { configuration.environment = self }
}
