internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage
internal import WebImageGTK
internal import WebImageShared

/// A manager with its own cache, downloader and decoder processes, as C code configures it.
final class Session: Handle, Sendable {
    let manager: WebImageManager
    let cache: ImageCache
    let prefetcher: ImagePrefetcher

    init(_ wanted: WebImageBridgeConfiguration) throws(WebImageError) {
        let hook = SessionHook(wanted.hook)
        var disk = DiskCache.Configuration(directory: URL(filePath: String(cString: wanted.cache_directory)))
        if wanted.disk_limit > 0 { disk.sizeLimit = Int64(clamping: wanted.disk_limit) }
        var memory = MemoryCache<ImageCacheKey, Image>.Configuration.images
        memory.costLimit = Self.memoryCost(wanted.memory_limit)
        let isServer = wanted.policy == WEB_IMAGE_POLICY_SERVER

        var isolation = IsolatedDecoding.Configuration()
        isolation.path = String(optional: wanted.decoder)
        let isolated = IsolatedDecoding(configuration: isolation)
        let codecs = CodecRegistry.shared.isolated(by: isServer ? .allFormats : .libraryFormats, in: isolated)

        var configuration = isServer ? WebImageManager.Configuration.server : WebImageManager.Configuration()
        if wanted.max_megapixels > 0 {
            let factor = Double(wanted.max_megapixels) * 1_000_000 / Double(configuration.decodingLimits.pixelCount)
            configuration.decodingLimits.pixelCount = Int(wanted.max_megapixels) * 1_000_000
            configuration.decodingLimits.processorTime = configuration.decodingLimits.processorTime.map {
                $0 * max(1, factor)
            }
        }
        cache = ImageCache(
            memory: MemoryCache(configuration: memory), disk: DiskCache(configuration: disk),
            configuration: ImageCache.Configuration(codecs: codecs, decodingLimits: configuration.decodingLimits))
        configuration.cache = cache
        configuration.codecs = codecs
        configuration.isolatedDecoding = isolated
        do throws(WebImageError) {
            // Sessions without wishes of their own share connections.
            if wanted.hasDownloadOptions {
                let downloader = ImageDownloader(configuration: try Self.downloads(wanted))
                configuration.loaders = isServer ? [downloader] : [DataURLLoader(), FileLoader(), downloader]
            }
        } catch {
            // Without the wanted proxy nothing is sent. Files and data URLs load.
            configuration.willLoad = { _, _ in throw error }
        }
        if let location = String(optional: wanted.shared_cache) {
            let shared = SharedImageCache(SharedImageCache.Configuration(location: try S3Location(location)))
            configuration.share(shared)
        }
        configuration.loaders = Self.loaders(configuration.loaders.loaders, for: hook, isServer: isServer)
        manager = WebImageManager(configuration: configuration)
        prefetcher = ImagePrefetcher(manager: manager)
        set(wanted.low_data_mode)
    }

    /// How files are downloaded.
    ///
    /// - Throws: an error if the address of the proxy is not valid.
    private static func downloads(
        _ wanted: WebImageBridgeConfiguration
    ) throws(WebImageError) -> ImageDownloader.Configuration {
        let isServer = wanted.policy == WEB_IMAGE_POLICY_SERVER
        var downloads = isServer ? ImageDownloader.Configuration.server : ImageDownloader.Configuration()
        if let userAgent = String(optional: wanted.user_agent) { downloads.headers["User-Agent"] = userAgent }
        if let path = String(optional: wanted.certificate_file) { downloads.certificateAuthorities = .file(path) }
        if wanted.max_connections > 0 { downloads.maximumConnections = Int(wanted.max_connections) }
        if wanted.max_connections_per_host > 0 {
            downloads.maximumConnectionsPerHost = Int(wanted.max_connections_per_host)
        }
        switch String(optional: wanted.proxy) {
        case nil: break
        case "direct://"?: downloads.proxy = .none
        case let text?:
            guard let url = URL(string: text) else { throw .invalidURL(text) }
            downloads.proxy = try .server(url)
        }
        return downloads
    }

    func set(_ mode: WebImageLowDataMode) {
        switch mode {
        case WEB_IMAGE_LOW_DATA_MODE_ON: manager.isLowDataModeEnabled = true
        case WEB_IMAGE_LOW_DATA_MODE_OFF: manager.isLowDataModeEnabled = false
        default: manager.resetLowDataMode()
        }
    }

    /// Adds what only this library has to the loaders of a manager. Handlers are asked first, and what they return stays out of shared
    /// caches.
    private static func loaders(
        _ standard: [any ImageLoader], for hook: SessionHook, isServer: Bool
    ) -> ImageLoaderGroup {
        let group: ImageLoaderGroup = []
        if !isServer { group.add(GIOLoader()) }
        for loader in standard { group.add(loader) }
        group.add(SessionLoader(hook, others: group.loaders))
        return group
    }

    /// The limit of a memory cache; the default for 0.
    static func memoryCost(_ limit: guint64) -> Int {
        limit > 0 ? Int(clamping: limit) : MemoryCache<ImageCacheKey, Image>.Configuration.images.costLimit
    }
}

extension WebImageBridgeConfiguration {
    fileprivate var hasDownloadOptions: Bool {
        user_agent != nil || proxy != nil || certificate_file != nil || max_connections > 0
            || max_connections_per_host > 0
    }
}

@c @implementation
func webimage_bridge_session_new(
    _ configuration: UnsafePointer<WebImageBridgeConfiguration>, _ failed: WebImageBridgeFailed, _ data: gpointer?
) -> OpaquePointer? {
    do throws(WebImageError) {
        return try Session(configuration.pointee).retainedHandle
    } catch {
        error.withBridged { failed(data, $0) }
        return nil
    }
}

@c @implementation
func webimage_bridge_session_set_memory_limit(_ session: OpaquePointer, _ limit: guint64) {
    Session.of(session).cache.memory.costLimit = Session.memoryCost(limit)
}

@c @implementation
func webimage_bridge_session_set_low_data_mode(_ session: OpaquePointer, _ mode: WebImageLowDataMode) {
    Session.of(session).set(mode)
}
