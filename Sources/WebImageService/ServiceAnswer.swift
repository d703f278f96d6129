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

    init(_ status: Int, _ headers: [HTTPField], _ body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Returns the value of a field; `nil` without one.
    package func header(_ name: String) -> String? { headers.last { $0.isNamed(name) }?.value }
}

extension [HTTPField] {
    mutating func add(_ name: String, _ value: String) { append(HTTPField(name: name, value: value)) }
}
