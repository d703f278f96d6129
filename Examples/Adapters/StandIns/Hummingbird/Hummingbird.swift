// Stands in for Hummingbird 2.26.0: the declarations that an adapter uses. An application answers requests from standard
// input.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation
@_exported public import struct HTTPTypes.HTTPFields
@_exported public import struct HTTPTypes.HTTPRequest
@_exported public import struct HTTPTypes.HTTPResponse
public import Logging
@_exported public import struct NIOCore.ByteBuffer
import HTTPTypes
import ServerHost
public import ServiceLifecycle

public struct URI: Sendable {
    public let string: String

    public var path: String { String(string.prefix { $0 != "?" }) }
}

public struct RequestBody: AsyncSequence, Sendable {
    fileprivate let pieces: AsyncThrowingStream<Data, any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Data, any Error>.Iterator

        public mutating func next() async throws -> ByteBuffer? { try await base.next().map { ByteBuffer(bytes: $0) } }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: pieces.makeAsyncIterator()) }
}

public struct Request: Sendable {
    public let uri: URI
    public let head: HTTPRequest
    public let body: RequestBody

    public var method: HTTPRequest.Method { head.method }
    public var headers: HTTPFields { head.headerFields }

    fileprivate init(_ request: ServerHost.Request) throws {
        guard let method = HTTPRequest.Method(request.method) else { throw HTTPError(.badRequest) }
        var fields = HTTPFields()
        for (name, value) in request.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        (uri, body) = (URI(string: request.target), RequestBody(pieces: request.body))
        head = HTTPRequest(method: method, scheme: "http", authority: nil, path: request.target, headerFields: fields)
    }
}

public protocol ResponseBodyWriter {
    mutating func write(_ buffer: ByteBuffer) async throws
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws
}

public struct ResponseBody: Sendable {
    fileprivate enum Storage: Sendable {
        case buffer(ByteBuffer)
        case closure(@Sendable (inout any ResponseBodyWriter) async throws -> Void)
    }

    fileprivate let storage: Storage
    public let contentLength: Int?

    public init() { self.init(byteBuffer: ByteBuffer(bytes: [])) }

    public init(byteBuffer: ByteBuffer) {
        (storage, contentLength) = (.buffer(byteBuffer), byteBuffer.readableBytes)
    }

    public init(
        contentLength: Int? = nil, _ write: @Sendable @escaping (inout any ResponseBodyWriter) async throws -> Void
    ) {
        (storage, self.contentLength) = (.closure(write), contentLength)
    }
}

public struct Response: Sendable {
    public var status: HTTPResponse.Status
    public var headers: HTTPFields
    public var body: ResponseBody

    public init(status: HTTPResponse.Status, headers: HTTPFields = HTTPFields(), body: ResponseBody = ResponseBody()) {
        (self.status, self.headers, self.body) = (status, headers, body)
        if let length = body.contentLength, headers[.contentLength] == nil {
            self.headers[.contentLength] = "\(length)"
        }
    }

    /// A response with JSON.
    fileprivate init(status: HTTPResponse.Status = .ok, json: some Encodable) throws {
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(json)))
        self.init(status: status, body: body)
        headers[.contentType] = "application/json"
    }

    fileprivate func answer() async throws -> ServerHost.Answer {
        let fields = Dictionary(headers.map { ($0.name.rawName, $0.value) }) { "\($0), \($1)" }
        let pieces = Pieces()
        var isStreamed = false
        switch body.storage {
        case .buffer(let buffer): try await pieces.write(buffer)
        case .closure(let write):
            isStreamed = true
            var writer: any ResponseBodyWriter = pieces
            try await write(&writer)
        }
        return ServerHost.Answer(status: status.code, headers: fields, body: pieces.data, isStreamed: isStreamed)
    }

    private final class Pieces: ResponseBodyWriter {
        private(set) var data = Data()

        func write(_ buffer: ByteBuffer) async throws { data.append(contentsOf: buffer.readableBytesView) }
        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}

public protocol ResponseGenerator: SendableMetatype {
    func response(from request: Request, context: some RequestContext) throws -> Response
}

extension Dictionary: ResponseGenerator where Key: Encodable, Value: Encodable {
    public func response(from request: Request, context: some RequestContext) throws -> Response {
        try Response(json: self)
    }
}

public protocol HTTPResponseError: Error, ResponseGenerator {
    var status: HTTPResponse.Status { get }
}

public struct HTTPError: HTTPResponseError {
    public let status: HTTPResponse.Status
    private let message: String?

    public init(_ status: HTTPResponse.Status) { (self.status, message) = (status, nil) }
    public init(_ status: HTTPResponse.Status, message: String) { (self.status, self.message) = (status, message) }

    public func response(from request: Request, context: some RequestContext) throws -> Response {
        guard let message else { return Response(status: status) }
        return try Response(status: status, json: ["error": ["message": message]])
    }
}

public protocol RequestContext: Sendable {
    var logger: Logger { get }
}

public struct BasicRequestContext: RequestContext {
    public let logger = Logger(label: "hummingbird")
}

public protocol MiddlewareProtocol<Input, Output, Context>: Sendable {
    associatedtype Input
    associatedtype Output
    associatedtype Context

    func handle(
        _ input: Input, context: Context, next: (Input, Context) async throws -> Output
    ) async throws -> Output
}

public protocol RouterMiddleware<Context>: MiddlewareProtocol where Input == Request, Output == Response {}

public struct FileIO: Sendable {
    public init() {}

    public func writeFile(buffer: ByteBuffer, path: String, context: some RequestContext) async throws {
        try Data(buffer.readableBytesView).write(to: URL(filePath: path))
    }
}

public final class Router<Context: RequestContext> {
    fileprivate typealias Responder = @Sendable (Request, Context) async throws -> Response

    private var middlewares: [any MiddlewareProtocol<Request, Response, Context>] = []
    private var routes: [String: Responder] = [:]

    public init(context: Context.Type = BasicRequestContext.self) {}

    @discardableResult public func add(middleware: any MiddlewareProtocol<Request, Response, Context>) -> Self {
        middlewares.append(middleware)
        return self
    }

    @discardableResult public func post(
        _ path: String = "", use handler: @Sendable @escaping (Request, Context) async throws -> some ResponseGenerator
    ) -> Self {
        routes["POST /\(path)"] = { request, context in
            try await handler(request, context).response(from: request, context: context)
        }
        return self
    }

    fileprivate func responder() -> Responder {
        let routes = routes
        let last: Responder = { request, context in
            guard let route = routes["\(request.method.rawValue) \(request.uri.path)"] else {
                throw HTTPError(.notFound)
            }
            return try await route(request, context)
        }
        return middlewares.reversed().reduce(last) { next, middleware in
            { request, context in try await middleware.handle(request, context: context, next: next) }
        }
    }
}

public struct Application: Sendable {
    private let respond: @Sendable (Request, BasicRequestContext) async throws -> Response
    private let services: [any Service]

    public init(router: Router<BasicRequestContext>, services: [any Service] = []) {
        (respond, self.services) = (router.responder(), services)
    }

    public func runService() async throws {
        let group = ServiceGroup(services: services + [Server(respond: respond)], logger: Logger(label: "hummingbird"))
        try await group.run()
    }

    private struct Server: Service {
        let respond: @Sendable (Request, BasicRequestContext) async throws -> Response

        func run() async throws {
            try await ServerHost.run { request in
                let (request, context) = (try Request(request), BasicRequestContext())
                do {
                    return try await respond(request, context).answer()
                } catch let error as any HTTPResponseError {
                    return try await error.response(from: request, context: context).answer()
                }
            }
        }
    }
}
