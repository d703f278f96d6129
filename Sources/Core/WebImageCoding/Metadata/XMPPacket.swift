/// Reads an XMP packet (ISO 16684-1: RDF in XML), and changes it in its bytes, so that everything else stays as it is.
///
/// Properties are attributes or elements, whose prefixes the packet declares for namespaces. XML that is not well-formed
/// is read as far as its tags can be told apart.
struct XMPPacket {
    private let bytes: [UInt8]
    private let tags: [Tag]
    /// The prefixes that the packet declares, by namespace.
    private let prefixes: [String: Set<String>]

    /// A namespace, and the prefix that all programs use; packets may lack its declaration.
    struct Namespace {
        let address: String
        let prefix: String

        static let tiff = Namespace(address: "http://ns.adobe.com/tiff/1.0/", prefix: "tiff")
        static let exif = Namespace(address: "http://ns.adobe.com/exif/1.0/", prefix: "exif")
        static let gainMap = Namespace(address: "http://ns.adobe.com/hdr-gain-map/1.0/", prefix: "hdrgm")
        static let container = Namespace(address: "http://ns.google.com/photos/1.0/container/", prefix: "Container")
        static let appleGainMap = Namespace(address: "http://ns.apple.com/HDRGainMap/1.0/", prefix: "HDRGainMap")
        static let containerItem = Namespace(
            address: "http://ns.google.com/photos/1.0/container/item/", prefix: "Item")
    }

    /// `<name …>`, `<name …/>` or `</name>`.
    private struct Tag {
        var range: Range<Int>
        var name = ""
        var isStart = true
        var isEmpty = false
        var attributes: [Attribute] = []
    }

    private struct Attribute {
        let name: String
        /// From the space before the name.
        let range: Range<Int>
        /// Inside of the quotes.
        let value: Range<Int>
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var scanner = Scanner(bytes: bytes)
        var tags: [Tag] = []
        var prefixes: [String: Set<String>] = [:]
        while let tag = scanner.nextTag() {
            tags.append(tag)
            for attribute in tag.attributes where attribute.name.hasPrefix("xmlns:") {
                let address = String(decoding: bytes[attribute.value], as: UTF8.self)
                prefixes[address, default: []].insert(String(attribute.name.dropFirst(6)))
            }
        }
        (self.tags, self.prefixes) = (tags, prefixes)
    }

    /// Returns the packet with these values of simple properties, where it has them, and without what is in
    /// `namespaces`; `nil` if an element to leave out has no end.
    func changed(
        setting values: [(namespace: Namespace, property: String, value: String)], removing namespaces: [Namespace]
    ) -> [UInt8]? {
        var edits: [(range: Range<Int>, text: String)] = []
        let removed = Set(namespaces.flatMap(names))
        let texts = Dictionary(
            values.flatMap { value in names(value.namespace).map { ("\($0):\(value.property)", value.value) } },
            uniquingKeysWith: { first, _ in first })
        var index = 0
        while index < tags.count {
            let tag = tags[index]
            if tag.isStart, removed.contains(Self.prefix(of: tag.name)) {
                guard let end = end(ofElementAt: index) else { return nil }
                edits.append((tag.range.lowerBound..<tags[end].range.upperBound, ""))
                index = end + 1
                continue
            }
            for attribute in tag.attributes {
                let prefix = Self.prefix(of: attribute.name)
                let declared = prefix == "xmlns" ? String(attribute.name.dropFirst(6)) : prefix
                if removed.contains(declared) {
                    edits.append((attribute.range, ""))
                } else if let text = texts[attribute.name] {
                    edits.append((attribute.value, text))
                }
            }
            if tag.isStart, !tag.isEmpty, let text = texts[tag.name], index + 1 < tags.count,
                !tags[index + 1].isStart
            {
                edits.append((tag.range.upperBound..<tags[index + 1].range.lowerBound, text))
            }
            index += 1
        }
        return applied(edits)
    }

    /// Returns the texts of a property: of an attribute, of an element, or of the items of a list in it. Empty if there is none.
    func values(of property: String, in namespace: Namespace) -> [String] {
        let names = Set(names(namespace).map { "\($0):\(property)" })
        for (index, tag) in tags.enumerated() where tag.isStart {
            if let attribute = tag.attributes.first(where: { names.contains($0.name) }) {
                return [text(attribute.value)]
            }
            guard names.contains(tag.name), let end = end(ofElementAt: index) else { continue }
            let items = (index..<end).filter { tags[$0].isStart && tags[$0].name.hasSuffix(":li") }
            return (items.isEmpty ? [index] : items.prefix(Self.itemLimit)).compactMap(text(ofElementAt:))
        }
        return []
    }

    /// Returns the values of two attributes of the elements that have the first one, in the order of the packet.
    func attributes(_ first: String, _ second: String, in namespace: Namespace) -> [(first: String, second: String?)] {
        let names = names(namespace)
        func value(of property: String, in tag: Tag) -> String? {
            tag.attributes.first { names.map { "\($0):\(property)" }.contains($0.name) }.map { text($0.value) }
        }
        return tags.lazy.filter(\.isStart).compactMap { tag in
            value(of: first, in: tag).map { ($0, value(of: second, in: tag)) }
        }
    }

    /// Returns the packet with another description behind its own; `nil` if it has no list of descriptions.
    func adding(description: String) -> [UInt8]? {
        guard let end = tags.last(where: { !$0.isStart && $0.name == "rdf:RDF" }) else { return nil }
        return applied([(end.range.lowerBound..<end.range.lowerBound, description)])
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The text between a tag and the next one, without spaces around it.
    private func text(ofElementAt index: Int) -> String? {
        guard !tags[index].isEmpty, index + 1 < tags.count else { return nil }
        let content = bytes[tags[index].range.upperBound..<tags[index + 1].range.lowerBound]
        let words = content.split { $0 <= 0x20 }
        return words.count == 1 ? String(decoding: words[0], as: UTF8.self) : nil
    }

    private static let itemLimit = 16

    private func names(_ namespace: Namespace) -> Set<String> {
        prefixes[namespace.address] ?? [namespace.prefix]
    }

    private static func prefix(of name: String) -> String {
        name.firstIndex(of: ":").map { String(name[..<$0]) } ?? ""
    }

    /// The index of the tag that ends an element.
    private func end(ofElementAt start: Int) -> Int? {
        if tags[start].isEmpty { return start }
        var depth = 0
        for index in start..<tags.count where tags[index].name == tags[start].name && !tags[index].isEmpty {
            depth += tags[index].isStart ? 1 : -1
            if depth == 0 { return index }
        }
        return nil
    }

    private func applied(_ edits: [(range: Range<Int>, text: String)]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        for edit in edits {
            result += bytes[position..<edit.range.lowerBound]
            result += edit.text.utf8
            position = edit.range.upperBound
        }
        return result + bytes[position...]
    }

    /// Finds tags. Comments, instructions and sections of character data are skipped.
    private struct Scanner {
        let bytes: [UInt8]
        private var offset = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func nextTag() -> Tag? {
            while let start = next(UInt8(ascii: "<"), from: offset) {
                if has("<!--", at: start) {
                    guard skip(past: "-->", from: start + 4) else { return nil }
                } else if has("<![CDATA[", at: start) {
                    guard skip(past: "]]>", from: start + 9) else { return nil }
                } else if has("<?", at: start) {
                    guard skip(past: "?>", from: start + 2) else { return nil }
                } else {
                    return tag(at: start)
                }
            }
            return nil
        }

        private mutating func tag(at start: Int) -> Tag? {
            var tag = Tag(range: start..<start)
            offset = start + 1
            if byte == UInt8(ascii: "/") {
                tag.isStart = false
                offset += 1
            }
            tag.name = name()
            while byte != nil {
                let begin = offset
                skipSpace()
                switch self.byte {
                case UInt8(ascii: ">"):
                    offset += 1
                    tag.range = start..<offset
                    return tag
                case UInt8(ascii: "/"):
                    tag.isEmpty = true
                    offset += 1
                case nil: return nil
                default:
                    let name = name()
                    skipSpace()
                    guard self.byte == UInt8(ascii: "=") else {
                        // Not an attribute; a byte of no name must not stop the scanner.
                        if offset == begin || name.isEmpty { offset += 1 }
                        continue
                    }
                    offset += 1
                    skipSpace()
                    guard let quote = self.byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                        let end = next(quote, from: offset + 1)
                    else { return nil }
                    tag.attributes.append(Attribute(name: name, range: begin..<end + 1, value: offset + 1..<end))
                    offset = end + 1
                }
            }
            return nil
        }

        private var byte: UInt8? { offset < bytes.count ? bytes[offset] : nil }

        private mutating func skipSpace() { while let byte, byte <= 0x20 { offset += 1 } }

        private mutating func name() -> String {
            let start = offset
            while let byte, byte > 0x20, !Self.delimiters.contains(byte) { offset += 1 }
            return String(decoding: bytes[start..<offset], as: UTF8.self)
        }

        private static let delimiters: [UInt8] = Array("=/><\"'".utf8)

        private func next(_ byte: UInt8, from start: Int) -> Int? {
            start <= bytes.count ? bytes[start...].firstIndex(of: byte) : nil
        }

        private func has(_ text: String, at start: Int) -> Bool { bytes[start...].starts(with: text.utf8) }

        private mutating func skip(past text: String, from start: Int) -> Bool {
            var position = start
            let first = text.utf8.first ?? 0
            while let found = next(first, from: position) {
                if has(text, at: found) {
                    offset = found + text.utf8.count
                    return true
                }
                position = found + 1
            }
            return false
        }
    }
}
