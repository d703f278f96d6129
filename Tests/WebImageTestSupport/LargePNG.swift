package import Foundation

/// A black bilevel square. Of 10,400 × 10,400 pixels it has 85 KB: 108 megapixels, over the limit for URLs.
package enum LargePNG {
    package static func data(side: Int = 10_400) -> Data {
        func chunk(_ type: String, _ bytes: Data) -> Data {
            let body = Data(type.utf8) + bytes
            return bigEndian(UInt32(bytes.count)) + body + bigEndian(crc(body))
        }
        func bigEndian(_ value: UInt32) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }
        let header = bigEndian(UInt32(side)) + bigEndian(UInt32(side)) + Data([1, 0, 0, 0, 0])
        return Data([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]) + chunk("IHDR", header)
            + chunk("IDAT", zeros(count: side * ((side + 7) / 8 + 1))) + chunk("IEND", Data())
    }

    /// A zlib stream (RFC 1950, 1951) of `count` zeros in a block with fixed codes.
    private static func zeros(count: Int) -> Data {
        var (bytes, buffer, bitCount) = (Data([0x78, 0x01]), UInt32(0), UInt32(0))
        func put(_ value: UInt32, _ count: UInt32) {
            buffer |= value << bitCount
            bitCount += count
            while bitCount >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: buffer))
                buffer >>= 8
                bitCount -= 8
            }
        }
        func putLiteralZero() { put(0b0000_1100, 8) }  // 00110000, from its most significant bit.
        put(0b011, 3)
        putLiteralZero()
        var rest = count - 1
        while rest >= 258 {
            put(0b1010_0011, 8)  // 285, a length of 258: 11000101.
            put(0, 5)  // A distance of 1.
            rest -= 258
        }
        for _ in 0..<rest { putLiteralZero() }
        put(0, 7)
        if bitCount > 0 { put(0, 8 - bitCount) }
        // Adler-32: the first sum stays 1, the second grows by 1 with each byte.
        let checksum = UInt32(count % 65_521) << 16 | 1
        return bytes + withUnsafeBytes(of: checksum.bigEndian) { Data($0) }
    }

    private static func crc(_ data: Data) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in data {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// The side of a file with more pixels than the limit beside it: that of all requests for a release, and else a lower one, because a debug
    /// build decodes slowly.
    package static var sideBeyondLimit: (side: Int, limit: Int) {
        ReleaseChecks.choose((1_040, 1_000_000), forRelease: (10_400, 100_000_000))
    }
}
