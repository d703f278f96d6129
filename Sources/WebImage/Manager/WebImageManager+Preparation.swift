import FoundationEssentials
public import WebImageCaching
import WebImageCore
import WebImageProcessing

extension WebImageManager {
    /// Returns the cache key of a request, including everything that the manager adds to it.
    public func cacheKey(for request: WebImageRequest) -> ImageCacheKey { prepared(request).cacheKey }

    /// Returns the request completed with the manager's defaults.
    func prepared(_ request: WebImageRequest) -> WebImageRequest {
        guard completesRequests || !request.processors.isEmpty && (!processesEverything || request.isOfAnother) else {
            return request
        }
        var request = request
        configuration.optionsProcessor?(&request)
        if request.processors.isEmpty, request.usesSharedProcessors { request.processors = configuration.processors }
        let url = request.url
        request.changeDetails { details in
            if !configuration.headers.isEmpty { details.headers = completeHeaders(over: details.headers) }
            if let filter = configuration.headersFilter { details.headers = filter(url, details.headers) }
            details.headersIgnoredByCacheKey.formUnion(configuration.headersIgnoredByCacheKey)
            details.credential = details.credential ?? configuration.credential
            details.idleTimeout = details.idleTimeout ?? configuration.idleTimeout
            details.totalTimeout = details.totalTimeout ?? configuration.totalTimeout
            details.cacheKeyFilter = details.cacheKeyFilter ?? configuration.cacheKeyFilter
            details.decodedByteLimit = details.decodedByteLimit ?? configuration.decodedByteLimit
            details.untouched = untouchedKinds(for: details)
        }
        return request
    }

    private func completeHeaders(over own: [String: String]) -> [String: String] {
        let ownNames = Set(own.keys.map { $0.lowercased() })
        return configuration.headers.filter { !ownNames.contains($0.key.lowercased()) }
            .merging(own) { _, own in own }
    }

    private func untouchedKinds(for details: RequestDetails) -> UntouchedKinds {
        var kinds: UntouchedKinds = []
        if !(details.transformsAnimations ?? configuration.transformsAnimations) { kinds.insert(.animations) }
        if !(details.transformsVectors ?? configuration.transformsVectors) { kinds.insert(.vectors) }
        return kinds
    }
}

extension WebImageRequest {
    /// Whether a manager has written down what it leaves as it is, which is for each to say.
    fileprivate var isOfAnother: Bool {
        guard !hasStandardDetails else { return false }
        let details = details
        return !details.untouched.isEmpty || details.transformsAnimations != nil || details.transformsVectors != nil
    }
}

extension WebImageManager.Configuration {
    /// Whether there are defaults to complete requests with.
    var completesRequests: Bool {
        optionsProcessor != nil || !processors.isEmpty || !headers.isEmpty || headersFilter != nil
            || !headersIgnoredByCacheKey.isEmpty || credential != nil || idleTimeout != nil || totalTimeout != nil
            || cacheKeyFilter != nil
            || decodedByteLimit != nil
    }

    /// Whether processors apply to all kinds of images.
    var processesEverything: Bool { transformsAnimations && transformsVectors }
}
