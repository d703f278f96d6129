// Stands in for Vapor 4.122.0: the declarations that an adapter uses. An application answers requests from standard input.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported public import Foundation
@_exported public import Logging
@_exported public import struct NIOCore.ByteBuffer
@_exported public import struct NIOHTTP1.HTTPHeaders
@_exported public import enum NIOHTTP1.HTTPMethod
@_exported public import enum NIOHTTP1.HTTPResponseStatus
@_exported public import struct NIOHTTP1.HTTPVersion
import ServerHost
import Synchronization

public struct URI: Sendable {
    public let string: String

    public var path: String { String(string.prefix { $0 != "?" }) }
}

public struct FileIO: Sendable {
    public func writeFile(_ buffer: ByteBuffer, at path: String) async throws {
        try Data(buffer.readableBytesView).write(to: URL(filePath: path))
    }
}

public final class Request: Sendable {
    public struct Body: AsyncSequence, Sendable {
        fileprivate let pieces: AsyncThrowingStream<Data, any Error>

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var base: AsyncThrowingStream<Data, any Error>.Iterator

            public mutating func next() async throws -> ByteBuffer? {
                try await base.next().map { ByteBuffer(bytes: $0) }
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: pieces.makeAsyncIterator()) }
    }

    public let method: HTTPMethod
    public let url: URI
    public let headers: HTTPHeaders
    public let body: Body
    public let logger = Logger(label: "vapor")
    public var fileio: FileIO { FileIO() }

    fileprivate init(_ request: ServerHost.Request) {
        (method, url) = (HTTPMethod(rawValue: request.method), URI(string: request.target))
        headers = HTTPHeaders(request.headers.map { ($0.key, $0.value) })
        body = Body(pieces: request.body)
    }
}

public protocol AsyncBodyStreamWriter: Sendable {
    func writeBuffer(_ buffer: ByteBuffer) async throws
}

public final class Response: Sendable {
    public struct Body: Sendable {
        fileprivate enum Storage: Sendable {
            case data(Data)
            case stream(@Sendable (any AsyncBodyStreamWriter) async throws -> Void)
        }

        fileprivate let storage: Storage

        public init(data: Data) { storage = .data(data) }

        public init(
            managedAsyncStream: @escaping @Sendable (any AsyncBodyStreamWriter) async throws -> Void, count: Int
        ) {
            storage = .stream(managedAsyncStream)
        }
    }

    public let status: HTTPResponseStatus
    public let headers: HTTPHeaders
    public let body: Body

    public init(
        status: HTTPResponseStatus, version: HTTPVersion, headersNoUpdate headers: HTTPHeaders, body: Body
    ) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// A response with JSON.
    fileprivate convenience init(status: HTTPResponseStatus = .ok, _ json: [String: String]) throws {
        self.init(
            status: status, version: HTTPVersion(major: 1, minor: 1),
            headersNoUpdate: HTTPHeaders([("Content-Type", "application/json")]),
            body: Body(data: try JSONEncoder().encode(json)))
    }

    fileprivate func answer() async throws -> ServerHost.Answer {
        let fields = Dictionary(headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        guard case .stream(let write) = body.storage else {
            guard case .data(let data) = body.storage else { throw Abort(.internalServerError) }
            return ServerHost.Answer(status: Int(status.code), headers: fields, body: data, isStreamed: false)
        }
        let writer = Writer()
        try await write(writer)
        return ServerHost.Answer(status: Int(status.code), headers: fields, body: writer.data, isStreamed: true)
    }

    private final class Writer: AsyncBodyStreamWriter {
        private let state = Mutex(Data())

        var data: Data { state.withLock { $0 } }

        func writeBuffer(_ buffer: ByteBuffer) async throws {
            state.withLock { $0.append(contentsOf: buffer.readableBytesView) }
        }
    }
}

public protocol AbortError: Error {
    var status: HTTPResponseStatus { get }
    var reason: String { get }
}

public struct Abort: AbortError {
    public let status: HTTPResponseStatus
    public let reason: String

    public init(_ status: HTTPResponseStatus, reason: String? = nil) {
        (self.status, self.reason) = (status, reason ?? "\(status)")
    }
}

public protocol AsyncResponder: Sendable {
    func respond(to request: Request) async throws -> Response
}

public protocol AsyncMiddleware: Sendable {
    func respond(to request: Request, chainingTo next: any AsyncResponder) async throws -> Response
}

public protocol AsyncResponseEncodable: SendableMetatype {
    func encodeResponse(for request: Request) async throws -> Response
}

extension Dictionary: AsyncResponseEncodable where Key == String, Value == String {
    public func encodeResponse(for request: Request) async throws -> Response { try Response(self) }
}

public struct PathComponent: ExpressibleByStringLiteral, Sendable {
    fileprivate let text: String

    public init(stringLiteral value: String) { text = value }
}

public enum HTTPBodyStreamStrategy: Sendable { case stream, collect }

public struct Environment: Sendable {
    public static func detect() throws -> Environment { Environment() }
}

public final class Application: Sendable {
    public struct Middlewares: Sendable {
        fileprivate let application: Application

        public func use(_ middleware: any AsyncMiddleware) {
            application.state.withLock { $0.middlewares.append(middleware) }
        }
    }

    private struct Closure: AsyncResponder {
        let respond: @Sendable (Request) async throws -> Response

        func respond(to request: Request) async throws -> Response { try await respond(request) }
    }

    private struct State {
        var middlewares: [any AsyncMiddleware] = []
        var routes: [String: any AsyncResponder] = [:]
    }

    private let state = Mutex(State())
    public var middleware: Middlewares { Middlewares(application: self) }

    public static func make(_ environment: Environment) async throws -> Application { Application() }

    public func on<Content: AsyncResponseEncodable>(
        _ method: HTTPMethod, _ path: PathComponent..., body: HTTPBodyStreamStrategy = .collect,
        use closure: @Sendable @escaping (Request) async throws -> Content
    ) {
        let route = "\(method.rawValue) \(path.map { "/\($0.text)" }.joined())"
        let responder = Closure { request in try await closure(request).encodeResponse(for: request) }
        state.withLock { $0.routes[route] = responder }
    }

    public func execute() async throws {
        try await ServerHost.run { request in
            let request = Request(request)
            do {
                return try await responder(for: request).respond(to: request).answer()
            } catch let error as any AbortError {
                return try await Response(status: error.status, ["reason": error.reason]).answer()
            }
        }
    }

    public func asyncShutdown() async throws {}

    private func responder(for request: Request) -> any AsyncResponder {
        let state = state.withLock { $0 }
        let route = state.routes["\(request.method.rawValue) \(request.url.path)"]
        let last: any AsyncResponder = route ?? Closure { _ in throw Abort(.notFound) }
        return state.middlewares.reversed().reduce(last) { next, middleware in
            Closure { try await middleware.respond(to: $0, chainingTo: next) }
        }
    }
}
