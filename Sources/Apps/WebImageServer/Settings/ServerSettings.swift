internal import FoundationEssentials
internal import WebImage
internal import WebImageLoading
internal import WebImageService
internal import WebImageShared

/// The values of the settings, with their defaults.
struct ServerSettings: Sendable {
    // Connections.
    var places = ["127.0.0.1:8080"]
    /// Whether a setting names them.
    var namesPlaces = false
    var limits = HTTPServer.Limits()
    var stopTime = 30
    var logsRequests = true

    // The service.
    var service = ImageService.Configuration()
    var keyDigits: [String] = [], saltDigits: [String] = []
    var allowsUnsigned = false
    /// That all requests have; empty for none.
    var secret = ""
    /// Of `Access-Control-Allow-Origin`; empty for none.
    var allowedOrigin = ""
    var usesStore = false
    var storeEndpoint = "", storeRegion = ""
    var offers: Set<ImageFormat> = [.avif, .webp]
    var isolation = IsolationPolicy.allFormats
    var hasQualityBound = false
    var qualityBound = ImageService.QualityBound()
    var lowestQuality = ImageService.QualityBound().qualities.lowerBound
    var highestQuality = ImageService.QualityBound().qualities.upperBound
    var lowestFormatQualities: [ImageFormat: Int] = [:], highestFormatQualities: [ImageFormat: Int] = [:]

    // Uploads.
    /// With an empty destination for none.
    var uploads = ImageService.Uploads(to: "")

    // Addresses.
    var allowsLoopback = false, allowsPrivate = false, allowsLinkLocal = false
    var maximumRedirects = ImageDownloader.Configuration.server.maximumRedirects

    // Caches.
    var cacheDirectory: String?
    var cacheByteCount: Int = 2 << 30
    var shared: String?
    var sharedTimeout = SharedImageCache.Budget().firstByte

    /// The limits of connections, with those of uploads.
    var serverLimits: HTTPServer.Limits {
        var limits = limits
        // The service refuses what is too long or too slow, and can say so if the client sends the rest. It is not read for ever.
        limits.bodyByteCount = uploads.policy.byteLimit + (1 << 20)
        limits.times.body = service.limits.transferTime + .seconds(5)
        return limits
    }

    /// Returns what to say about sockets of systemd, which take precedence over ``places``.
    func warning(inheritedCount: Int) -> String? {
        guard inheritedCount > 0, namesPlaces else { return nil }
        return "IMGPROXY_BIND is ignored: systemd has opened the socket; change ListenStream of webimage-server.socket"
    }

    /// The configuration of the service.
    ///
    /// - Throws: what is missing, or does not fit together.
    func configuration() throws(Setting.Invalid) -> ImageService.Configuration {
        var configuration = service
        configuration.keys = try keys()
        configuration.offeredFormats = [.jpegXL, .avif, .webp].filter { offers.contains($0) }
        if usesStore { configuration.store = try store() }
        if !uploads.destination.isEmpty { configuration.uploads = uploads }
        configuration.optionQualityBound = try completeQualityBound()
        if hasQualityBound { configuration.qualityBound = configuration.optionQualityBound }

        var downloads = ImageDownloader.Configuration.server
        downloads.maximumResponseByteCount = Int64(configuration.limits.sourceByteCount)
        downloads.maximumRedirects = maximumRedirects
        var networks: [String] = []
        if allowsLoopback { networks += ["127.0.0.0/8", "::1"] }
        if allowsPrivate { networks += ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"] }
        if allowsLinkLocal { networks += ["169.254.0.0/16", "fe80::/10"] }
        downloads.addressPolicy.allowedNetworks = networks
        configuration.images.loaders = [ImageDownloader(configuration: downloads)]
        configuration.images.isolation = isolation
        // Results are stored, so originals need not be kept in memory.
        configuration.images.cache = ImageCache(
            memory: MemoryCache(costLimit: 0), disk: disk("originals"),
            configuration: ImageCache.Configuration(decodingLimits: configuration.limits.decoding))
        configuration.disk = disk("results")
        if let shared {
            do {
                var cache = SharedImageCache.Configuration(location: try S3Location(shared))
                cache.budget.firstByte = sharedTimeout
                configuration.shared = SharedImageCache(cache)
            } catch {
                throw Setting.Invalid("the shared cache is s3://bucket/prefix, not '\(shared)'")
            }
        }
        return configuration
    }

    private func completeQualityBound() throws(Setting.Invalid) -> ImageService.QualityBound {
        guard lowestQuality <= highestQuality else {
            throw Setting.Invalid("IMGPROXY_AUTOQUALITY_MIN is not above IMGPROXY_AUTOQUALITY_MAX")
        }
        var bound = qualityBound
        bound.qualities = lowestQuality...highestQuality
        for format in Set(lowestFormatQualities.keys).union(highestFormatQualities.keys) {
            let lowest = lowestFormatQualities[format] ?? lowestQuality
            let highest = highestFormatQualities[format] ?? highestQuality
            guard lowest <= highest else {
                throw Setting.Invalid(
                    "the lowest quality of \(format.name) is above its highest: \(lowest), \(highest)")
            }
            bound.formatQualities[format] = lowest...highest
        }
        return bound
    }

    private func keys() throws(Setting.Invalid) -> [SigningKey] {
        guard keyDigits.count == saltDigits.count else {
            throw Setting.Invalid("there are \(keyDigits.count) keys and \(saltDigits.count) salts; each key has one")
        }
        var keys: [SigningKey] = []
        for (key, salt) in zip(keyDigits, saltDigits) {
            guard let key = SigningKey(hexKey: key, hexSalt: salt) else {
                throw Setting.Invalid("keys and salts are hexadecimal digits")
            }
            keys.append(key)
        }
        guard !keys.isEmpty || allowsUnsigned else {
            throw Setting.Invalid("there is no key: set --key and --salt, or --unsigned for development")
        }
        return keys
    }

    private func store() throws(Setting.Invalid) -> S3Location {
        var parts: [String] = []
        if !storeEndpoint.isEmpty { parts.append("endpoint=" + storeEndpoint) }
        if !storeRegion.isEmpty { parts.append("region=" + storeRegion) }
        do {
            // The bucket is that of each source.
            return try S3Location("s3://any-bucket" + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&")))
        } catch {
            throw Setting.Invalid("the endpoint of the store is not a URL such as https://store.example:9000")
        }
    }

    /// Half of the space is for originals, half for results.
    private func disk(_ name: String) -> DiskCache? {
        guard let cacheDirectory else { return nil }
        var configuration = DiskCache.Configuration(
            directory: URL(filePath: cacheDirectory, directoryHint: .isDirectory).appending(path: name))
        configuration.sizeLimit = Int64(cacheByteCount / 2)
        return DiskCache(configuration: configuration)
    }
}
