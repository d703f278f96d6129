extension ImageCacheKey {
    /// The key on disk and in the output of `webimage cache list`: `source`, or `source#variant`.
    ///
    /// Different keys have different texts: `\` is written `\\`, control characters such as a line break `\x0a`, and
    /// `#` in the source `\#`. URLs without a fragment contain none of these.
    public var description: String {
        let source = Self.escaped(source, isSource: true)
        return variant.map { "\(source)#\(Self.escaped($0, isSource: false))" } ?? source
    }

    /// Parses a ``description``, which is the key of an entry of the disk cache; `nil` for an invalid text.
    public init?(text: String) {
        var rest = text.utf8[...]
        guard let source = Self.unescaped(&rest, isSource: true) else { return nil }
        guard rest.popFirst() != nil else {
            self.init(source: source)
            return
        }
        guard let variant = Self.unescaped(&rest, isSource: false) else { return nil }
        self.init(source: source, variant: variant)
    }

    private static let separator = UInt8(ascii: "#")
    private static let escape = UInt8(ascii: "\\")
    private static let digits = Array("0123456789abcdef".utf8)

    private static func digit(_ byte: UInt8?) -> Int? { byte.flatMap { digits.firstIndex(of: $0) } }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    private static func isEscaped(_ byte: UInt8, isSource: Bool) -> Bool {
        byte == escape || isControl(byte) || isSource && byte == separator
    }

    private static func escaped(_ text: String, isSource: Bool) -> String {
        var text = text
        guard text.withUTF8({ $0.contains { isEscaped($0, isSource: isSource) } }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isControl(byte) {
                bytes += [escape, UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                bytes += isEscaped(byte, isSource: isSource) ? [escape, byte] : [byte]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Removes a part from the beginning of `rest`; a source ends before the first separator.
    private static func unescaped(_ rest: inout Substring.UTF8View, isSource: Bool) -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.first, !isSource || byte != separator {
            rest.removeFirst()
            guard byte == escape else {
                guard !isControl(byte) else { return nil }
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case escape: bytes.append(escape)
            case separator where isSource: bytes.append(separator)
            case UInt8(ascii: "x"):
                guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()),
                    isControl(UInt8(high << 4 | low))
                else { return nil }
                bytes.append(UInt8(high << 4 | low))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
