public import FoundationEssentials
internal import Synchronization
public import WebImageCore

/// Combines several loaders. Each URL goes to the most recently added loader that can load it.
///
/// ```swift
/// let downloader = ImageDownloader(configuration: ImageDownloader.Configuration())
/// ImageLoaderGroup.shared.remove { $0 is ImageDownloader }
/// ImageLoaderGroup.shared.add(downloader)
/// ```
///
/// Loaders can be added and removed at any time, from any thread. Loads in progress continue with their loader.
public final class ImageLoaderGroup: ExpressibleByArrayLiteral, Sendable {
    /// The library's default group: http and https, files (at most 200 MiB), `data:` URLs.
    public static let shared = ImageLoaderGroup([DataURLLoader(), FileLoader(), ImageDownloader.shared])

    private let members: Lock<[any ImageLoader]>
    /// Whether a member loads every http and https URL, for images in memory, of which most have one.
    private let loadsHTTP: Atomic<Bool>

    /// Creates a group of `loaders`, added in that order.
    public init(_ loaders: [any ImageLoader] = []) {
        members = Lock(loaders)
        loadsHTTP = Atomic(Self.loadHTTP(loaders))
    }

    private static func loadHTTP(_ loaders: [any ImageLoader]) -> Bool { loaders.contains { $0 is ImageDownloader } }

    private func change(_ change: (inout [any ImageLoader]) -> Void) {
        members.withLock { members in
            change(&members)
            loadsHTTP.store(Self.loadHTTP(members), ordering: .relaxed)
        }
    }

    /// Creates a group of loaders, added in that order.
    public convenience init(arrayLiteral loaders: any ImageLoader...) { self.init(loaders) }

    /// Adds a loader, which takes precedence over the existing ones.
    public func add(_ loader: any ImageLoader) { change { $0.append(loader) } }

    /// Removes the loaders that satisfy the predicate, which must not use the group.
    public func remove(where isRemoved: (any ImageLoader) -> Bool) {
        change { $0.removeAll(where: isRemoved) }
    }

    /// The loaders; later ones take precedence.
    public var loaders: [any ImageLoader] { members.withLock { $0 } }

    /// Returns the loader for `url`; `nil` if none can load it.
    public func loader(for url: URL) -> (any ImageLoader)? {
        loaders.last { $0.canLoad(url) }
    }

    /// Whether any of the loaders can load `url`.
    ///
    /// - Parameter isHTTP: whether the URL is known to be one of http or https.
    public func canLoad(_ url: URL, isHTTP: Bool = false) -> Bool {
        isHTTP && loadsHTTP.load(ordering: .relaxed) || loaders.lastIndex { $0.canLoad(url) } != nil
    }

    /// The group as one loader, which chooses a member for each load.
    public var asLoader: any ImageLoader { GroupLoader(group: self) }

    /// Returns why no loader can load `url`.
    public static func error(forUnloadable url: URL) -> WebImageError {
        let url = url.separatedFromUserInfo.url
        guard let scheme = url.scheme else { return .invalidURL(url.absoluteString) }
        return HTTPOrigin.isHTTP(url)
            ? .invalidURL(url.absoluteString) : .invalidRequest(reason: .unsupportedScheme(scheme), url: url)
    }
}

/// Loads with the group's loader for a URL.
///
/// Without such a loader, it reports ``WebImageError/RequestFailure/unsupportedScheme(_:)``, or
/// ``WebImageError/invalidURL(_:reason:)`` for a URL without a scheme and for an invalid http or https URL.
private struct GroupLoader: ImageLoader {
    let group: ImageLoaderGroup

    private static let queue = WorkQueue(label: "webimage-group", threadCount: 1)

    func canLoad(_ url: URL) -> Bool { group.canLoad(url) }
    func isCacheable(_ url: URL) -> Bool { group.loader(for: url)?.isCacheable(url) ?? false }
    func requestHeaders(for request: LoaderRequest) -> [HTTPHeader] {
        group.loader(for: request.url)?.requestHeaders(for: request) ?? []
    }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        if let loader = group.loader(for: request.url) {
            return loader.load(request, priority: priority, handler: handler)
        }
        let error = ImageLoaderGroup.error(forUnloadable: request.url)
        Self.queue.submit { handler(.finished(.failure(error))) }
        return EndedTask()
    }
}

/// A load that has already ended.
private final class EndedTask: LoaderTask {
    func cancel() {}
    func setPriority(_ priority: LoadPriority) {}
}
