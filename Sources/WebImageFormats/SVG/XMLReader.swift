internal import WebImageCore

/// Reads XML 1.0: elements, attributes and text, with the five predefined entities and those of plain text.
///
///     bytes ──▶ next() ──▶ .start(name, attributes) │ .text │ .end
///
/// Comments and processing instructions are skipped, and CDATA sections are text. An internal document type may only declare
/// entities, whose text has neither markup nor references: drawing programs abbreviate names with them.
/// It takes a few more texts for XML than libxml2 does, such as a comment with two hyphens, and no fewer of those with
/// elements: what libxml2 sees is not these bytes but what ``SVGWriter`` writes from the events.
struct XMLReader {
    struct Attribute {
        let name: ArraySlice<UInt8>
        /// With references replaced and line breaks as spaces.
        let value: [UInt8]
    }

    enum Event {
        case start(name: ArraySlice<UInt8>, attributes: [Attribute])
        case text([UInt8])
        case end
    }

    /// UTF-8.
    private let bytes: [UInt8]
    private var position = 0
    /// The texts that the document type declares, by name.
    private var entities: [ArraySlice<UInt8>: [UInt8]] = [:]
    private var expandedByteCount = 0
    /// The names of the open elements.
    private var open: [ArraySlice<UInt8>] = []
    private var hasRoot = false
    /// The element just read was empty, so that its end follows.
    private var endsNow = false

    static let (depthLimit, attributeLimit, nameLimit) = (200, 256, 1024)
    private static let (entityLimit, expandedByteLimit) = (64, 1 << 16)

    init(_ bytes: [UInt8]) throws(WebImageError) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        if has("<?xml") { try skip(past: "?>") }
    }

    /// The number of elements that are open.
    var depth: Int { open.count }

    /// Returns `nil` after the end of the root element.
    mutating func next() throws(WebImageError) -> Event? {
        if endsNow {
            endsNow = false
            open.removeLast()
            return .end
        }
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                let text = try text(upTo: UInt8(ascii: "<"), isAttribute: false)
                if !open.isEmpty { return .text(text) }
                guard text.allSatisfy(Self.isSpace) else { throw Self.damaged("text outside the root element") }
            } else if has("<!--") {
                try skip(past: "-->")
            } else if has("<![CDATA[") {
                guard !open.isEmpty else { throw Self.damaged("text outside the root element") }
                let start = position + 9
                try skip(past: "]]>")
                return .text(try Self.normalized(bytes[start..<position - 3]))
            } else if has("<!DOCTYPE") {
                try skipDocumentType()
            } else if has("<?") {
                try skip(past: "?>")
            } else if has("</") {
                return try end()
            } else {
                return try start()
            }
        }
        guard open.isEmpty else { throw ImageFormat.svg.truncated }
        guard hasRoot else { throw Self.damaged("no element") }
        return nil
    }

    // MARK: Markup

    private mutating func start() throws(WebImageError) -> Event {
        guard !open.isEmpty || !hasRoot else { throw Self.damaged("two root elements") }
        hasRoot = true
        position += 1
        let name = try name()
        var attributes: [Attribute] = []
        while true {
            let hasSpace = skipSpace()
            guard let byte = byte else { throw ImageFormat.svg.truncated }
            if byte == UInt8(ascii: ">") {
                position += 1
                break
            }
            if has("/>") {
                position += 2
                endsNow = true
                break
            }
            guard hasSpace else { throw Self.damaged("attributes without a space between them") }
            let attribute = try attribute()
            guard !attributes.contains(where: { $0.name == attribute.name }) else {
                throw Self.damaged("an attribute that is given twice")
            }
            attributes.append(attribute)
            if attributes.count > Self.attributeLimit {
                throw Self.complex("more than \(Self.attributeLimit) attributes")
            }
        }
        open.append(name)
        if open.count > Self.depthLimit { throw Self.complex("elements nested more than \(Self.depthLimit) deep") }
        return .start(name: name, attributes: attributes)
    }

    private mutating func end() throws(WebImageError) -> Event {
        position += 2
        let name = try name()
        _ = skipSpace()
        guard byte == UInt8(ascii: ">") else { throw Self.damaged("an end tag") }
        position += 1
        guard let last = open.popLast(), last == name else { throw Self.damaged("an end tag of another element") }
        return .end
    }

    private mutating func attribute() throws(WebImageError) -> Attribute {
        let name = try name()
        _ = skipSpace()
        guard byte == UInt8(ascii: "=") else { throw Self.damaged("an attribute without a value") }
        position += 1
        _ = skipSpace()
        guard let quote = byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw Self.damaged("an attribute without quotes")
        }
        position += 1
        let value = try text(upTo: quote, isAttribute: true)
        guard position < bytes.count else { throw ImageFormat.svg.truncated }
        position += 1
        return Attribute(name: name, value: value)
    }

    private mutating func name() throws(WebImageError) -> ArraySlice<UInt8> {
        let start = position
        while position < bytes.count, Self.isName(bytes[position]) { position += 1 }
        let name = bytes[start..<position]
        guard let first = name.first, !Self.isOnlyInside(first), name.count <= Self.nameLimit else {
            throw position < bytes.count ? Self.damaged("a name") : ImageFormat.svg.truncated
        }
        return name
    }

    /// Of a document type, only declarations of its own matter.
    private mutating func skipDocumentType() throws(WebImageError) {
        guard !hasRoot else { throw Self.damaged("a document type inside the document") }
        while let byte {
            position += 1
            switch byte {
            case UInt8(ascii: "["): try readDeclarations()
            case UInt8(ascii: ">"): return
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                while let next = self.byte, next != byte { position += 1 }
                position += 1
            default: break
            }
        }
        throw ImageFormat.svg.truncated
    }

    private mutating func readDeclarations() throws(WebImageError) {
        while byte != nil {
            if skipSpace() { continue }
            if has("]") {
                position += 1
                return
            } else if has("<!--") {
                try skip(past: "-->")
            } else if has("<?") {
                try skip(past: "?>")
            } else if has("<!ENTITY") {
                position += 8
                try readEntity()
            } else {
                throw ImageFormat.svg.unsupported("an internal document type with more than entities")
            }
        }
        throw ImageFormat.svg.truncated
    }

    private mutating func readEntity() throws(WebImageError) {
        guard skipSpace() else { throw Self.damaged("a declaration of an entity") }
        if has("%") { throw Self.unsupportedEntity }
        let name = try name()
        guard skipSpace() else { throw Self.damaged("a declaration of an entity") }
        guard let quote = byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw Self.unsupportedEntity
        }
        position += 1
        let start = position
        while let byte, byte != quote {
            guard byte >= 0x20, !"<&%".utf8.contains(byte) else { throw Self.unsupportedEntity }
            position += 1
        }
        let text = Array(bytes[start..<position])
        position += 1
        _ = skipSpace()
        guard byte == UInt8(ascii: ">") else {
            throw byte == nil ? ImageFormat.svg.truncated : Self.damaged("a declaration of an entity")
        }
        position += 1
        // The first declaration counts.
        if entities[name] == nil { entities[name] = text }
        if entities.count > Self.entityLimit { throw Self.complex("more than \(Self.entityLimit) entities") }
    }

    /// Not stored: LeakSanitizer does not see what a constant of an enumeration refers to.
    private static var unsupportedEntity: WebImageError {
        ImageFormat.svg.unsupported("entities of more than plain text")
    }

    // MARK: Text

    private mutating func text(upTo end: UInt8, isAttribute: Bool) throws(WebImageError) -> [UInt8] {
        var text: [UInt8] = []
        while let byte, byte != end {
            switch byte {
            case UInt8(ascii: "&"): try appendReference(to: &text)
            case UInt8(ascii: "<"): throw Self.damaged("a < in an attribute")
            case 0x0D:
                // A line break is one byte: LF, or a space in attributes.
                position += 1
                if self.byte != 0x0A { text.append(isAttribute ? 0x20 : 0x0A) }
            case 0x09, 0x0A:
                text.append(isAttribute ? 0x20 : byte)
                position += 1
            default:
                guard byte >= 0x20 else { throw Self.damaged("a control character") }
                text.append(byte)
                position += 1
            }
        }
        return text
    }

    private mutating func appendReference(to text: inout [UInt8]) throws(WebImageError) {
        let rest = bytes[position...].prefix(64)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw Self.damaged("a & without a reference") }
        let name = rest[(position + 1)..<end]
        let reference = String(decoding: name, as: UTF8.self)
        position = end + 1
        switch reference {
        case "lt": text.append(UInt8(ascii: "<"))
        case "gt": text.append(UInt8(ascii: ">"))
        case "amp": text.append(UInt8(ascii: "&"))
        case "quot": text.append(UInt8(ascii: "\""))
        case "apos": text.append(UInt8(ascii: "'"))
        default:
            guard reference.hasPrefix("#") else {
                guard let entity = entities[name] else {
                    throw ImageFormat.svg.unsupported("an entity that the document does not declare")
                }
                expandedByteCount += entity.count
                guard expandedByteCount <= Self.expandedByteLimit else {
                    throw Self.complex("entities of more than \(Self.expandedByteLimit) bytes")
                }
                text += entity
                return
            }
            let digits = reference.dropFirst()
            let number =
                digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits, radix: 10)
            guard let number, let scalar = Unicode.Scalar(number),
                [9, 10, 13].contains(number) || number >= 0x20 && number != 0xFFFE && number != 0xFFFF
            else { throw Self.damaged("a reference to no character") }
            text += Array(String(scalar).utf8)
        }
    }

    /// The text of a CDATA section, with line breaks of one byte.
    private static func normalized(_ text: ArraySlice<UInt8>) throws(WebImageError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for (index, byte) in zip(text.indices, text) {
            if byte == 0x0D {
                if index + 1 >= text.endIndex || text[index + 1] != 0x0A { result.append(0x0A) }
            } else {
                guard byte >= 0x20 || byte == 0x09 || byte == 0x0A else { throw damaged("a control character") }
                result.append(byte)
            }
        }
        return result
    }

    // MARK: Bytes

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func has(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            bytes.count - position >= text.count && text.indices.allSatisfy { bytes[position + $0] == text[$0] }
        }
    }

    private mutating func skip(past end: StaticString) throws(WebImageError) {
        // Neither "<!-->" nor "<?>" is whole.
        position += end.utf8CodeUnitCount == 2 ? 2 : has("<!--") ? 4 : 0
        while position < bytes.count {
            if has(end) {
                position += end.utf8CodeUnitCount
                return
            }
            position += 1
        }
        throw ImageFormat.svg.truncated
    }

    /// Returns whether there was any.
    private mutating func skipSpace() -> Bool {
        let start = position
        while let byte, Self.isSpace(byte) { position += 1 }
        return position > start
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF,
            UInt8(ascii: "_"), UInt8(ascii: ":"):
            true
        default: isOnlyInside(byte)
        }
    }

    /// Whether a byte may be in a name, but not at its beginning.
    private static func isOnlyInside(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    static func damaged(_ what: String) -> WebImageError { ImageFormat.svg.corrupt(what) }
    static func complex(_ what: String) -> WebImageError { .limitExceeded(reason: .complexity(what)) }
}
