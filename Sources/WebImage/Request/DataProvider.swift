public import FoundationEssentials
import Synchronization
public import WebImageCore
import WebImageLoading

extension WebImageRequest {
    /// A request for bytes that a closure gives: from an archive, a database, another library.
    ///
    /// ```swift
    /// let request = WebImageRequest(id: "cover/\(book.id)") { try await library.coverData(of: book) }
    /// ```
    ///
    /// - Parameters:
    ///   - id: names the bytes in caches, and tells which requests can share the work.
    ///   - data: gives the file's bytes, in a task of its own, which is cancelled with the load. What it throws is
    ///     ``WebImageError/dataProvider(id:reason:)``, unless it is a ``WebImageError`` itself.
    ///   - isCacheable: whether the disk cache keeps the bytes; `true` by default.
    public init(
        id: String, options: WebImageOptions = [], thumbnail: Thumbnail? = nil, isCacheable: Bool = true,
        data: @escaping @Sendable () async throws -> Data
    ) {
        let provider = DataProvider(id: id, isCacheable: isCacheable, data: data)
        self.init(provider.url, options: options, thumbnail: thumbnail)
        changeDetails { $0.provider = provider }
    }
}

/// A loader for the one request that brought it.
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

    /// Stands for the bytes where a URL is called for.
    private static func url(of id: String) -> URL {
        var text = "webimage-provider:"
        for (index, byte) in id.utf8.enumerated() {
            // Slashes at the beginning would make a host of what follows.
            if unencoded.contains(byte), index > 0 || byte != UInt8(ascii: "/") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // Nothing is left in it that a path can't have.
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
                    guard !data.isEmpty else { throw WebImageError.emptyBody(url: url) }
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
        default: .dataProvider(id: id, reason: String(describing: error))
        }
    }

    private final class ProviderTask: LoaderTask {
        private let task: Task<Void, Never>
        init(_ task: Task<Void, Never>) { self.task = task }
        func cancel() { task.cancel() }
        /// A task keeps the priority it began with.
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
