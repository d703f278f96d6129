internal import FoundationEssentials
internal import WebImageCoding

/// The artist and the copyright of a photograph, as EXIF without anything else.
struct CopyrightNotice: Equatable {
    private static let artistTag = 0x013B, copyrightTag = 0x8298
    private static let textType = 2

    /// By tag, without the NUL at the end.
    private let texts: [(tag: Int, bytes: [UInt8])]

    static func == (first: CopyrightNotice, second: CopyrightNotice) -> Bool { first.exif == second.exif }

    /// `nil` if the metadata have neither.
    init?(_ metadata: ImageMetadata) {
        guard let exif = metadata.exif.map({ [UInt8]($0) }), let layout = TIFFLayout(exif.span.bytes) else {
            return nil
        }
        let span = exif.span.bytes
        func integer(_ offset: Int, _ count: Int) -> Int? { layout.integer(at: offset, count: count, in: span) }
        var texts: [(tag: Int, bytes: [UInt8])] = []
        let directory = layout.firstDirectory
        for index in 0..<min(integer(directory, 2) ?? 0, 512) {
            let entry = directory + 2 + index * 12
            guard let tag = integer(entry, 2), tag == Self.artistTag || tag == Self.copyrightTag,
                integer(entry + 2, 2) == Self.textType, let count = integer(entry + 4, 4), (1...4096).contains(count),
                let offset = count <= 4 ? entry + 8 : integer(entry + 8, 4), offset >= 0,
                offset + count <= exif.count
            else { continue }
            let text = exif[offset..<offset + count].prefix { $0 != 0 }
            if !text.isEmpty { texts.append((tag, Array(text))) }
        }
        guard !texts.isEmpty else { return nil }
        self.texts = texts.sorted { $0.tag < $1.tag }
    }

    /// A TIFF structure with the texts.
    var exif: Data {
        var bytes: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
        func append(_ value: Int, _ count: Int) {
            for shift in stride(from: (count - 1) * 8, through: 0, by: -8) { bytes.append(UInt8(value >> shift & 255)) }
        }
        append(texts.count, 2)
        var offset = 8 + 2 + texts.count * 12 + 4
        for (tag, text) in texts {
            append(tag, 2)
            append(Self.textType, 2)
            append(text.count + 1, 4)
            // A value of at most four bytes is in the entry.
            if text.count < 4 {
                bytes += text + [UInt8](repeating: 0, count: 4 - text.count)
            } else {
                append(offset, 4)
                offset += text.count + 1
            }
        }
        append(0, 4)
        for (_, text) in texts where text.count >= 4 { bytes += text + [0] }
        return Data(bytes)
    }
}
