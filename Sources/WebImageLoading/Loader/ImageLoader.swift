public import FoundationEssentials
public import WebImageCore

/// Turns a URL into bytes: from a server, from a file, from anything.
public protocol ImageLoader: Sendable {
    /// Whether it handles `url`; told from the URL alone, without touching network or disk.
    func canLoad(_ url: URL) -> Bool

    /// Whether what it loads from `url` is worth a copy in the disk cache; `false` for what is on the disk anyway.
    func isCacheable(_ url: URL) -> Bool

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
}

/// What a loader is asked for.
public struct LoaderRequest: Sendable, Hashable {
    /// Where the bytes are.
    public var url: URL
    /// Headers for a loader that sends any, by name; they replace the loader's own of the same name.
    public var headers: [String: String]
    /// For a server that asks for one; `nil` by default. It replaces `user:password@` in the URL, and is never shown to
    /// another origin than the URL's. An `Authorization` header set by hand goes before it.
    public var credential: Credential?
    /// Whether credentials that worked are kept in memory and used again; `false` by default.
    public var usesCredentialStorage = false
    /// Whether cookies are taken from the downloader's ``CookieJar`` and kept in it; `false` by default. A `Cookie` header
    /// set by hand is sent after those of the jar.
    public var handlesCookies = false
    /// Whether any certificate will do: **anybody on the way can then read and change what is loaded**; `false` by default.
    /// It shares no connections with requests that check, nor what they know: it neither uses nor changes the cookie jar and
    /// the stored credentials, whatever ``handlesCookies`` and ``usesCredentialStorage`` say.
    public var allowsInvalidCertificates = false
    /// What is asked for: the picture, or its head alone; ``Method/get`` by default.
    public var method = Method.get
    /// How long nothing may arrive; `nil`, the default, leaves it to the loader.
    public var idleTimeout: Duration?

    /// Makes a request.
    public init(url: URL, headers: [String: String] = [:], credential: Credential? = nil) {
        self.url = url
        self.headers = headers
        self.credential = credential
    }

    /// What a request can ask for.
    public enum Method: String, Sendable, Hashable {
        /// Head and body.
        case get = "GET"
        /// The head alone; such a load ends without any bytes.
        case head = "HEAD"
    }
}

/// What a loader reports while it works.
public enum LoaderEvent: Sendable {
    /// The answer has begun; sent once, before any bytes.
    case response(LoaderResponse)
    /// The next piece of the body.
    case bytes(Data)
    /// How the transfer went, for a loader that knows; once, right before the end.
    case metrics(LoaderMetrics)
    /// The end: the body is complete and its length checked, or why not.
    case finished(Result<Void, WebImageError>)
}

/// The head of a loader's answer.
public struct LoaderResponse: Sendable {
    /// Where the bytes came from in the end, after redirects.
    public var url: URL
    /// The HTTP status; `nil` for a loader without one.
    public var statusCode: Int?
    /// The header fields as they came, in order; empty for a loader without any.
    public var headers: [HTTPField]
    /// How long the body will be, in bytes, where that is known.
    public var expectedByteCount: Int64?

    /// Makes a response.
    public init(url: URL, statusCode: Int? = nil, headers: [HTTPField] = [], expectedByteCount: Int64? = nil) {
        self.url = url
        self.statusCode = statusCode
        self.headers = headers
        self.expectedByteCount = expectedByteCount
    }

    /// The value of the last field with that name, in any case.
    public func headerValue(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.last { $0.name.lowercased() == wanted }?.value
    }
}

/// One header field.
public struct HTTPField: Sendable, Hashable, Codable {
    /// Its name as it came; names compare without regard to case.
    public var name: String
    /// Its value without the white space around it.
    public var value: String

    /// Makes a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
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
