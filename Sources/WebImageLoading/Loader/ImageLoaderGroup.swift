public import FoundationEssentials
public import WebImageCore

/// Several loaders as one: each URL goes to the one added last of those that can load it.
///
/// ```swift
/// let token = ImageLoaderGroup.shared.add(ThumbnailLoader())
/// ImageLoaderGroup.shared.remove(token)
/// ```
///
/// Loaders can be added and removed at any time, from any thread; loads under way stay with the loader they began with.
public final class ImageLoaderGroup: ImageLoader, ExpressibleByArrayLiteral {
    /// The group the library uses unless told otherwise: http and https, files, `data:` URLs.
    public static let shared = ImageLoaderGroup([DataURLLoader(), FileLoader(), ImageDownloader.shared])

    /// Names a loader in its group, to remove it.
    public struct Token: Hashable, Sendable {
        fileprivate let number: Int
    }

    private let members: Lock<Members>
    /// For the one answer the group gives itself, that there is no loader.
    private static let queue = WorkQueue(label: "webimage-group", threadCount: 1)

    private struct Members {
        var loaders: [(token: Token, loader: any ImageLoader)] = []
        var nextNumber = 0

        mutating func add(_ loader: any ImageLoader) -> Token {
            defer { nextNumber += 1 }
            loaders.append((Token(number: nextNumber), loader))
            return Token(number: nextNumber)
        }
    }

    /// Makes a group of `loaders`, in the order in which they are added.
    public init(_ loaders: [any ImageLoader] = []) {
        var members = Members()
        for loader in loaders { _ = members.add(loader) }
        self.members = Lock(members)
    }

    /// Makes a group, in the order in which they are added.
    public convenience init(arrayLiteral loaders: any ImageLoader...) { self.init(loaders) }

    /// Adds a loader, which is asked before those already there.
    @discardableResult
    public func add(_ loader: any ImageLoader) -> Token { members.withLock { $0.add(loader) } }

    /// Removes a loader; does nothing if it is gone already.
    public func remove(_ token: Token) { members.withLock { $0.loaders.removeAll { $0.token == token } } }

    /// The loaders, those asked first last.
    public var loaders: [any ImageLoader] { members.withLock { $0.loaders.map(\.loader) } }

    /// The one that gets `url`; `nil` when none can load it.
    public func loader(for url: URL) -> (any ImageLoader)? {
        members.withLock { $0.loaders }.last { $0.loader.canLoad(url) }?.loader
    }

    /// Whether any of its loaders can load `url`.
    public func canLoad(_ url: URL) -> Bool { loader(for: url) != nil }

    /// As the loader that gets `url` has it.
    public func isCacheable(_ url: URL) -> Bool { loader(for: url)?.isCacheable(url) ?? false }

    /// As the loader that gets the URL has them.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] {
        loader(for: request.url)?.requestHeaders(for: request) ?? []
    }

    /// Lets the loader for the URL load; see ``ImageLoader/load(_:priority:handler:)``.
    ///
    /// Without one it reports ``WebImageError/unsupportedScheme(_:url:)``, or ``WebImageError/invalidURL(_:)`` for a URL
    /// that has no scheme, or none of http and https that a server can be asked for.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        if let loader = loader(for: request.url) {
            return loader.load(request, priority: priority, handler: handler)
        }
        let error = Self.error(forUnloadable: request.url)
        Self.queue.submit { handler(.finished(.failure(error))) }
        return EndedTask()
    }

    /// Why no loader takes `url`.
    package static func error(forUnloadable url: URL) -> WebImageError {
        let url = url.separatedFromUserInfo.url
        guard let scheme = url.scheme else { return .invalidURL(url.absoluteString) }
        return HTTPOrigin.isHTTP(url) ? .invalidURL(url.absoluteString) : .unsupportedScheme(scheme, url: url)
    }
}

/// A load that is over before it is returned.
private final class EndedTask: LoaderTask {
    func cancel() {}
    func setPriority(_ priority: LoadPriority) {}
}
