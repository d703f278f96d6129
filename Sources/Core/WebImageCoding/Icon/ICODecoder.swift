import FoundationEssentials
import WebImageCore

/// Decodes ICO and CUR: bitmaps with masks, and PNG.
///
///     0 0 │ type: 1 icon, 2 cursor │ count │ entries of 16 bytes │ images
///
/// An image ends where its own headers say, or at the end of the file: the lengths in the entries are often wrong, and
/// other programs ignore them.
struct ICODecoder: IconDecoder {
    init() {}

    package var format: ImageFormat { .ico }

    func entries(of data: Data, isPrefix: Bool) throws(WebImageError) -> [IconEntry] {
        let bytes = data.bytes
        guard let count = bytes.integer(at: 4, count: 2, isBigEndian: false), bytes.byteCount >= 6 + count * 16 else {
            throw format.truncated
        }
        guard ImageFormat(signatureOf: data) == .ico else { throw format.corrupt("no entries") }
        var entries: [IconEntry] = []
        for index in 0..<count {
            let begin = 6 + index * 16
            // 0 stands for 256, the largest side that fits.
            func side(_ byte: UInt8?) -> Int { byte.map { $0 == 0 ? 256 : Int($0) } ?? 0 }
            guard let offset = bytes.integer(at: begin + 12, count: 4, isBigEndian: false), offset >= 6 + count * 16
            else { continue }
            let isPNG = bytes.hasText("PNG", at: offset + 1)
            // Of a cursor, these are the position of its tip.
            let bits = bytes.integer(at: begin + 6, count: 2, isBigEndian: false) ?? 0
            let isCursor = bytes.byte(at: 2) == 2
            entries.append(
                IconEntry(
                    size: PixelSize(width: side(bytes.byte(at: begin)), height: side(bytes.byte(at: begin + 1))),
                    bitsPerPixel: isPNG ? 32 : isCursor ? 0 : bits, content: isPNG ? .file(PNGDecoder()) : .bitmap,
                    range: offset..<max(offset + 1, bytes.byteCount)))
        }
        guard !entries.isEmpty else { throw format.corrupt("no image in \(count) entries") }
        return entries
    }
}
