import Foundation
import Testing

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct TextTests {
    @Test func writesStandardJSON() throws {
        let text = "quote \" slash \\ line\n tab\t null\u{0} bell\u{7} é 🦊"
        let value: JSON = [
            "z": .string(text), "a": .array([.integer(-1), .decimal(2.25), .bool(true), .null]), "o": ["": .null],
        ]
        let line = value.text
        #expect(!line.contains("\n"))
        #expect(line.hasPrefix(#"{"z":"#))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["z"] as? String == text)
        #expect((object["a"] as? [Any])?.count == 4)
    }

    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1.0 MiB"), (12_897_485, "12.3 MiB"),
        (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB"),
    ])
    func formatsByteCounts(count: Int, text: String) { #expect(ByteCount(count).description == text) }

    @Test(
        arguments: [
            (-5, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_599, "59 min"), (3_600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 days"), (86_400 * 400, "400 days"),
        ] as [(Double, String)])
    func formatsAges(seconds: Double, text: String) {
        let start = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(Age(from: start, to: start + seconds).text.english == text)
    }
}
