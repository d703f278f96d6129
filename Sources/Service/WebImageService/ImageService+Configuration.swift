public import FoundationEssentials
public import WebImage
public import WebImageCaching
public import WebImageCoding
public import WebImageCore
public import WebImageShared

extension ImageService {
    /// The configuration of a service.
    ///
    /// ```swift
    /// var configuration = ImageService.Configuration()
    /// configuration.allowedSources = ["https://images.example.org/"]
    /// configuration.offeredFormats = [.webp]
    /// let service = try ImageService(configuration)
    /// ```
    public struct Configuration: Sendable {
        /// How sources are loaded; by default ``WebImage/WebImageManager/Configuration/server``: only from the public internet, within
        /// limits.
        public var images = WebImageManager.Configuration.server
        /// The limits of requests and results.
        public var limits = Limits()

        // MARK: URLs

        /// The keys of signatures, any of which may sign. Without one, the default, paths are not signed: everyone can have everything
        /// made, so this is for development only.
        public var keys: [SigningKey] = []
        /// The length of signatures in bytes, 1 to 32; 32 by default.
        public var signatureByteCount = 32
        /// Texts that count as signatures of every path; none by default.
        public var trustedSignatures: [String] = []
        /// The beginning of all paths, such as `/images`; empty by default.
        public var pathPrefix = ""
        /// Options between slashes, by the name of their preset. That of `default` precedes the options of every path.
        public var presets: [String: String] = [:]
        /// Whether paths have names of presets instead of options, and those of `/info` no options; `false` by default.
        public var allowsOnlyPresets = false

        /// The text between the arguments of options, `:` by default; also in ``presets``.
        public var argumentSeparator = ":"
        /// Whether paths may lower ``limits`` for their results, with options such as `max_src_resolution`; `false` by default.
        public var allowsLimitOptions = false
        /// Whether sources in base64 end with a file name, which means nothing; `false` by default.
        public var hasFileNames = false

        // MARK: Sources

        /// The beginnings of allowed sources, such as `https://*.example.com/photos/` or `s3://bucket/`, where `*` stands for any
        /// characters but slashes. Hosts are whole ones, and a port is a part of them. Redirects must lead to allowed sources, too. Without
        /// one, the default, everything is allowed that can be loaded.
        public var allowedSources: [String] = []
        /// The beginning of all sources, so that paths need not contain it, but may; empty by default.
        public var baseURL = ""
        /// The folder of `local:///` sources; `nil`, the default, refuses them.
        public var folder: URL?
        /// The store of `s3://bucket/key` sources, of which the endpoint, the region and the style count; `nil`, the default, refuses
        /// them.
        public var store: S3Location?
        /// The keys of ``store``; by default those of the environment.
        public var storeCredential: S3Credential? = .environment

        /// Where `POST /upload` stores images, which are then sources; `nil`, the default, refuses uploads. ``ImageService/take(_:_:)`` needs none.
        public var uploads: Uploads?

        // MARK: Results

        /// The formats that clients get if their `Accept` field names them, best first; AVIF and WebP by default. Others get JPEG, PNG or
        /// GIF.
        public var offeredFormats: [ImageFormat] = [.avif, .webp]
        /// Whether the width and the density of client hints count where a path names none; `false` by default.
        public var usesClientHints = false
        /// The quality of JPEG, 1 to 100; 80 by default. That of AVIF, WebP and JPEG XL is at most 63, 79 and 77, unless
        /// ``formatQualities`` has another one.
        public var quality = 80
        /// The qualities of formats, 1 to 100.
        public var formatQualities: [ImageFormat: Int] = [:]
        /// How much results may differ from the image before it is compressed; `nil`, the default, uses the qualities above. Each
        /// result is then encoded several times, up to ``Limits/encodingCount``.
        public var qualityBound: QualityBound?
        /// The bound that the option `autoquality` of a path changes if ``qualityBound`` is `nil`; that of
        /// ``QualityBound/init(dissimilarity:)`` by default.
        public var optionQualityBound = QualityBound()
        /// The file of the image that the option `watermark` draws; `nil` by default.
        public var watermark: Data?
        /// The opacity of ``watermark``, 0 to 1, by which that of each path is multiplied; 1 by default.
        public var watermarkOpacity = 1.0
        /// The file of the image that is sent if a source cannot be loaded or decoded; `nil`, the default, sends the error.
        public var fallback: Data?
        /// The status of ``fallback``; 200 by default. `nil` is that of the error.
        public var fallbackStatus: Int? = 200

        // MARK: Caching

        /// How long clients and caches may use a result, and how long the service stores it; a year by default.
        public var lifetime: Duration = .seconds(31_536_000)
        /// Whether the lifetime of a source, if its server states one, is also the longest of its results; `false` by default.
        public var usesSourceLifetime = false
        /// The limit on results in memory, in bytes; 64 MiB by default, at most an eighth of the memory that the process may use.
        public var memoryByteCount = min(64 << 20, AvailableMemory.totalBytes() / 8)
        /// The cache of results on disk; `nil`, the default, stores none. Results made with another quality, lifetime, watermark or place of
        /// sources are not used.
        public var disk: DiskCache?
        /// The cache of results and originals that several machines share; `nil` by default. An equal result is made by one of them.
        public var shared: SharedImageCache?

        // MARK: Measuring

        /// Called with the time of each stage of a result that was made, or could not be made, for metrics; `nil` by default. It runs on any
        /// thread, and must not block.
        public var didMeasure: (@Sendable (_ stage: Stage, _ time: Duration) -> Void)?

        /// Creates a configuration with the defaults.
        public init() {}

        var now: @Sendable () -> Date = { Date() }
    }

    /// A part of the work for a result.
    public enum Stage: String, Sendable, CaseIterable {
        /// Waiting for a place, and for a thread.
        case queue
        /// Loading the source, from its server or from a cache.
        case fetch
        /// Reading the source's properties and pixels, in a decoder process where one is used.
        case decode
        /// Resizing, cropping and everything else that changes pixels.
        case process
        /// Writing the file, in all formats and qualities that are tried.
        case encode
    }

    /// A bound on what compression may change, in lossy formats for which the path names no quality.
    ///
    /// ```swift
    /// var configuration = ImageService.Configuration()
    /// configuration.qualityBound = ImageService.QualityBound(dissimilarity: 0.01)
    /// ```
    ///
    /// The lowest quality that meets it is used. The format `best` is then the shortest file that meets it.
    public struct QualityBound: Sendable, Hashable {
        /// The largest structural dissimilarity, (1 − SSIM) / 2, of
        /// ``WebImage/ImageComparison/structuralSimilarity``; 0.02 by default.
        public var dissimilarity = 0.02
        /// By how much results may exceed the bound, so that fewer are encoded; 0.001 by default.
        public var allowedError = 0.001
        /// The qualities to choose from, 1 to 100; 30 to 95 by default. The highest is used if none meets the bound.
        public var qualities = 30...95
        /// The qualities of formats that have others than ``qualities``; none by default.
        public var formatQualities: [ImageFormat: ClosedRange<Int>] = [:]

        /// Creates a bound.
        public init(dissimilarity: Double = 0.02) { self.dissimilarity = dissimilarity }
    }

    /// The limits of a service. What exceeds one is refused with a status of 4xx, but for ``sendingByteCount``.
    ///
    /// Some are lower for a process that may use less than 2 GiB of memory: an image and a result get a share of it.
    ///
    /// ```swift
    /// var configuration = ImageService.Configuration()
    /// configuration.limits.resultSide = 4096
    /// configuration.limits.sourceByteCount = 20 << 20
    /// ```
    public struct Limits: Sendable, Hashable {
        /// The longest source or upload in bytes; 50 MiB by default. Downloads beyond it stop.
        public var sourceByteCount: Int
        /// The most bytes of all uploads together, from their arrival until their files are made; 256 MiB by default. More are refused with
        /// 429, and a longer upload as too long.
        public var uploadByteCount: Int
        /// The time for loading a source, and for the bytes of an upload; 20 s by default.
        public var transferTime: Duration = .seconds(20)
        /// The limits for decoding; by default those of servers, with 256 MiB of memory for an image.
        public var decoding: DecodingLimits
        /// The most frames of an animation; 1,000 by default.
        public var frameCount = 1000
        /// The longest side of a result in pixels, to which larger ones are scaled down; 8192 by default, 0 for any.
        public var resultSide = 8192
        /// The most pixels of a result; 40 million by default.
        public var resultPixelCount: Int
        /// The longest result in bytes; 64 MiB by default.
        public var resultByteCount: Int
        /// The most bytes in memory of all answers together, each body once for all its answers; 256 MiB by default. More are refused with
        /// 503. Bodies of up to 32 KiB, and those that are read from disk, do not count.
        public var sendingByteCount: Int
        /// The most encodes for one result, for which ``Configuration/qualityBound`` or the format `best` takes several; 24 by default.
        public var encodingCount = 24
        /// The time for a request; 30 s by default.
        public var time: Duration = .seconds(30)
        /// The results that are made at a time; by default four for each processor, most of which wait for their sources. Images whose decoding takes
        /// longer than 0.3 s do not count, up to ``queueLength`` of them.
        public var workCount: Int
        /// The results that may wait for those; 256 by default. Beyond it, requests are refused with 429.
        public var queueLength = 256

        /// Creates the default limits for the memory that the process may use: of its control group, as in containers, or of the machine.
        public init() { self.init(memoryByteCount: AvailableMemory.totalBytes()) }

        /// Creates the default limits for that much memory. Below 2 GiB, those that take memory are lower.
        public init(memoryByteCount: Int) {
            let eighth = memoryByteCount / 8
            sourceByteCount = min(50 << 20, eighth)
            uploadByteCount = min(256 << 20, eighth)
            sendingByteCount = min(256 << 20, eighth)
            decoding = .server
            decoding.memoryByteCount = min(decoding.memoryByteCount, memoryByteCount / 5)
            resultPixelCount = min(40_000_000, eighth / 4)
            resultByteCount = min(64 << 20, eighth)
            workCount = max(1, min(4 * PlatformThread.processorCount, memoryByteCount / (64 << 20)))
        }
    }
}
