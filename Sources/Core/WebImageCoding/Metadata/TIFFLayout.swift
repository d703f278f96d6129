internal import WebImageCore

/// Where a TIFF structure keeps its values (TIFF 6.0, section 2). EXIF data is one (CIPA DC-008), and so is a TIFF file.
///
///     II or MM │ 42 │ offset of a directory        a directory: n │ n entries of 12 bytes │ offset of the next one
///                                                  an entry:      tag │ type │ count │ value, or its offset
package struct TIFFLayout {
    /// The first byte, from which offsets count.
    let start: Int
    package let isBigEndian: Bool
    /// The offset of the first directory.
    package let firstDirectory: Int

    package struct Entry: Equatable {
        let tag: Int
        let type: Int
        let count: Int
        /// The bytes of the value.
        let value: Range<Int>
    }

    /// `nil` without a header. `Exif\0\0` may be before it.
    package init?(_ data: RawSpan) {
        start = data.hasText(Self.prefix, at: 0) ? Self.prefix.utf8CodeUnitCount : 0
        switch data.integer(at: start, count: 4, isBigEndian: true) {
        case 0x4949_2A00: isBigEndian = false
        case 0x4D4D_002A: isBigEndian = true
        default: return nil
        }
        guard let offset = data.integer(at: start + 4, count: 4, isBigEndian: isBigEndian) else { return nil }
        firstDirectory = start + offset
    }

    func integer(at offset: Int, count: Int, in data: RawSpan) -> Int? {
        data.integer(at: offset, count: count, isBigEndian: isBigEndian)
    }

    /// The number in an entry, or the first of several.
    package func integer(_ entry: Entry, in data: RawSpan) -> Int? {
        let size = Self.byteCount(ofType: entry.type)
        guard (1...4).contains(size), entry.count > 0 else { return nil }
        return integer(at: entry.value.lowerBound, count: size, in: data)
    }

    /// The offset to which an entry points.
    func target(of entry: Entry, in data: RawSpan) -> Int? { integer(entry, in: data).map { start + $0 } }

    /// Returns the first entry with `tag`; `nil` if there is none, or if its value is not within the bytes.
    package func entry(_ tag: Int, inDirectoryAt offset: Int, of data: RawSpan) -> Entry? {
        guard let count = integer(at: offset, count: 2, in: data) else { return nil }
        for index in 0..<count {
            let position = offset + 2 + index * 12
            guard let found = integer(at: position, count: 2, in: data) else { return nil }
            if found == tag { return entry(at: position, in: data) }
        }
        return nil
    }

    /// The entries of a directory whose values are within the bytes.
    func entries(ofDirectoryAt offset: Int, in data: RawSpan) -> [Entry] {
        (0..<(integer(at: offset, count: 2, in: data) ?? 0)).compactMap { entry(at: offset + 2 + $0 * 12, in: data) }
    }

    private func entry(at position: Int, in data: RawSpan) -> Entry? {
        guard let tag = integer(at: position, count: 2, in: data),
            let type = integer(at: position + 2, count: 2, in: data),
            let count = integer(at: position + 4, count: 4, in: data),
            let offset = integer(at: position + 8, count: 4, in: data)
        else { return nil }
        let length = Self.byteCount(ofType: type) * count
        let first = length <= 4 ? position + 8 : start + offset
        guard first + length <= data.byteCount else { return nil }
        return Entry(tag: tag, type: type, count: count, value: first..<first + length)
    }

    /// The position of the offset of the next directory.
    func nextDirectoryOffset(behindDirectoryAt offset: Int, in data: RawSpan) -> Int? {
        integer(at: offset, count: 2, in: data).map { offset + 2 + $0 * 12 }
    }

    /// The position of the offset of the second directory, which describes a thumbnail, and the thumbnail's bytes, none if they are not
    /// within the data.
    func thumbnail(behindDirectoryAt offset: Int, in data: RawSpan) -> (link: Int, bytes: Range<Int>)? {
        guard let link = nextDirectoryOffset(behindDirectoryAt: offset, in: data),
            let next = integer(at: link, count: 4, in: data), next > 0
        else { return nil }
        func entry(_ tag: Int) -> Entry? { self.entry(tag, inDirectoryAt: self.start + next, of: data) }
        let start = entry(TIFFTag.thumbnailOffset).flatMap { target(of: $0, in: data) }
        let count = entry(TIFFTag.thumbnailByteCount).flatMap { integer($0, in: data) }
        // It cannot be where the header and the first directory are.
        let first = max(start ?? 0, link + 4)
        guard let start, let count, first < start + count, start + count <= data.byteCount else { return (link, 0..<0) }
        return (link, first..<start + count)
    }

    /// The size of one value of a type; 0 for an unknown one.
    static func byteCount(ofType type: Int) -> Int {
        switch type {
        case 1, 2, 6, 7: 1
        case 3, 8: 2
        case 4, 9, 11, 13: 4
        case 5, 10, 12: 8
        default: 0
        }
    }

    static let prefix: StaticString = "Exif\0\0"
}

/// A directory of a TIFF structure with the values of its entries, which can be written at another place.
package struct TIFFDirectory {
    private var values: [Int: Value] = [:]
    private var children: [Int: TIFFDirectory] = [:]

    private struct Value {
        var type: Int
        var count: Int
        /// Little-endian.
        var bytes: [UInt8]
    }

    init() {}

    /// Reads a directory of `data`, and those of EXIF and GPS inside of it.
    ///
    /// - Parameter tags: those to read; `nil` for all.
    package init(_ layout: TIFFLayout, at offset: Int, in data: RawSpan, tags: Set<Int>? = nil) {
        self.init(layout, at: offset, in: data, tags: tags, depth: 0)
    }

    private init(_ layout: TIFFLayout, at offset: Int, in data: RawSpan, tags: Set<Int>? = nil, depth: Int) {
        for entry in layout.entries(ofDirectoryAt: offset, in: data) {
            if let tags, !tags.contains(entry.tag) { continue }
            guard Self.directoryTags.contains(entry.tag) else {
                let bytes = data.extracting(entry.value).withUnsafeBytes { Array($0) }
                values[entry.tag] = Value(
                    type: entry.type, count: entry.count,
                    bytes: layout.isBigEndian ? Self.swapped(bytes, type: entry.type) : bytes)
                continue
            }
            if depth < 2, let target = layout.target(of: entry, in: data) {
                children[entry.tag] = TIFFDirectory(layout, at: target, in: data, depth: depth + 1)
            }
        }
    }

    package var isEmpty: Bool { values.isEmpty && children.isEmpty }

    /// The bytes of a value of single bytes.
    package func bytes(of tag: Int) -> [UInt8]? { values[tag]?.bytes }

    /// Sets a value of single bytes: type 1, or 7 for bytes without a meaning of their own.
    package mutating func set(_ tag: Int, type: Int, _ bytes: [UInt8]) {
        values[tag] = Value(type: type, count: bytes.count, bytes: bytes)
    }

    /// Sets a number of 16 bits.
    mutating func setShort(_ tag: Int, _ number: Int) {
        values[tag] = Value(type: 3, count: 1, bytes: Self.bytes(number, 2))
    }

    /// Adds what `other` has and this one has not.
    package mutating func add(_ other: TIFFDirectory) {
        values.merge(other.values) { own, _ in own }
        children.merge(other.children) { own, _ in own }
    }

    /// Returns the directory and its values, little-endian, as they are at the offset `start` of a structure.
    package func bytes(at start: Int) -> [UInt8] {
        let tags = (Array(values.keys) + Array(children.keys)).sorted()
        var entries = Self.bytes(tags.count, 2)
        var content: [UInt8] = []
        let contentStart = start + 2 + tags.count * 12 + 4
        for tag in tags {
            // Values begin at even offsets.
            if content.count % 2 == 1 { content.append(0) }
            let offset = contentStart + content.count
            if let child = children[tag] {
                entries += Self.bytes(tag, 2) + Self.bytes(4, 2) + Self.bytes(1, 4) + Self.bytes(offset, 4)
                content += child.bytes(at: offset)
            } else if let value = values[tag] {
                entries += Self.bytes(tag, 2) + Self.bytes(value.type, 2) + Self.bytes(value.count, 4)
                if value.bytes.count <= 4 {
                    entries += value.bytes + Array(repeating: 0, count: 4 - value.bytes.count)
                } else {
                    entries += Self.bytes(offset, 4)
                    content += value.bytes
                }
            }
        }
        return entries + Self.bytes(0, 4) + content
    }

    /// Returns a structure with this directory.
    package func structure() -> [UInt8] { Array("II*\0".utf8) + Self.bytes(8, 4) + bytes(at: 8) }

    private static func swapped(_ bytes: [UInt8], type: Int) -> [UInt8] {
        // A fraction is two numbers.
        let unit = [5, 10].contains(type) ? 4 : max(1, TIFFLayout.byteCount(ofType: type))
        guard unit > 1 else { return bytes }
        return stride(from: 0, to: bytes.count, by: unit).flatMap { bytes[$0..<$0 + unit].reversed() }
    }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] { number.littleEndianBytes(count) }

    private static let directoryTags: Set<Int> = [TIFFTag.exif, TIFFTag.gps, TIFFTag.interoperability]
}

/// The numbers of values.
package enum TIFFTag {
    static let width = 0x0100
    static let height = 0x0101
    static let orientation = 0x0112
    static let artist = 0x013B
    package static let xmp = 0x02BC
    static let copyright = 0x8298
    package static let profile = 0x8773
    static let exif = 0x8769
    static let gps = 0x8825
    static let thumbnailOffset = 0x0201
    static let thumbnailByteCount = 0x0202
    static let colorSpace = 0xA001
    static let exifWidth = 0xA002
    static let exifHeight = 0xA003
    static let interoperability = 0xA005
    /// Those of a TIFF file that describe the picture, and not how its pixels are stored: description, camera,
    /// orientation, resolution, program, date, artist, computer, copyright, EXIF and GPS.
    package static let descriptions: Set<Int> = [
        0x010E, 0x010F, 0x0110, orientation, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, artist, 0x013C, copyright, exif,
        gps,
    ]
}

extension Int {
    /// The lowest `count` bytes, the least significant first.
    package func littleEndianBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }
}
