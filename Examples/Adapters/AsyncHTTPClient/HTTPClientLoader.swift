// AsyncHTTPClient as a transport of images. Copy this file into your program, which needs the product WebImage.

import AsyncHTTPClient
import Foundation
import WebImage

/// Loads http and https with an `HTTPClient`, in place of the library's downloader: with its connections,
/// proxies, redirects and certificates.
///
/// ```swift
/// var configuration = WebImageManager.Configuration()
/// configuration.loaders = [HTTPClientLoader(client), FileLoader.chosenFiles]
/// ```
///
/// Responses are revalidated and cached as with any loader. A request's credential, cookies, certificates and idle timeout
/// have no effect; put credentials into its headers, and times into the configuration of the client. Nothing checks which
/// addresses are reachable, so load no URLs of users with it.
struct HTTPClientLoader: ImageLoader {
    /// What sends the requests.
    let client: HTTPClient
    /// The longest body in bytes.
    let byteLimit: Int

    /// Creates a loader. The client must outlive it.
    ///
    /// - Parameter byteLimit: 50 MiB by default.
    init(_ client: HTTPClient = .shared, byteLimit: Int = 50 << 20) {
        self.client = client
        self.byteLimit = byteLimit
    }

    func canLoad(_ url: URL) -> Bool { url.scheme.map { ["http", "https"].contains($0.lowercased()) } ?? false }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        Transfer(
            task: Task {
                let start = ContinuousClock.now
                do {
                    try await transfer(request, handler)
                    handler(.finished(.success(())))
                } catch {
                    handler(.finished(.failure(Self.error(error, request, after: ContinuousClock.now - start))))
                }
            })
    }

    private func transfer(_ request: LoaderRequest, _ handler: (LoaderEvent) -> Void) async throws {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = .init(rawValue: request.method.name)
        for (name, value) in request.headers { outgoing.headers.add(name: name, value: value) }
        if let body = request.body { outgoing.body = .bytes(body) }
        let answer =
            if let time = request.totalTimeout {
                try await client.execute(outgoing, timeout: .init(time))
            } else {
                try await client.execute(outgoing, deadline: .distantFuture)
            }

        let length = answer.headers.first(name: "Content-Length").flatMap { Int64($0) }
        let isCoded = answer.headers.first(name: "Content-Encoding") != nil
        let response = LoaderResponse(
            url: answer.url ?? request.url, statusCode: Int(answer.status.code),
            headers: answer.headers.map { HTTPHeader(name: $0.name, value: $0.value) },
            expectedByteCount: isCoded ? nil : length)
        guard (200..<300).contains(answer.status.code) || answer.status.code == 304 else {
            handler(.refused(response))
            throw WebImageError.httpStatus(code: Int(answer.status.code), url: response.url)
        }
        handler(.response(response))
        var byteCount = 0
        for try await piece in answer.body {
            byteCount += piece.readableBytes
            guard byteCount <= byteLimit else {
                throw WebImageError.invalidResponse(
                    reason: .bodyTooLong(byteCount: Int64(byteCount), limit: Int64(byteLimit)), url: response.url)
            }
            handler(.bytes(Data(piece.readableBytesView)))
        }
    }

    private static func error(_ error: any Error, _ request: LoaderRequest, after time: Duration) -> WebImageError {
        if let error = error as? WebImageError { return error }
        if Task.isCancelled || error is CancellationError { return .cancelled }
        switch error as? HTTPClientError {
        case .cancelled?: return .cancelled
        case .connectTimeout?: return .timedOut(reason: .connecting, after: time, url: request.url)
        case .readTimeout?: return .timedOut(reason: .idle, after: time, url: request.url)
        case .deadlineExceeded?: return .timedOut(reason: .total, after: time, url: request.url)
        default: return .transport(code: 0, message: "\(error)", url: request.url)
        }
    }

    private struct Transfer: LoaderTask {
        let task: Task<Void, Never>

        func cancel() { task.cancel() }
    }
}
