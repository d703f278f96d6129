public import FoundationEssentials

/// A cookie as a jar keeps it (RFC 6265 §5.3).
public struct Cookie: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: String
    /// The host it is for, without a dot before it.
    public var domain: String
    /// Whether it is also for hosts below ``domain``.
    public var includesSubdomains: Bool
    /// The path at and below which it is sent.
    public var path: String
    /// Whether it is sent over https only, and to this machine.
    public var isSecure: Bool
    /// Whether web pages' scripts should not see it; of no meaning here, but kept.
    public var isHTTPOnly: Bool
    /// When it ends; `nil` for one that lasts as long as its jar.
    public var expires: Date?

    /// Makes one; `nil` when a part has a line break, tab or semicolon in it, or is empty that must not be.
    public init?(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
        isSecure: Bool = false, isHTTPOnly: Bool = false, expires: Date? = nil
    ) {
        let isForbidden: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || $0 == ";" || $0.value == 0x7F }
        for part in [name, value, domain, path] where part.unicodeScalars.contains(where: isForbidden) { return nil }
        guard !name.isEmpty, !domain.isEmpty, path.hasPrefix("/") else { return nil }
        self.name = name
        self.value = value
        self.domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
        self.includesSubdomains = includesSubdomains
        self.path = path
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.expires = expires
    }
}

extension Cookie {
    /// Reads a line of a Netscape cookie file, as curl and wget write it; `nil` for comments and anything else.
    init?(netscapeLine line: some StringProtocol) {
        let prefix = "#HttpOnly_"
        let isHTTPOnly = line.hasPrefix(prefix)
        let fields = String(isHTTPOnly ? line.dropFirst(prefix.count) : line[...])
            .split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7, !line.hasPrefix("#") || isHTTPOnly, let seconds = Int64(fields[4]) else { return nil }
        self.init(
            name: fields[5], value: fields[6], domain: fields[0], includesSubdomains: fields[1] == "TRUE",
            path: fields[2], isSecure: fields[3] == "TRUE", isHTTPOnly: isHTTPOnly,
            expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
    }

    /// As a line of a Netscape cookie file.
    var netscapeLine: String {
        // 0 stands for no end, so that the beginning of 1970 becomes a second later.
        let limit = Double(1 << 52)
        let seconds = expires.map { max(1, Int64(min(max($0.timeIntervalSince1970, 1), limit))) } ?? 0
        let fields = [
            (isHTTPOnly ? "#HttpOnly_" : "") + (includesSubdomains ? "." : "") + domain,
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(seconds), name, value,
        ]
        return fields.joined(separator: "\t")
    }
}
