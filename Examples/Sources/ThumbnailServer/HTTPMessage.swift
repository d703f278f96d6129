import Foundation

/// The head of a GET or HEAD request.
struct HTTPRequest {
    let method: String
    /// Without the query.
    let path: String
    /// The values of the query by name; of two with one name the latter.
    let query: [String: String]
    let closesConnection: Bool

    /// `nil` for what is not such a request. `head` ends before the empty line.
    init?(head: String) {
        let lines = head.components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1."), parts[1].hasPrefix("/"),
            let components = URLComponents(string: "http://localhost" + parts[1])
        else { return nil }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            fields[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        method = String(parts[0])
        path = components.path
        query = Dictionary(
            (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
        let connection = fields["connection"]?.lowercased()
        // Bodies are not read, so that nothing can follow one.
        closesConnection =
            connection == "close" || (parts[2] == "HTTP/1.0" && connection != "keep-alive")
            || fields["content-length"].map { $0 != "0" } ?? false || fields["transfer-encoding"] != nil
    }
}

/// A response with its whole body.
struct HTTPResponse {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body = Data()

    /// A short text.
    static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Data((text + "\n").utf8))
    }

    func encoded(withBody: Bool, closesConnection: Bool) -> Data {
        var head = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\nContent-Length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if closesConnection { head += "Connection: close\r\n" }
        return Data((head + "\r\n").utf8) + (withBody ? body : Data())
    }

    private static let reasons = [
        200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 413: "Content Too Large", 415: "Unsupported Media Type",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout",
    ]
}
