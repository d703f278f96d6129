internal import WebImageCore

/// The header fields of a request, in the order of their names.
struct RequestHeaders {
    private(set) var fields: [HTTPField]

    /// Names are the same in any case.
    init(_ headers: [String: String]) throws(WebImageError) {
        var byName: [String: HTTPField] = [:]
        for (name, value) in headers { byName[name.lowercased()] = HTTPField(name: name, value: value) }
        for field in byName.values where !Self.isValid(field) { throw .invalidHeader(name: field.name) }
        fields = byName.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether they ask for a body that has to be decoded.
    var acceptsContentCoding: Bool {
        let value = fields.first { $0.name.lowercased() == "accept-encoding" }?.value.lowercased()
        return value.map { !["", "identity"].contains($0) } ?? false
    }

    /// Drops what another origin must not see: everything but what says nothing about who asks for what with which
    /// right.
    mutating func removeFieldsPrivateToOrigin() {
        fields.removeAll { !Self.namesForAnyOrigin.contains($0.name.lowercased()) }
    }

    /// That for the proxy goes to nobody else, wherever the redirect leads; see ``TransferAccess/proxyHeaders``.
    private static let namesForAnyOrigin: Set = ["accept", "accept-encoding", "user-agent", proxyName]

    static let proxyName = "proxy-authorization"

    /// Whether there is a field of that name, in lower case.
    func contains(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name } }

    mutating func remove(_ name: String) { fields.removeAll { $0.name.lowercased() == name } }

    /// A name must be a token, and a value must not end its line: more of a request could follow (RFC 9110 §5.1, §5.5).
    private static func isValid(_ field: HTTPField) -> Bool {
        let isToken = field.name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
        let breaksLine = field.value.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        return isToken && !field.name.isEmpty && !breaksLine
    }
}
