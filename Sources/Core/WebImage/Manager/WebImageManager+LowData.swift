import FoundationEssentials
import WebImageCore
import WebImageLoading

extension WebImageManager {
    /// Whether loads save data; `false` by default. Programs with views that have not set it follow the desktop: it is then `true` on
    /// metered networks, such as that of a phone (`GNetworkMonitor`).
    ///
    /// In this mode a request loads its ``WebImageRequest/lowDataURL``, and prefetchers pause. Loads in progress continue. A value that was
    /// set stays until ``resetLowDataMode()``.
    ///
    /// ```swift
    /// manager.isLowDataModeEnabled = true
    /// ```
    public var isLowDataModeEnabled: Bool {
        get { lowDataMode.isEnabled }
        set { lowDataMode.isEnabled = newValue }
    }

    /// Has low-data mode follow the network again, after ``isLowDataModeEnabled`` was set: for a setting with the choices "on", "off" and
    /// "automatic".
    public func resetLowDataMode() { lowDataMode.reset() }

    /// A request in low-data mode.
    struct LowDataLoad {
        /// Looks for the full image without the network; `nil` if the policy does not allow that.
        let stored: LoadContext?
        /// Loads the image with fewer bytes.
        let small: LoadContext
    }

    /// Returns how to load an image in low-data mode; `nil` if the mode is off, or nothing is saved.
    func lowDataLoad(of context: LoadContext, _ pipeline: Pipeline) -> LowDataLoad? {
        guard !context.request.hasStandardDetails, let url = context.request.lowDataURL, isLowDataModeEnabled,
            context.mayUseNetwork, let small = pipeline.context(for: context.request(forReplacement: url))
        else { return nil }
        var stored = context.request
        stored.changeDetails { ($0.lowResolutionURL, $0.lowDataURL) = (nil, nil) }
        switch context.request.cachePolicy {
        case .cacheFirst: stored.cachePolicy = .cacheOnly
        case .http: stored.cachePolicy = .offline
        case .refresh, .reload, .cacheOnly, .offline: return LowDataLoad(stored: nil, small: small)
        }
        return LowDataLoad(stored: pipeline.context(for: stored), small: small)
    }
}

extension WebImageRequest {
    /// Whether a response has the image of ``lowDataURL`` in place of this request's.
    public func isReplaced(in response: WebImageResponse) -> Bool {
        lowDataURL.map { $0 == response.url && $0 != url } == true
    }
}

extension LoadContext {
    /// Returns the request for another URL of the same image, with fewer bytes. A server of another origin receives as little as those of
    /// the alternatives.
    func request(forReplacement url: URL) -> WebImageRequest {
        let wanted = loaderRequest.alternative(url)
        var request = request
        request.url = url
        request.changeDetails { details in
            (details.method, details.body) = (.get, nil)
            details.headers = wanted.headers
            details.credential = wanted.credential
            details.isForAnotherOrigin = wanted.isForAnotherOrigin
            details.lowResolutionURL = nil
            details.lowDataURL = nil
            details.provider = nil
            // They are alternatives of the full image.
            details.alternatives = []
        }
        return request
    }
}
