internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage
internal import WebImageShared

/// A manager with its own cache, downloader and decoder processes, as C code configures it.
final class Session: Handle, Sendable {
    let manager: WebImageManager
    let cache: ImageCache
    let prefetcher: ImagePrefetcher

    init(_ wanted: WebImageBridgeConfiguration) throws(WebImageError) {
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
        cache = ImageCache(
            memory: MemoryCache(configuration: memory), disk: DiskCache(configuration: disk),
            configuration: ImageCache.Configuration(codecs: codecs, decodingLimits: configuration.decodingLimits))
        configuration.cache = cache
        configuration.codecs = codecs
        configuration.isolatedDecoding = isolated
        if let userAgent = String(optional: wanted.user_agent) {
            var downloads = isServer ? ImageDownloader.Configuration.server : ImageDownloader.Configuration()
            downloads.headers["User-Agent"] = userAgent
            let downloader = ImageDownloader(configuration: downloads)
            configuration.loaders = isServer ? [downloader] : [DataURLLoader(), FileLoader(), downloader]
        }
        if let location = String(optional: wanted.shared_cache) {
            let shared = SharedImageCache(SharedImageCache.Configuration(location: try S3Location(location)))
            configuration.share(shared)
        }
        manager = WebImageManager(configuration: configuration)
        prefetcher = ImagePrefetcher(manager: manager)
    }

    /// The limit of a memory cache; the default for 0.
    static func memoryCost(_ limit: guint64) -> Int {
        limit > 0 ? Int(clamping: limit) : MemoryCache<ImageCacheKey, Image>.Configuration.images.costLimit
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
