// Stands in for NIOHTTP1 of swift-nio 2.101.3: the declarations that adapters use.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public struct HTTPHeaders: Sendable, RandomAccessCollection {
    private var fields: [(name: String, value: String)]

    public init(_ headers: [(String, String)] = []) { fields = headers.map { (name: $0.0, value: $0.1) } }

    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> (name: String, value: String) { fields[position] }

    public mutating func add(name: String, value: String) { fields.append((name, value)) }
    public func first(name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }
}

public struct HTTPVersion: Sendable {
    public init(major: Int, minor: Int) {}
}

public enum HTTPMethod: RawRepresentable, Sendable {
    case GET
    case HEAD
    case POST
    case RAW(value: String)

    public init(rawValue: String) {
        switch rawValue {
        case "GET": self = .GET
        case "HEAD": self = .HEAD
        case "POST": self = .POST
        default: self = .RAW(value: rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .GET: "GET"
        case .HEAD: "HEAD"
        case .POST: "POST"
        case .RAW(let value): value
        }
    }
}

public enum HTTPResponseStatus: Sendable {
    case ok
    case badRequest
    case forbidden
    case notFound
    case payloadTooLarge
    case unsupportedMediaType
    case unprocessableEntity
    case internalServerError
    case notImplemented
    case badGateway
    case serviceUnavailable
    case gatewayTimeout
    case custom(code: UInt, reasonPhrase: String)

    private static let codes: [(Self, UInt)] = [
        (.ok, 200), (.badRequest, 400), (.forbidden, 403), (.notFound, 404), (.payloadTooLarge, 413),
        (.unsupportedMediaType, 415), (.unprocessableEntity, 422), (.internalServerError, 500), (.notImplemented, 501),
        (.badGateway, 502), (.serviceUnavailable, 503), (.gatewayTimeout, 504),
    ]

    public init(statusCode: Int, reasonPhrase: String = "") {
        self =
            Self.codes.first { $0.1 == UInt(statusCode) }?.0
            ?? .custom(code: UInt(statusCode), reasonPhrase: reasonPhrase)
    }

    public var code: UInt {
        if case .custom(let code, _) = self { return code }
        return Self.codes.first { "\($0.0)" == "\(self)" }?.1 ?? 500
    }
}
