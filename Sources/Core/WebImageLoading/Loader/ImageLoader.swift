public import FoundationEssentials
public import WebImageCore

/// Loads the bytes of a URL from a server, a file or any other source.
///
/// ```swift
/// let loader: any ImageLoader = ImageDownloader.shared
/// let bytes = try await loader.bytes(for: LoaderRequest(url: url))
/// ```
public protocol ImageLoader: Sendable {
    /// Whether the loader handles `url`. Decided from the URL alone, without access to network or disk.
    func canLoad(_ url: URL) -> Bool

    /// Whether data loaded from `url` should be stored in the disk cache; `false` for data that is already on disk.
    func isCacheable(_ url: URL) -> Bool

    /// Starts a load and returns immediately. May be called on any thread.
    ///
    /// A loader that adds credentials or header fields must send them only to the servers that they are for: the URL may
    /// be an alternative of the request's, on another origin. A response's `Vary` field is compared with the
    /// fields in `request`, not with those that a custom loader adds.
    ///
    /// - Parameter handler: receives the events on a thread of the loader, one at a time. The last is `.finished`,
    ///   exactly once, also after a cancellation (then with ``WebImageError/cancelled``). The handler must return soon,
    ///   since it may block all other transfers.
    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask

    /// Returns the header fields that the loader would send for `request`, except those of the connection. They are compared with the `Vary`
    /// field of a stored response. By default, these are the request's own fields.
    ///
    /// Called on any thread, so it must not access network or disk.
    func requestHeaders(for request: LoaderRequest) -> [HTTPHeader]
}

extension ImageLoader {
    /// Returns `true`: data from the network is cached.
    public func isCacheable(_ url: URL) -> Bool { true }

    /// Returns the request's own fields.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPHeader] { request.headers.sortedFields }
}

/// An event of a load. The same events pass from the transport through all loaders that wrap others to the pipeline.
///
/// ```swift
/// let task = ImageDownloader.shared.load(LoaderRequest(url: url), priority: .normal) { event in
///     switch event {
///     case .response(let response): print(response.statusCode ?? 0)
///     case .bytes(let bytes): print(bytes.count)
///     case .finished(let result): print(result)
///     default: break
///     }
/// }
/// ```
public enum LoaderEvent: Sendable {
    /// The response has started; sent once, before any bytes.
    case response(LoaderResponse)
    /// The next bytes of the body.
    case bytes(Data)
    /// The head of an error response; at most once, right before the metrics and the end, which is then
    /// ``WebImageError/httpStatus(code:url:)``. Its body is not delivered.
    case refused(LoaderResponse)
    /// Queueing, attempts and metrics of the library's loaders. A loader that wraps another one passes it on.
    case report(LoaderReport)
    /// The end: the body is complete and its length verified, or the error.
    case finished(Result<Void, WebImageError>)
}

/// What a loader tells about a load besides the response; see ``LoaderEvent/report(_:)``.
public enum LoaderReport: Sendable {
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
    /// A note of a loader that wraps another one, as a text for the trace.
    case noted(String)
    /// A cache that stores only images waits for the judgment of the body; right before the end.
    case judged(by: BodyJudgment)
    /// The metrics of the transfer, for a loader that has any; once, right before the end.
    case metrics(LoaderMetrics)
}

extension LoaderEvent {
    /// The metrics that the event reports.
    var metrics: LoaderMetrics? { if case .report(.metrics(let metrics)) = self { metrics } else { nil } }
}

/// A failed attempt, and the next one.
public struct LoaderRetry: Sendable {
    /// Why the attempt failed.
    public var error: WebImageError
    /// The URL of the next attempt: the same or an alternative.
    public var url: URL
    /// The event that the next attempt waits for.
    public var wait: LoadAttempt.Wait

    /// Creates a report of a failed attempt.
    ///
    /// - Parameters:
    ///   - error: why it failed.
    ///   - url: of the next attempt.
    ///   - wait: the event that the next attempt waits for; none by default.
    public init(error: WebImageError, url: URL, wait: LoadAttempt.Wait = .none) {
        self.error = error
        self.url = url
        self.wait = wait
    }
}
