public import FoundationEssentials
public import WebImageCore

/// Turns a URL into bytes: from a server, from a file, from anything.
public protocol ImageLoader: Sendable {
    /// Whether it handles `url`; told from the URL alone, without touching network or disk.
    func canLoad(_ url: URL) -> Bool

    /// Whether what it loads from `url` is worth a copy in the disk cache; `false` for what is on the disk anyway.
    func isCacheable(_ url: URL) -> Bool

    /// The header fields that it would send for `request`, without those of the connection: what a Vary of the answer is
    /// compared with. Asked from any thread; touches neither network nor disk.
    ///
    /// By default the request's own, which suits a loader that adds none.
    func requestHeaders(for request: LoaderRequest) -> [HTTPField]

    /// Starts to load; returns at once, from any thread.
    ///
    /// - Parameter handler: gets the events on a thread of the loader's, one at a time; the last is `.finished`, exactly
    ///   once, also after a cancel (then with ``WebImageError/cancelled``). It must return soon: it may hold up every
    ///   other transfer.
    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask
}

extension ImageLoader {
    /// `true`: what came over the network is kept.
    public func isCacheable(_ url: URL) -> Bool { true }

    /// The request's own, in the order of their names.
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
    /// The head of a response that is an error; at most once, right before the metrics and the end, which is then
    /// ``WebImageError/httpStatus(code:url:)``. None of its body is delivered.
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
    public var wait: LoadAttempt.Wait

    /// Creates an event.
    public init(error: WebImageError, url: URL, wait: LoadAttempt.Wait = .none) {
        self.error = error
        self.url = url
        self.wait = wait
    }
}
