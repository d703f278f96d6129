internal import FoundationEssentials
internal import WebImage

/// A PNG with the properties of the file that it shows, as the freedesktop standard for thumbnails wants them.
enum ThumbnailFile {
    /// Facts about the file, by keyword.
    typealias Properties = [(keyword: String, text: String)]

    /// Inserts properties into a PNG as `tEXt` chunks, behind its header.
    static func adding(_ properties: Properties, to png: Data) -> Data {
        let end = png.startIndex + headerEnd
        var file = Data(png[..<end])
        for (keyword, text) in properties { file += chunk("tEXt", Array(keyword.utf8) + [0] + latin1(text)) }
        return file + png[end...]
    }

    /// Reads the properties in front of the pixels of a PNG; empty for any other file.
    static func properties(of png: Data) -> [String: String] {
        let bytes = [UInt8](png)
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return [:] }
        var properties: [String: String] = [:]
        var start = 8
        while start + 12 <= bytes.count {
            let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            let type = String(decoding: bytes[start + 4..<start + 8], as: UTF8.self)
            guard length <= bytes.count - start - 12, type != "IDAT" else { break }
            let content = bytes[start + 8..<start + 8 + length]
            if type == "tEXt", let end = content.firstIndex(of: 0) {
                let text = content[(end + 1)...].map { Character(Unicode.Scalar($0)) }
                properties[String(decoding: content[..<end], as: UTF8.self)] = String(text)
            }
            start += length + 12
        }
        return properties
    }

    /// The signature and the header, IHDR, with 13 bytes of content.
    private static let headerEnd = 8 + 12 + 13

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let named = Array(type.utf8) + content
        return bytes(UInt32(content.count)) + named + bytes(checksum(named))
    }

    /// The characters that `tEXt` cannot have become question marks. URIs have none.
    private static func latin1(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(exactly: $0.value) ?? UInt8(ascii: "?") }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// The cyclic redundancy code of PNG (5.5), bit by bit: these chunks have a few dozen bytes.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value = UInt32.max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~value
    }
}
