public import FoundationEssentials
public import WebImageLoading

/// What an ``ImageService`` answers.
public struct ServiceAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, with the length of the body.
    public var headers: [HTTPField]
    /// The body, which is whole: results have at most ``ImageService/Limits/resultByteCount`` bytes. Empty for HEAD.
    public var body: Data
    /// Of a 304, the length of the result, for servers that write a length in any case.
    package var unsentByteCount = 0

    init(_ status: Int, _ headers: [HTTPField], _ body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    package init(status: Int, headers: [HTTPField], body: Data) {
        self.init(status, headers, body)
    }

    /// Returns the value of a field; `nil` without one.
    package func header(_ name: String) -> String? { headers.last { $0.isNamed(name) }?.value }
}

extension [HTTPField] {
    mutating func add(_ name: String, _ value: String) { append(HTTPField(name: name, value: value)) }
}
