internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

extension WebImageRequest {
    /// Creates a request from that of C code.
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a text that is not a URL with a scheme.
    init(_ request: WebImageBridgeRequest) throws(WebImageError) {
        var processors = request.processor.map { ProcessorChain.of($0).processors } ?? []
        var thumbnail: Thumbnail?
        if request.width > 0 || request.height > 0 {
            let factor = max(1, request.scale_factor)
            let size = TargetSize.pixels(width: request.width * factor, height: request.height * factor)
            thumbnail = Thumbnail(size, mode: ResizeMode(request.fit))
            // Parts beyond the box are cut off.
            if request.fit == GTK_CONTENT_FIT_COVER {
                let focus = FocalPoint(x: request.focus_x, y: request.focus_y)
                processors.insert(.resize(toFill: size, focus: focus, allowsUpscaling: false), at: 0)
            }
        }
        if let source = request.source {
            self = try Source.of(source).request.get()
            priority = LoadPriority(request.priority)
            cachePolicy = CachePolicy(request.cache_policy)
            (self.thumbnail, self.processors) = (thumbnail, processors)
        } else {
            try self.init(
                String(optional: request.uri) ?? "", priority: LoadPriority(request.priority),
                cachePolicy: CachePolicy(request.cache_policy), thumbnail: thumbnail, processors: processors,
                headers: Self.headers(of: request))
        }
        // A size in points.
        if request.scale_factor > 0 { scale = Double(request.scale_factor) }
        if let text = String(optional: request.low_data_uri) { lowDataURL = try WebImageRequest(text).url }
    }

    private static func headers(of request: WebImageBridgeRequest) -> [String: String] {
        guard let fields = request.headers else { return [:] }
        let texts = (0..<Int(request.header_count) * 2).map { String(cString: fields[$0]) }
        let pairs = stride(from: 0, to: texts.count, by: 2).map { (texts[$0], texts[$0 + 1]) }
        return Dictionary(pairs) { first, second in "\(first), \(second)" }
    }
}

extension ResizeMode {
    init(_ fit: GtkContentFit) {
        switch fit {
        case GTK_CONTENT_FIT_COVER: self = .aspectFill
        case GTK_CONTENT_FIT_FILL: self = .stretch
        default: self = .aspectFit
        }
    }
}

extension LoadPriority {
    init(_ priority: WebImagePriority) {
        switch priority {
        case WEB_IMAGE_PRIORITY_VERY_LOW: self = .veryLow
        case WEB_IMAGE_PRIORITY_LOW: self = .low
        case WEB_IMAGE_PRIORITY_HIGH: self = .high
        case WEB_IMAGE_PRIORITY_VERY_HIGH: self = .veryHigh
        default: self = .normal
        }
    }
}

extension CachePolicy {
    init(_ policy: WebImageCachePolicy) {
        switch policy {
        case WEB_IMAGE_CACHE_POLICY_HTTP: self = .http
        case WEB_IMAGE_CACHE_POLICY_REFRESH: self = .refresh
        case WEB_IMAGE_CACHE_POLICY_RELOAD: self = .reload
        case WEB_IMAGE_CACHE_POLICY_CACHE_ONLY: self = .cacheOnly
        case WEB_IMAGE_CACHE_POLICY_OFFLINE: self = .offline
        default: self = .cacheFirst
        }
    }
}
