internal import FoundationEssentials
public import WebImage
internal import WebImageCore
internal import WebImageLoading

/// Looks a request up in a shared cache before it calls the loader behind it, as a caching proxy would.
struct SharedLoader: LoaderDecorator {
    let cache: SharedImageCache
    let base: any ImageLoader

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let headers = base.requestHeaders(for: request)
        guard ["http", "https"].contains(request.url.scheme?.lowercased()) else {
            return base.load(request, priority: priority, handler: handler)
        }
        if let obstacle = obstacle(to: request, headersSent: headers) {
            handler(.report(.noted("shared cache: not used for this request: \(obstacle)")))
            return base.load(request, priority: priority, handler: handler)
        }
        let load = SharedLoad(cache.store, base, SharingRules(of: origin), request, headers, priority, handler)
        if request.bypassesSharedCache {
            load.startWithoutLookUp(because: "what it has is no image")
        } else if cache.store.isPausing {
            load.startWithoutLookUp(because: "it failed")
        } else {
            load.start()
        }
        return load
    }

    private func obstacle(
        to request: LoaderRequest, headersSent headers: [HTTPHeader]
    ) -> HTTPCachePolicy.SharedObstacle? {
        if SharingRules(of: origin)?.hasPrivateAccess(for: request) ?? false { return .personalRequest }
        return HTTPCachePolicy.sharedObstacle(to: request, headersSent: headers)
    }

    /// The loader behind this cache, and those behind it.
    private var origin: any ImageLoader { (base as? SharedLoader)?.origin ?? base }
}

extension WebImageManager.Configuration {
    /// Looks images up in a shared cache when they are neither in memory nor on disk, before a server is contacted.
    ///
    /// - Parameter cache: several managers may share one.
    public mutating func share(_ cache: SharedImageCache) {
        loaders = ImageLoaderGroup(
            loaders.loaders.map { loader in
                // Files and `data:` URLs need no cache.
                guard let url = URL(string: "https://example.invalid/"), loader.canLoad(url) else { return loader }
                return SharedLoader(cache: cache, base: loader)
            })
    }
}
