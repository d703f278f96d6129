internal import WebImageCore

/// What of an element's properties matters for the cost of drawing it.
struct SVGStyle {
    enum Use { case paint, marker, mask, clip, filter }

    /// The elements that properties refer to, by identifier.
    var references: [(use: Use, id: [UInt8])] = []
    /// Whether a property takes what does not inherit from the parent: `filter: inherit`.
    var inheritsEffects = false
    /// Whether the element is drawn into a layer of its own.
    var needsLayer = false
    /// Filters that are functions, such as `blur(2px)`.
    var filterFunctionCount = 0
    var enlargement = 1.0
    var fontSize = 0.0

    /// Adds a property, from an attribute or a declaration.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` if it refers to a document in a `data:` URL, which
    ///   librsvg would load.
    mutating func add(_ property: String, _ value: [UInt8]) throws(WebImageError) {
        let use: Use
        switch property {
        case "fill", "stroke": use = .paint
        case "marker", "marker-start", "marker-mid", "marker-end": use = .marker
        case "mask", "mask-image": use = .mask
        case "clip-path": use = .clip
        case "filter": use = .filter
        case "opacity":
            if let opacity = SVGNumbers.first(value), opacity < 1 { needsLayer = true }
            return
        case "mix-blend-mode", "isolation":
            if !value.elementsEqual("normal".utf8), !value.elementsEqual("auto".utf8) { needsLayer = true }
            return
        case "transform":
            enlargement *= WebImageFormats.enlargement(ofTransforms: value)
            return
        case "font-size":
            fontSize = max(fontSize, SVGNumbers.length(value) ?? 16)
            return
        case "font":
            var numbers = SVGNumbers(value)
            while !numbers.rest.isEmpty {
                if let size = numbers.next() { fontSize = max(fontSize, size * 1.34) } else { numbers.skipByte() }
            }
            return
        default: return
        }
        let value = value.contains(UInt8(ascii: "\\")) ? Self.unescaped(value) : value
        try addReferences(in: value, use)
        let text = String(decoding: value.prefix(4096), as: UTF8.self).lowercased()
        if use != .paint, use != .marker {
            if text.contains("inherit") { inheritsEffects = true }
            if !text.hasPrefix("none") { needsLayer = true }
        }
        if use == .filter {
            // Each has a bracket; those of references were counted.
            let count = value.count { $0 == UInt8(ascii: "(") }
            filterFunctionCount += max(0, count - references.count { $0.use == .filter })
        }
    }

    private mutating func addReferences(in value: [UInt8], _ use: Use) throws(WebImageError) {
        var rest = value[...]
        while let bracket = rest.firstIndex(of: UInt8(ascii: "(")) {
            let name = rest[..<bracket].suffix(3).map { $0 | 0x20 }
            rest = rest[rest.index(after: bracket)...]
            guard name == Array("url".utf8) else { continue }
            let end = rest.firstIndex(of: UInt8(ascii: ")")) ?? rest.endIndex
            var target = rest[..<end].drop {
                XMLReader.isSpace($0) || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'")
            }
            while let last = target.last,
                XMLReader.isSpace(last) || last == UInt8(ascii: "\"") || last == UInt8(ascii: "'")
            {
                target.removeLast()
            }
            if let id = try Self.identifier(in: target) { references.append((use, id)) }
        }
    }

    /// Returns the identifier of a reference within the document; `nil` for one to another document, which is not loaded.
    static func identifier(in reference: ArraySlice<UInt8>) throws(WebImageError) -> [UInt8]? {
        guard let hash = reference.lastIndex(of: UInt8(ascii: "#")) else { return nil }
        let document = reference[..<hash].drop(while: XMLReader.isSpace)
        if document.isEmpty { return Array(reference[reference.index(after: hash)...]) }
        let scheme = String(decoding: document.prefix(5), as: UTF8.self).lowercased()
        if scheme == "data:" { throw ImageFormat.svg.unsupported("a reference into a data: URL") }
        return nil
    }

    /// Returns text with CSS's escapes replaced: a backslash with up to six hexadecimal digits and a space, or with any
    /// other character.
    static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            guard text[position] == UInt8(ascii: "\\") else {
                result.append(text[position])
                position += 1
                continue
            }
            position += 1
            var (number, count) = (UInt32(0), 0)
            while count < 6, position < text.count,
                let digit = Character(Unicode.Scalar(text[position])).hexDigitValue
            {
                number = number << 4 | UInt32(digit)
                position += 1
                count += 1
            }
            if count > 0 {
                result += Array(String(Unicode.Scalar(number) ?? "\u{FFFD}").utf8)
                if position < text.count, XMLReader.isSpace(text[position]) { position += 1 }
            } else if position < text.count {
                result.append(text[position])
                position += 1
            }
        }
        return result
    }
}

/// The rules of style sheets, as far as they matter for the cost of drawing. A rule counts for each element that its last
/// simple selector may name: for more elements than CSS says, never for fewer.
struct SVGStyleSheet {
    /// A style by `#id`, `.class`, `element`, or `*`.
    private(set) var styles: [[UInt8]: SVGStyle] = [:]
    private(set) var selectorCount = 0
    private(set) var byteCount = 0

    /// Adds the rules of a style sheet.
    mutating func add(_ sheet: [UInt8]) throws(WebImageError) {
        byteCount += sheet.count
        for text in Self.readings(of: sheet) { try addRules(text[...]) }
    }

    private mutating func addRules(_ text: ArraySlice<UInt8>) throws(WebImageError) {
        var text = text
        let delimiters = Array("{;}".utf8)
        while let end = text.firstIndex(where: delimiters.contains) {
            let prelude = Self.trimmed(text[..<end])
            let isBlock = text[end] == UInt8(ascii: "{")
            text = text[text.index(after: end)...]
            if prelude.first == UInt8(ascii: "@") {
                let name = Self.lowercased(prelude.prefix(7))
                if name == "@import", Self.lowercased(prelude).contains("data:") {
                    throw ImageFormat.svg.unsupported("a style sheet in a data: URL")
                }
                // The rules inside another at-rule count as if they were outside.
                if isBlock, name.hasPrefix("@font-f") || name.hasPrefix("@page") {
                    text = Self.after(UInt8(ascii: "}"), text)
                }
            } else if isBlock {
                try addRule(prelude, text.prefix { $0 != UInt8(ascii: "}") })
                text = Self.after(UInt8(ascii: "}"), text)
            } else if prelude.contains(UInt8(ascii: ":")) {
                // What a block inside a rule leaves behind.
                try Self.addDeclarations(prelude, to: &styles[Array("*".utf8), default: SVGStyle()])
            }
        }
    }

    private static func after(_ byte: UInt8, _ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text[(text.firstIndex(of: byte).map { text.index(after: $0) } ?? text.endIndex)...]
    }

    /// The text without comments and escapes; twice if it depends on what is a string.
    private static func readings(of text: [UInt8]) -> [[UInt8]] {
        let hasEscapes = text.contains(UInt8(ascii: "\\"))
        func reading(_ seesStrings: Bool) -> [UInt8] {
            let text = withoutComments(text, seesStrings: seesStrings)
            return hasEscapes ? SVGStyle.unescaped(text) : text
        }
        let hasStrings = text.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") }
        return hasStrings ? [reading(true), reading(false)] : [reading(false)]
    }

    /// Adds the declarations of a `style` attribute.
    static func addInline(_ text: [UInt8], to style: inout SVGStyle) throws(WebImageError) {
        let isPlain = !text.contains { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "/") }
        if isPlain { return try addDeclarations(text[...], to: &style) }
        for text in readings(of: text) { try addDeclarations(text[...], to: &style) }
    }

    private mutating func addRule(
        _ selectors: ArraySlice<UInt8>, _ declarations: ArraySlice<UInt8>
    ) throws(WebImageError) {
        var style = SVGStyle()
        try Self.addDeclarations(declarations, to: &style)
        for selector in selectors.split(separator: UInt8(ascii: ",")) {
            selectorCount += 1
            styles[Self.key(of: selector), default: SVGStyle()].merge(style)
        }
    }

    private static func addDeclarations(_ text: ArraySlice<UInt8>, to style: inout SVGStyle) throws(WebImageError) {
        for declaration in text.split(separator: UInt8(ascii: ";")) {
            guard let colon = declaration.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let letters = trimmed(declaration[..<colon]).reversed().prefix { byte in
                byte == UInt8(ascii: "-") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
            }
            let name = lowercased(ArraySlice(letters.reversed()))
            let value = trimmed(declaration[declaration.index(after: colon)...])
            try style.add(name, Array(value))
        }
    }

    /// The identifier, class or element that the last part of a selector names.
    private static func key(of selector: ArraySlice<UInt8>) -> [UInt8] {
        let selector = trimmed(selector)
        let combinators = Array(" \t\n\r>+~".utf8)
        let start = selector.lastIndex { combinators.contains($0) }.map { selector.index(after: $0) }
        let last = Array(selector[(start ?? selector.startIndex)...])
        // Where brackets are, the rest of the text is not a plain name.
        if selector.contains(where: { Array("[(:|\"'".utf8).contains($0) }) { return Array("*".utf8) }
        let marks = last.indices.filter { last[$0] == UInt8(ascii: "#") || last[$0] == UInt8(ascii: ".") }
        if let mark = marks.first(where: { last[$0] == UInt8(ascii: "#") }) ?? marks.first {
            let end = marks.first { $0 > mark } ?? last.endIndex
            return Array(last[mark..<end])
        }
        return last.isEmpty ? Array("*".utf8) : last
    }

    /// The styles that may apply to an element.
    func styles(name: ArraySlice<UInt8>, id: [UInt8]?, classes: [UInt8]?) -> [SVGStyle] {
        guard !styles.isEmpty else { return [] }
        var keys: [[UInt8]] = [Array("*".utf8), Array(name)]
        if let id { keys.append([UInt8(ascii: "#")] + id) }
        for name in (classes ?? []).split(whereSeparator: XMLReader.isSpace) { keys.append([UInt8(ascii: ".")] + name) }
        return keys.compactMap { styles[$0] }
    }

    private static func withoutComments(_ text: [UInt8], seesStrings: Bool) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var position = 0
        var quote: UInt8?
        while position < text.count {
            let byte = text[position]
            let next = position + 1 < text.count ? text[position + 1] : 0
            if quote == nil, byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                position += 2
                while position + 1 < text.count,
                    text[position] != UInt8(ascii: "*") || text[position + 1] != UInt8(ascii: "/")
                {
                    position += 1
                }
                position += 2
                result.append(0x20)
                continue
            }
            if byte == UInt8(ascii: "\\") {
                result.append(byte)
                if position + 1 < text.count { result.append(next) }
                position += 2
                continue
            }
            if byte == quote || byte == 0x0A {
                quote = nil
            } else if seesStrings, quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            }
            result.append(byte)
            position += 1
        }
        return result
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: XMLReader.isSpace)
        while let last = text.last, XMLReader.isSpace(last) { text.removeLast() }
        return text
    }

    private static func lowercased(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text, as: UTF8.self).lowercased()
    }
}

extension SVGStyle {
    /// Adds what another rule sets.
    mutating func merge(_ other: SVGStyle) {
        references += other.references
        inheritsEffects = inheritsEffects || other.inheritsEffects
        needsLayer = needsLayer || other.needsLayer
        filterFunctionCount += other.filterFunctionCount
        enlargement *= other.enlargement
        fontSize = max(fontSize, other.fontSize)
    }
}
