public import FoundationEssentials
import Synchronization
public import WebImageCore
import WebImageLoading

extension WebImageRequest {
    /// Creates a request for bytes that a closure returns, for example from an archive, a database or another library.
    ///
    /// ```swift
    /// let request = WebImageRequest(id: "cover/7") { try Data(contentsOf: folder.appending(path: "cover.jpg")) }
    /// ```
    ///
    /// - Parameters:
    ///   - id: identifies the bytes in caches. Requests with the same identifier can share the work.
    ///   - options: the options; none by default.
    ///   - thumbnail: the requested size; `nil` for all pixels of the file.
    ///   - isCacheable: whether the disk cache stores the bytes; `true` by default.
    ///   - data: returns the file's bytes. It runs in its own task, which is cancelled with the load. Its errors become
    ///     ``WebImageError/custom(id:message:)``, unless they are ``WebImageError``s themselves.
    public init(
        id: String, options: WebImageOptions = [], thumbnail: Thumbnail? = nil, isCacheable: Bool = true,
        data: @escaping @Sendable () async throws -> Data
    ) {
        self.init(RequestProvider(id: id, isCacheable: isCacheable, .data(data)), options, thumbnail)
    }

    /// Creates a request for an image that a closure returns, for example one that the program draws or another library
    /// decodes.
    ///
    /// ```swift
    /// let request = WebImageRequest(id: "red", image: { try Image(color: Color(red: 1, green: 0, blue: 0)) })
    /// ```
    ///
    /// The image is cached at the requested size, in memory and where ``cacheAccess`` says; by default in memory only.
    /// Retry policies and settings for decoding do not apply.
    ///
    /// - Parameters:
    ///   - id: identifies the image in caches. Requests with the same identifier can share the work.
    ///   - options: the options; none by default.
    ///   - thumbnail: the requested size; a larger image is scaled down, but an animation stays as it is.
    ///   - image: returns the image. It runs in its own task, which is cancelled with the load. Its errors become
    ///     ``WebImageError/custom(id:message:)``, unless they are ``WebImageError``s themselves.
    public init(
        id: String, options: WebImageOptions = [], thumbnail: Thumbnail? = nil,
        image: @escaping @Sendable () async throws -> Image
    ) {
        self.init(RequestProvider(id: id, isCacheable: false, .image(image)), options, thumbnail)
    }

    private init(_ provider: RequestProvider, _ options: WebImageOptions, _ thumbnail: Thumbnail?) {
        self.init(provider.url, options: options, thumbnail: thumbnail)
        changeDetails { $0.provider = provider }
    }
}

/// The loader of a single request, which calls the request's closure.
final class RequestProvider: ImageLoader {
    enum Content: Sendable {
        case data(@Sendable () async throws -> Data)
        case image(@Sendable () async throws -> Image)
    }

    let url: URL
    private let id: String
    private let isCacheable: Bool
    private let content: Content

    init(id: String, isCacheable: Bool, _ content: Content) {
        self.id = id
        self.isCacheable = isCacheable
        self.content = content
        url = Self.url(of: id)
    }

    /// Whether the closure returns an image.
    var givesImage: Bool { if case .image = content { true } else { false } }

    /// Returns a URL that stands for the content.
    private static func url(of id: String) -> URL {
        var text = "webimage-provider:"
        for (index, byte) in id.utf8.enumerated() {
            // Slashes at the beginning would turn what follows into a host.
            if unencoded.contains(byte), index > 0 || byte != UInt8(ascii: "/") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // Everything that is invalid in a path has been encoded.
        return URL(string: text) ?? URL(filePath: text)
    }

    private static let unencoded = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/@".utf8)

    func canLoad(_ url: URL) -> Bool { url == self.url }

    func isCacheable(_ url: URL) -> Bool { isCacheable }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        run(priority: priority) { [self] in
            guard case .data(let closure) = content else {
                throw WebImageError.custom(id: id, message: "it returns an image, not data")
            }
            let data = try await closure()
            guard !data.isEmpty else { throw WebImageError.invalidResponse(reason: .emptyBody, url: url) }
            return data
        } completion: { [url] result in
            if case .success(let data) = result {
                handler(.response(LoaderResponse(url: url, expectedByteCount: Int64(data.count))))
                handler(.bytes(data))
            }
            handler(.finished(result.map { _ in }))
        }
    }

    /// Calls the closure that returns an image.
    func loadImage(
        priority: LoadPriority, completion: @escaping @Sendable (Result<Image, WebImageError>) -> Void
    ) -> any LoaderTask {
        run(
            priority: priority,
            { [self] in
                guard case .image(let closure) = content else {
                    throw WebImageError.custom(id: id, message: "it returns data, not an image")
                }
                return try await closure()
            }, completion: completion)
    }

    private func run<Value: Sendable>(
        priority: LoadPriority, _ body: @escaping @Sendable () async throws -> Value,
        completion: @escaping @Sendable (Result<Value, WebImageError>) -> Void
    ) -> any LoaderTask {
        ProviderTask(
            Task(priority: priority.taskPriority) { [self] in
                let result: Result<Value, WebImageError>
                do {
                    let value = try await body()
                    result = Task.isCancelled ? .failure(.cancelled) : .success(value)
                } catch {
                    result = .failure(Task.isCancelled ? .cancelled : failure(error))
                }
                completion(result)
            })
    }

    private func failure(_ error: any Error) -> WebImageError {
        switch error {
        case let error as WebImageError: error
        case is CancellationError: .cancelled
        default: .custom(id: id, message: String(describing: error))
        }
    }

    private final class ProviderTask: LoaderTask {
        private let task: Task<Void, Never>
        init(_ task: Task<Void, Never>) { self.task = task }
        func cancel() { task.cancel() }
        /// A task keeps the priority it started with.
        func setPriority(_ priority: LoadPriority) {}
    }
}

extension LoadPriority {
    fileprivate var taskPriority: TaskPriority {
        switch self {
        case .veryLow: .background
        case .low: .utility
        case .normal: .medium
        case .high, .veryHigh: .high
        }
    }
}
