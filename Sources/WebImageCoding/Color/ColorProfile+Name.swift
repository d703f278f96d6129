extension ColorProfile {
    /// What the profile calls itself, such as `Display P3`; `nil` where it does not, or not in Unicode.
    package var name: String? {
        withTag(.description) { tag in
            if tag.hasText("mluc", at: 0) { return Self.localizedText(in: tag) }
            if tag.hasText("desc", at: 0) { return Self.plainText(in: tag) }
            return nil
        }
    }

    /// `multiLocalizedUnicodeType`: of several languages English, else the first.
    private static func localizedText(in tag: RawSpan) -> String? {
        guard let recordCount = tag.integer(at: 8, count: 4, isBigEndian: true) else { return nil }
        let records = (0..<min(recordCount, 64)).map { 16 + $0 * 12 }
        let english = records.first { tag.hasText("en", at: $0) }
        guard let record = english ?? records.first,
            let byteCount = tag.integer(at: record + 4, count: 4, isBigEndian: true),
            let offset = tag.integer(at: record + 8, count: 4, isBigEndian: true)
        else { return nil }
        var units: [UInt16] = []
        for index in 0..<min(byteCount, nameLimit) / 2 {
            guard let unit = tag.integer(at: offset + index * 2, count: 2, isBigEndian: true) else { return nil }
            units.append(UInt16(unit))
        }
        return printable(String(decoding: units, as: UTF16.self))
    }

    /// The ASCII part of version 2's `textDescriptionType`.
    private static func plainText(in tag: RawSpan) -> String? {
        guard let byteCount = tag.integer(at: 8, count: 4, isBigEndian: true) else { return nil }
        let characters = (0..<min(byteCount, nameLimit)).compactMap { tag.byte(at: 12 + $0) }
        return printable(String(decoding: characters, as: UTF8.self))
    }

    /// Up to the first control character: a zero ends the text, a terminal takes orders from others, and some turn the
    /// direction of what follows.
    private static func printable(_ text: String) -> String? {
        let shown = text.unicodeScalars.prefix { ![.control, .format].contains($0.properties.generalCategory) }
        return shown.isEmpty ? nil : String(String.UnicodeScalarView(shown))
    }

    /// In bytes; a file must not fill a screen.
    private static let nameLimit = 256
}
