public import FoundationEssentials
public import WebImageCaching
public import WebImageCoding
public import WebImageLoading
public import WebImageProcessing

extension WebImageManager {
    /// What a manager is made of.
    public struct Configuration: Sendable {
        /// Where pictures are kept; by default the program's shared cache.
        public var cache: any ImageCaching
        /// Who fetches bytes; by default the program's shared group: http and https, files, `data:` URLs.
        public var loaders: ImageLoaderGroup
        /// Who turns bytes into pixels.
        public var codecs: CodecRegistry
        /// What to refuse to decode.
        public var decodingLimits: DecodingLimits
        /// What becomes of a file that is cut or damaged. By default it is an error, so that nobody takes half a picture for a
        /// whole one; programs that show pictures to people may rather show the good part, as browsers do. Such a picture has
        /// ``WebImageCore/Image/isPartial`` set and is not cached.
        public var damage = DecodingOptions.Damage.refuse
        /// Where callbacks run unless a load names its own; `nil`, the default, is a serial queue of the manager's.
        public var callbackQueue: (any CallbackQueue)?
        /// The least progress worth a report, as a fraction of the whole length, 0 to 1; 0, the default, reports each piece.
        /// The beginning and the end are always reported, and each piece where the length is unknown.
        public var minimumProgressInterval = 0.0
        /// Where bodies are kept while they arrive, and after: in memory up to 8 MiB, else in a temporary file. What a loader
        /// takes from this machine's disk always stays in memory.
        public var bodyStorage = BodyStorage()
        /// Whether interrupted transfers are kept on the disk and continued, also after the program has ended; where the
        /// disk cache is, unless said otherwise. Requests with ``WebImageOptions/ignoreDiskCache`` are not.
        public var resumption = Resumption.besideDiskCache

        /// Whether, how often and when a loader is asked again after a failure; ``RetryPolicy/none``. A request may have a policy
        /// of its own.
        public var retryPolicy: any RetryStrategy = RetryPolicy.none
        /// Who tells whether there is a network, for requests that wait for one; the kernel's routes.
        package var connectivity: any ConnectivityMonitor {
            get { environment.connectivity }
            set { environment.connectivity = newValue }
        }
        /// How long one load may wait for a network, in all; 5 minutes.
        public var connectivityTimeLimit: Duration {
            get { environment.connectivityTimeLimit }
            set { environment.connectivityTimeLimit = newValue }
        }
        package var environment = LoadEnvironment()
        /// What the age of stored answers is counted by: a clock that tests can set.
        package var now: @Sendable () -> Date = { Date() }

        /// Used for requests that have no processors of their own; none by default. See
        /// ``WebImageRequest/usesSharedProcessors``.
        public var processors: [any ImageProcessor] = []
        /// Header fields that requests get, by name; theirs go before these. Every server that
        /// requests name gets them; other origins that ``WebImageRequest/alternatives``, ``WebImageRequest/lowResolutionURL`` and
        /// redirects lead to do not. They become part of cache keys as a request's own do.
        public var headers: [String: String] = [:]
        /// Names of headers that are no part of cache keys, besides those of ``WebImageRequest/headersIgnoredByCacheKey``; none
        /// by default.
        public var headersIgnoredByCacheKey: Set<String> = []
        /// Gives the headers for a URL: gets the manager's with the request's over them. It is called for each request, also
        /// those that a cache answers; what it changes in credentials changes the cache key.
        public var headersFilter: (@Sendable (_ url: URL, _ headers: [String: String]) -> [String: String])?
        /// Used for requests that have none: **every server that asks for one gets it**, so it is for managers of one
        /// service's pictures.
        public var credential: Credential?
        /// How long a server may send nothing, for requests that don't say; `nil`, the default, leaves it to the loader.
        public var idleTimeout: Duration?
        /// The longest that the transfers of a load may take in total, for requests that don't say; `nil`, the default, leaves it
        /// to the loader. See ``WebImageRequest/totalTimeout``.
        public var totalTimeout: Duration?
        /// Names URLs in cache keys, for requests that don't; `nil`, the default, takes the URL.
        public var cacheKeyFilter: (@Sendable (URL) -> String)?
        /// Sees each request first, and may change all of it, above all its options. It runs on the thread that asks, for
        /// look-ups in memory too, so it must be quick.
        public var optionsProcessor: (@Sendable (_ request: inout WebImageRequest) -> Void)?
        /// Whether processors work on animations, on every frame as it is shown; `true` by default. `false` leaves those as
        /// they are, unless a request has ``WebImageOptions/transformAnimated``.
        public var transformsAnimations = true
        /// Whether processors work on pictures in vector formats; `true` by default. `false` leaves those as they are, unless a
        /// request has ``WebImageOptions/transformVector``.
        public var transformsVectors = true
        /// The most bytes that a decoded image may take, for requests without ``WebImageRequest/decodedByteLimit``. A larger image is
        /// decoded at a smaller size, under a cache key of its own. No limit by default.
        public var decodedByteLimit: Int?
        /// Whether a larger picture in memory is scaled down for a request for a smaller one, and a smaller one is the preview
        /// of a larger; `true` by default.
        public var reusesVariants = true
        /// The least time between two previews of one file: 0.2 s by default, twice that for blurred ones. They come less often
        /// where one takes longer than a fifth of it to make.
        public var previewInterval: Duration = .milliseconds(200)
        /// Counts the transfers of loads that have ``WebImageOptions/showNetworkActivity``; one counter for all managers by
        /// default.
        public var networkActivity = Self.sharedNetworkActivity
        /// What the program wants to decide or to know.
        public var hooks = WebImageManager.Hooks()
        /// How long the block list remembers a URL: 5 minutes.
        public var blockDuration: Duration = .seconds(300)
        /// Where the manager writes what it does; nowhere by default.
        public var log = WebImageLog()

        /// Makes a configuration; the defaults suit most programs.
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
    /// For servers that load URLs given by users: http and https alone, no files, and only from the public internet, within the
    /// time and size limits of ``ImageDownloader/Configuration/server`` and the memory and time of
    /// ``DecodingLimits/server``. All that are made so share one downloader and one cache, apart from ``ImageCache/shared``:
    /// what the program itself loaded from elsewhere is not to be had through them.
    public static var server: Self {
        Self(cache: serverCache, loaders: ImageLoaderGroup([serverDownloader]), decodingLimits: .server)
    }

    /// The counter that managers use unless they have their own.
    public static let sharedNetworkActivity = NetworkActivity()

    private static let serverDownloader = ImageDownloader(configuration: .server)
    private static let serverCache = ImageCache(
        disk: DiskCache(
            configuration: DiskCache.Configuration(
                directory: DiskCache.Configuration.defaultDirectory().deletingLastPathComponent()
                    .appending(path: "server-images"))),
        configuration: ImageCache.Configuration(decodingLimits: .server))
}
