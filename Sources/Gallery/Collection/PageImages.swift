import FoundationEssentials

/// The image links of a web page.
///
/// It reads tags as they come, without building a document, so that any text is read in one pass: `img` and `source` with
/// their `srcset`, `a` that leads to an image, `link` and `meta` that name one, relative to `base`.
struct PageImages {
    /// The links in the order of the page, each once.
    private(set) var urls: [URL] = []
    private var base: URL
    private var known: Set<String> = []
    private let isImage: (String) -> Bool

    /// - Parameters:
    ///   - html: the page's text.
    ///   - url: the page's URL, which its links are relative to.
    ///   - isImage: whether a file name is that of an image.
    init(html: String, url: URL, isImage: @escaping (String) -> Bool) {
        (base, self.isImage) = (url, isImage)
        var rest = Substring(html)
        while let start = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: start)...]
            if rest.hasPrefix("!--") {
                guard let end = rest.firstRange(of: "-->") else { return }
                rest = rest[end.upperBound...]
                continue
            }
            guard let (tag, end) = Self.tag(in: rest) else { return }
            rest = rest[end...]
            note(tag)
        }
    }

    // MARK: Links

    private mutating func note(_ tag: Tag) {
        switch tag.name {
        case "base": if let link = tag["href"], let url = resolved(link) { base = url }
        case "img":
            // The largest of several sizes; lazily loaded images have their address in a data attribute.
            add(Self.largest(in: tag["srcset"] ?? tag["data-srcset"]) ?? tag["data-src"] ?? tag["src"])
        case "source": add(Self.largest(in: tag["srcset"]))
        case "a": if let link = tag["href"], isImage(Self.fileName(of: link)) { add(link) }
        case "link": if let kind = tag["rel"]?.lowercased(), kind == "image_src" { add(tag["href"]) }
        case "meta":
            let property = (tag["property"] ?? tag["name"])?.lowercased()
            if property == "og:image" || property == "twitter:image" { add(tag["content"]) }
        default: break
        }
    }

    private mutating func add(_ link: String?) {
        guard let link, let url = resolved(link), ["http", "https", "file"].contains(url.scheme?.lowercased() ?? ""),
            known.insert(url.absoluteString).inserted
        else { return }
        urls.append(url)
    }

    private func resolved(_ link: String) -> URL? {
        let text =
            link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard !text.isEmpty else { return nil }
        return URL(string: text, relativeTo: base)?.absoluteURL
    }

    private static func fileName(of link: String) -> String {
        let path = link.prefix { $0 != "?" && $0 != "#" }
        return path.split(separator: "/").last.map(String.init) ?? ""
    }

    /// Returns the address with the greatest width or density of a `srcset`: addresses, each followed by a size such as
    /// `640w` or `2x`, separated by commas. Addresses contain commas too, but do not end with one.
    private static func largest(in sources: String?) -> String? {
        var best: (size: Double, link: Substring)?
        var link: Substring?
        func end(_ size: Double) {
            if let link, size > best?.size ?? 0 { best = (size, link) }
            link = nil
        }
        for word in sources?.split(whereSeparator: \.isWhitespace) ?? [] {
            if link == nil {
                link = word.last == "," ? word.dropLast() : word
                if word.last == "," { end(1) }
            } else {
                end(Double(word.drop { $0 == "," }.prefix { $0.isNumber || $0 == "." }) ?? 1)
                // `640w,b.jpg` without a space between.
                if let comma = word.firstIndex(of: ","), word.index(after: comma) < word.endIndex {
                    link = word[word.index(after: comma)...]
                }
            }
        }
        end(1)
        return best.map { String($0.link) }
    }

    // MARK: Tags

    private struct Tag {
        var name: String
        var attributes: [String: String] = [:]

        subscript(name: String) -> String? {
            attributes[name].flatMap { value in value.isEmpty ? nil : value }
        }
    }

    /// Reads a tag after its `<`. Returns it with the index after its `>`; `nil` if the text ends inside.
    private static func tag(in text: Substring) -> (tag: Tag, end: Substring.Index)? {
        var index = text.startIndex
        func skip(while isWanted: (Character) -> Bool) -> Substring {
            let start = index
            while index < text.endIndex, isWanted(text[index]) { index = text.index(after: index) }
            return text[start..<index]
        }
        var tag = Tag(name: skip { $0.isLetter || $0.isNumber || $0 == "/" || $0 == "!" }.lowercased())
        while index < text.endIndex {
            _ = skip { $0.isWhitespace || $0 == "/" }
            guard index < text.endIndex else { return nil }
            if text[index] == ">" { return (tag, text.index(after: index)) }
            let name = skip { !$0.isWhitespace && $0 != "=" && $0 != ">" && $0 != "/" }.lowercased()
            _ = skip(while: \.isWhitespace)
            guard index < text.endIndex, text[index] == "=" else {
                // An attribute without a value, or a character that begins none.
                if name.isEmpty { index = text.index(after: index) }
                continue
            }
            index = text.index(after: index)
            _ = skip(while: \.isWhitespace)
            guard index < text.endIndex else { return nil }
            let value: Substring
            if let quote = ["\"", "'"].first(where: { $0 == text[index] }) {
                index = text.index(after: index)
                value = skip { $0 != quote }
                guard index < text.endIndex else { return nil }
                index = text.index(after: index)
            } else {
                value = skip { !$0.isWhitespace && $0 != ">" }
            }
            if tag.attributes[name] == nil { tag.attributes[name] = decoded(value) }
        }
        return nil
    }

    /// Replaces the character references that addresses contain.
    private static func decoded(_ value: Substring) -> String {
        let text = value.drop(while: \.isWhitespace)
        let trimmed = String(text.reversed().drop(while: \.isWhitespace).reversed())
        guard trimmed.contains("&") else { return trimmed }
        return [
            ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&#38;", "&"),
            ("&amp;", "&"),
        ]
        .reduce(trimmed) { $0.replacing($1.0, with: $1.1) }
    }
}
