/// An element of an XML text, with the places of its bytes.
struct XMLElement: Sendable {
    /// A name with the namespace that its prefix stands for; empty for none.
    struct Name: Sendable, Hashable {
        let namespace, local: String
    }

    struct Attribute: Sendable {
        let name: Name
        let value: String
        /// From the white space before it to its end.
        let place: Range<Int>
    }

    let name: Name
    /// As it is written, with its prefix.
    let writtenName: String
    let attributes: [Attribute]
    /// The index of the element around it; `nil` for the first.
    let parent: Int?
    /// From `<` to `>` of the start tag.
    let start: Range<Int>
    /// The end tag; empty at the end of the start tag for an element without content.
    fileprivate(set) var end = 0..<0
    /// The text directly in it.
    fileprivate(set) var text = ""

    /// Whether it is written as one tag, `<a/>`.
    var isOneTag: Bool { end.isEmpty }
    var place: Range<Int> { start.lowerBound..<end.upperBound }

    subscript(name: Name) -> Attribute? { attributes.first { $0.name == name } }
}

/// Reads the elements of an XML text without recursion. A document type is refused, so that no text grows when it is read, and nothing else
/// is loaded.
struct XMLReader {
    /// Why a text is refused, for users.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    static let depthLimit = 64
    static let elementLimit = 50_000

    private let bytes: [UInt8]
    private var index = 0
    private var elements: [XMLElement] = []
    private var open: [Int] = []
    /// The namespaces of prefixes, with how many elements were open when they were declared.
    private var declarations: [(depth: Int, prefix: String, namespace: String)] = [
        (0, "xml", "http://www.w3.org/XML/1998/namespace")
    ]

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns all elements, each after the one around it.
    static func elements(of bytes: [UInt8]) throws(Failure) -> [XMLElement] {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(description: localized("It is not in UTF-8."))
        }
        var reader = XMLReader(bytes)
        try reader.read()
        return reader.elements
    }

    private mutating func read() throws(Failure) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        while index < bytes.count {
            if bytes[index] != UInt8(ascii: "<") {
                try readText()
            } else if starts("<?") {
                let place = try skip(to: "?>")
                try checkEncoding(place)
            } else if starts("<!--") {
                _ = try skip(to: "-->")
            } else if starts("<![CDATA[") {
                let place = try skip(to: "]]>")
                note(text: text(of: place.lowerBound + 9..<place.upperBound - 3))
            } else if starts("<!") {
                throw Failure(description: localized("It has a document type, which XMP has not."))
            } else if starts("</") {
                try readEnd()
            } else {
                try readStart()
            }
        }
        guard open.isEmpty, !elements.isEmpty else { throw Failure(description: localized("The XML is incomplete.")) }
    }

    // MARK: Tags

    private mutating func readStart() throws(Failure) {
        guard elements.count < Self.elementLimit, open.count < Self.depthLimit else {
            throw Failure(description: localized("It has too many elements."))
        }
        let start = index
        index += 1
        let name = try readName()
        var written: [(name: String, value: String, place: Range<Int>)] = []
        var isOneTag = false
        while true {
            let space = index
            skipSpace()
            guard index < bytes.count else { throw Self.malformed }
            if bytes[index] == UInt8(ascii: ">") {
                index += 1
                break
            }
            if starts("/>") {
                isOneTag = true
                index += 2
                break
            }
            guard space < index else { throw Self.malformed }
            let (attribute, value) = try readAttribute()
            // Each is compared with the others.
            guard written.count < 1_000, !written.contains(where: { $0.name == attribute }) else {
                throw Self.malformed
            }
            written.append((attribute, value, space..<index))
        }
        let depth = open.count + 1
        for (name, value, _) in written where name == "xmlns" || name.hasPrefix("xmlns:") {
            declarations.append((depth, String(name.dropFirst(6)), value))
        }
        var attributes: [XMLElement.Attribute] = []
        for (name, value, place) in written {
            attributes.append(.init(name: try resolved(name, isAttribute: true), value: value, place: place))
        }
        var element = XMLElement(
            name: try resolved(name, isAttribute: false), writtenName: name, attributes: attributes, parent: open.last,
            start: start..<index)
        element.end = index..<index
        guard !open.isEmpty || elements.isEmpty else { throw Self.malformed }
        elements.append(element)
        if isOneTag { forgetDeclarations(of: depth) } else { open.append(elements.count - 1) }
    }

    private mutating func readEnd() throws(Failure) {
        let start = index
        index += 2
        let name = try readName()
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: ">"), let last = open.popLast(),
            elements[last].writtenName == name
        else { throw Self.malformed }
        index += 1
        elements[last].end = start..<index
        forgetDeclarations(of: open.count + 1)
    }

    private mutating func forgetDeclarations(of depth: Int) {
        while let last = declarations.last, last.depth >= depth { declarations.removeLast() }
    }

    private func resolved(_ name: String, isAttribute: Bool) throws(Failure) -> XMLElement.Name {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { throw Self.malformed }
        guard parts.count == 2 || !isAttribute else { return .init(namespace: "", local: name) }
        let prefix = parts.count == 2 ? parts[0] : ""
        if prefix == "xmlns" { return .init(namespace: "http://www.w3.org/2000/xmlns/", local: parts[1]) }
        let declared = declarations.last { $0.prefix == prefix }
        guard declared != nil || prefix.isEmpty else {
            throw Failure(description: localized("The prefix “{prefix}” is unknown.", ["prefix": prefix]))
        }
        return .init(namespace: declared?.namespace ?? "", local: parts[parts.count - 1])
    }

    private mutating func readAttribute() throws(Failure) -> (name: String, value: String) {
        let name = try readName()
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { throw Self.malformed }
        index += 1
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'"),
            let end = bytes[(index + 1)...].firstIndex(of: bytes[index])
        else { throw Self.malformed }
        defer { index = end + 1 }
        let place = index + 1..<end
        guard !bytes[place].contains(UInt8(ascii: "<")) else { throw Self.malformed }
        return (name, try decoded(place))
    }

    private mutating func readName() throws(Failure) -> String {
        let start = index
        while index < bytes.count, !Self.ends(bytes[index]) { index += 1 }
        guard index > start else { throw Self.malformed }
        return text(of: start..<index)
    }

    private static func ends(_ byte: UInt8) -> Bool { byte <= 0x20 || "<>/=\"'&?!".utf8.contains(byte) }

    // MARK: Texts

    private mutating func readText() throws(Failure) {
        let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        note(text: try decoded(index..<end))
        index = end
    }

    private mutating func note(text: String) {
        guard let last = open.last else { return }
        elements[last].text += text
    }

    private func text(of place: Range<Int>) -> String { String(decoding: bytes[place], as: UTF8.self) }

    /// Replaces the references to characters: XML's five, and numbers.
    private func decoded(_ place: Range<Int>) throws(Failure) -> String {
        guard bytes[place].contains(UInt8(ascii: "&")) else { return text(of: place) }
        var (result, rest) = ("", text(of: place)[...])
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            guard let end = rest[start...].firstIndex(of: ";"),
                let character = Self.character(rest[rest.index(after: start)..<end])
            else { throw Failure(description: localized("It refers to an unknown text.")) }
            result.unicodeScalars.append(character)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#"), name.count <= 9 else { return nil }
            let digits = name.dropFirst()
            let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap { $0 > 0 ? Unicode.Scalar($0) : nil }
        }
    }

    /// Refuses a declaration of another encoding than UTF-8.
    private func checkEncoding(_ place: Range<Int>) throws(Failure) {
        let declaration = text(of: place).lowercased()
        guard declaration.hasPrefix("<?xml "), let start = declaration.firstRange(of: "encoding") else { return }
        guard declaration[start.upperBound...].contains("utf-8") else {
            throw Failure(description: localized("It is not in UTF-8."))
        }
    }

    // MARK: Bytes

    private static let malformed = Failure(description: localized("The XML is malformed."))

    private func starts(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

    private mutating func skipSpace() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
    }

    /// Moves behind the next `end`. Returns the place of what was left out.
    private mutating func skip(to end: String) throws(Failure) -> Range<Int> {
        let (start, end) = (index, Array(end.utf8))
        while index + end.count <= bytes.count {
            if bytes[index] == end[0], bytes[index...].starts(with: end) {
                index += end.count
                return start..<index
            }
            index += 1
        }
        throw Failure(description: localized("The XML is incomplete."))
    }
}
