public import FoundationEssentials
import Synchronization
public import WebImageCore
import WebImageLoading

extension WebImageRequest {
    /// Creates a request for bytes that a closure returns, for example from an archive, a database or another library.
    ///
    /// ```swift
    /// let request = WebImageRequest(id: "cover/\(book.id)") { try await library.coverData(of: book) }
    /// ```
    ///
    /// - Parameters:
    ///   - id: identifies the bytes in caches. Requests with the same identifier can share the work.
    ///   - data: returns the file's bytes. It runs in its own task, which is cancelled with the load. Its errors become
    ///     ``WebImageError/custom(reason:id:message:)``, unless they are ``WebImageError``s themselves.
    ///   - isCacheable: whether the disk cache stores the bytes; `true` by default.
    public init(
        id: String, options: WebImageOptions = [], thumbnail: Thumbnail? = nil, isCacheable: Bool = true,
        data: @escaping @Sendable () async throws -> Data
    ) {
        let provider = DataProvider(id: id, isCacheable: isCacheable, data: data)
        self.init(provider.url, options: options, thumbnail: thumbnail)
        changeDetails { $0.provider = provider }
    }
}

/// The loader of a single request, which calls the request's closure.
final class DataProvider: ImageLoader {
    let url: URL
    private let id: String
    private let isCacheable: Bool
    private let data: @Sendable () async throws -> Data

    init(id: String, isCacheable: Bool, data: @escaping @Sendable () async throws -> Data) {
        self.id = id
        self.isCacheable = isCacheable
        self.data = data
        url = Self.url(of: id)
    }

    /// Returns a URL that stands for the bytes.
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
        ProviderTask(
            Task(priority: priority.taskPriority) { [self] in
                do {
                    let data = try await data()
                    try Task.checkCancellation()
                    guard !data.isEmpty else { throw WebImageError.invalidResponse(reason: .emptyBody, url: url) }
                    handler(.response(LoaderResponse(url: url, expectedByteCount: Int64(data.count))))
                    handler(.bytes(data))
                    handler(.finished(.success(())))
                } catch {
                    handler(.finished(.failure(Task.isCancelled ? .cancelled : failure(error))))
                }
            })
    }

    private func failure(_ error: any Error) -> WebImageError {
        switch error {
        case let error as WebImageError: error
        case is CancellationError: .cancelled
        default: .custom(reason: .provider, id: id, message: String(describing: error))
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
