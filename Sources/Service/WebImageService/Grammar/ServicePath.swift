/// A target divided into its parts.
///
///     /prefix/SIGNATURE/option:argument/…/plain/SOURCE@extension
///                      └──────────── signed ───────────────────┘
///     /prefix/info/SIGNATURE/option:argument/…/plain/SOURCE
///            └───┴──────────┴──────── signed ─────────────┘
struct ServicePath {
    /// Whether the image is described instead of sent.
    let isInfo: Bool
    let signature: String
    /// The text that the signature is for; begins with a slash, and for a description with `/info`, so that no signature is for both.
    let signed: String
    /// The parts behind the signature, between slashes.
    let parts: [Substring]

    /// The longest target, in bytes.
    static let byteLimit = 8 << 10

    /// - Parameter prefix: what paths begin with, such as `/images`; empty for nothing.
    init(_ target: String, prefix: String) throws(Refusal) {
        guard target.utf8.count <= Self.byteLimit else { throw Refusal(414, "The target is too long.") }
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .invalid("The target has characters that are not allowed.")
        }
        var path = target.prefix { $0 != "?" && $0 != "#" }
        guard path.hasPrefix(prefix) else { throw Refusal(404, "There is nothing here.") }
        path = path.dropFirst(prefix.count)
        guard path.first == "/" else { throw Refusal(404, "There is nothing here.") }
        isInfo = path.hasPrefix("/info/")
        if isInfo { path = path.dropFirst("/info".count) }
        let rest = path.dropFirst()
        guard let end = rest.firstIndex(of: "/") else {
            throw Refusal(404, "The path has no source. It is /SIGNATURE/OPTIONS/SOURCE.")
        }
        signature = String(rest[..<end])
        let described = Self.withSlashesOfSchemes(Self.withColons(String(rest[end...])))
        signed = isInfo ? "/info" + described : described
        parts = described.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Proxies encode colons: in options, they are restored.
    private static func withColons(_ path: String) -> String {
        let end = path.firstRange(of: "/plain/")?.lowerBound ?? path.endIndex
        return String(path[..<end].replacing("%3A", with: ":") + path[end...])
    }

    /// Proxies reduce `//` to `/`: of a plain source's scheme, it is restored.
    private static func withSlashesOfSchemes(_ path: String) -> String {
        guard let range = path.firstRange(of: "/plain/") else { return path }
        let source = path[range.upperBound...]
        guard let colon = source.firstIndex(of: ":"), source[..<colon].utf8.allSatisfy(isSchemeCharacter) else {
            return path
        }
        let rest = source[source.index(after: colon)...]
        guard rest.hasPrefix("/"), !rest.hasPrefix("//") else { return path }
        // Such as local:/photo.jpg, whose host is empty.
        let slashes = source[..<colon] == "local" ? "//" : "/"
        return path[..<range.upperBound] + source[...colon] + slashes + rest
    }

    private static func isSchemeCharacter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
