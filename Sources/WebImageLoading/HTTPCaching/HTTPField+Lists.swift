extension HTTPField {
    /// The fields that make a request conditional, in lower case (RFC 9110, 13.1).
    static let conditionNames: Set = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
    ]
}

/// Fields as lists of values (RFC 9110, 5.3 and 5.6): several fields of one name count as one, with commas between.
extension [HTTPField] {
    /// All values of the fields with that name, in any case, in their order.
    package func values(named name: String) -> [String] {
        let wanted = name.lowercased()
        return filter { $0.name.lowercased() == wanted }.map(\.value)
    }

    /// The values of the fields with that name as one; `nil` when there is none.
    package func combinedValue(named name: String) -> String? {
        let values = values(named: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The elements of a field that is a list: what stands between commas, except within quotation marks, without white
    /// space around it and without empty ones.
    package func elements(ofFieldNamed name: String) -> [String] {
        values(named: name).flatMap { $0.listElements }
    }

    /// Removes every field with that name.
    package mutating func remove(named name: String) {
        let unwanted = name.lowercased()
        removeAll { $0.name.lowercased() == unwanted }
    }
}

extension String {
    /// What stands between its commas, except within quotation marks, trimmed; empty elements are left out.
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

    /// Without spaces and tabs at its ends.
    package var trimmingHTTPSpace: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = utf8.firstIndex(where: { !isSpace($0) }),
            let last = utf8.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[first...last])
    }
}
