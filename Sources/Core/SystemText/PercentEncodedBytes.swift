public import FoundationEssentials

/// Bytes of which some are percent-encoded (WHATWG URL Standard, "percent-decode"). A `%` that is not followed by two
/// hexadecimal digits stays.
public struct PercentEncodedBytes: Sequence, IteratorProtocol {
    @usableFromInline
    let text: ArraySlice<UInt8>
    @usableFromInline
    var index: Int

    /// Takes the encoded bytes.
    @inlinable
    public init(_ text: ArraySlice<UInt8>) { (self.text, index) = (text, text.startIndex) }

    /// Returns the next byte, decoded; `nil` at the end.
    @inlinable
    public mutating func next() -> UInt8? {
        guard index < text.endIndex else { return nil }
        let byte = text[index]
        guard byte == UInt8(ascii: "%"), let value = Self.value(ofDigits: text[(index + 1)...].prefix(2)) else {
            index += 1
            return byte
        }
        index += 3
        return value
    }

    /// The number of bytes after decoding.
    public var byteCount: Int { reduce(0) { count, _ in count + 1 } }

    /// The bytes, decoded.
    public func decoded() -> Data {
        guard text.contains(UInt8(ascii: "%")) else { return Data(text) }
        var data = Data(count: byteCount)
        data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in
            for (index, byte) in enumerated() { bytes[index] = byte }
        }
        return data
    }

    /// The value of two hexadecimal digits; `nil` if these are none.
    @inlinable
    public static func value(ofDigits digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count == 2, let first = digits.first, let last = digits.last, let high = nibble(first),
            let low = nibble(last)
        else { return nil }
        return high << 4 | low
    }

    @inlinable
    static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Sequence<UInt8> {
    /// Percent-encodes all bytes but the unreserved characters (RFC 3986, 2.3) and `others`.
    public func percentEncoded(keeping others: String = "") -> String {
        map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                String(UnicodeScalar(byte))
            case _ where others.utf8.contains(byte): String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
