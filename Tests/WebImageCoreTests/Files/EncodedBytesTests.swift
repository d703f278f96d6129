import FoundationEssentials
import SystemText
import Testing
import WebImageCore

/// Bytes as text: Base64 and percent-encoding.
@Suite(.timeLimit(.minutes(3))) struct EncodedBytesTests {
    @Test(
        arguments: [
            ("", []), ("+/-_", [0xFB, 0xFF, 0xBF]), ("AQID", [1, 2, 3]), ("AQI=", [1, 2]), ("AQI", [1, 2]),
            ("AQ==", [1]),
        ] as [(String, [UInt8])])
    func readsBase64OfBothAlphabets(text: String, bytes: [UInt8]) {
        #expect(Base64.bytes(in: text) == bytes)
    }

    @Test(arguments: ["A", "AQIDA", "AQ!D", "AQ D", "AQI\n", "=AQI", "AQ=I", "%41%51"])
    func otherTextIsNotBase64(text: String) {
        #expect(Base64.bytes(in: text) == nil)
    }

    @Test(arguments: [
        ("a%41%c3%A9", "aA\u{e9}"), ("100%", "100%"), ("%4", "%4"), ("%zz%4g%41", "%zz%4gA"), ("%%41", "%A"), ("", ""),
    ])
    func aPercentSignWithoutTwoDigitsStays(text: String, decoded: String) {
        let bytes = PercentEncodedBytes(Array(text.utf8)[...])
        #expect(bytes.decoded().elementsEqual(decoded.utf8))
        #expect(bytes.byteCount == decoded.utf8.count)
    }
}
