/// Which hosts a rule is for.
///
/// - `example.org`: that host.
/// - `.example.org`: that host and all below it.
/// - `*.example.org`, `img*.example.org`: `*` stands for any characters, dots too.
///
/// Case, a dot at the end and the form of an address make no difference. International names are in their ASCII form
/// (`xn--…`), here as in URLs: hosts in any other are refused.
public struct HostPattern: Sendable, Hashable, ExpressibleByStringLiteral {
    private let text: String

    /// Makes a pattern.
    public init(_ text: String) { self.text = Self.normalized(text) }

    /// Makes a pattern.
    public init(stringLiteral value: String) { self.init(value) }

    /// Whether it is for `host`.
    public func matches(_ host: String) -> Bool {
        let host = Self.normalized(host)
        if text.hasPrefix(".") { return host == text.dropFirst() || host.hasSuffix(text) }
        let pieces = text.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = pieces.first, let last = pieces.last, pieces.count > 1 else { return host == text }
        guard host.utf8.count >= first.utf8.count + last.utf8.count, host.hasPrefix(first), host.hasSuffix(last) else {
            return false
        }
        var rest = host.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    /// Without brackets and dots at the end, in lower case, and addresses in their usual form.
    static func normalized(_ host: String) -> String {
        var host = host.lowercased()[...]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        while host.hasSuffix("."), host.count > 1 { host = host.dropLast() }
        guard let address = IPAddress(host: host) else { return String(host) }
        return address.description + host.drop { $0 != "%" }
    }
}
