public import FoundationEssentials
public import WebImageCore

/// Loads the bytes of a URL from a server, a file or any other source.
public protocol ImageLoader: Sendable {
    /// Whether the loader handles `url`. Decided from the URL alone, without access to network or disk.
    func canLoad(_ url: URL) -> Bool

    /// Whether data loaded from `url` should be stored in the disk cache; `false` for data that is already on disk.
    func isCacheable(_ url: URL) -> Bool

    /// Returns the header fields that the loader would send for `request`, except those of the connection. They are
    /// compared with the `Vary` field of the response. Called on any thread, so it must not access network or disk.
    ///
    /// The default returns the request's own fields, for loaders that add none.
    func requestHeaders(for request: LoaderRequest) -> [HTTPField]

    /// Starts a load and returns immediately. May be called on any thread.
    ///
    /// - Parameter handler: receives the events on a thread of the loader, one at a time. The last is `.finished`,
    ///   exactly once, also after a cancellation (then with ``WebImageError/cancelled``). The handler must return soon,
    ///   since it may block all other transfers.
    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask
}

extension ImageLoader {
    /// Returns `true`: data from the network is cached.
    public func isCacheable(_ url: URL) -> Bool { true }

    /// Returns the request's own fields, sorted by name.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] { request.headers.sortedFields }
}

/// What a loader reports. The same events pass from the transport through all loaders that wrap others to the pipeline.
public enum LoaderEvent: Sendable {
    /// The load waits in a queue. Only loaders with a queue send this and ``started``.
    case queued
    /// The transfer starts.
    case started
    /// An attempt failed, and another one follows. Everything received so far is void.
    case retrying(LoaderRetry)
    /// The wait for a network connection ended after this time.
    case waited(Duration)
    /// The last attempt failed with an error that differs from the one at the end.
    case attemptFailed(WebImageError)
    /// The response has started; sent once, before any bytes.
    case response(LoaderResponse)
    /// The next bytes of the body.
    case bytes(Data)
    /// The head of an error response; at most once, right before the metrics and the end, which is then
    /// ``WebImageError/httpStatus(code:url:)``. Its body is not delivered.
    case refused(LoaderResponse)
    /// The metrics of the transfer, for a loader that has any; once, right before the end.
    case metrics(LoaderMetrics)
    /// The end: the body is complete and its length verified, or the error.
    case finished(Result<Void, WebImageError>)
}

/// A failed attempt, and the next one.
public struct LoaderRetry: Sendable {
    /// Why the attempt failed.
    public var error: WebImageError
    /// What the next attempt loads: the same URL or an alternative.
    public var url: URL
    /// What the next attempt waits for.
    package var wait: LoadAttempt.Wait

    package init(error: WebImageError, url: URL, wait: LoadAttempt.Wait = .none) {
        self.error = error
        self.url = url
        self.wait = wait
    }
}
