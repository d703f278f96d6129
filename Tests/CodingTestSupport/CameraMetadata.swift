package import Foundation
import WebImageCore

package import WebImageCoding

/// EXIF and XMP as a camera writes them: turned, in another color space, with a thumbnail.
package enum CameraMetadata {
    package static let thumbnail = Data("thumbnail".utf8)
    package static let notes = Data("the camera's own notes".utf8)

    package static let xmp = Data(
        #"""
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description tiff:Orientation="6" dc:title="Dunes"/></rdf:RDF></x:xmpmeta>
        """#.utf8)

    package static func metadata(isBigEndian: Bool = false) -> ImageMetadata {
        ImageMetadata(exif: exif(isBigEndian: isBigEndian), xmp: xmp)
    }

    /// Make "Leica", orientation 6; in the EXIF directory a size of 4000 × 3000, Adobe RGB, and the notes; a second
    /// directory with the thumbnail.
    package static func exif(isBigEndian: Bool) -> Data {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isBigEndian ? bytes.reversed() : bytes
        }
        func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
            number(tag, 2) + number(type, 2) + number(count, 4) + (value + [0, 0, 0]).prefix(4)
        }
        let (main, details, second) = (8, 8 + 2 + 3 * 12 + 4, 8 + 2 + 3 * 12 + 4 + 2 + 4 * 12 + 4)
        let content = second + 2 + 2 * 12 + 4
        var bytes = [UInt8]((isBigEndian ? "MM\0*" : "II*\0").utf8) + number(main, 4)
        bytes += number(3, 2) + entry(0x010F, 2, 6, number(content, 4)) + entry(0x0112, 3, 1, number(6, 2))
        bytes += entry(0x8769, 4, 1, number(details, 4)) + number(second, 4)
        bytes += number(4, 2) + entry(0x927C, 7, notes.count, number(content + 6, 4))
        bytes += entry(0xA001, 3, 1, number(0xFFFF, 2)) + entry(0xA002, 4, 1, number(4000, 4))
        bytes += entry(0xA003, 4, 1, number(3000, 4)) + number(0, 4)
        bytes += number(2, 2) + entry(0x0201, 4, 1, number(content + 6 + notes.count, 4))
        bytes += entry(0x0202, 4, 1, number(thumbnail.count, 4)) + number(0, 4)
        return Data(bytes) + Data("Leica\0".utf8) + notes + thumbnail
    }

    /// The numbers that describe the pixels.
    package static func numbers(of metadata: ImageMetadata) -> [String: Int] {
        guard let exif = metadata.exif, let layout = TIFFLayout(exif.bytes) else { return [:] }
        func number(_ tag: Int, at offset: Int) -> Int? {
            layout.entry(tag, inDirectoryAt: offset, of: exif.bytes).flatMap { layout.integer($0, in: exif.bytes) }
        }
        var numbers = ["orientation": number(0x0112, at: layout.firstDirectory)]
        if let details = number(0x8769, at: layout.firstDirectory) {
            numbers["colorSpace"] = number(0xA001, at: details)
            numbers["width"] = number(0xA002, at: details)
            numbers["height"] = number(0xA003, at: details)
        }
        return numbers.compactMapValues(\.self)
    }
}
