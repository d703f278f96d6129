import FoundationEssentials
import WebImageCoding
import WebImageCore

/// The beginnings of files.
extension Bomb {
    static func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

    /// A part that is there several times.
    static func repeated(_ count: Int, _ part: (Int) -> [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in 0..<count { bytes += part(index) }
        return bytes
    }

    static func big<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian, Array.init)
    }
    static func little<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian, Array.init)
    }

    /// `count` zeros as a zlib stream, without its checksum: a zero, then runs of 258 in 13 bits each.
    static func zeros(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = [0x78, 0x01]
        bytes.reserveCapacity(count / 150)
        // The last block, with fixed codes, and the code of a zero.
        var (bits, bitCount) = (UInt64(0b011 | 0x0C << 3), 11)
        for _ in 0..<(count - 1 + 257) / 258 {
            bits |= 0xA3 << UInt64(bitCount)
            bitCount += 13
            while bitCount >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: bits))
                (bits, bitCount) = (bits >> 8, bitCount - 8)
            }
        }
        // The code of the end is seven zeros.
        bytes += [UInt8(truncatingIfNeeded: bits), 0, 0, 0, 0]
        return bytes
    }

    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        var crc: UInt32 = .max
        for byte in body { crc = crcTable[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 }
        return joined(big(UInt32(content.count)), body, big(~crc))
    }

    private static let crcTable: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }

    static func png(
        _ width: UInt32, _ height: UInt32, depth: UInt8 = 8, type: UInt8, isInterlaced: Bool = false, rows: [UInt8],
        _ chunks: [UInt8] = [], after: [UInt8] = []
    ) -> Data {
        let header = joined(big(width), big(height), [depth, type, 0, 0, isInterlaced ? 1 : 0])
        return Data(
            joined(
                [0x89], Array("PNG\r\n\u{1A}\n".utf8), chunk("IHDR", header), chunks, chunk("IDAT", rows), after,
                chunk("IEND", [])))
    }

    static func jpeg(isProgressive: Bool) throws -> Data {
        let image = try IsolatedDecodingTests.image(PixelSize(width: 32, height: 32))
        return try CodecRegistry().encode(image, as: .jpeg, options: EncodingOptions(isProgressive: isProgressive))
    }

    /// Changes the size in a JPEG's frame header.
    static func resized(_ file: Data, _ width: UInt16, _ height: UInt16) -> Data {
        var bytes = Array(file)
        if let start = bytes.indices.first(where: { bytes[$0] == 0xFF && [0xC0, 0xC2].contains(bytes[$0 + 1]) }) {
            bytes.replaceSubrange(start + 5..<start + 9, with: big(height) + big(width))
        }
        return Data(bytes)
    }

    static func gif(_ width: UInt16, _ height: UInt16, frameCount: Int) -> Data {
        let size = joined(little(width), little(height))
        let frame = joined([0x2C, 0, 0, 0, 0], size, [0, 2, 2, 0x4C, 0x01, 0])
        let header = joined(Array("GIF89a".utf8), size, [0x80, 0, 0, 0, 0, 0, 255, 255, 255])
        return Data(joined(header, repeated(frameCount) { _ in frame }, [0x3B]))
    }

    static func part(_ name: String, _ content: [UInt8]) -> [UInt8] {
        joined(Array(name.utf8), little(UInt32(content.count)), content, content.count % 2 == 1 ? [0] : [])
    }
    static func riff(_ content: [UInt8]) -> Data {
        Data(joined(Array("RIFF".utf8), little(UInt32(content.count + 4)), Array("WEBP".utf8), content))
    }
    static func webp(chunk name: String, _ content: [UInt8]) -> Data { riff(part(name, content)) }

    static func bmp(_ width: UInt32, _ height: UInt32, compression: UInt32, _ rows: [UInt8]) -> Data {
        var palette: [UInt8] = []
        for index in 0..<256 { palette += [UInt8](repeating: UInt8(index), count: 4) }
        let start = UInt32(54 + palette.count)
        let header = joined(
            little(UInt32(40)), little(width), little(height), [1, 0, 8, 0], little(compression),
            little(UInt32(rows.count)),
            [UInt8](repeating: 0, count: 16))
        let length = little(start + UInt32(rows.count))
        return Data(joined(Array("BM".utf8), length, [0, 0, 0, 0], little(start), header, palette, rows))
    }

    /// A gray TIFF with these tags; offset 8 is that of the content.
    static func tiff(
        _ width: UInt32, _ height: UInt32, _ tags: [(UInt16, UInt32)],
        content: [UInt8] = [UInt8](repeating: 0, count: 64), next: UInt32 = 0
    ) -> Data {
        let basic: [(UInt16, UInt32)] = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1)]
        let all = (basic.filter { tag in !tags.contains { $0.0 == tag.0 } } + tags).sorted { $0.0 < $1.0 }
        var directory = little(UInt16(all.count))
        for (tag, value) in all { directory += joined(little(tag), [4, 0, 1, 0, 0, 0], little(value)) }
        directory += little(next)
        let mark: [UInt8] = [0x49, 0x49, 42, 0]
        // A next directory at 8 is this one.
        guard next == 0 else { return Data(joined(mark, little(UInt32(8)), directory, content)) }
        return Data(joined(mark, little(UInt32(8 + content.count)), content, directory))
    }

    static func j2k(_ width: UInt32, _ height: UInt32, componentCount: UInt16) -> Data {
        let none = [UInt8](repeating: 0, count: 8)
        var size = joined([0, 0], big(width), big(height), none, big(width), big(height), none, big(componentCount))
        for _ in 0..<componentCount { size += [7, 1, 1] }
        let steps = (0..<16).map { UInt8(0x40 + $0 % 4 * 8) }
        return Data(
            joined(
                [0xFF, 0x4F, 0xFF, 0x51], big(UInt16(truncatingIfNeeded: size.count + 2)), size,
                [0xFF, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1], [0xFF, 0x5C, 0, 19, 0x40], steps,
                [0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0x93], [UInt8](repeating: 0x80, count: 200),
                [0xFF, 0xD9]))
    }

    static func box(_ name: String, _ content: [UInt8]...) -> [UInt8] {
        let all = content.flatMap { $0 }
        return joined(big(UInt32(all.count + 8)), Array(name.utf8), all)
    }

    static func mediaType(_ brand: String) -> [UInt8] { box("ftyp", Array("\(brand)\0\0\0\0mif1\(brand)".utf8)) }

    static let handler = box(
        "hdlr", [UInt8](repeating: 0, count: 8), Array("pict".utf8), [UInt8](repeating: 0, count: 13))

    /// A file whose one item is made of others.
    static func heif(_ brand: String, itemType: String, derivedFrom items: [UInt16]) -> Data {
        let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0], Array("\(itemType)\0".utf8))
        let size = box("ispe", [0, 0, 0, 0], big(UInt32(64)), big(UInt32(64)))
        let properties = box("iprp", box("ipco", size), box("ipma", [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1]))
        var derived: [UInt8] = []
        for item in items { derived += big(item) }
        let references = box("iref", [0, 0, 0, 0], box("dimg", [0, 1], big(UInt16(items.count)), derived))
        // A grid of 255 × 255, in the meta box.
        let grid = joined([0, 0, 254, 254], big(UInt16(64)), big(UInt16(64)))
        let location = box(
            "iloc", [1, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1], big(UInt32(0)), big(UInt32(grid.count)))
        let primary = box("pitm", [0, 0, 0, 0, 0, 1])
        let meta = box(
            "meta", [0, 0, 0, 0], handler, primary, box("iinf", [0, 0, 0, 0, 0, 1], entry), references, properties,
            location,
            box("idat", grid))
        return Data(joined(mediaType(brand), meta))
    }

    static func svg(_ side: Int, _ content: String) -> Data {
        Data("<svg xmlns='http://www.w3.org/2000/svg' width='\(side)' height='\(side)'>\(content)</svg>".utf8)
    }
}
