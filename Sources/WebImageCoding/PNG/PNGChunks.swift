internal import CWebImageDeflate
internal import WebImageCore

/// Reads the chunks of a PNG in order, without decompressing them. It can continue after more bytes have arrived.
struct PNGChunks: Sendable {
    private var offset = signatureByteCount

    /// Returns the next chunk; `nil` if its length and name haven't arrived. A chunk that isn't whole is returned again by the
    /// next call, so loops must stop at it.
    ///
    /// - Parameter data: the file from its first byte.
    mutating func next(in data: RawSpan) -> PNGChunk? {
        guard let chunk = PNGChunk(reading: data, at: offset) else { return nil }
        if chunk.isWhole { offset = chunk.end }
        return chunk
    }

    /// Whether `data` starts with the signature of a PNG; `nil` if it's too short.
    static func hasSignature(_ data: RawSpan) -> Bool? {
        guard data.byteCount >= signatureByteCount else { return nil }
        return data.byte(at: 0) == 0x89 && data.hasText("PNG\r\n\u{1A}\n", at: 1)
    }

    private static let signatureByteCount = 8
}

/// The location of a chunk in the file.
///
///     length (4) │ name (4) │ content │ checksum of name and content (4)
struct PNGChunk: Sendable {
    let name: Name
    /// The content, as far as it has arrived.
    let content: Range<Int>
    /// The length of the complete content.
    private let length: Int
    /// Whether content and checksum are complete.
    let isWhole: Bool

    fileprivate init?(reading data: RawSpan, at offset: Int) {
        guard let length = data.integer(at: offset, count: 4, isBigEndian: true),
            let name = data.integer(at: offset + 4, count: 4, isBigEndian: true)
        else { return nil }
        self.name = Name(rawValue: UInt32(name))
        self.length = length
        let start = offset + 8
        isWhole = start + length + Self.checksumByteCount <= data.byteCount
        content = start..<min(start + length, data.byteCount)
    }

    /// The offset of the next chunk.
    fileprivate var end: Int { content.upperBound + Self.checksumByteCount }

    /// Whether the content is complete.
    var hasContent: Bool { content.count == length }

    /// The part of the zlib stream in this chunk: in fdAT it follows a sequence number.
    var compressedBytes: Range<Int> {
        name == .frameData ? min(content.lowerBound + 4, content.upperBound)..<content.upperBound : content
    }

    /// Whether the checksum of a whole chunk is right.
    func isIntact(in data: RawSpan) -> Bool {
        guard let checksum = data.integer(at: content.upperBound, count: 4, isBigEndian: true) else { return false }
        let named = data.extracting(content.lowerBound - 4..<content.upperBound)
        return named.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) } == UInt32(checksum)
    }

    private static let checksumByteCount = 4

    /// Four letters as a big-endian number.
    struct Name: RawRepresentable, Sendable, Hashable {
        let rawValue: UInt32

        static let header = Name(rawValue: 0x4948_4452)  // IHDR
        static let palette = Name(rawValue: 0x504C_5445)  // PLTE
        static let transparency = Name(rawValue: 0x7452_4E53)  // tRNS
        static let codePoints = Name(rawValue: 0x6349_4350)  // cICP
        static let profile = Name(rawValue: 0x6943_4350)  // iCCP
        static let sRGB = Name(rawValue: 0x7352_4742)  // sRGB
        static let gamma = Name(rawValue: 0x6741_4D41)  // gAMA
        static let primaries = Name(rawValue: 0x6348_524D)  // cHRM
        static let exif = Name(rawValue: 0x6558_4966)  // eXIf
        static let text = Name(rawValue: 0x6954_5874)  // iTXt
        static let data = Name(rawValue: 0x4944_4154)  // IDAT
        static let end = Name(rawValue: 0x4945_4E44)  // IEND
        static let animation = Name(rawValue: 0x6163_544C)  // acTL
        static let frame = Name(rawValue: 0x6663_544C)  // fcTL
        static let frameData = Name(rawValue: 0x6664_4154)  // fdAT

        private var letters: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) } }

        var isValid: Bool {
            letters.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0 & ~0x20) }
        }
        /// Whether a decoder may skip the chunk if it doesn't know it: its first letter is lowercase.
        var isAncillary: Bool { rawValue & 0x2000_0000 != 0 }
        var text: String { String(decoding: letters, as: UTF8.self) }
    }
}
