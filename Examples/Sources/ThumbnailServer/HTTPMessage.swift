import Foundation

/// The head of a GET or HEAD request.
struct HTTPRequest: Sendable {
    let method: String
    /// Without the query.
    let path: String
    /// The values of the query by name; of two with one name the latter.
    let query: [String: String]
    /// The length of the body, which is read and ignored.
    let bodyByteCount: Int
    let closesConnection: Bool

    /// Parses a head without the empty line at its end, as RFC 9112 demands: where a proxy could read another request
    /// than this server, the request is refused.
    init(head: ArraySlice<UInt8>) throws(HTTPRefusal) {
        var lines: [ArraySlice<UInt8>] = []
        var rest = head
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            guard end > rest.startIndex, rest[end - 1] == UInt8(ascii: "\r") else { throw .invalid }
            lines.append(rest[..<(end - 1)])
            rest = rest[(end + 1)...]
        }
        lines.append(rest)
        guard lines.allSatisfy({ $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }) else { throw .invalid }
        let parts = String(decoding: lines[0], as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, Self.isToken(parts[0].utf8) else { throw .invalid }
        guard ["HTTP/1.0", "HTTP/1.1"].contains(parts[2]) else {
            throw parts[2].hasPrefix("HTTP/") ? .version : .invalid
        }
        let fields = try Self.fields(lines.dropFirst())
        guard fields["host", default: []].count <= 1, fields["host"] != nil || parts[2] == "HTTP/1.0",
            parts[1].hasPrefix("/"), let components = URLComponents(string: "http://localhost" + parts[1])
        else { throw .invalid }
        guard ["GET", "HEAD"].contains(parts[0]) else { throw .method }
        bodyByteCount = try Self.bodyByteCount(fields)
        method = String(parts[0])
        path = components.path
        query = Dictionary(
            (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
        let options = fields["connection", default: []].flatMap {
            $0.lowercased().split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        closesConnection = options.contains("close") || parts[2] == "HTTP/1.0" && !options.contains("keep-alive")
    }

    /// Returns the values of the fields by name in lower case. White space before a colon and folded lines are refused.
    private static func fields(_ lines: some Sequence<ArraySlice<UInt8>>) throws(HTTPRefusal) -> [String: [String]] {
        var fields: [String: [String]] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else { throw .invalid }
            let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmingCharacters(in: .whitespaces)
            fields[String(decoding: line[..<colon], as: UTF8.self).lowercased(), default: []].append(value)
        }
        return fields
    }

    private static func bodyByteCount(_ fields: [String: [String]]) throws(HTTPRefusal) -> Int {
        let lengths = fields["content-length", default: []]
        guard fields["transfer-encoding"] == nil else { throw lengths.isEmpty ? .coding : .invalid }
        guard let text = lengths.first else { return 0 }
        guard lengths.count == 1, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalid
        }
        // A client that waits for 100 (Continue) sends its body only then.
        guard fields["expect"] == nil || text == "0" else { throw .expectation }
        guard let count = Int(text) else { throw .bodyTooLong }
        return count
    }

    private static func isToken(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

/// Why a request is refused. The connection then ends, since it is unknown where the next request begins.
enum HTTPRefusal: Error {
    case invalid, version, method, coding, expectation, headTooLong, bodyTooLong, tooSlow, overloaded

    var response: HTTPResponse {
        switch self {
        case .invalid: .text(400, "This is no valid HTTP request.")
        case .version: .text(505, "Only HTTP/1.0 and HTTP/1.1 are served.")
        case .method: .text(405, "Only GET and HEAD are served.", ("Allow", "GET, HEAD"))
        case .coding: .text(501, "Transfer codings are not supported.")
        case .expectation: .text(417, "No body is needed.")
        case .headTooLong: .text(431, "The head of the request is too long.")
        case .bodyTooLong: .text(413, "The body of the request is too long.")
        case .tooSlow: .text(408, "The request did not arrive in time.")
        case .overloaded: .text(503, "The server is busy.", ("Retry-After", "5"))
        }
    }
}

/// A response with its whole body.
struct HTTPResponse: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body = Data()

    /// A short text.
    static func text(_ status: Int, _ text: String, _ headers: (name: String, value: String)...) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "text/plain; charset=utf-8")] + headers,
            body: Data((text + "\n").utf8))
    }

    /// Returns the head as it is sent.
    func encodedHead(closesConnection: Bool) -> Data {
        var head = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\nContent-Length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if closesConnection { head += "Connection: close\r\n" }
        return Data((head + "\r\n").utf8)
    }

    private static let reasons = [
        200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 413: "Content Too Large", 415: "Unsupported Media Type", 417: "Expectation Failed",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}
