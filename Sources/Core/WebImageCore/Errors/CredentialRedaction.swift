/// Removes user names and passwords from texts that contain URLs, so that logs and windows do not show them.
public enum CredentialRedaction {
    /// Removes `user:password@` from every URL in `text`.
    ///
    /// An authority begins after `//` and ends before the next `/`, `?` or `#` (RFC 3986 §3.2). Here it also ends
    /// before characters that can follow a URL in a sentence. Slashes after a name are part of a path, such as
    /// `photos//a@2x.png`.
    public static func removingUserInformation(from text: String) -> String {
        var shown = ""
        var rest = text.utf8[...]
        while let start = doubleSlash(in: rest) {
            let slashes = text.utf8.index(start, offsetBy: -2)
            if slashes > text.startIndex, isInName(text.utf8[text.utf8.index(before: slashes)]) {
                shown += String(text[rest.startIndex..<start])
                rest = rest[start...]
                continue
            }
            let authority = rest[start...].prefix { !"/?# '".utf8.contains($0) }
            let host = authority.lastIndex(of: UInt8(ascii: "@")).map { rest.index(after: $0) } ?? start
            shown += String(text[rest.startIndex..<start]) + String(text[host..<authority.endIndex])
            rest = rest[authority.endIndex...]
        }
        return shown + String(text[rest.startIndex...])
    }

    /// Removes `user:password@` from a text that is one URL, in which a password may contain `'`.
    public static func removingUserInformation(fromURL text: String) -> String {
        guard let start = text.firstRange(of: "://")?.upperBound else { return removingUserInformation(from: text) }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return String(text[..<start] + text[text.index(after: at)...])
    }

    /// Redacts a text that is not a URL, in which a password may contain anything. Removes everything up to the last
    /// `@`.
    static func removingAll(from text: String) -> String {
        guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
        let head = text[..<at]
        let tail = text[text.utf8.index(after: at)...]
        guard let slashes = doubleSlash(in: head.utf8[...]) else { return String(tail) }
        return String(head[..<slashes] + tail)
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
            true
        default: "-._~%".utf8.contains(byte)
        }
    }

    /// The index after the first `//`.
    private static func doubleSlash(in text: Substring.UTF8View) -> Substring.UTF8View.Index? {
        var previous: UInt8 = 0
        for index in text.indices {
            if text[index] == UInt8(ascii: "/"), previous == UInt8(ascii: "/") { return text.index(after: index) }
            previous = text[index]
        }
        return nil
    }
}
