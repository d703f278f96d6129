import FoundationEssentials

/// The image links of a web page.
///
/// It reads tags as they come, without building a document, so that any text is read in one pass: `img` and `source` with
/// their `srcset`, `a` that leads to an image, `link` and `meta` that name one, relative to `base`. Of a `picture` it has
/// one link.
struct PageImages {
    /// The links in the order of the page, each once.
    private(set) var urls: [URL] = []
    private var base: URL
    private let schemes: Set<String>
    private var known: Set<String> = []
    /// The link of the `source` to use in the current `picture`; `nil` outside.
    private var picture: Picture?
    private let isImage: (String) -> Bool

    private struct Picture {
        var link: String?
        var hasImage = false
    }

    /// - Parameters:
    ///   - html: the page's text, in UTF-8 or another encoding that contains ASCII.
    ///   - url: the page's URL, which its links are relative to. Only a page in a file may name files.
    ///   - isImage: whether a file name is that of an image.
    init(html: [UInt8], url: URL, isImage: @escaping (String) -> Bool) {
        (base, self.isImage) = (url, isImage)
        schemes = url.isFileURL ? ["http", "https", "file"] : ["http", "https"]
        var reader = TagReader(html)
        while let tag = reader.next() { note(tag) }
    }

    // MARK: Links

    private mutating func note(_ tag: TagReader.Tag) {
        switch tag.name {
        case "base": if let link = tag["href"], let url = resolved(link) { base = url }
        case "picture": picture = Picture()
        case "/picture":
            if let picture, !picture.hasImage { add(picture.link) }
            picture = nil
        case "img":
            add(picture?.hasImage == false ? picture?.link ?? Self.link(of: tag) : Self.link(of: tag))
            picture?.hasImage = true
        case "source": note(source: tag)
        case "a": if let link = tag["href"], isImage(Self.fileName(of: link)) { add(link) }
        case "link": if let kind = tag["rel"]?.lowercased(), kind == "image_src" { add(tag["href"]) }
        case "meta":
            let property = (tag["property"] ?? tag["name"])?.lowercased()
            if property == "og:image" || property == "twitter:image" { add(tag["content"]) }
        default: break
        }
    }

    /// The largest of several sizes; lazily loaded images have their address in a data attribute.
    private static func link(of image: TagReader.Tag) -> String? {
        largest(in: image["srcset"] ?? image["data-srcset"]) ?? image["data-src"] ?? image["src"]
    }

    /// Like a browser, takes the first source of a format that can be shown, unless it is for some windows only.
    private mutating func note(source tag: TagReader.Tag) {
        let link = Self.largest(in: tag["srcset"])
        guard picture != nil else { return add(link) }
        guard picture?.link == nil, tag["media"] == nil, let link else { return }
        let type = tag["type"]?.lowercased().split(separator: "/").last?.prefix { $0 != "+" && $0 != ";" }
        if isImage(type.map { "image.\($0)" } ?? Self.fileName(of: link)) { picture?.link = link }
    }

    private mutating func add(_ link: String?) {
        guard let link, let url = resolved(link), known.insert(url.absoluteString).inserted else { return }
        urls.append(url)
    }

    /// Returns `nil` for a scheme that the page may not use.
    private func resolved(_ link: String) -> URL? {
        let text =
            link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard !text.isEmpty, let url = URL(string: text, relativeTo: base)?.absoluteURL,
            schemes.contains(url.scheme?.lowercased() ?? "")
        else { return nil }
        return url
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
}
