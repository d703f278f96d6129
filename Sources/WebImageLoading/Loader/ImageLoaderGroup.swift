public import FoundationEssentials
public import WebImageCore

/// Combines several loaders. Each URL goes to the most recently added loader that can load it.
///
/// ```swift
/// let token = ImageLoaderGroup.shared.add(ThumbnailLoader())
/// ImageLoaderGroup.shared.remove(token)
/// ```
///
/// Loaders can be added and removed at any time, from any thread. Loads in progress continue with their loader.
public final class ImageLoaderGroup: ImageLoader, ExpressibleByArrayLiteral {
    /// The library's default group: http and https, files, `data:` URLs.
    public static let shared = ImageLoaderGroup([DataURLLoader(), FileLoader(), ImageDownloader.shared])

    /// Identifies a loader in its group, for its removal.
    public struct Token: Hashable, Sendable {
        fileprivate let number: Int
    }

    private let members: Lock<Members>
    /// Reports that no loader was found.
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

    /// Creates a group of `loaders`, added in that order.
    public init(_ loaders: [any ImageLoader] = []) {
        var members = Members()
        for loader in loaders { _ = members.add(loader) }
        self.members = Lock(members)
    }

    /// Creates a group of loaders, added in that order.
    public convenience init(arrayLiteral loaders: any ImageLoader...) { self.init(loaders) }

    /// Adds a loader, which takes precedence over the existing ones.
    @discardableResult
    public func add(_ loader: any ImageLoader) -> Token { members.withLock { $0.add(loader) } }

    /// Removes a loader; does nothing if it was removed before.
    public func remove(_ token: Token) { members.withLock { $0.loaders.removeAll { $0.token == token } } }

    /// The loaders; later ones take precedence.
    public var loaders: [any ImageLoader] { members.withLock { $0.loaders.map(\.loader) } }

    /// Returns the loader for `url`; `nil` if none can load it.
    public func loader(for url: URL) -> (any ImageLoader)? {
        members.withLock { $0.loaders }.last { $0.loader.canLoad(url) }?.loader
    }

    /// Whether any of the loaders can load `url`.
    public func canLoad(_ url: URL) -> Bool { loader(for: url) != nil }

    /// Asks the loader for `url`.
    public func isCacheable(_ url: URL) -> Bool { loader(for: url)?.isCacheable(url) ?? false }

    /// Asks the loader for the request's URL.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] {
        loader(for: request.url)?.requestHeaders(for: request) ?? []
    }

    /// Loads with the loader for the URL; see ``ImageLoader/load(_:priority:handler:)``.
    ///
    /// If there is none, reports ``WebImageError/RequestFailure/unsupportedScheme(_:)``, or ``WebImageError/invalidURL(_:reason:)`` for a
    /// URL without a scheme and for an invalid http or https URL.
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

    /// Returns why no loader can load `url`.
    package static func error(forUnloadable url: URL) -> WebImageError {
        let url = url.separatedFromUserInfo.url
        guard let scheme = url.scheme else { return .invalidURL(url.absoluteString) }
        return HTTPOrigin.isHTTP(url)
            ? .invalidURL(url.absoluteString) : .invalidRequest(reason: .unsupportedScheme(scheme), url: url)
    }
}

/// A load that has already ended.
private final class EndedTask: LoaderTask {
    func cancel() {}
    func setPriority(_ priority: LoadPriority) {}
}
