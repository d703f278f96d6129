package import FoundationEssentials
package import SystemText

/// Base64 with the alphabet of RFC 4648, 4, or that of URLs (5).
package enum Base64 {
    package static let padding = UInt8(ascii: "=")

    /// Returns text in the alphabet of URLs, without padding.
    package static func urlText(of bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != padding }
        return String(
            decoding: text.map {
                $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
            },
            as: UTF8.self)
    }

    /// Reads either alphabet, with or without padding; `nil` for other text.
    package static func bytes(in text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        while digits.last == padding { digits.removeLast() }
        guard let byteCount = byteCount(ofDigits: digits.count), digits.allSatisfy(isDigit) else { return nil }
        return [UInt8](decoded(PercentEncodedBytes(digits[...]), byteCount: byteCount))
    }

    /// Whether the byte is a digit of either alphabet.
    package static func isDigit(_ byte: UInt8) -> Bool { values[Int(byte)] != nil }

    /// The number of bytes that so many digits are; `nil` if they end in the middle of one.
    package static func byteCount(ofDigits digitCount: Int) -> Int? {
        digitCount % 4 == 1 ? nil : digitCount / 4 * 3 + digitCount % 4 * 3 / 4
    }

    /// Decodes the digits in `text`, whatever else it has.
    ///
    /// - Parameter byteCount: the number of bytes that the digits are.
    package static func decoded(_ text: PercentEncodedBytes, byteCount: Int) -> Data {
        var data = Data(count: byteCount)
        data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in
            var (bits, bitCount, count) = (UInt32(0), 0, 0)
            for byte in text {
                guard let value = values[Int(byte)] else { continue }
                bits = bits << 6 | UInt32(value)
                bitCount += 6
                guard bitCount >= 8 else { continue }
                bitCount -= 8
                bytes[count] = UInt8(truncatingIfNeeded: bits >> bitCount)
                count += 1
            }
        }
        return data
    }

    /// The value of each digit.
    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
        (values[Int(UInt8(ascii: "-"))], values[Int(UInt8(ascii: "_"))]) = (62, 63)
        return values
    }()
}
