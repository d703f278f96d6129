/// Reads the tags of an HTML text one after the other. Comments, scripts and style sheets are left out.
struct TagReader {
    struct Tag {
        /// In lower case; an end tag's begins with `/`.
        let name: String
        fileprivate(set) var attributes: [String: String] = [:]

        /// The value of an attribute; `nil` if it is empty.
        subscript(name: String) -> String? {
            attributes[name].flatMap { value in value.isEmpty ? nil : value }
        }
    }

    private let text: [UInt8]
    private var index = 0
    /// Elements without an end tag in the rest of the text: it is searched once for each name.
    private var openElements: Set<String> = []

    /// The elements whose content is no markup.
    private static let rawElements: Set<String> = ["script", "style", "textarea", "title"]

    init(_ text: [UInt8]) { self.text = text }

    /// Returns the next tag; `nil` at the end, and if the text ends inside of a tag or a comment.
    mutating func next() -> Tag? {
        while let start = text[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = start + 1
            if matches("!--", at: index) {
                guard let end = firstIndex(of: "-->", from: index) else { return nil }
                index = end + 3
                continue
            }
            guard let tag = readTag() else { return nil }
            if Self.rawElements.contains(tag.name) { skipContent(of: tag.name) }
            return tag
        }
        return nil
    }

    // MARK: Parts

    /// Moves to the end tag, if there is one.
    private mutating func skipContent(of name: String) {
        guard !openElements.contains(name) else { return }
        guard let end = firstIndex(of: "</\(name)", from: index) else {
            openElements.insert(name)
            return
        }
        index = end
    }

    /// Reads a tag after its `<`.
    private mutating func readTag() -> Tag? {
        var tag = Tag(name: lowercased(take { $0.isLetter || $0.isDigit || $0 == .slash || $0 == .exclamation }))
        while index < text.count {
            _ = take { $0.isSpace || $0 == .slash }
            guard index < text.count else { return nil }
            if text[index] == .greater {
                index += 1
                return tag
            }
            let name = lowercased(take { !$0.isSpace && $0 != .equals && $0 != .greater && $0 != .slash })
            _ = take(while: \.isSpace)
            guard index < text.count, text[index] == .equals else {
                // An attribute without a value, or a character that begins none.
                if name.isEmpty { index += 1 }
                continue
            }
            index += 1
            _ = take(while: \.isSpace)
            guard let value = readValue() else { return nil }
            if tag.attributes[name] == nil { tag.attributes[name] = Self.decoded(value) }
        }
        return nil
    }

    private mutating func readValue() -> ArraySlice<UInt8>? {
        guard index < text.count else { return nil }
        let quote = text[index]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            return take { !$0.isSpace && $0 != .greater }
        }
        index += 1
        let value = take { $0 != quote }
        guard index < text.count else { return nil }
        index += 1
        return value
    }

    /// Replaces the character references that addresses contain.
    private static func decoded(_ value: ArraySlice<UInt8>) -> String {
        let text = String(decoding: value, as: UTF8.self).trimmed
        guard text.contains("&") else { return text }
        return [
            ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&#38;", "&"),
            ("&amp;", "&"),
        ]
        .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    // MARK: Bytes

    private mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while index < text.count, isWanted(text[index]) { index += 1 }
        return text[start..<index]
    }

    private func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }

    /// Whether the text has `word`, which is in lower case, at an index.
    private func matches(_ word: String, at start: Int) -> Bool {
        let word = word.utf8
        guard text.count - start >= word.count else { return false }
        return zip(text[start...], word).allSatisfy { $0 == $1 || ($0 | 0x20) == $1 && $0.isLetter }
    }

    private func firstIndex(of word: String, from start: Int) -> Int? {
        guard let first = word.utf8.first else { return nil }
        var start = start
        while let index = text[start...].firstIndex(of: first) {
            if matches(word, at: index) { return index }
            start = index + 1
        }
        return nil
    }
}

extension UInt8 {
    fileprivate static let slash = UInt8(ascii: "/")
    fileprivate static let exclamation = UInt8(ascii: "!")
    fileprivate static let equals = UInt8(ascii: "=")
    fileprivate static let greater = UInt8(ascii: ">")

    fileprivate var isLetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    /// White space of HTML.
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0C || self == 0x0D }
}
