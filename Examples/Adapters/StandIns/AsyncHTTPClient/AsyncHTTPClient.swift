// Stands in for AsyncHTTPClient 1.33.1: the declarations that adapters use. It sends requests with the library's downloader.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation
public import NIOCore
public import NIOHTTP1
import WebImage

public struct HTTPClientError: Error, Equatable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    public static let cancelled = Self("cancelled")
    public static let connectTimeout = Self("connectTimeout")
    public static let deadlineExceeded = Self("deadlineExceeded")
    public static let readTimeout = Self("readTimeout")
    public static let remoteConnectionClosed = Self("remoteConnectionClosed")
}

public struct HTTPClientRequest: Sendable {
    public struct Body: Sendable {
        fileprivate let data: Data

        public static func bytes<Bytes: RandomAccessCollection & Sendable>(_ bytes: Bytes) -> Self
        where Bytes.Element == UInt8 { Self(data: Data(bytes)) }
    }

    public var url: String
    public var method = HTTPMethod.GET
    public var headers = HTTPHeaders()
    public var body: Body?

    public init(url: String) { self.url = url }
}

public struct HTTPClientResponse: Sendable {
    public typealias Body = AsyncThrowingStream<ByteBuffer, any Error>

    public var status: HTTPResponseStatus
    public var headers: HTTPHeaders
    public var body: Body
    public var url: URL?
}

public final class HTTPClient: Sendable {
    public static let shared = HTTPClient()

    private let downloader: ImageDownloader

    private init() {
        var configuration = ImageDownloader.Configuration()
        (configuration.acceptableStatusCodes, configuration.acceptableContentTypes) = (nil, nil)
        downloader = ImageDownloader(configuration: configuration)
    }

    public func execute(_ request: HTTPClientRequest, deadline: NIODeadline) async throws -> HTTPClientResponse {
        guard let url = URL(string: request.url), let method = LoaderRequest.Method(request.method.rawValue) else {
            throw HTTPClientError.remoteConnectionClosed
        }
        var outgoing = LoaderRequest(url: url)
        outgoing.method = method
        outgoing.body = request.body?.data
        outgoing.totalTimeout = deadline.timeLeft
        for field in request.headers { outgoing.headers[field.name] = field.value }
        do {
            let bytes = try await downloader.bytes(for: outgoing)
            let headers = HTTPHeaders(bytes.response.headers.map { ($0.name, $0.value) })
            return HTTPClientResponse(
                status: HTTPResponseStatus(statusCode: bytes.response.statusCode ?? 0), headers: headers,
                body: Self.body(bytes), url: bytes.response.url)
        } catch {
            throw Self.error(error)
        }
    }

    public func execute(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        try await execute(request, deadline: .now() + timeout)
    }

    private static func body(_ bytes: LoaderBytes) -> HTTPClientResponse.Body {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await piece in bytes { continuation.yield(ByteBuffer(bytes: piece)) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: Self.error(error))
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private static func error(_ error: any Error) -> any Error {
        switch error as? WebImageError {
        case .cancelled?: CancellationError()
        case .timedOut(reason: .connecting, after: _, url: _)?: HTTPClientError.connectTimeout
        case .timedOut(reason: .total, after: _, url: _)?: HTTPClientError.deadlineExceeded
        case .timedOut?: HTTPClientError.readTimeout
        default: HTTPClientError.remoteConnectionClosed
        }
    }
}
