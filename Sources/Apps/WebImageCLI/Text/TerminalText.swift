/// Text on its way to a terminal. Servers, files and stores choose parts of it, and a terminal obeys control characters.
enum TerminalText {
    /// Returns one line without control characters: line breaks and tabs become `\n`, `\r` and `\t`, others `\u001B`,
    /// as in JSON. So a line of JSON stays the same value.
    static func escaped(_ line: String) -> String {
        guard line.utf8.contains(where: mayBeUnsafe) else { return line }
        var escaped = ""
        for scalar in line.unicodeScalars {
            if isUnsafe(scalar) { escaped += escape(of: scalar) } else { escaped.unicodeScalars.append(scalar) }
        }
        return escaped
    }

    /// Returns the text that ``escaped(_:)`` has escaped as `\uNNNN`. A `\` after another one begins no escape.
    static func unescaped(_ line: String) -> String {
        line.replacing(/\\(?:\\|u([0-9A-F]{4}))/) { match in
            let scalar = match.1.flatMap { UInt32($0, radix: 16) }.flatMap(Unicode.Scalar.init)
            return scalar.flatMap { isUnsafe($0) ? String(Character($0)) : nil } ?? String(match.0)
        }
    }

    /// Returns the escape of a character, which is one in JSON, too.
    static func escape(of scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// Whether a terminal would interpret the character, or show what follows in another order or on another line.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // C0; DEL and C1, which contains an introducer of escape sequences.
        case 0...0x1F, 0x7F...0x9F: true
        // Controls of the direction: marks, embeddings and overrides, isolates.
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // Separators of lines and paragraphs.
        case 0x2028...0x2029: true
        default: false
        }
    }

    /// Whether a character whose UTF-8 contains the byte may be unsafe.
    private static func mayBeUnsafe(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2
    }
}
