import FoundationEssentials
import WebImageCore
import WebImageLoading

/// How hard a request wants its bytes: requests share a transfer only if they would give up at the same point.
struct AttemptOptions: Hashable, Sendable {
    var policy = RetryPolicy.none
    var alternatives: [URL] = []
    var waitsForConnectivity = false
}

/// What may be tried for one load, in order.
struct AttemptPlan: Sendable {
    struct Source: Sendable {
        let request: LoaderRequest
        let loader: any ImageLoader

        /// As people may see it: without a password.
        var shownURL: URL { request.url.separatedFromUserInfo.url }
    }

    /// The request's own URL first; never empty.
    let sources: [Source]
    let policy: RetryPolicy
    let waitsForConnectivity: Bool

    /// - Parameters:
    ///   - loader: for the request's own URL.
    ///   - alternativeLoader: gives the loader for each of the others.
    init(
        _ request: LoaderRequest, loader: any ImageLoader, options: AttemptOptions,
        alternativeLoader: (URL) -> any ImageLoader
    ) {
        // What changes something on a server is done at one place at most.
        let alternatives = request.method.isIdempotent ? options.alternatives : []
        sources =
            [Source(request: request, loader: loader)]
            + alternatives.map { Source(request: request.alternative($0), loader: alternativeLoader($0)) }
        policy = options.policy
        waitsForConnectivity = options.waitsForConnectivity && request.method.isIdempotent
    }
}
