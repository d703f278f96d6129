internal import FoundationEssentials
internal import WebImageCore

/// The header fields of a request, sorted by name.
struct RequestHeaders {
    private(set) var fields: [HTTPHeader]

    /// Names are compared without case.
    init(_ headers: [String: String], of url: URL) throws(WebImageError) {
        fields = headers.sortedFields
        fields.removeAll { field in Self.framingNames.contains { field.isNamed($0) } }
        for field in fields where !Self.isValid(field) {
            throw .invalidRequest(reason: .invalidHeader(name: field.name), url: url)
        }
    }

    /// Whether they accept a coded body.
    var acceptsContentCoding: Bool {
        let value = fields.first { $0.isNamed("accept-encoding") }?.value.lowercased()
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
    func contains(_ name: String) -> Bool { fields.contains { $0.isNamed(name) } }

    mutating func remove(_ name: String) { fields.removeAll { $0.isNamed(name) } }

    /// A name must be a token, and a value must not end its line: more of a request could follow (RFC 9110 §5.1, §5.5).
    private static func isValid(_ field: HTTPHeader) -> Bool {
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
    var fieldsByName: [String: HTTPHeader] {
        guard count > 1 else {
            return first.map { [$0.key.lowercased(): HTTPHeader(name: $0.key, value: $0.value)] } ?? [:]
        }
        var fields: [String: HTTPHeader] = [:]
        for name in keys.sorted().reversed() {
            fields[name.lowercased()] = HTTPHeader(name: name, value: self[name] ?? "")
        }
        return fields
    }

    /// The header fields sorted by name.
    var sortedFields: [HTTPHeader] {
        var fields = map { HTTPHeader(name: $0.key, value: $0.value) }
        guard count > 1 else { return fields }
        fields.sort { first, second in
            let order = first.name.compareFieldNames(second.name)
            return order < 0 || order == 0 && first.name < second.name
        }
        // Of names that differ only in case, the first in ASCII order counts.
        var index = 1
        while index < fields.count {
            if fields[index].isNamed(fields[index - 1].name) { fields.remove(at: index) } else { index += 1 }
        }
        return fields
    }
}
