package import FoundationEssentials
package import WebImageCore

/// Bytes behind the end of an image, such as an archive, a page or a film that the file is besides.
///
///     JPEG         behind EOI, but for further images that the index (CIPA DC-007) or the directory in XMP lists
///     PNG          behind IEND
///     GIF          behind the trailer
///     WebP         beyond the length of RIFF
///     AVIF, HEIC   behind the last box
///
/// The structure is read, not pixels. What is hidden within the structure, such as in a comment, is not found: only a new file is without it.
package enum TrailingBytes {
    /// Returns how many bytes of a file are behind its image; 0 if its format does not tell where an image ends, such as TIFF. Zeros alone do not count: some cameras fill the last block.
    package static func count(in file: Data, _ format: ImageFormat) -> Int {
        let bytes = file.bytes
        guard let end = end(of: format, in: bytes), end < bytes.byteCount else { return 0 }
        return isZero(end..<bytes.byteCount, in: bytes) ? 0 : bytes.byteCount - end
    }

    private static func end(of format: ImageFormat, in bytes: RawSpan) -> Int? {
        switch format {
        case .jpeg: endOfImages(in: bytes)
        case .png: endOfChunks(in: bytes)
        case .gif: endOfBlocks(in: bytes)
        case .webp: bytes.integer(at: 4, count: 4, isBigEndian: false).map { 8 + $0 + $0 % 2 }
        case .avif, .heic: Box.list(in: bytes, 0..<bytes.byteCount).last { $0.isWhole }?.range.upperBound
        default: nil
        }
    }

    private static func isZero(_ range: Range<Int>, in bytes: RawSpan) -> Bool {
        bytes.extracting(range).withUnsafeBytes { $0.allSatisfy { $0 == 0 } }
    }

    // MARK: JPEG

    private static func endOfImages(in bytes: RawSpan) -> Int? {
        guard var end = endOfImage(in: bytes, from: 0) else { return nil }
        guard end < bytes.byteCount, let header = try? JPEGHeader(reading: bytes) else { return end }
        let starts = JPEGDecoder.otherImages(of: header, in: bytes).map(\.lowerBound).sorted()
        for start in starts where start >= end {
            guard isZero(end..<start, in: bytes), bytes.byte(at: start) == 0xFF, bytes.byte(at: start + 1) == 0xD8,
                let next = endOfImage(in: bytes, from: start)
            else { continue }
            end = next
        }
        return end
    }

    /// Where the marker of the end of an image ends. Codes between markers contain none.
    private static func endOfImage(in bytes: RawSpan, from start: Int) -> Int? {
        var offset = start + 2
        while let marker = JPEGHeader.nextMarker(in: bytes, from: &offset) {
            if marker == JPEGHeader.endOfImage { return offset }
            if JPEGHeader.standalone.contains(marker) { continue }
            guard let length = bytes.integer(at: offset, count: 2, isBigEndian: true) else { return nil }
            offset += max(2, length)
        }
        return nil
    }

    // MARK: PNG

    private static func endOfChunks(in bytes: RawSpan) -> Int? {
        var offset = 8
        while let length = bytes.integer(at: offset, count: 4, isBigEndian: true) {
            // The length, the name, and the checksum.
            let end = offset + length + 12
            if bytes.hasText("IEND", at: offset + 4) { return end }
            offset = end
        }
        return nil
    }

    // MARK: GIF

    private static func endOfBlocks(in bytes: RawSpan) -> Int? {
        guard let flags = bytes.byte(at: 10) else { return nil }
        var offset = 13 + paletteByteCount(flags)
        while let introducer = bytes.byte(at: offset) {
            switch introducer {
            case 0x3B: return offset + 1
            case 0x21: offset += 2
            case 0x2C:
                guard let flags = bytes.byte(at: offset + 9) else { return nil }
                // The descriptor, and the size of codes.
                offset += 11 + paletteByteCount(flags)
            default: return nil
            }
            while let length = bytes.byte(at: offset) {
                offset += 1 + Int(length)
                if length == 0 { break }
            }
        }
        return nil
    }

    private static func paletteByteCount(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
}
