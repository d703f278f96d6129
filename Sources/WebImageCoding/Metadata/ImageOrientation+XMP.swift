internal import WebImageCore

extension ImageOrientation {
    /// Finds `tiff:Orientation` in an XMP packet (ISO 16684-1), as an attribute or as an element; `nil` if it is missing or
    /// out of range.
    ///
    /// A packet is XML, of which this is a text search: the prefix `tiff` is what every program writes.
    init?(xmp data: RawSpan) {
        let name: StaticString = "tiff:Orientation"
        var offset = 0
        while let start = data.firstOffset(of: name, from: offset) {
            offset = start + name.utf8CodeUnitCount
            if let orientation = Self.value(behindNameIn: data, at: offset) {
                self = orientation
                return
            }
        }
        return nil
    }

    /// The number in `="6"`, `='6'` or `>6<`, with blanks anywhere.
    private static func value(behindNameIn data: RawSpan, at start: Int) -> ImageOrientation? {
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
        guard let digit = next(), next() == end else { return nil }
        return ImageOrientation(rawValue: Int(digit) - Int(UInt8(ascii: "0")))
    }
}
