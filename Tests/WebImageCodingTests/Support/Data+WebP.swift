import Foundation

extension Data {
    /// The chunks of a WebP, each from its name to its last byte.
    var webpChunks: [(name: String, range: Range<Int>)] {
        var chunks: [(name: String, range: Range<Int>)] = []
        var offset = 12
        while offset + 8 <= count {
            let length = (0..<4).reduce(0) { $0 | Int(self[offset + 4 + $1]) << (8 * $1) }
            let name = String(decoding: self[offset..<offset + 4], as: UTF8.self)
            chunks.append((name, offset..<Swift.min(offset + 8 + length, count)))
            offset += 8 + length + length % 2
        }
        return chunks
    }

    /// A chunk of a WebP.
    static func webpChunk(_ name: String, _ content: some Collection<UInt8>) -> Data {
        var chunk = Data()
        chunk.appendWebPChunk(name, content)
        return chunk
    }

    /// Adds a chunk to a WebP.
    mutating func appendWebPChunk(_ name: String, _ content: some Collection<UInt8>) {
        append(contentsOf: name.utf8)
        append(contentsOf: (0..<4).map { UInt8(content.count >> (8 * $0) & 0xFF) })
        append(contentsOf: content)
        if content.count % 2 == 1 { append(0) }
    }

    /// Makes a WebP announce the length that it has.
    mutating func setRIFFLength() {
        let length = count - 8
        replaceSubrange(4..<8, with: (0..<4).map { UInt8(length >> (8 * $0) & 0xFF) })
    }
}
