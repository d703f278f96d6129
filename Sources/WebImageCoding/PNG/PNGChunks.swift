internal import CWebImageDeflate
internal import WebImageCore

/// One chunk of a PNG: where its content lies in the file.
///
///     length (4) │ name (4) │ content │ checksum of name and content (4)
struct PNGChunk: Sendable {
    let name: Name
    /// As far as it is there.
    let content: Range<Int>
    /// Whether its content and its checksum are there.
    let isWhole: Bool

    /// Reads the frame of the chunk at `offset`; `nil` when even that is not all there.
    init?(reading data: RawSpan, at offset: Int) {
        guard let length = data.integer(at: offset, count: 4, isBigEndian: true),
            let name = data.integer(at: offset + 4, count: 4, isBigEndian: true)
        else { return nil }
        self.name = Name(rawValue: UInt32(name))
        let start = offset + Self.frameByteCount
        isWhole = start + length + Self.checksumByteCount <= data.byteCount
        content = start..<min(start + length, data.byteCount)
    }

    /// Where the next one begins.
    var end: Int { content.upperBound + Self.checksumByteCount }

    /// The part of the zlib stream that it holds: in an APNG's chunks it stands behind a sequence number.
    var compressedBytes: Range<Int> {
        name == .frameData ? min(content.lowerBound + 4, content.upperBound)..<content.upperBound : content
    }

    /// Whether the checksum fits; call it for whole chunks.
    func isIntact(in data: RawSpan) -> Bool {
        guard let checksum = data.integer(at: content.upperBound, count: 4, isBigEndian: true) else { return false }
        let named = data.extracting(content.lowerBound - 4..<content.upperBound)
        return named.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) } == UInt32(checksum)
    }

    private static let frameByteCount = 8
    private static let checksumByteCount = 4

    /// Four letters as a big-endian number.
    struct Name: RawRepresentable, Sendable, Hashable {
        let rawValue: UInt32

        static let header = Name(rawValue: 0x4948_4452)  // IHDR
        static let palette = Name(rawValue: 0x504C_5445)  // PLTE
        static let transparency = Name(rawValue: 0x7452_4E53)  // tRNS
        static let sRGB = Name(rawValue: 0x7352_4742)  // sRGB
        static let data = Name(rawValue: 0x4944_4154)  // IDAT
        static let end = Name(rawValue: 0x4945_4E44)  // IEND
        static let animation = Name(rawValue: 0x6163_544C)  // acTL
        static let frame = Name(rawValue: 0x6663_544C)  // fcTL
        static let frameData = Name(rawValue: 0x6664_4154)  // fdAT

        private var letters: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) } }

        /// Whether it could be a chunk's.
        var isValid: Bool {
            letters.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0 & ~0x20) }
        }
        /// Whether a decoder that does not know it may leave it out: its first letter is small.
        var isAncillary: Bool { rawValue & 0x2000_0000 != 0 }
        /// Its letters.
        var text: String { String(decoding: letters, as: UTF8.self) }
    }
}
