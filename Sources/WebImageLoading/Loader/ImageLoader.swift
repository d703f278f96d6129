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

/// What a loader reports while it works.
public enum LoaderEvent: Sendable {
    /// The answer has begun; sent once, before any bytes.
    case response(LoaderResponse)
    /// The next piece of the body.
    case bytes(Data)
    /// The head of an answer that is refused for its status; at most once, right before the metrics and the end, which is
    /// then ``WebImageError/httpStatus(code:url:)``. Nothing of its body is delivered.
    case refused(LoaderResponse)
    /// How the transfer went, for a loader that knows; once, right before the end.
    case metrics(LoaderMetrics)
    /// The end: the body is complete and its length checked, or why not.
    case finished(Result<Void, WebImageError>)
}

/// A load under way.
public protocol LoaderTask: AnyObject, Sendable {
    /// Stops it; its handler gets `.finished` with ``WebImageError/cancelled`` unless it has ended already. Never blocks,
    /// and may be called any number of times, from any thread.
    func cancel()

    /// Moves it among those that wait for a slot; does nothing once it has started.
    func setPriority(_ priority: LoadPriority)

    /// Stops the bytes for now: once what is on its way has been delivered, a piece or two, no more arrive until
    /// ``resume()``. The server is held back too; time limits rest. Its slot stays taken. Never blocks.
    func pause()

    /// Lets the bytes come again; harmless when they were not stopped.
    func resume()
}

extension LoaderTask {
    /// Does nothing: for loaders whose bytes are few, or are there already.
    public func pause() {}
    /// Does nothing, as `pause()`.
    public func resume() {}
}
