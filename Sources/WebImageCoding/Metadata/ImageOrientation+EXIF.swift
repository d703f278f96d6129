internal import WebImageCore

extension ImageOrientation {
    /// Reads the orientation tag of EXIF data (CIPA DC-008: a TIFF structure, with or without `Exif\0\0` before it).
    ///
    /// `nil` where the tag is missing, damaged or out of range: pictures with such metadata are still pictures.
    init?(exif data: RawSpan) {
        guard let orientation = Self.stored(inEXIF: data) else { return nil }
        self = orientation
    }

    private static func stored(inEXIF data: RawSpan) -> ImageOrientation? {
        let start = data.hasText("Exif\0\0", at: 0) ? 6 : 0
        let isBigEndian: Bool
        switch data.integer(at: start, count: 4, isBigEndian: true) {
        case 0x4949_2A00: isBigEndian = false
        case 0x4D4D_002A: isBigEndian = true
        default: return nil
        }
        func integer(at offset: Int, count: Int) -> Int? {
            data.integer(at: start + offset, count: count, isBigEndian: isBigEndian)
        }
        guard let directory = integer(at: 4, count: 4), let entryCount = integer(at: directory, count: 2) else {
            return nil
        }
        for index in 0..<entryCount {
            let entry = directory + 2 + index * 12
            guard let tag = integer(at: entry, count: 2) else { return nil }
            guard tag == orientationTag else { continue }
            // Type 3 is a 16-bit number; the value lies in the entry itself.
            guard integer(at: entry + 2, count: 2) == 3, let value = integer(at: entry + 8, count: 2) else {
                return nil
            }
            return ImageOrientation(rawValue: value)
        }
        return nil
    }

    private static let orientationTag = 0x0112
}
