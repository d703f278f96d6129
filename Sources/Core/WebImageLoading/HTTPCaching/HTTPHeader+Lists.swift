extension HTTPHeader {
    /// The fields that make a request conditional, in lower case (RFC 9110, 13.1).
    public static let conditionNames: Set = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
    ]

    /// Whether it has this name. Case does not matter (RFC 9110, 5.1).
    public func isNamed(_ name: String) -> Bool { self.name.isSameFieldName(as: name) }
}

/// Fields as lists of values (RFC 9110, 5.3 and 5.6): several fields of one name count as one, with commas between.
extension [HTTPHeader] {
    /// Returns all values of the fields with that name, in order. Case does not matter.
    public func values(named name: String) -> [String] {
        filter { $0.isNamed(name) }.map(\.value)
    }

    /// Returns the values of the fields with that name, joined by commas; `nil` without any.
    public func combinedValue(named name: String) -> String? {
        let values = values(named: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Returns the elements of a list field, trimmed: commas separate them, except within quotation marks. Empty ones are left out.
    ///
    /// ```swift
    /// let headers = [HTTPHeader(name: "Cache-Control", value: "public, max-age=60")]
    /// let directives = headers.elements(ofFieldNamed: "Cache-Control")
    /// ```
    public func elements(ofFieldNamed name: String) -> [String] {
        values(named: name).flatMap { $0.listElements }
    }

    /// Removes every field with that name.
    public mutating func remove(named name: String) {
        removeAll { $0.isNamed(name) }
    }
}

extension String {
    /// Whether both differ in the case of ASCII letters only.
    func isSameFieldName(as other: String) -> Bool {
        utf8.count == other.utf8.count && compareFieldNames(other) == 0
    }

    /// Compares both in lower case: negative if this comes first, 0 if they are the same name.
    func compareFieldNames(_ other: String) -> Int {
        func folded(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        for (own, other) in zip(utf8, other.utf8) where folded(own) != folded(other) {
            return Int(folded(own)) - Int(folded(other))
        }
        return utf8.count - other.utf8.count
    }

    /// The trimmed parts between commas, except commas within quotation marks. Empty parts are left out.
    package var listElements: [String] {
        var elements: [String] = []
        var current: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in utf8 {
            if byte == UInt8(ascii: ","), !isQuoted {
                elements.append(String(decoding: current, as: UTF8.self).trimmingHTTPSpace)
                current = []
                continue
            }
            current.append(byte)
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
        }
        elements.append(String(decoding: current, as: UTF8.self).trimmingHTTPSpace)
        return elements.filter { !$0.isEmpty }
    }

    /// The text without spaces and tabs at its ends.
    package var trimmingHTTPSpace: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = utf8.firstIndex(where: { !isSpace($0) }),
            let last = utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[first...last])
    }
}

/// One element of an `Accept-Language` field (RFC 9110, 12.5.4), such as `de-CH;q=0.8`.
struct LanguagePreference {
    /// In lower case, which has no meaning in language tags (RFC 5646, 2.1.1).
    let range: String
    /// In thousandths, 0 to 1000.
    let weight: Int

    /// `nil` for an invalid element.
    init?(_ element: String) {
        let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            .map { String($0).trimmingHTTPSpace.lowercased() }
        guard parts.count <= 2, let range = parts.first, !range.isEmpty else { return nil }
        self.range = range
        guard parts.count == 2 else {
            weight = 1000
            return
        }
        guard parts[1].hasPrefix("q="), let weight = Self.weight(parts[1].dropFirst(2)) else { return nil }
        self.weight = weight
    }

    /// Returns the same text for all equivalent fields: case, spaces, the form of weights and the order of elements,
    /// which has no meaning by the standard, make no difference. An invalid field stays as it is.
    static func normalized(_ elements: [String]) -> String {
        let preferences = elements.compactMap(LanguagePreference.init)
        guard preferences.count == elements.count else { return elements.joined(separator: ",") }
        return preferences.sorted { ($1.weight, $0.range) < ($0.weight, $1.range) }
            .map(\.text).joined(separator: ",")
    }

    /// A weight of 1 is left out; others have three decimals.
    private var text: String {
        guard weight < 1000 else { return range }
        let decimals = String(weight)
        return "\(range);q=0." + String(repeating: "0", count: 3 - decimals.utf8.count) + decimals
    }

    /// Parses `0`, `1`, or one of them with up to three decimals (RFC 9110, 12.4.2), in thousandths.
    private static func weight(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count == 2 ? parts[1] : ""
        guard ["0", "1"].contains(parts[0]), decimals.utf8.count <= 3,
            let thousandths = (decimals + String(repeating: "0", count: 3 - decimals.utf8.count)).decimalNumber
        else { return nil }
        let weight = (parts[0] == "1" ? 1000 : 0) + Int(thousandths)
        return weight <= 1000 ? weight : nil
    }
}
