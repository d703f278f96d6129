internal import FoundationEssentials
internal import Synchronization
internal import WebImage
internal import WebImageShared

/// A manager with its caches and loaders, for one command.
final class LoadingSession: Sendable {
    private let options: SourceOptions
    private let disk: DiskCache?
    private let manager: WebImageManager
    private let shared: SharedImageCache?
    /// Whether something was loaded that may be cached.
    private let usesCaches = Mutex(false)

    /// - Parameter codecs: what decodes.
    init(options: SourceOptions, codecs: CodecRegistry) {
        self.options = options
        disk = options.cache?.open { Console.standard.complain($0.shellText()) }
        let cache = ImageCache(disk: disk)
        let loaders: ImageLoaderGroup = [DataURLLoader(), FileLoader.chosenFiles, options.downloader]
        var configuration = WebImageManager.Configuration(cache: cache, loaders: loaders, codecs: codecs)
        configuration.harmlessHeaders = options.harmlessHeaders
        shared = options.shared.map { SharedImageCache(SharedImageCache.Configuration(location: $0)) }
        if let shared { configuration.share(shared) }
        manager = WebImageManager(configuration: configuration)
    }

    /// A request for an image that is decoded.
    ///
    /// - Parameters:
    ///   - size: what is made of the image.
    ///   - limits: what is refused.
    func request(for input: ImageInput, size: SizeOptions.Request, limits: InputLimits) -> WebImageRequest {
        var request = request(for: input)
        request.thumbnail = size.thumbnail
        request.processors = size.processors
        request.decodingLimits = limits.limits(for: input)
        request.allowsDamage = limits.damage == .allowed
        return request
    }

    func request(for input: ImageInput) -> WebImageRequest {
        if input.isStandardInput { return StandardInput.request }
        var request = WebImageRequest(
            input.url, cachePolicy: options.policy, headers: options.headers, credential: options.credential)
        request.retryPolicy = RetryPolicy(maximumAttempts: 1 + options.retryCount)
        if options.handlesCookies { request.handlesCookies = true }
        if options.allowsInvalidCertificates { request.allowsInvalidCertificates = true }
        return request
    }

    /// Loads one image.
    func load(_ request: WebImageRequest) async throws(WebImageError) -> WebImageResponse {
        try await outcome(of: request).result.get()
    }

    /// Returns a file with one image, which stays in the disk cache's folder for a while.
    func file(
        for request: WebImageRequest, format: ImageFormat?, quality: Double
    ) async throws(WebImageError) -> CachedFile {
        usesCaches.withLock { $0 = true }
        return try await manager.file(for: request, format: format, quality: quality)
    }

    /// Loads one image; returns also what happened.
    ///
    /// - Parameter progress: called on the manager's callback queue, which may block.
    func outcome(
        of request: WebImageRequest, progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil
    ) async -> (result: Result<WebImageResponse, WebImageError>, trace: LoadTrace) {
        if !request.url.isFileURL { usesCaches.withLock { $0 = true } }
        let (results, end) = AsyncStream<Result<WebImageResponse, WebImageError>>.makeStream()
        let operation = manager.load(request, progress: progress) { end.yield($0) }
        let result = await results.first { _ in true } ?? .failure(.cancelled)
        return (result, operation.trace)
    }

    /// Returns the file's bytes. The memory cache has only pixels, so the bytes of its images are fetched if needed.
    func bytes(
        of response: WebImageResponse, for request: WebImageRequest, areNeeded: Bool
    ) async throws(WebImageError) -> Data? {
        if response.data != nil || !areNeeded { return response.data }
        if let data = await disk?.data(for: manager.cacheKey(for: request).source) { return data }
        var request = request
        request.cachePolicy = .reload
        return try await load(request).data
    }

    /// Waits until everything is on disk, so that the process can end.
    func finish() async {
        // A cache that was not used is not even opened, which would take longer than reading a file.
        guard usesCaches.withLock({ $0 }) else { return }
        await disk?.flush()
        await shared?.flush()
    }
}

extension SourceOptions {
    fileprivate var downloader: ImageDownloader {
        var configuration = ImageDownloader.Configuration()
        configuration.maximumConnectionsPerHost = concurrency
        configuration.maximumConnections = concurrency
        if let idleTimeout {
            configuration.connectTimeout = idleTimeout
            configuration.idleTimeout = idleTimeout
        }
        configuration.totalTimeout = totalTimeout
        if let authorities { configuration.certificateAuthorities = .file(authorities) }
        return ImageDownloader(configuration: configuration)
    }
}
