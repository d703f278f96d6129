package import FoundationEssentials
public import WebImageLoading

/// What an ``ImageService`` answers.
public struct ServiceAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, with the length of the body.
    public var headers: [HTTPField]
    /// The body; empty for HEAD.
    public var body: Body
    /// Of a 304, the length of the result, for servers that write a length in any case.
    package var unsentByteCount = 0

    /// Why the source failed, for the log; `nil` if it did not.
    package var reason: String?

    package init(status: Int, headers: [HTTPField], body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, Body(body))
    }

    init(status: Int, headers: [HTTPField], body: Body) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Returns the value of a field; `nil` without one.
    package func header(_ name: String) -> String? { headers.last { $0.isNamed(name) }?.value }
}

extension [HTTPField] {
    mutating func add(_ name: String, _ value: String) { append(HTTPField(name: name, value: value)) }
}
