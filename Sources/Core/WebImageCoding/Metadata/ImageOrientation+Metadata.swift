internal import Glibc
internal import WebImageCore

extension ImageOrientation {
    /// Reads the orientation tag of EXIF data (CIPA DC-008: a TIFF structure, with or without `Exif\0\0` before it).
    /// `nil` if it is missing or invalid, which is not an error.
    init?(exif data: RawSpan) {
        // Type 3 is a number of 16 bits.
        guard let layout = TIFFLayout(data),
            let entry = layout.entry(TIFFTag.orientation, inDirectoryAt: layout.firstDirectory, of: data),
            entry.type == 3, let value = layout.integer(entry, in: data)
        else { return nil }
        self.init(rawValue: value)
    }
}

extension ImageOrientation {
    /// Finds `tiff:Orientation` in an XMP packet (ISO 16684-1), as an attribute or an element; `nil` if it is missing
    /// or invalid.
    ///
    /// This is a text search in XML: every program writes the prefix `tiff`.
    init?(xmp data: RawSpan) {
        for offset in Self.digits(inXMP: data) {
            guard let digit = data.byte(at: offset) else { continue }
            if let orientation = ImageOrientation(rawValue: Int(digit) - Int(UInt8(ascii: "0"))) {
                self = orientation
                return
            }
        }
        return nil
    }

    /// The offsets of the digits that give an orientation.
    static func digits(inXMP data: RawSpan) -> [Int] {
        let name: StaticString = "tiff:Orientation"
        var (offset, digits): (Int, [Int]) = (0, [])
        while let start = data.firstOffset(of: name, from: offset) {
            offset = start + name.utf8CodeUnitCount
            if let digit = digit(behindNameIn: data, at: offset) { digits.append(digit) }
        }
        return digits
    }

    /// Finds the digit in `="6"`, `='6'` or `>6<`, with whitespace anywhere.
    private static func digit(behindNameIn data: RawSpan, at start: Int) -> Int? {
        var offset = start
        func next() -> UInt8? {
            while let byte = data.byte(at: offset) {
                offset += 1
                if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { return byte }
            }
            return nil
        }
        let end: UInt8
        switch next() {
        case UInt8(ascii: ">"):
            end = UInt8(ascii: "<")
        case UInt8(ascii: "="):
            guard let quote = next(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
            end = quote
        default:
            return nil
        }
        guard let digit = next(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
        let position = offset - 1
        return next() == end ? position : nil
    }
}

/// Reads with bounds checks: files cannot be trusted.
extension RawSpan {
    /// `nil` outside the data.
    package func byte(at offset: Int) -> UInt8? {
        guard offset >= 0, offset < byteCount else { return nil }
        return unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    }

    /// Reads an unsigned number of `count` bytes, at most 8; `nil` outside the data.
    package func integer(at offset: Int, count: Int, isBigEndian: Bool) -> Int? {
        guard offset >= 0, count <= byteCount, offset <= byteCount - count else { return nil }
        var value: UInt64 = 0
        for index in 0..<count {
            let position = isBigEndian ? offset + index : offset + count - 1 - index
            value = value << 8 | UInt64(unsafeLoadUnaligned(fromByteOffset: position, as: UInt8.self))
        }
        return Int(exactly: value)
    }

    /// Whether the ASCII `text` is at `offset`.
    package func hasText(_ text: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, text.utf8CodeUnitCount <= byteCount, offset <= byteCount - text.utf8CodeUnitCount else {
            return false
        }
        return text.withUTF8Buffer { characters in
            characters.indices.allSatisfy { characters[$0] == byte(at: offset + $0) }
        }
    }

    /// The offset of the first `text` at or after `start`.
    func firstOffset(of text: StaticString, from start: Int) -> Int? {
        let (length, last) = (text.utf8CodeUnitCount, byteCount - text.utf8CodeUnitCount)
        guard start >= 0, start <= last, length > 0 else { return nil }
        return withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            var offset = start
            while offset <= last, let found = memchr(base + offset, Int32(text.utf8Start[0]), last + 1 - offset) {
                if memcmp(found, text.utf8Start, length) == 0 { return UnsafeRawPointer(found) - base }
                offset = UnsafeRawPointer(found) - base + 1
            }
            return nil
        }
    }
}
