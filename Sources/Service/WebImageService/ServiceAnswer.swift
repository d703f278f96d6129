public import FoundationEssentials
public import WebImageLoading

/// An answer of an ``ImageService``, or of a server for a page of its own.
public struct ServiceAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, with the length of the body.
    public var headers: [HTTPHeader]
    /// The body; empty for HEAD.
    public var body: Body
    /// Of a 304, the length of the result, for servers that write a length in any case; 0 for other answers.
    public var unsentByteCount = 0
    /// Why the source failed, for the log; `nil` if it did not. Clients must not get it: it says what the service can reach.
    public var reason: String?

    /// Creates an answer.
    public init(status: Int, headers: [HTTPHeader], body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, Body(body))
    }

    init(status: Int, headers: [HTTPHeader], body: Body) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Returns the value of a field; `nil` without one.
    func header(_ name: String) -> String? { headers.last { $0.isNamed(name) }?.value }
}

extension [HTTPHeader] {
    mutating func add(_ name: String, _ value: String) { append(HTTPHeader(name: name, value: value)) }
}
