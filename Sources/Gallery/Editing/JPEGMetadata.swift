import FoundationEssentials
import WebImageGTK

/// The EXIF and XMP segments of a JPEG (ITU-T T.81, annex B), which can be replaced while everything else stays byte by byte.
struct JPEGMetadata {
    private let file: Data
    /// The first segment of each kind, from its marker.
    private var segments: [Kind: Range<Int>] = [:]
    /// Where a segment can be added: behind the file's first marker, and that of JFIF.
    private var start = 2

    private enum Kind: CaseIterable {
        case exif, xmp

        var signature: [UInt8] {
            switch self {
            case .exif: Array("Exif\0\0".utf8)
            case .xmp: Array("http://ns.adobe.com/xap/1.0/\0".utf8)
            }
        }
    }

    /// Finds the segments. `file` must be a JPEG whose header can be read.
    init(of file: Data) {
        self.file = Data(file)
        var offset = 2
        while offset + 4 <= self.file.count, self.file[offset] == 0xFF {
            let marker = self.file[offset + 1]
            let length = Int(self.file[offset + 2]) << 8 | Int(self.file[offset + 3])
            let end = offset + 2 + length
            // The first scan, or what has no length.
            guard marker != 0xDA, !(0xD0...0xD9).contains(marker), length >= 2, end <= self.file.count else { break }
            if marker == 0xE0, offset == 2 { start = end }
            if marker == 0xE1 {
                for kind in Kind.allCases where segments[kind] == nil {
                    if self.file[(offset + 4)..<end].starts(with: kind.signature) { segments[kind] = offset..<end }
                }
            }
            offset = end
        }
    }

    /// Returns the file with other metadata; `nil` if it is too long for a segment.
    func replaced(with metadata: ImageMetadata) -> Data? {
        var changes: [(range: Range<Int>, segment: Data)] = []
        for (kind, content) in [(Kind.exif, metadata.exif), (.xmp, metadata.xmp)] {
            guard let content else { continue }
            let length = 2 + kind.signature.count + content.count
            guard length <= 0xFFFF else { return nil }
            let header = [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + kind.signature
            changes.append((segments[kind] ?? start..<start, Data(header) + content))
        }
        var result = file
        // From the end, so that the other places stay.
        for change in changes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            result.replaceSubrange(change.range, with: change.segment)
        }
        return result
    }
}
