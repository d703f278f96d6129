internal import FoundationEssentials
internal import SystemText
internal import WebImageCore

/// The beginning of allowed sources, such as `https://*.example.com/photos/` or `s3://bucket/`.
///
/// As in imgproxy, `*` stands for any characters but slashes, anywhere. Here, a host is always a whole one, so that `https://example.com` does not
/// allow `https://example.com.evil.org`.
struct SourcePattern: Sendable {
    private let scheme: Wildcards
    /// The host, with a colon and a port if there is one; `nil` for any, as in `https://`.
    private let authority: Wildcards?
    /// Between the slashes of the path. The last one is the beginning of a part.
    private let parts: [Wildcards]

    init(_ text: String) {
        let pieces = text.firstRange(of: "://").map { (text[..<$0.lowerBound], text[$0.upperBound...]) }
        let rest = pieces?.1 ?? text[...]
        let authority = rest.prefix { $0 != "/" }
        scheme = Wildcards((pieces?.0 ?? "").lowercased())
        self.authority = rest.isEmpty ? nil : Wildcards(authority.lowercased())
        parts = Self.parts(of: rest.dropFirst(authority.count)).map { Wildcards($0) }
    }

    /// - Parameter url: one without user information and without `..` in its path.
    func matches(_ url: URL) -> Bool {
        guard let scheme = url.scheme, self.scheme.matches(Array(scheme.lowercased().utf8)), matchesAuthority(of: url)
        else { return false }
        // An encoded slash is a character of its part, as for the server.
        let found = Self.parts(of: url.path(percentEncoded: true)[...]).map { part in
            Array(PercentEncodedBytes(Array(part.utf8)[...]))
        }
        guard found.count >= parts.count, let last = parts.last else { return false }
        return zip(parts.dropLast(), found).allSatisfy { $0.matches($1) }
            && last.matches(found[parts.count - 1], isBeginning: true)
    }

    private func matchesAuthority(of url: URL) -> Bool {
        guard let authority else { return true }
        // A host that a client would decode to another one never matches.
        let host = (url.host(percentEncoded: true) ?? "").lowercased()
        guard !host.contains("%") else { return false }
        let isAddress = host.contains(":") && !host.hasPrefix("[")
        let port = url.port.map { ":\($0)" } ?? ""
        return authority.matches(Array(((isAddress ? "[\(host)]" : host) + port).utf8))
    }

    private static func parts(of path: Substring) -> [Substring] {
        (path.isEmpty ? "/" : path).split(separator: "/", omittingEmptySubsequences: false)
    }
}

/// A text in which `*` stands for any characters but slashes.
private struct Wildcards: Sendable {
    /// The texts between the stars, decoded.
    private let pieces: [[UInt8]]

    init(_ text: some StringProtocol) {
        pieces = text.split(separator: "*", omittingEmptySubsequences: false).map { piece in
            Array(PercentEncodedBytes(Array(piece.utf8)[...]))
        }
    }

    /// - Parameter isBeginning: whether more may follow.
    func matches(_ text: [UInt8], isBeginning: Bool = false) -> Bool {
        guard let first = pieces.first, let last = pieces.last, text.starts(with: first) else { return false }
        var rest = text.dropFirst(first.count)
        guard pieces.count > 1 else { return isBeginning || rest.isEmpty }
        let beforeSlash = rest.prefix { $0 != UInt8(ascii: "/") }
        guard isBeginning || beforeSlash.count == rest.count else { return false }
        rest = beforeSlash
        // The first place of each piece leaves the most for the next one.
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        guard !last.isEmpty else { return true }
        return isBeginning
            ? rest.firstRange(of: last) != nil
            : rest.count >= last.count && rest.reversed().starts(with: last.reversed())
    }
}
