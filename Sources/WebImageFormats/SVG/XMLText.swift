internal import FoundationEssentials
internal import WebImageCore

/// The encoding of an XML text, which is declared in ASCII or by a byte order mark.
enum XMLText {
    /// Returns the text as UTF-8.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` for compressed text, and for encodings other than UTF-8,
    ///   UTF-16, ASCII, ISO 8859-1 and Windows-1252.
    static func utf8(_ data: Data) throws(WebImageError) -> [UInt8] {
        let bytes = [UInt8](data)
        if bytes.starts(with: [0x1F, 0x8B]) { throw ImageFormat.svg.unsupported("compression") }
        switch Array(bytes.prefix(2)) {
        case [0xFF, 0xFE], [UInt8(ascii: "<"), 0]: return try utf8(fromUTF16: bytes, low: 0)
        case [0xFE, 0xFF], [0, UInt8(ascii: "<")]: return try utf8(fromUTF16: bytes, low: 1)
        default: break
        }
        let name = declaredName(in: bytes)
        switch name {
        case nil, "utf-8", "utf8", "us-ascii", "ascii":
            guard isUTF8(bytes) else { throw XMLReader.damaged("text that is not UTF-8") }
            return bytes
        case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252":
            var text = String.UnicodeScalarView()
            for byte in bytes {
                let number = name?.hasSuffix("1252") == true ? windows1252[byte] ?? UInt32(byte) : UInt32(byte)
                text.append(Unicode.Scalar(number) ?? "\u{FFFD}")
            }
            return Array(String(text).utf8)
        default: throw ImageFormat.svg.unsupported("the encoding '\(name ?? "")'")
        }
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

    private static func utf8(fromUTF16 bytes: [UInt8], low: Int) throws(WebImageError) -> [UInt8] {
        let units = stride(from: 0, to: bytes.count - 1, by: 2).map { offset in
            UInt16(bytes[offset + low]) | UInt16(bytes[offset + 1 - low]) << 8
        }
        guard bytes.count % 2 == 0, let text = String(validating: units, as: UTF16.self) else {
            throw XMLReader.damaged("text that is not UTF-16")
        }
        return Array(text.utf8)
    }

    /// The name in `<?xml … encoding="name"?>`, in lower case.
    private static func declaredName(in bytes: [UInt8]) -> String? {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let head = bytes[start...].prefix(512)
        guard head.starts(with: "<?xml".utf8), let end = head.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let declaration = String(decoding: head[..<end], as: UTF8.self)
        guard let range = declaration.firstRange(of: "encoding") else { return nil }
        let rest = declaration[range.upperBound...].drop {
            $0 == " " || $0 == "=" || $0 == "\n" || $0 == "\t" || $0 == "\r"
        }
        guard let quote = rest.first else { return nil }
        return rest.dropFirst().prefix { $0 != quote }.lowercased()
    }

    /// The characters of Windows-1252 that differ from ISO 8859-1.
    private static let windows1252: [UInt8: UInt32] = [
        0x80: 0x20AC, 0x82: 0x201A, 0x83: 0x192, 0x84: 0x201E, 0x85: 0x2026, 0x86: 0x2020, 0x87: 0x2021, 0x88: 0x2C6,
        0x89: 0x2030, 0x8A: 0x160, 0x8B: 0x2039, 0x8C: 0x152, 0x8E: 0x17D, 0x91: 0x2018, 0x92: 0x2019, 0x93: 0x201C,
        0x94: 0x201D, 0x95: 0x2022, 0x96: 0x2013, 0x97: 0x2014, 0x98: 0x2DC, 0x99: 0x2122, 0x9A: 0x161, 0x9B: 0x203A,
        0x9C: 0x153, 0x9E: 0x17E, 0x9F: 0x178,
    ]
}

/// Writes the text that librsvg reads: elements, attributes and text of what was read, and nothing else.
struct SVGWriter {
    private(set) var bytes: [UInt8] = []
    private var open: [ArraySlice<UInt8>] = []

    mutating func start(_ name: ArraySlice<UInt8>, _ attributes: [XMLReader.Attribute]) {
        bytes.append(UInt8(ascii: "<"))
        bytes += name
        for attribute in attributes {
            bytes.append(UInt8(ascii: " "))
            bytes += attribute.name
            bytes += "=\"".utf8
            escape(attribute.value, isAttribute: true)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
        open.append(name)
    }

    mutating func text(_ text: [UInt8]) { escape(text, isAttribute: false) }

    mutating func end() {
        guard let name = open.popLast() else { return }
        bytes += "</".utf8
        bytes += name
        bytes.append(UInt8(ascii: ">"))
    }

    private mutating func escape(_ text: [UInt8], isAttribute: Bool) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\"") where isAttribute: bytes += "&quot;".utf8
            case 0x0D: bytes += "&#13;".utf8
            case 0x0A where isAttribute: bytes += "&#10;".utf8
            case 0x09 where isAttribute: bytes += "&#9;".utf8
            default: bytes.append(byte)
            }
        }
    }
}
