internal import FoundationEssentials
internal import WebImageCore

/// The header fields of a request, sorted by name.
struct RequestHeaders {
    private(set) var fields: [HTTPField]

    /// Names are compared without case.
    init(_ headers: [String: String], of url: URL) throws(WebImageError) {
        fields = headers.sortedFields.filter { !Self.framingNames.contains($0.name.lowercased()) }
        for field in fields where !Self.isValid(field) {
            throw .invalidRequest(reason: .invalidHeader(name: field.name), url: url)
        }
    }

    /// Whether they accept a coded body.
    var acceptsContentCoding: Bool {
        let value = fields.first { $0.name.lowercased() == "accept-encoding" }?.value.lowercased()
        return value.map { !["", "identity"].contains($0) } ?? false
    }

    /// Whether they have a condition that 304 responds to (RFC 9110, 13.1).
    var areConditional: Bool { contains("if-none-match") || contains("if-modified-since") }

    /// Removes what another origin must not get: everything except fields that tell nothing about the user or the
    /// request. Fields that describe the body stay with the body.
    mutating func removeFieldsPrivateToOrigin(keepingBody: Bool) {
        fields.removeAll { field in
            let name = field.name.lowercased()
            return !Self.namesForAnyOrigin.contains(name) && !(keepingBody && Self.bodyNames.contains(name))
        }
    }

    /// Removes the fields that describe a body which is not sent (RFC 9110, 15.4).
    mutating func removeFieldsOfBody() { fields.removeAll { Self.bodyNames.contains($0.name.lowercased()) } }

    static let bodyNames: Set = [
        "content-type", "content-encoding", "content-language", "content-location", "digest", "content-digest",
    ]

    /// Only the transport sets where a message ends: other values could make one request look like two.
    static let framingNames: Set = ["content-length", "transfer-encoding"]

    /// The proxy's field reaches no server, see ``TransferAccess/proxyHeaders``, and no other proxy, see
    /// ``DownloadState``.
    static let namesForAnyOrigin: Set = [
        "accept", "accept-encoding", "user-agent", "range", "if-range", proxyName,
    ]

    static let proxyName = "proxy-authorization"

    /// - Parameter name: in lower case.
    func contains(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name } }

    mutating func remove(_ name: String) { fields.removeAll { $0.name.lowercased() == name } }

    /// A name must be a token, and a value must not end its line: more of a request could follow (RFC 9110 §5.1, §5.5).
    private static func isValid(_ field: HTTPField) -> Bool {
        let breaksLine = field.value.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        return isToken(field.name) && !breaksLine
    }

    /// Whether `text` can be the name of a field or a method (RFC 9110 §5.6.2).
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

extension [String: String] {
    /// The header fields by name in lower case. Of names that differ only in case, the first in ASCII order counts.
    var fieldsByName: [String: HTTPField] {
        var fields: [String: HTTPField] = [:]
        for name in keys.sorted().reversed() {
            fields[name.lowercased()] = HTTPField(name: name, value: self[name] ?? "")
        }
        return fields
    }

    /// The header fields sorted by name.
    var sortedFields: [HTTPField] {
        // The common case.
        if count <= 1 { return map { HTTPField(name: $0.key, value: $0.value) } }
        let fields = fieldsByName
        return fields.keys.sorted().compactMap { fields[$0] }
    }
}
