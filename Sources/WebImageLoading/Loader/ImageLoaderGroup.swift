public import FoundationEssentials
public import WebImageCore

/// Combines several loaders. Each URL goes to the most recently added loader that can load it.
///
/// ```swift
/// ImageLoaderGroup.shared.add(ThumbnailLoader())
/// ImageLoaderGroup.shared.remove { $0 is ThumbnailLoader }
/// ```
///
/// Loaders can be added and removed at any time, from any thread. Loads in progress continue with their loader.
public final class ImageLoaderGroup: ImageLoader, ExpressibleByArrayLiteral {
    /// The library's default group: http and https, files, `data:` URLs.
    public static let shared = ImageLoaderGroup([DataURLLoader(), FileLoader(), ImageDownloader.shared])

    private let members: Lock<[any ImageLoader]>
    /// Reports that no loader was found.
    private static let queue = WorkQueue(label: "webimage-group", threadCount: 1)

    /// Creates a group of `loaders`, added in that order.
    public init(_ loaders: [any ImageLoader] = []) { members = Lock(loaders) }

    /// Creates a group of loaders, added in that order.
    public convenience init(arrayLiteral loaders: any ImageLoader...) { self.init(loaders) }

    /// Adds a loader, which takes precedence over the existing ones.
    public func add(_ loader: any ImageLoader) { members.withLock { $0.append(loader) } }

    /// Removes the loaders that satisfy the predicate, which must not use the group.
    public func remove(where isRemoved: (any ImageLoader) -> Bool) {
        members.withLock { $0.removeAll(where: isRemoved) }
    }

    /// The loaders; later ones take precedence.
    public var loaders: [any ImageLoader] { members.withLock { $0 } }

    /// Returns the loader for `url`; `nil` if none can load it.
    public func loader(for url: URL) -> (any ImageLoader)? {
        loaders.last { $0.canLoad(url) }
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
    /// Without such a loader, reports ``WebImageError/RequestFailure/unsupportedScheme(_:)``, or ``WebImageError/invalidURL(_:reason:)`` for a
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
