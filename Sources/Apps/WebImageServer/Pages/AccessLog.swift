internal import FoundationEssentials
internal import Glibc
internal import WebImageLoading

/// Prints a line for each request, with the reason if its source failed.
///
///     2026-11-27T01:02:03Z GET "/sig/w:10/plain/…" 200 1234 0.012 "webimage; hit; ttl=60; detail=memory" "agent"
struct AccessLog: Sendable {
    let isEnabled: Bool

    func print(_ exchange: HTTPExchange, isSent: Bool) {
        guard isEnabled, let answer = exchange.answer else { return }
        let time = Date().formatted(.iso8601)
        let seconds = exchange.start.duration(to: .now) / .seconds(1)
        let line =
            "\(time) \(Self.escaped(exchange.request.method)) \(Self.quoted(exchange.request.target)) \(answer.status) \(answer.body.count) "
            + "\((seconds * 1000).rounded() / 1000) \(Self.field("Cache-Status", answer.headers)) "
            + Self.field("User-Agent", exchange.request.headers)
            + (answer.reason.map { " " + Self.quoted($0) } ?? "") + (isSent ? "" : " aborted") + "\n"
        let bytes = Array(line.utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    private static func field(_ name: String, _ fields: [HTTPHeader]) -> String {
        quoted(fields.last { $0.isNamed(name) }?.value ?? "-")
    }

    private static func quoted(_ text: String) -> String { "\"" + escaped(text, isQuoted: true) + "\"" }

    /// A client's text could otherwise look like another line, or like other parts of its line.
    private static func escaped(_ text: String, isQuoted: Bool = false) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars.prefix(2048) {
            switch scalar {
            case "\"", "\\": escaped += "\\" + String(scalar)
            case _
            where scalar.value < 0x20 || scalar == " " && !isQuoted || (0x7F...0x9F).contains(scalar.value)
                || scalar.properties.generalCategory == .format:
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
