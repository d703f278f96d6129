public import FoundationEssentials

/// A JPEG file as a camera writes it, with a thumbnail in its EXIF data.
public enum PhotographFile {
    /// Puts an EXIF segment at the beginning of a JPEG file: a directory with the orientation, and one with the thumbnail.
    ///
    /// - Parameters:
    ///   - orientation: from 1 to 8.
    ///   - thumbnail: a JPEG file.
    public static func file(_ jpeg: Data, orientation: Int = 1, thumbnail: Data, isBigEndian: Bool = false) -> Data {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isBigEndian ? bytes.reversed() : bytes
        }
        func entry(_ tag: Int, _ type: Int, _ value: [UInt8]) -> [UInt8] {
            number(tag, 2) + number(type, 2) + number(1, 4) + (value + [0, 0]).prefix(4)
        }
        var exif = [UInt8]("Exif\0\0".utf8) + (isBigEndian ? "MM\0*" : "II*\0").utf8 + number(8, 4)
        exif += number(1, 2) + entry(0x0112, 3, number(orientation, 2)) + number(26, 4)
        exif +=
            number(2, 2) + entry(0x0201, 4, number(56, 4)) + entry(0x0202, 4, number(thumbnail.count, 4)) + number(0, 4)
        exif += thumbnail
        let length = exif.count + 2
        precondition(length <= UInt16.max, "a thumbnail that is too long for a segment")
        var file = Data(jpeg.prefix(2))
        file.append(contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)])
        file.append(contentsOf: exif)
        file.append(jpeg.dropFirst(2))
        return file
    }
}
