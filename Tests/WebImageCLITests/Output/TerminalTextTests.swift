import Foundation
import ProgramSupport
import Testing
import WebImageCore

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct TerminalTextTests {
    private static let unsafe: [ClosedRange<UInt32>] = [
        0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
    ]

    private static var unsafeText: String {
        String(String.UnicodeScalarView(unsafe.joined().compactMap(Unicode.Scalar.init)))
    }

    @Test func escapesEachControlCharacter() {
        for value in unsafeRange where value != 0x0A && value != 0x0D && value != 0x09 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isUnsafe = Self.unsafe.contains { $0.contains(value) }
            let escaped = TerminalText.escaped("a\(scalar)b")
            let digits = String(value, radix: 16, uppercase: true)
            let expected = isUnsafe ? "a\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)b" : "a\(scalar)b"
            #expect(escaped == expected)
        }
        #expect(TerminalText.escaped("a\nb\tc\rd\r\ne") == #"a\nb\tc\rd\r\ne"#)
    }

    private var unsafeRange: ClosedRange<UInt32> { 0...0x2100 }

    @Test(arguments: ["", "plain", "é 🦊 → … × 中文", #"C:\u001B\n"#, "a \u{200D}👩‍🚀 \u{200C}"]) func keepsOtherText(
        _ text: String
    ) {
        #expect(TerminalText.escaped(text) == text)
    }

    @Test func readsItsEscapesBack() {
        let text = "a\u{9B}b\u{202E}c"
        #expect(TerminalText.unescaped(TerminalText.escaped(text)) == text)
        // Neither what it would not escape, nor what is escaped itself.
        for text in [#"\u0041"#, #"\\u009B"#, #"\u9B"#, #"\n"#] { #expect(TerminalText.unescaped(text) == text) }
    }

    /// Lines of JSON pass the console, too.
    @Test func jsonEscapesTheSameAndKeepsItsValue() throws {
        let value: JSON = ["text": .string(Self.unsafeText), "path": .path(SystemString([0x61, 0xFF, 0x9B]))]
        let line = value.text
        #expect(TerminalText.escaped(line) == line)
        #expect(line.contains(#"\u007F\u0080\u0081"#) && line.contains(#"\u009F"#))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(object == ["text": Self.unsafeText, "path": #"a\xFF\x9B"#])
    }

    @Test func jsonOmitsPasswordsButKeepsPaths() {
        let value: JSON = ["url": .string("http://me:pw@h/a"), "path": .path(SystemString("//me@h/a@2x.png"))]
        #expect(value.text == #"{"url":"http://h/a","path":"//me@h/a@2x.png"}"#)
    }
}
